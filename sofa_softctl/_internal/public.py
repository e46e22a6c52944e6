"""The public names of a package, loaded when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def public(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package's `__init__`.

    Nothing is imported before a name is used: half of a package needs a scene, and none of it
    should cost a second where another package is meant.

    Args:
        package: Its `__name__`.
        homes: Its public names by the module below it that they are in, such as
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
