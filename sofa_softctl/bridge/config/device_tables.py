"""Reads the tables [devices.NAME], with the options of the device's class."""

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
    """Read a table [devices.NAME]; return None if it is wrong."""
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
    values_by_option = {key: value for key, value in values.items() if key != "type"}
    before = len(faults.found)
    options = _check_options(faults, path, cls, values_by_option)
    if len(faults.found) == before:
        _construct(faults, path, cls, options)
    return DeviceConfig(name, kind, options, faults.line(path))


_LIST = "`softctl bridge list` lists them."


def options_of(cls: type[Device]) -> dict[str, inspect.Parameter]:
    """Return the options of a device's class by name, with types as annotations if known.

    A parameter of kind VAR_KEYWORD means that the class takes any other options.
    """
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    try:
        hints = typing.get_type_hints(cls.__init__)
    except Exception:  # a stranger's annotation that names what is not there
        hints = {}
    return {
        parameter.name: parameter.replace(
            annotation=hints.get(parameter.name, parameter.annotation)
        )
        for parameter in parameters
        if parameter.name != "name" and parameter.kind is not parameter.VAR_POSITIONAL
    }


def _check_options(
    faults: Faults, path: tuple[str, str], cls: type[Device], values: Mapping[str, Any]
) -> dict[str, Any]:
    all_options = options_of(cls)
    takes_any = any(option.kind is option.VAR_KEYWORD for option in all_options.values())
    options_by_name = {
        n: option for n, option in all_options.items() if option.kind is not option.VAR_KEYWORD
    }
    options = {}
    for key, value in values.items():
        option = options_by_name.get(key)
        if option is None and (not takes_any or key == "name"):
            hint = did_you_mean(key, options_by_name).strip() or "Remove it."
            listing = ", ".join(options_by_name) or "none"
            faults.add((*path, key), f"expected an option: {listing}; got '{key}'. {hint}")
            continue
        expected = Any if option is None else option.annotation
        options[key] = _convert(value, expected)
        if options[key] is _WRONG:
            type_name = type_text(expected)
            faults.wrong((*path, key), type_name, value, "Write a value of that type.")
    for key, option in options_by_name.items():
        if option.default is option.empty and key not in values:
            type_name = type_text(option.annotation)
            faults.add(
                path, f"expected the option '{key}' ({type_name}), got none. Add: {key} = ..."
            )
    return options


def _construct(
    faults: Faults, path: tuple[str, str], cls: type[Device], options: dict[str, Any]
) -> None:
    """Construct the device, so that it can refuse values of options; this opens nothing."""
    try:
        cls(path[1], **options)
    except DeviceError:  # such as a library that is not installed: reported when it is opened
        pass
    except Exception as error:
        kind = "" if isinstance(error, ConfigError | ValueError) else f"{type(error).__name__}: "
        faults.add(path, f"the options do not fit: {kind}{error}")


_WRONG: Any = object()


def _convert(value: Any, expected: Any) -> Any:
    """Convert a value of TOML to an annotated type, or return _WRONG; unknown types take all."""
    if not _is_finite(value):
        return _WRONG
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        candidates = [
            _convert(value, candidate) for candidate in arguments if candidate is not type(None)
        ]
        return next((candidate for candidate in candidates if candidate is not _WRONG), _WRONG)
    if origin is Literal:
        return value if value in arguments else _WRONG
    kind = origin or expected
    if kind is float:
        return _WRONG if (number := number_of(value)) is None else number
    if kind in (int, str, bool):
        return value if type(value) is kind else _WRONG
    if kind in (list, tuple, Sequence):
        return _convert_list(value, kind, arguments)
    if kind in (dict, Mapping):
        if not isinstance(value, dict):
            return _WRONG
        items = {k: _convert(v, arguments[1] if arguments else Any) for k, v in value.items()}
        return _WRONG if any(v is _WRONG for v in items.values()) else items
    return value


def _convert_list(value: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
    """Return a list of TOML as a list or tuple of annotated types, or _WRONG."""
    if not isinstance(value, list):
        return _WRONG
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return _WRONG
        types_of_items: Iterable[Any] = arguments
    else:
        types_of_items = repeat(arguments[0] if arguments else Any)
    items = [
        _convert(item, expected) for item, expected in zip(value, types_of_items, strict=False)
    ]
    if any(item is _WRONG for item in items):
        return _WRONG
    return tuple(items) if kind is tuple else items


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or number_of(value) is not None


def type_text(expected: Any) -> str:
    """Describe an annotated type in words of TOML, such as 'a text or a whole number'."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(
            type_text(argument) for argument in arguments if argument is not type(None)
        )
    if origin is Literal:
        return " or ".join(repr(argument) for argument in arguments)
    names = {float: "a finite number", int: "a whole number", str: "a text", bool: "true or false"}
    kind = origin or expected
    if kind in names:
        return names[kind]
    if kind in (list, tuple, Sequence):
        members = [argument for argument in arguments if argument is not Ellipsis]
        item_types = " and ".join(dict.fromkeys(type_text(argument) for argument in members))
        return f"a list of {item_types}" if item_types else "a list"
    return "a table" if kind in (dict, Mapping) else "a value"
