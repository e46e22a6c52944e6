"""Lagrangian constraints, their solver and corrections."""
