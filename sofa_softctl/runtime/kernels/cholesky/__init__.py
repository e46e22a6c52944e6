"""Sparse Cholesky factorisation by blocks."""
