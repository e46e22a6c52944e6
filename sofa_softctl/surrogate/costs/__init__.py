"""Costs and dynamics of trajectories, and obstacles."""
