"""Reduced models of robots, whose trajectories libraries hold."""
