"""Constraint rows, and projected Gauss-Seidel."""
