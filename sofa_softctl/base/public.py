"""Public names of a package, imported at first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def public(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package's `__init__`.

    Nothing is imported before a name is used: half of a package needs a scene, and imports take up
    to a second.

    Args:
        package: Its `__name__`.
        homes: Its public names by their module, relative to it, such as
            {"planning.costs": ("Effort", "Following")}.
    """
    home_of = {name: f"{package}.{home}" for home, names in homes.items() for name in names}
    every = sorted(home_of)

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        found = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return every, get, lambda: every
