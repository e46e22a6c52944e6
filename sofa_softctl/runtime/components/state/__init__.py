"""Mechanical states."""
