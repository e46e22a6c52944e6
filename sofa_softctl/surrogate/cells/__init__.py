"""Cells between grid points, and the interpolants in them."""
