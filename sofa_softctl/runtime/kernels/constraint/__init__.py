"""Rows of constraints, and the Gauss-Seidel method on them."""
