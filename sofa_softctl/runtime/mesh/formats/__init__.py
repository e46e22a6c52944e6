"""Readers of mesh files, a module for each format."""
