"""Meshes and their elements."""
