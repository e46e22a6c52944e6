"""Mesh loaders."""
