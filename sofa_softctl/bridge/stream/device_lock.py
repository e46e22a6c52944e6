"""One run at a time moves a device: a lock, which goes with the process that holds it."""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from sofa_softctl.bridge.config.robot import DeviceConfig
from sofa_softctl.bridge.device import Device
from sofa_softctl.errors import DeviceOpenError


def lock_device(config: DeviceConfig, device: Device, robot: str) -> IO[bytes] | None:
    """Lock a device for this process, until the file that is returned is closed.

    It is the same device where its class and the options that `Device.identity` names are the same,
    whatever the configuration that it stands in. Without a folder for temporary files there is no
    lock.

    Args:
        config: Its table.
        device: The device.
        robot: Name of the robot, which those who come later are shown.

    Returns:
        The file; None: the device may be shared, or there is no folder.

    Raises:
        DeviceOpenError: Another run uses it, or still brings it to rest.
    """
    if device.shared:
        return None
    folder = Path(tempfile.gettempdir()) / "softctl-devices"
    try:
        file = _open(folder, f"{config.type}-{_digest(config, device)}")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = file.read(200).decode(errors="replace") or "another process"
        file.close()
        raise DeviceOpenError(
            f"device '{config.name}' ({config.type}) is in use by {holder}: another run moves it, "
            "or still brings it to rest after its scene was killed. Wait until it ends, or stop it."
        ) from None
    with suppress(OSError):  # of another user's file, who is not named then
        own = os.open(file.name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        os.write(own, f"process {os.getpid()}, robot '{robot}'".encode())
        os.close(own)
    return file


def _open(folder: Path, name: str) -> IO[bytes]:
    """The file, which any user may lock and only its owner may write."""
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)
    try:
        return open(folder / name, "rb", opener=partial(_no_link, 0))
    except FileNotFoundError:
        return open(folder / name, "rb", opener=partial(_no_link, os.O_CREAT))


def _no_link(create: int, path: str, flags: int) -> int:
    return os.open(path, flags | create | os.O_NOFOLLOW, 0o644)


def _one_name(value: object) -> object:
    """An option; of a path, such as a port's, without links."""
    if isinstance(value, str) and value.startswith("/"):
        return os.path.realpath(value)
    return value


def _digest(config: DeviceConfig, device: Device) -> str:
    parameters = inspect.signature(type(device).__init__).parameters
    options = {
        name: config.options.get(name, entry.default)
        for name, entry in parameters.items()
        if entry.kind is entry.KEYWORD_ONLY
    }
    names = device.identity or tuple(sorted(options))
    text = repr([type(device).__qualname__, *(_one_name(options.get(name)) for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
