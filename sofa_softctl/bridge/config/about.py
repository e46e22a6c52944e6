"""What there is to know of the registered devices, without opening one."""

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
    """Its type, in words."""
    default: str | None
    """Its default as a text; None: it must be given."""


@dataclass(frozen=True)
class DeviceAbout:
    """A registered device."""

    name: str
    """What `type` says in a configuration file."""
    summary: str
    """First line of its class's docstring."""
    quantities: tuple[str, ...]
    """Quantities for which it is meant; empty: all."""
    options: tuple[OptionAbout, ...]
    """Keys of its table."""
    missing: tuple[str, ...]
    """Modules of optional packages that are not installed here."""
    plugin: str
    """The plugin that brought it; empty: built in."""


def describe_devices() -> list[DeviceAbout]:
    """All devices, by name."""
    return [describe(name) for name in sorted(DEVICES.names())]


def describe(name: str) -> DeviceAbout:
    """The device of a name.

    Raises:
        ConfigError: There is none.
    """
    cls = DEVICES.find(name)
    options = tuple(
        OptionAbout(
            option,
            type_text(entry.annotation),
            None if entry.default is entry.empty else _shown(entry.default),
        )
        for option, entry in options_of(cls).items()
        if entry.kind is not entry.VAR_KEYWORD
    )
    summary = (inspect.getdoc(cls) or "").partition("\n")[0]
    missing = tuple(module for module in cls.modules if not _installed(module))
    return DeviceAbout(name, summary, cls.quantities, options, missing, DEVICES.plugin_of(name))


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f'"{default}"' if isinstance(default, str) else str(default)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
