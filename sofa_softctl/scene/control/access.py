"""Quick reading of Data in every step, on both backends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def reader(data: Any) -> Callable[[], Any]:
    """Return a function that returns a Data's value, which is not to be changed.

    In the runtime it is the array itself: a view that is read-only takes five times as long.
    """
    return data.get if hasattr(data, "overwrite") else lambda: data.value


def writer(data: Any) -> Callable[[Any], None]:
    """Return a function that sets a Data's numbers, in the runtime in its array."""
    return getattr(data, "overwrite", None) or (lambda values: setattr(data, "value", values))


def watch(data: Sequence[Any]) -> Callable[[], bool]:
    """Return a function that is True at its first call, and if a Data has changed since the last.

    A Data has changed if it was set, also to the same value.
    """
    if all(hasattr(item, "overwrite") for item in data):
        from sofa_softctl.runtime.core.data.data import DataWatch

        return DataWatch(data).has_changed
    counters: list[int] = []

    def has_changed() -> bool:
        before, counters[:] = list(counters), [item.getCounter() for item in data]
        return before != counters

    return has_changed
