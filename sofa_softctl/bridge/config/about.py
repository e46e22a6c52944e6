"""Registered devices and their options, listed without opening a device."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib.util import find_spec

from sofa_softctl.bridge.config.device_tables import options_of, type_text
from sofa_softctl.bridge.registry import DEVICES


@dataclass(frozen=True)
class OptionAbout:
    """An option of a device."""

    name: str
    """Key of the device's table."""
    type: str
    """Type, in words."""
    default: str | None
    """Default as text, or None if the option is required."""


@dataclass(frozen=True)
class DeviceAbout:
    """A registered device."""

    name: str
    """Value of `type` in a configuration file."""
    summary: str
    """First line of its class's docstring."""
    quantities: tuple[str, ...]
    """Quantities that it supports, or () for all."""
    options: tuple[OptionAbout, ...]
    """Keys of its table."""
    missing: tuple[str, ...]
    """Modules of optional packages that are not installed here."""
    plugin: str
    """Plugin that provides the device, or "" if it is built in."""


def describe_devices() -> list[DeviceAbout]:
    """Describe all devices, by name."""
    return [describe(name) for name in sorted(DEVICES.names())]


def describe(name: str) -> DeviceAbout:
    """Describe the device of a name.

    Raises:
        ConfigError: The device is unknown.
    """
    cls = DEVICES.find(name)
    options = tuple(
        OptionAbout(
            option,
            type_text(parameter.annotation),
            None if parameter.default is parameter.empty else _default_text(parameter.default),
        )
        for option, parameter in options_of(cls).items()
        if parameter.kind is not parameter.VAR_KEYWORD
    )
    summary = (inspect.getdoc(cls) or "").partition("\n")[0]
    missing = tuple(module for module in cls.modules if not _is_installed(module))
    return DeviceAbout(name, summary, cls.quantities, options, missing, DEVICES.plugin_of(name))


def _default_text(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
