"""Locks of devices, so that one run at a time moves a device; they end with their process."""

from __future__ import annotations

import fcntl
import hashlib
import inspect
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sofa_softctl.bridge.config.robot import DeviceConfig
from sofa_softctl.bridge.device import Device
from sofa_softctl.errors import DeviceOpenError

FOLDERS = ("/run/lock", "/tmp")
"""Folders of locks: the first that everybody may write to, else the temporary folder."""


@dataclass
class DeviceLock:
    """Lock until `release`, or until the end of its process."""

    file: IO[bytes] | None = None
    """The locked file, or None if there is no lock."""
    note: str = ""
    """Reason for a missing lock, for users, or ""."""

    def release(self) -> None:
        """Release the device for other runs."""
        file, self.file = self.file, None
        if file is not None:
            with suppress(OSError):  # another user's file stays
                os.unlink(file.name)
            file.close()


def lock_device(config: DeviceConfig, device: Device, robot: str) -> DeviceLock:
    """Lock a device for this process.

    Devices are the same if their class and their `Device.identify` are, in any
    configuration.

    Args:
        config: Table of the device.
        device: The device.
        robot: Name of the robot, shown to later runs.

    Raises:
        DeviceOpenError: Another run uses it, or still brings it to rest.
    """
    if device.shared:
        return DeviceLock()
    try:
        file = _open_locked(_folder(), f"{config.type}-{_digest(config, device)}")
    except BlockingIOError as error:
        raise DeviceOpenError(
            f"device '{config.name}' ({config.type}) is in use by {error}: another run moves it, "
            "or still brings it to rest after its scene was killed. Wait until it ends, or stop it."
        ) from None
    except OSError as error:
        return DeviceLock(
            note=f"device '{config.name}' could not be locked ({error}): nothing keeps another run "
            "from moving it, too. Make sure that there is none."
        )
    with suppress(OSError):  # of another user's file, who is not named then
        descriptor = os.open(file.name, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        os.write(descriptor, f"process {os.getpid()}, robot '{robot}'".encode(errors="replace"))
        os.close(descriptor)
    return DeviceLock(file)


def _folder() -> Path:
    for name in FOLDERS:
        with suppress(OSError):
            if os.stat(name).st_mode & stat.S_IWOTH:
                return Path(name) / "softctl-devices"
    return Path(tempfile.gettempdir()) / "softctl-devices"


def _open_locked(folder: Path, name: str) -> IO[bytes]:
    """Open and lock a file; any user may lock it, and only its owner may write it.

    Raises:
        BlockingIOError: Another process has locked it; the argument names the process.
        OSError: It cannot be opened or locked.
    """
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)
    while True:
        file = _open_lock_file(folder / name)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(file.name)):
                    return file
        except BlockingIOError:
            holder = file.read(200).decode(errors="replace") or "another process"
            file.close()
            raise BlockingIOError(holder) from None
        except OSError:
            file.close()
            raise
        file.close()  # it was released and removed meanwhile: another one counts now


def _open_lock_file(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb", opener=_no_link)
    except FileNotFoundError:
        file = open(path, "rb", opener=_create_file)
    with suppress(PermissionError):  # another user made it meanwhile
        os.fchmod(file.fileno(), 0o644)  # whatever the umask
    return file


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _create_file(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CREAT, 0o644)


def _one_name(value: object) -> object:
    """Return an option, with links resolved if it is a path, such as a port's."""
    if isinstance(value, str) and value.startswith("/"):
        return os.path.realpath(value)
    return value


def _digest(config: DeviceConfig, device: Device) -> str:
    parameters = inspect.signature(type(device).__init__).parameters
    options = {
        name: config.options.get(name, parameter.default)
        for name, parameter in parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    text = repr([type(device).__qualname__, *map(_one_name, device.identify(options))])
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
