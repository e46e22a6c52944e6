"""Texts and lines on a window, which are not drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def DebugManager(parentNode: Any) -> Any:
    """Return the node unchanged."""
    return parentNode


def drawText(text: str, x: float, y: float) -> None:
    """Draw nothing."""


def drawLine(p0: Sequence[float], p1: Sequence[float]) -> None:
    """Draw nothing."""
