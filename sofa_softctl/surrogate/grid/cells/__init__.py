"""Hierarchical grid: splines in cells whose corners are equilibria."""
