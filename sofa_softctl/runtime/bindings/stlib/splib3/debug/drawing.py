"""Texts and lines on a window that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def DebugManager(parentNode: Any) -> Any:
    """The node, as it is."""
    return parentNode


def drawText(text: str, x: float, y: float) -> None:
    """Nothing."""


def drawLine(p0: Sequence[float], p1: Sequence[float]) -> None:
    """Nothing."""
