"""Sparse polynomials of the equilibrium map, for many inputs."""
