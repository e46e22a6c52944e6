"""A serial port that never waits, opened for exclusive use, with errors that say what to do.

pyserial sets rates, names ports and handles platforms; reading and writing bypass it, as its
`write` does not return while a line is full.
"""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from sofa_softctl.errors import (
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)


@dataclass(frozen=True)
class SerialPortSettings:
    """Limits of waiting bytes."""

    backlog_time_max: float = 0.05
    """Longest time that bytes may wait for the line [s]: older commands are worse than an error."""
    backlog_always_allowed: int = 256
    """Number of bytes that may always wait."""
    drain_timeout: float = 0.2
    """Time for the last bytes to be sent when a port is closed [s]."""


_SETTINGS = SerialPortSettings()

_GONE_ERRORS = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EBADF)
_GONE = "is gone: it was unplugged, or lost power. Plug it in and start again."


class SerialPort:
    """An open port, 8N1.

    Args:
        path: The port, such as '/dev/ttyACM0'.
        baud_rate: Rate [bit/s].

    Raises:
        DeviceUnavailableError: pyserial is not installed.
        DeviceOpenError: The port is missing, busy, not a serial port, or may not be opened.
    """

    def __init__(self, path: str, baud_rate: int) -> None:
        self.path, self.baud_rate = path, baud_rate
        serial = _pyserial()
        try:
            self._serial = serial.Serial(path, baud_rate, timeout=0, exclusive=True)
        except (OSError, ValueError, OverflowError) as error:  # pyserial's own is an OSError
            raise _open_error(path, baud_rate, error) from error
        self._fd: int = self._serial.fileno()
        if not os.ttyname(self._fd).startswith("/dev/pts/"):  # there it would outlive a crash
            fcntl.ioctl(self._fd, termios.TIOCEXCL)  # also against programs that ask for no lock

    def set_baud_rate(self, baud_rate: int) -> None:
        """Change the rate without closing the port."""
        self.baud_rate = self._serial.baudrate = baud_rate

    def write(self, data: bytes) -> None:
        """Send bytes without waiting.

        Raises:
            DeviceTimeoutError: The line does not take them; some may have gone out.
            DeviceFailedError: The port is gone, or failed.
        """
        sent_count = 0
        try:
            waiting = self._count("out_waiting")
            is_late = waiting > max(
                _SETTINGS.backlog_always_allowed, _SETTINGS.backlog_time_max * self.baud_rate / 10.0
            )
            if not is_late:
                sent_count = os.write(self._fd, data)
        except BlockingIOError as error:
            raise DeviceTimeoutError(f"no byte fits into {self._full()}") from error
        except (OSError, TypeError) as error:
            raise self._failure(error) from error
        if is_late:  # not raised above, where it would be taken for an error of the port
            raise DeviceTimeoutError(f"{waiting} bytes wait in {self._full()}")
        if sent_count < len(data):
            raise DeviceTimeoutError(f"{sent_count} of {len(data)} bytes fit into {self._full()}")

    def read(self) -> bytes:
        """Return the bytes that arrived since the last call, without waiting.

        Raises:
            DeviceFailedError: The port is gone, or failed.
        """
        data = b""
        try:
            while self._count("in_waiting"):
                data += os.read(self._fd, 4096)
        except BlockingIOError:
            return data
        except (OSError, TypeError) as error:
            raise self._failure(error) from error
        return data

    def discard_input(self) -> None:
        """Discard the bytes that arrived and were not read."""
        try:
            self._serial.reset_input_buffer()
        except (OSError, termios.error) as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Release the port once all bytes are sent or a short time has passed; raise nothing."""
        try:
            end = monotonic() + _SETTINGS.drain_timeout
            while self._count("out_waiting") and monotonic() < end:
                sleep(0.001)
            termios.tcflush(self._fd, termios.TCOFLUSH)  # else closing may wait for a dead line
        except (OSError, termios.error, TypeError):
            pass
        try:
            self._serial.close()
        except OSError:
            pass

    def _count(self, name: str) -> int:
        """Return a number of waiting bytes; retry after a signal, such as SIGCONT after a pause."""
        while True:
            try:
                return int(getattr(self._serial, name))
            except InterruptedError:
                continue

    def _failure(self, error: Exception) -> DeviceFailedError:
        number = error.args[0] if error.args else None
        if isinstance(error, TypeError) or number in _GONE_ERRORS:
            return DeviceFailedError(f"{self.path} {_GONE}")
        return DeviceFailedError(f"{self.path} failed: {error}. Plug it in again, and start again.")

    def _full(self) -> str:
        return (
            f"the line to {self.path}: the device reads nothing, or {self.baud_rate} bit/s are "
            "too slow for the rate of commands."
        )


def _pyserial() -> Any:
    try:
        import serial
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise DeviceUnavailableError(
            f"the Python package pyserial is not installed: {install_command('hardware')}"
        ) from error
    return serial


def _open_error(path: str, baud_rate: int, error: Exception) -> DeviceError:
    """Return the error for a port that did not open, with what to do."""
    number = getattr(error, "errno", None)
    text = str(error)
    if not path:
        return DeviceOpenError(f"no port is given. {_ports()}")
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.EIO):
        return DeviceOpenError(f"there is no port {path}. {_ports()}")
    if number in (errno.EACCES, errno.EPERM):
        return DeviceOpenError(f"no permission to open {path}. {_permission(path)}")
    if number in (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK):
        return DeviceOpenError(
            f"{path} is in use by another program: only one may send commands. Close it, for "
            f"example a serial monitor or another run; 'fuser {path}' names its process."
        )
    if isinstance(error, ValueError | OverflowError) or "baud" in text.lower():
        return DeviceOpenError(f"{path} cannot run at {baud_rate} bit/s: {text}.")
    if number in (errno.ENOTTY, errno.EISDIR) or "Inappropriate ioctl" in text:
        return DeviceOpenError(f"{path} is not a serial port. {_ports()}")
    return DeviceOpenError(f"{path} cannot be opened: {text}.")


def _ports() -> str:
    """Return a sentence with the ports of this computer."""
    from serial.tools.list_ports import comports

    ports = [
        port.device if port.description == "n/a" else f"{port.device} ({port.description})"
        for port in sorted(comports())
    ]
    if not ports:
        return "This computer has no serial port now: is the board plugged in, and powered?"
    return f"Ports of this computer: {', '.join(ports)}."


def _permission(path: str) -> str:
    """Return a sentence that says how to get permission for a port."""
    status = os.stat(path)
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    if not status.st_mode & 0o060 or group == "root":
        return (
            f"Its mode is {status.st_mode & 0o777:o}, its group '{group}': sudo chmod a+rw {path}"
        )
    return (
        f"It belongs to the group '{group}': run 'sudo usermod -aG {group} $USER', log out and in "
        "again."
    )


HEADER = (255, 254)
"""Bytes before the values, and with `split` before the second half."""


def packet(values: Sequence[int], header: Sequence[int], *, precise: bool, split: bool) -> bytes:
    """Return the bytes of a packet.

    Args:
        values: Value of each channel: 0 to 255, or 0 to 65535 with `precise`.
        header: One byte, or two with `split`.
        precise: Write two bytes per value, the higher one first.
        split: Put the second header in the middle of the values' bytes, even within a value; only
            with `precise`.
    """
    content = b"".join(value.to_bytes(2 if precise else 1, "big") for value in values)
    if split:
        middle = len(values)
        content = content[:middle] + bytes([header[1]]) + content[middle:]
    return bytes([header[0]]) + content
