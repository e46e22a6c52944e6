"""Nodes."""

from __future__ import annotations

from typing import Any


def Node(parentNode: Any, name: str) -> Any:
    """Return a new child of a node."""
    return parentNode.addChild(name)
