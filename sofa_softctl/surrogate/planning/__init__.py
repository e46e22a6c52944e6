"""Trajectories on a grid: costs, obstacles, sequential programming."""
