"""Link paths of objects and Data."""

from __future__ import annotations

from typing import Any


class LinkPath(str):
    """A path such as '@/trunk/dofs' for links and Data to follow; a text wherever one is wanted.

    It knows its end, so that it can be followed from objects that are in no node yet.
    """

    def __new__(cls, target: Any) -> LinkPath:
        """The path to an object, node or Data."""
        path = super().__new__(cls, target.getLinkPath())
        path.target = target
        return path

    target: Any
    """The object, node or Data at its end."""
