"""Check of a component's declaration: documentation, Data, errors with the scene's line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError, UnknownDataError
from sofa_softctl.runtime.core.base import Base
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Choice, DataType, Texts
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper.message import warnings_as_errors

QUANTITIES = ("degree", "energy", "force", "length", "mass", "pressure", "radian", "time")
_UNIT = re.compile(r"1|(1/)?[a-z]+(\^\d)?([*/][a-z]+(\^\d)?)*")
STRANGE: tuple[Any, ...] = (
    object(), "x y", "nan", [[1, 2], [3]], 1e400, -(2**70), {}, [None], "@", "", 1j, b"1",
)  # fmt: skip
"""What scenes give by mistake."""
_CHECKED: set[tuple[Any, ...]] = set()
"""Data whose errors were checked in another class, with all that a class may add to them."""


def check_declaration(cls: type[Component]) -> None:
    """Check what a component's class says of itself and of its Data, and its errors about them.

    Raises:
        AssertionError: As for `check_data`; or a strange value of a Data ends in anything but a
            SceneError that names it, or an unknown Data in no error with the scene's line.
    """
    check_data(cls)
    for entry in cls.data_types.values():
        inherited = entry, cls.__init__, cls.added, cls.data_changed
        if inherited in _CHECKED:
            continue
        for value in STRANGE:
            _check_strange(cls, entry, value)
        _CHECKED.add(inherited)
    _check_unknown(cls)


def check_data(cls: type[Base]) -> None:
    """Check the documentation, units, names and defaults of Data and links.

    Raises:
        AssertionError: A docstring or help is missing, a unit is unknown, a name stands for two
            things, or a default is no value of its type.
    """
    if not (cls.__doc__ or "").strip():
        raise AssertionError(
            f"{cls.__name__}: expected a docstring; `softctl components` shows it."
        )
    declarations: list[DataType | LinkType] = [*cls.data_types.values(), *cls.link_types.values()]
    names = [name for entry in declarations for name in (entry.name, *entry.aliases)]
    for entry in declarations:
        if not entry.help.endswith("."):
            raise AssertionError(
                f"{cls.__name__}.{entry.name}: expected a help text that ends with a full stop, "
                f"got {entry.help!r}."
            )
    for name in names:
        taken = name != "name" and name in vars(Component) and name not in cls.data_types
        if names.count(name) > 1 or taken:
            raise AssertionError(f"{cls.__name__}: the name '{name}' stands for two things.")
    for declared in cls.data_types.values():
        _check_unit(cls, declared)
        _check_default(cls, declared)


def _check_unit(cls: type[Base], entry: DataType) -> None:
    unit = entry.unit.removeprefix("lambda of ")  # SOFA's multiplier of an effort
    words = re.findall(r"[a-z]+", unit)
    if unit and not (_UNIT.fullmatch(unit) and set(words) <= set(QUANTITIES)):
        raise AssertionError(
            f"{cls.__name__}.{entry.name}: expected a unit in words such as 'force/length', of "
            f"{', '.join(QUANTITIES)}; got '{entry.unit}'."
        )


def _check_default(cls: type[Base], entry: DataType) -> None:
    owner = cls()
    data = owner._data[entry.name]
    value = data._value if entry.computed else data.get()  # not yet: it may need a scene
    same = np.array_equal(entry.initial(owner), value)
    if same and not isinstance(entry, Choice | Texts):
        same = np.array_equal(entry.convert(entry.format(value), owner), value)
    if isinstance(entry, Choice):
        same = same and value in entry.choices
    if not same:
        raise AssertionError(
            f"{cls.__name__}.{entry.name}: the default {entry.default!r} is no value of its type."
        )


def _check_strange(cls: type[Component], entry: DataType, value: Any) -> None:
    try:
        component = Node("root").addObject(cls, **{entry.name: value})
        data: Data = component._data[entry.name]
        entry.format(data._value if entry.computed else data.get())
    except SceneError as error:
        if entry.name.lower() in str(error).lower() or entry.name in ("filename", "template"):
            return
        raise AssertionError(
            f"{cls.__name__}.{entry.name} = {value!r}: expected an error that names the Data, got "
            f"'{error}'."
        ) from error
    except Exception as error:
        raise AssertionError(
            f"{cls.__name__}.{entry.name} = {value!r}: expected it to be taken, or a SceneError; "
            f"got {type(error).__name__}: {error}."
        ) from error


def _check_unknown(cls: type[Component]) -> None:
    try:
        with warnings_as_errors():
            in_scene("Node('root').addObject(cls, noSuchData=1)", Node=Node, cls=cls)
    except UnknownDataError as error:
        names_line(cls, error)
    else:
        raise AssertionError(f"{cls.__name__}: expected an error for an unknown Data, got none.")


def in_scene(line: str, **names: Any) -> None:
    """Run a line of code as if it stood in a scene file, as line 1 of `SCENE`."""
    exec(compile(line, SCENE, "exec"), names)


SCENE = "checked_scene.py"


def names_line(cls: type[Component], error: SceneError) -> None:
    """Check that an error starts with the scene's line.

    Raises:
        AssertionError: It does not.
    """
    if not str(error).startswith(f"{SCENE}:1: "):
        raise AssertionError(
            f"{cls.__name__}: expected an error that starts with the scene's line, as those of "
            f"self.fault(...) do; got '{error}'."
        )
