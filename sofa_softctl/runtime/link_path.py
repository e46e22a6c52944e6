"""Paths to objects and Data, as `linkpath` gives them."""

from __future__ import annotations


class LinkPath(str):
    """A path such as '@/trunk/dofs' for links and Data to follow; a text wherever one is wanted."""

    __slots__ = ()
