"""Exact derivatives of a time step, forward and adjoint."""
