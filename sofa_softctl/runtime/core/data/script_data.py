"""Types of Data that scripts add to objects."""

from __future__ import annotations

import copy
from typing import Any

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import ArgumentError, SceneError
from sofa_softctl.runtime.core.data import types as data_types
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import DataType

_WIDTHS = {
    1: ("Vec1",),
    2: ("Vec2",),
    3: ("Vec3",),
    4: ("Vec4", "Quat"),
    6: ("Vec6",),
    7: ("Rigid3",),
}


def declaration(type_name: str, default: Any, help: str) -> DataType:
    """Return the declaration for a type that a script names as SOFA writes it."""
    short_name = type_name.strip()
    for prefix in ("std::", "type::", "sofa::", "defaulttype::", "helper::"):
        short_name = short_name.replace(prefix, "")
    scalar: dict[str, tuple[type[DataType], Any]] = {
        "string": (data_types.Text, ""),
        "bool": (data_types.Bool, False),
        "int": (data_types.Int, 0),
        "float": (data_types.Real, 0.0),
        "double": (data_types.Real, 0.0),
        "vector<int>": (data_types.Integers, []),
        "vector<bool>": (data_types.Integers, []),
        "vector<float>": (data_types.Reals, []),
        "vector<double>": (data_types.Reals, []),
        "vector<string>": (data_types.Texts, []),
    }
    if not short_name:
        raise ArgumentError(
            f"{describe(scene_line())}: addData needs a type, such as type='double'."
        )
    if short_name in scalar:
        kind, empty = scalar[short_name]
        return kind(empty if default is None else default, help)
    width, is_list = _shape(short_name)
    if width:
        if is_list:
            return data_types.Vectors(width, [] if default is None else default, help)
        return data_types.Vector(width, [0.0] * width if default is None else default, help)
    raise SceneError(
        f"{describe(scene_line())}: addData does not know the type '{type_name}'. Known: "
        f"{', '.join(scalar)}, Vec2d, Vec3d, Vec4d, Rigid3d and vectors of them."
    )


def _shape(short_name: str) -> tuple[int, bool]:
    """Return the width of a vector type, or 0, and True for a list of vectors."""
    name, _, part = short_name.removeprefix("vector<").rstrip(">").partition("::")
    is_list = short_name.startswith("vector<") or part in ("VecCoord", "VecDeriv")
    if name.startswith("Rigid3") and part.endswith("Deriv"):
        return 6, is_list
    for width, prefixes in _WIDTHS.items():
        if name.startswith(prefixes):
            return width, is_list
    return 0, is_list


def like(source: Data, help: str) -> DataType:
    """Return the declaration for a Data that follows another one."""
    kind = source.type
    if isinstance(kind, data_types.Coords):  # its width depends on the state that owns it
        return data_types.Vectors(kind.columns(source.owner), [], help)
    copied = copy.copy(kind)
    copied.help, copied.read_only, copied.computed = help, False, False
    return copied
