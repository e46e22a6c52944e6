"""Reads the tables [devices.NAME]: their options are those of the device's class."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Literal

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.fields import number_of
from sofa_softctl.bridge.config.robot import DeviceConfig
from sofa_softctl.bridge.device import Device
from sofa_softctl.bridge.registry import find
from sofa_softctl.errors import ConfigError, DeviceError


def read_device(faults: Faults, name: str, values: Any) -> DeviceConfig | None:
    """A table [devices.NAME]; None: something is wrong with it."""
    path = ("devices", name)
    if not isinstance(values, dict):
        faults.wrong(path, "a table", values, "Write its keys below a line [devices.NAME].")
        return None
    kind = values.get("type")
    if not isinstance(kind, str):
        missing = "expected the key 'type', got none. Add: type = \"loopback\""
        if "type" in values:
            faults.wrong((*path, "type"), "the name of a device", kind, _LIST)
        else:
            faults.add(path, missing)
        return None
    try:
        cls = find(kind)
    except ConfigError as error:
        faults.add((*path, "type"), f"{error}. {_LIST}")
        return None
    given = {key: value for key, value in values.items() if key != "type"}
    before = len(faults.found)
    options = _checked(faults, path, cls, given)
    if len(faults.found) == before:
        _construct(faults, path, cls, options)
    return DeviceConfig(name, kind, options, faults.line(path))


_LIST = "`softctl bridge list` lists them."


def options_of(cls: type[Device]) -> dict[str, inspect.Parameter]:
    """Options of a device's class by their names, with types as annotations where they are known.

    A parameter of kind VAR_KEYWORD means: it takes any others.
    """
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    try:
        hints = typing.get_type_hints(cls.__init__)
    except Exception:  # a stranger's annotation that names what is not there
        hints = {}
    return {
        entry.name: entry.replace(annotation=hints.get(entry.name, entry.annotation))
        for entry in parameters
        if entry.name != "name" and entry.kind is not entry.VAR_POSITIONAL
    }


def _checked(
    faults: Faults, path: tuple[str, str], cls: type[Device], given: Mapping[str, Any]
) -> dict[str, Any]:
    known = options_of(cls)
    takes_any = any(entry.kind is entry.VAR_KEYWORD for entry in known.values())
    named = {n: entry for n, entry in known.items() if entry.kind is not entry.VAR_KEYWORD}
    found = {}
    for key, value in given.items():
        entry = named.get(key)
        if entry is None and (not takes_any or key == "name"):
            hint = did_you_mean(key, named).strip() or "Remove it."
            listing = ", ".join(named) or "none"
            faults.add((*path, key), f"expected an option: {listing}; got '{key}'. {hint}")
            continue
        expected = Any if entry is None else entry.annotation
        found[key] = _converted(value, expected)
        if found[key] is _WRONG:
            what = type_text(expected)
            faults.wrong((*path, key), what, value, "Write a value of that type.")
    for key, entry in named.items():
        if entry.default is entry.empty and key not in given:
            what = type_text(entry.annotation)
            faults.add(path, f"expected the option '{key}' ({what}), got none. Add: {key} = ...")
    return found


def _construct(
    faults: Faults, path: tuple[str, str], cls: type[Device], options: dict[str, Any]
) -> None:
    """Make the device, which opens nothing, so that it can refuse values of its options."""
    try:
        cls(path[1], **options)
    except DeviceError:  # such as a library that is not installed: reported when it is opened
        pass
    except Exception as error:
        kind = "" if isinstance(error, ConfigError | ValueError) else f"{type(error).__name__}: "
        faults.add(path, f"the options do not fit: {kind}{error}")


_WRONG: Any = object()


def _converted(value: Any, expected: Any) -> Any:
    """A value of TOML as an annotated type, or _WRONG; types that are not known take anything."""
    if not _finite(value):
        return _WRONG
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        found = [_converted(value, each) for each in arguments if each is not type(None)]
        return next((each for each in found if each is not _WRONG), _WRONG)
    if origin is Literal:
        return value if value in arguments else _WRONG
    kind = origin or expected
    if kind is float:
        return _WRONG if (number := number_of(value)) is None else number
    if kind in (int, str, bool):
        return value if type(value) is kind else _WRONG
    if kind in (list, tuple, Sequence):
        return _converted_list(value, kind, arguments)
    if kind in (dict, Mapping):
        if not isinstance(value, dict):
            return _WRONG
        made = {k: _converted(v, arguments[1] if arguments else Any) for k, v in value.items()}
        return _WRONG if any(v is _WRONG for v in made.values()) else made
    return value


def _converted_list(value: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
    """Return a list of TOML as a list or tuple of annotated types, or _WRONG."""
    if not isinstance(value, list):
        return _WRONG
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return _WRONG
        types_of_items: Iterable[Any] = arguments
    else:
        types_of_items = repeat(arguments[0] if arguments else Any)
    items = [_converted(item, expected) for item, expected in zip(value, types_of_items)]  # noqa: B905
    if any(item is _WRONG for item in items):
        return _WRONG
    return tuple(items) if kind is tuple else items


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or number_of(value) is not None


def type_text(expected: Any) -> str:
    """An annotated type in words of TOML, such as 'a text or a whole number'."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_text(each) for each in arguments if each is not type(None))
    if origin is Literal:
        return " or ".join(repr(each) for each in arguments)
    names = {float: "a finite number", int: "a whole number", str: "a text", bool: "true or false"}
    kind = origin or expected
    if kind in names:
        return names[kind]
    if kind in (list, tuple, Sequence):
        members = [each for each in arguments if each is not Ellipsis]
        of = " and ".join(dict.fromkeys(type_text(each) for each in members))
        return f"a list of {of}" if of else "a list"
    return "a table" if kind in (dict, Mapping) else "a value"
