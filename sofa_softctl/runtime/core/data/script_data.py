"""Types of Data that scripts add to objects."""

from __future__ import annotations

import copy
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.data import types as data_types
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import DataType
from sofa_softctl.runtime.helper.source_line import describe, scene_line

_WIDTHS = {
    1: ("Vec1",),
    2: ("Vec2",),
    3: ("Vec3",),
    4: ("Vec4", "Quat"),
    6: ("Vec6",),
    7: ("Rigid3",),
}


def declaration(type_name: str, default: Any, help: str) -> DataType:
    """The declaration for a type that a script names as SOFA writes it."""
    plain = type_name.replace("std::", "").replace("type::", "").replace("sofa::", "").strip()
    scalar: dict[str, tuple[type[DataType], Any]] = {
        "string": (data_types.Text, ""),
        "bool": (data_types.Bool, False),
        "int": (data_types.Int, 0),
        "float": (data_types.Real, 0.0),
        "double": (data_types.Real, 0.0),
        "vector<int>": (data_types.Integers, []),
        "vector<float>": (data_types.Reals, []),
        "vector<double>": (data_types.Reals, []),
        "vector<string>": (data_types.Texts, []),
    }
    if not plain:
        raise SceneError(f"{describe(scene_line())}: addData needs a type, such as type='double'.")
    if plain in scalar:
        kind, empty = scalar[plain]
        return kind(empty if default is None else default, help)
    name = plain.removeprefix("vector<").rstrip(">")
    for width, prefixes in _WIDTHS.items():
        if name.startswith(prefixes):
            if plain.startswith("vector<"):
                return data_types.Vectors(width, [] if default is None else default, help)
            zeros = [0.0] * width if default is None else default
            return data_types.Vector(width, zeros, help)
    raise SceneError(
        f"{describe(scene_line())}: addData does not know the type '{type_name}'. Known: "
        f"{', '.join(scalar)}, Vec2d, Vec3d, Vec4d, Rigid3d and vectors of them."
    )


def like(source: Data, help: str) -> DataType:
    """The declaration for a Data that follows another one."""
    kind = source.type
    if isinstance(kind, data_types.Coords):  # its width is a matter of the state that owns it
        return data_types.Vectors(kind.columns(source.owner), [], help)
    made = copy.copy(kind)
    made.help, made.read_only, made.computed = help, False, False
    return made
