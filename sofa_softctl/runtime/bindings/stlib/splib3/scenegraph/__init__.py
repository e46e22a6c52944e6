"""Finding nodes, objects and Data by their paths."""

from splib3.scenegraph.paths import find, get, getLinkPath

__all__ = ["find", "get", "getLinkPath"]
