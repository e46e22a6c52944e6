"""Sparse grid: polynomials in many variables, near a motion."""
