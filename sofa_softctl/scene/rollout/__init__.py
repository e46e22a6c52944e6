"""Copies of a scene, stepped ahead."""
