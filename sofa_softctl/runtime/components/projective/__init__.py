"""Projective constraints."""
