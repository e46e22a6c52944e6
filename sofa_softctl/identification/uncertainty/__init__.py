"""Uncertainty of estimates: intervals, identifiability, residual tests, validation."""
