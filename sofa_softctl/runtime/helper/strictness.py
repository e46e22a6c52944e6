"""Where a user wants more, or less, than SOFA: warnings as errors, and its defects mended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper import message

_STRICT: ContextVar[bool] = ContextVar("strict", default=False)
_FOUND: ContextVar[list[SceneError] | None] = ContextVar("found", default=None)
DEFECTS_VARIABLE = "SOFTCTL_SOFA_DEFECTS"
"""Environment variable: 1 gives SOFA's numbers also where they are those of a defect (the page
docs/explanation/where-we-differ.md has them)."""


@contextmanager
def strict(value: bool = True) -> Iterator[None]:
    """Within it, what a scene is warned of raises at once, at its line."""
    before = _STRICT.set(value)
    try:
        yield
    finally:
        _STRICT.reset(before)


@contextmanager
def complaints() -> Iterator[list[SceneError]]:
    """Gives the faults that are complained of within it."""
    found: list[SceneError] = []
    before = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(before)


def complain(sender: Any, error: SceneError, then: str = "") -> None:
    """Raise a fault of a scene where it is strict; else warn of it, and go on as SOFA does.

    For faults with which SOFA goes on and that do not make a wrong motion unseen: an unknown Data,
    a value that cannot be read.

    Args:
        sender: The object whose fault it is.
        error: The fault, with the scene's line.
        then: What is done about it; part of the warning alone.

    Raises:
        SceneError: It, in strict mode.
    """
    if _STRICT.get():
        raise error
    if (found := _FOUND.get()) is not None:
        found.append(error)
    text = f"{error}{then}"
    if f"[Warning] {text}" not in getattr(sender, "__dict__", {}).get("_messages", ()):  # said once
        message.warning(sender, text)


def not_negative(component: Any, name: str, instead: float) -> None:
    """Replace a negative number, as SOFA does."""
    data = component._data[name]
    if data.get() < 0.0:
        problem = f"takes a '{name}' of 0 or more, got {data.get():g}; {instead:g} is taken."
        complain(component, component.fault(problem))
        data.set(instead)


def keeps_sofa_defects() -> bool:
    """Return True if a user asks for SOFA's numbers, defects included."""
    return os.environ.get(DEFECTS_VARIABLE, "0") not in ("", "0")
