"""Convex quadratic programs, dense and sparse, with a KKT check of every answer."""
