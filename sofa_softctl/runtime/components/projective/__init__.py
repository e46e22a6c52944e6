"""Held degrees of freedom."""
