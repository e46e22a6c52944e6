"""Public names of a package, imported at first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def public(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` for a package's `__init__`.

    Nothing is imported before a name is used: many modules need a scene, and imports take up to a
    second.

    Args:
        package: `__name__` of the package.
        homes: Public names by their module, relative to the package, such as
            {"planning.costs": ("Effort", "Following")}.
    """
    home_of = {name: f"{package}.{home}" for home, names in homes.items() for name in names}
    public_names = sorted(home_of)

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return public_names, get, lambda: public_names
