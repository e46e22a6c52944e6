"""Import paths of device classes, so that another process can import them without a scene."""

from __future__ import annotations

import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from sofa_softctl.base.user_module import import_file
from sofa_softctl.bridge.device import Device
from sofa_softctl.bridge.registry import DEVICES
from sofa_softctl.errors import ConfigError, SoftctlError


def device_import_path(kind: str) -> str:
    """Return the import path of a type of device: 'module:class', or 'file.py:class'.

    Raises:
        ConfigError: The device is unknown, or another process cannot import it.
    """
    if home := DEVICES.home_of(kind):  # a built-in device, not imported here
        return home
    device = DEVICES.find(kind)
    module = sys.modules[device.__module__]
    if device.__module__ == "__main__" or "<locals>" in device.__qualname__:
        raise ConfigError(
            f"the device '{kind}' ({device.__qualname__}) is defined in the script that runs, or "
            "in a function: the device process cannot import it. Move it to a separate file, at "
            "the top level."
        )
    file = getattr(module, "__file__", None)
    names = {Path(file).stem, Path(file).parent.name} if file else set()
    by_name = device.__module__.rpartition(".")[2] in names  # a plugin file is another module
    location = device.__module__ if by_name or file is None else str(Path(file).resolve())
    return f"{location}:{device.__qualname__}"


def load_device_class(home: str, kind: str) -> type[Device]:
    """Import the class of a device.

    Args:
        home: Import path, from `device_import_path`.
        kind: Type of the device, for messages.

    Raises:
        ConfigError: It cannot be imported without a scene.
    """
    location, _, name = home.rpartition(":")
    try:
        if location.endswith(".py"):
            device: Any = import_file(Path(location), "softctl_plugin", folder_too=False)
            for part in name.split("."):
                device = getattr(device, part)
        else:
            device = resolve_name(home)
    except SoftctlError:
        raise
    except Exception as error:
        raise ConfigError(
            f"the device '{kind}' cannot be imported from '{location}' in the device process: "
            f"{type(error).__name__}: {error}. Its module must not need a scene or Sofa."
        ) from error
    device_class: type[Device] = device
    return device_class
