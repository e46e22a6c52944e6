"""Grids of equilibria, and interpolation on them."""
