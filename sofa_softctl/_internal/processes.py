"""What every worker process does first: it has the backend and plugins of its parent."""

from __future__ import annotations

from collections.abc import Callable

_first: dict[str, Callable[[], object]] = {}
"""What each worker calls first, in this order, by a name."""


def call_first_in_workers(name: str, call: Callable[[], object]) -> None:
    """Make workers that are started from now on call this first; once for each name.

    Args:
        name: What it does; a later call of the same name takes its place.
        call: A picklable function.
    """
    _first[name] = call


def first_calls(*, leave_out: str = "") -> list[Callable[[], object]]:
    """What a process that is started in another way should call first, but for one name."""
    return [call for name, call in _first.items() if name != leave_out]
