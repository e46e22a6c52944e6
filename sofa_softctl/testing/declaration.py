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
"""Values that scenes pass by mistake."""
_CHECKED: set[tuple[Any, ...]] = set()
"""Data whose errors were checked in another class, with the methods that may change them."""


def check_declaration(cls: type[Component]) -> None:
    """Check the documentation of a component's class and Data, and its errors about Data.

    Raises:
        AssertionError: As for `check_data`; or a strange value does not raise a SceneError that
            names the Data, or an unknown Data does not raise an error with the scene's line.
    """
    check_data(cls)
    for data_type in cls.data_types.values():
        inherited = data_type, cls.__init__, cls.on_added, cls.data_changed
        if inherited in _CHECKED:
            continue
        for value in STRANGE:
            _check_strange(cls, data_type, value)
        _CHECKED.add(inherited)
    _check_unknown(cls)


def check_data(cls: type[Base]) -> None:
    """Check the documentation, units, names and defaults of Data and links.

    Raises:
        AssertionError: A docstring or help is missing, a unit is unknown, a name has two meanings,
            or a default is not a value of its type.
    """
    if not (cls.__doc__ or "").strip():
        raise AssertionError(
            f"{cls.__name__}: expected a docstring; `softctl components` shows it."
        )
    declarations: list[DataType | LinkType] = [*cls.data_types.values(), *cls.link_types.values()]
    names = [
        name for declaration in declarations for name in (declaration.name, *declaration.aliases)
    ]
    for declaration in declarations:
        if not declaration.help.endswith("."):
            raise AssertionError(
                f"{cls.__name__}.{declaration.name}: expected a help text that ends with a full "
                f"stop, got {declaration.help!r}."
            )
    for name in names:
        is_taken = name != "name" and name in vars(Component) and name not in cls.data_types
        if names.count(name) > 1 or is_taken:
            raise AssertionError(f"{cls.__name__}: the name '{name}' stands for two things.")
    for declared in cls.data_types.values():
        _check_unit(cls, declared)
        _check_default(cls, declared)


def _check_unit(cls: type[Base], data_type: DataType) -> None:
    unit = data_type.unit.removeprefix("lambda of ")  # SOFA's multiplier of an effort
    words = re.findall(r"[a-z]+", unit)
    if unit and not (_UNIT.fullmatch(unit) and set(words) <= set(QUANTITIES)):
        raise AssertionError(
            f"{cls.__name__}.{data_type.name}: expected a unit in words such as 'force/length', of "
            f"{', '.join(QUANTITIES)}; got '{data_type.unit}'."
        )


def _check_default(cls: type[Base], data_type: DataType) -> None:
    owner = cls()
    data = owner._data[data_type.name]
    value = data._value if data_type.computed else data.get()  # not yet: it may need a scene
    is_valid = np.array_equal(data_type.initial(owner), value)
    if is_valid and not isinstance(data_type, Choice | Texts):
        is_valid = np.array_equal(data_type.convert(data_type.format(value), owner), value)
    if isinstance(data_type, Choice):
        is_valid = is_valid and value in data_type.choices
    if not is_valid:
        raise AssertionError(
            f"{cls.__name__}.{data_type.name}: the default {data_type.default!r} is not a value of "
            "its type."
        )


def _check_strange(cls: type[Component], data_type: DataType, value: Any) -> None:
    try:
        component = Node("root").addObject(cls, **{data_type.name: value})
        data: Data = component._data[data_type.name]
        data_type.format(data._value if data_type.computed else data.get())
    except SceneError as error:
        if data_type.name.lower() in str(error).lower() or data_type.name in (
            "filename",
            "template",
        ):
            return
        raise AssertionError(
            f"{cls.__name__}.{data_type.name} = {value!r}: expected an error that names the Data, "
            f"got '{error}'."
        ) from error
    except Exception as error:
        raise AssertionError(
            f"{cls.__name__}.{data_type.name} = {value!r}: expected it to be taken, or a "
            f"SceneError; got {type(error).__name__}: {error}."
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
    """Run a line of code as line 1 of a scene file `SCENE`."""
    exec(compile(line, SCENE, "exec"), names)


SCENE = "checked_scene.py"


def names_line(cls: type[Component], error: SceneError) -> None:
    """Check that an error starts with the scene's line.

    Raises:
        AssertionError: It does not start with it.
    """
    if not str(error).startswith(f"{SCENE}:1: "):
        raise AssertionError(
            f"{cls.__name__}: expected an error that starts with the scene's line, as those of "
            f"self.fault(...) do; got '{error}'."
        )
