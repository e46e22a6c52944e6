"""Where the class of a device is, so that another process can import it without a scene."""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from sofa_softctl.base.user_module import import_file
from sofa_softctl.bridge.device import Device
from sofa_softctl.bridge.registry import DEVICES
from sofa_softctl.errors import ConfigError, SoftctlError


def home_of(kind: str) -> str:
    """Where the registered device of a type is: 'module:class', or 'file.py:class'.

    Raises:
        ConfigError: There is no such device, or another process cannot import it.
    """
    if home := DEVICES.home_of(kind):  # imported there alone
        return home
    device = DEVICES.find(kind)
    module = sys.modules[device.__module__]
    if device.__module__ == "__main__" or "<locals>" in device.__qualname__:
        raise ConfigError(
            f"the device '{kind}' ({device.__qualname__}) is defined in the script that runs, or "
            "in a function: the device process cannot import it. Move it to a file of its own, at "
            "the top level."
        )
    file = getattr(module, "__file__", None)
    names = {Path(file).stem, Path(file).parent.name} if file else set()
    by_name = device.__module__.rpartition(".")[2] in names  # a plugin file is another module
    place = device.__module__ if by_name or file is None else str(Path(file).resolve())
    return f"{place}:{device.__qualname__}"


def load(home: str, kind: str) -> type[Device]:
    """The class at `home_of(kind)`.

    Raises:
        ConfigError: It cannot be imported without a scene.
    """
    place, _, name = home.rpartition(":")
    try:
        if place.endswith(".py"):
            found: Any = import_file(Path(place), "softctl_plugin", folder_too=False)
            for part in name.split("."):
                found = getattr(found, part)
        else:
            found = resolve_name(home)
    except SoftctlError:
        raise
    except Exception as error:
        raise ConfigError(
            f"the device '{kind}' cannot be imported from '{place}' in the device process: "
            f"{type(error).__name__}: {error}. Its module must not need a scene or Sofa."
        ) from error
    device: type[Device] = found
    return device
