"""Masses."""
