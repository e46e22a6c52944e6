"""Mesh loaders by the names of their files."""

from splib3.loader.by_suffix import addLoader

__all__ = ["addLoader"]
