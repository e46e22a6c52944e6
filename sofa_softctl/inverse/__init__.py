"""Inverse control in compliance space."""
