"""Compiled kernels: formulas and motions."""
