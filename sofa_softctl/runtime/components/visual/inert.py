"""Components that are accepted and checked but have no effect without a display.

`inert.toml` declares most of them; each class is created at the first use of its name.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data import types
from sofa_softctl.runtime.core.data.types import Bool, DataType
from sofa_softctl.runtime.core.link import LinkType


class Inert(Component):
    """Accepted and checked, without effect."""

    category: ClassVar[str] = "inert"


class VisualOnly(Inert):
    """Base class of components that only a GUI draws."""

    enable = Bool(True, "Draw it.")


def __getattr__(name: str) -> type[Inert]:
    if name.startswith("_") or name not in _tables():  # imports look up __path__
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    table = _tables()[name]
    base = table.get("base", "Inert")
    members: dict[str, Any] = {"__doc__": table["doc"], "__module__": __name__}
    if "aliases" in table:
        members["aliases"] = tuple(table["aliases"])
    members |= {name: _declare(**data) for name, data in table.items() if isinstance(data, dict)}
    new_class = type(name, (globals().get(base) or __getattr__(base),), members)
    return globals().setdefault(name, new_class)


@cache
def _tables() -> dict[str, dict[str, Any]]:
    """Return the file's tables by name, and one for each copy."""
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        tables = tomllib.load(file)
    copies = {
        copy: {"doc": table["doc"], "base": name}
        for name, table in tables.items()
        for copy in table.get("copies", ())
    }
    return tables | copies


def _declare(help: str, **options: Any) -> DataType | LinkType:
    """Return a Data or a link as the file declares it."""
    if "Link" in options:
        return LinkType(help)
    (kind,) = (name for name in options if name in types.__all__)
    declaration: DataType = getattr(types, kind)(default=options.pop(kind), help=help, **options)
    return declaration
