"""Tiny inverse problems with known answers."""
