"""Link paths of objects and Data."""

from __future__ import annotations

from typing import Any


class LinkPath(str):
    """Path such as '@/trunk/dofs' for links and Data; it is also a text.

    It stores its target, so that objects that are not in a node yet can follow it.
    """

    def __new__(cls, target: Any) -> LinkPath:
        """Create the path to an object, node or Data."""
        path = super().__new__(cls, target.getLinkPath())
        path.target = target
        return path

    target: Any
    """Object, node or Data at the end of the path."""
