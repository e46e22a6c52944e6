"""Argument types of kernels as JSON."""

from __future__ import annotations

import importlib
from typing import Any

from numba import types

_PACKAGE = __name__.partition(".")[0]
"""Left out at the beginning of modules' names."""


def encode(kind: Any) -> Any:
    """Return one of numba's types as JSON; raise TypeError if it cannot be written."""
    match kind:
        case types.Array():
            form = [str(kind.dtype), kind.ndim, kind.layout, kind.mutable, kind.aligned]
            return ["array", *form]
        case types.NamedTuple() | types.NamedUniTuple():
            fields = kind.instance_class
            module = fields.__module__.removeprefix(f"{_PACKAGE}.")
            home = f"{module}:{fields.__qualname__}"
            members: Any = kind
            return ["named tuple", home, *map(encode, members)]
        case types.BaseTuple():
            members = kind
            return ["tuple", *map(encode, members)]
        case types.Literal():  # compiled with the caller that has the number
            pass
        case types.Omitted() if isinstance(kind.value, bool | int | float | None):
            return ["omitted", kind.value]
        case types.Number() | types.Boolean() | types.NoneType():
            return str(kind)
    raise TypeError(f"{kind} cannot be written")


def decode(text: Any) -> Any:
    """Return one of numba's types from JSON."""
    namespace: Any = types
    if isinstance(text, str):
        return getattr(namespace, {"bool": "boolean"}.get(text, text))
    kind, *details = text
    match kind:
        case "array":
            dtype, dimensions, layout, is_mutable, is_aligned = details
            array: Any = types.Array
            return array(decode(dtype), dimensions, layout, not is_mutable, aligned=is_aligned)
        case "named tuple":
            module, _, name = details[0].partition(":")
            fields = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
            return namespace.BaseTuple.from_types([decode(inner) for inner in details[1:]], fields)
        case "tuple":
            return namespace.BaseTuple.from_types([decode(member) for member in details])
    return namespace.Omitted(details[0])
