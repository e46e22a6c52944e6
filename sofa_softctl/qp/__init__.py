"""Convex quadratic programs, dense and sparse, and the check of every answer."""
