"""Copies of a scene that are stepped ahead."""
