"""Optimal trajectories of a library: entries, queries, corrections and the file."""
