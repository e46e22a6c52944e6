"""What every worker process does first: it has the backend and plugins of its parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_first: dict[str, Callable[[], object]] = {}
"""What each worker calls first, in this order, by a name."""
_files: dict[str, tuple[str, ...]] = {}
"""Python files that these calls import."""


def call_first_in_workers(name: str, call: Callable[[], object], files: Sequence[str] = ()) -> None:
    """Make workers that are started from now on call this first; once for each name.

    Args:
        name: What it does; a later call of the same name takes its place.
        call: A picklable function.
        files: Python files that it imports.
    """
    _first[name] = call
    _files[name] = tuple(files)


def first_calls(*, leave_out: str = "") -> list[Callable[[], object]]:
    """What a process that is started in another way should call first, but for one name."""
    return [call for name, call in _first.items() if name != leave_out]


def first_files() -> list[str]:
    """Python files that first calls import; computers that do not see them need them."""
    return [file for name in _first for file in _files.get(name, ())]
