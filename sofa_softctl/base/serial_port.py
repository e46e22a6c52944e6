"""A serial port that never waits, opened for this process alone, with errors that say what to do.

It needs pyserial for rates, names of ports and platforms; reading and writing go past it, as its
`write` does not return while a line is full.
"""

from __future__ import annotations

import errno
import fcntl
import grp
import os
import termios
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

from sofa_softctl.errors import (
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

_BACKLOG = 0.05
"""Most time that bytes may wait for the line [s]: older commands are worse than an error."""
_BACKLOG_MIN = 256
"""Bytes that may wait in any case."""
_DRAIN = 0.2
"""Time that the last bytes have to go out when a port is closed [s]."""
_GONE_ERRORS = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.EBADF)
_GONE = "is gone: it was unplugged, or lost power. Plug it in and start again."


class SerialPort:
    """An open port, 8N1.

    Args:
        path: The port, such as '/dev/ttyACM0'.
        baud_rate: Its rate [bit/s].

    Raises:
        DeviceUnavailableError: pyserial is not installed.
        DeviceOpenError: The port is missing, busy, no serial port, or may not be opened.
    """

    def __init__(self, path: str, baud_rate: int) -> None:
        self.path, self.baud_rate = path, baud_rate
        serial = _pyserial()
        try:
            self._serial = serial.Serial(path, baud_rate, timeout=0, exclusive=True)
        except (OSError, ValueError, OverflowError) as error:  # pyserial's own is an OSError
            raise _explained(path, baud_rate, error) from error
        self._fd: int = self._serial.fileno()
        if not os.ttyname(self._fd).startswith("/dev/pts/"):  # there it would outlive a crash
            fcntl.ioctl(self._fd, termios.TIOCEXCL)  # also against programs that ask for no lock

    def set_baud_rate(self, baud_rate: int) -> None:
        """Go on at another rate, without closing."""
        self.baud_rate = self._serial.baudrate = baud_rate

    def write(self, data: bytes) -> None:
        """Send bytes without waiting.

        Raises:
            DeviceTimeoutError: The line does not take them; some may have gone out.
            DeviceFailedError: The port is gone, or failed.
        """
        taken = 0
        try:
            waiting = self._count("out_waiting")
            late = waiting > max(_BACKLOG_MIN, _BACKLOG * self.baud_rate / 10.0)
            if not late:
                taken = os.write(self._fd, data)
        except BlockingIOError as error:
            raise DeviceTimeoutError(f"no byte fits into {self._full()}") from error
        except (OSError, TypeError) as error:
            raise self._failed(error) from error
        if late:  # not raised above, where it would be taken for an error of the port
            raise DeviceTimeoutError(f"{waiting} bytes wait in {self._full()}")
        if taken < len(data):
            raise DeviceTimeoutError(f"{taken} of {len(data)} bytes fit into {self._full()}")

    def read(self) -> bytes:
        """The bytes that arrived since the last call. Does not wait.

        Raises:
            DeviceFailedError: The port is gone, or failed.
        """
        found = b""
        try:
            while self._count("in_waiting"):
                found += os.read(self._fd, 4096)
        except BlockingIOError:
            return found
        except (OSError, TypeError) as error:
            raise self._failed(error) from error
        return found

    def discard_input(self) -> None:
        """Throw away what arrived and was not read."""
        try:
            self._serial.reset_input_buffer()
        except (OSError, termios.error) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Release the port once what was written has gone out, soon in any case; raises nothing."""
        try:
            end = monotonic() + _DRAIN
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
        """Bytes that wait; asked again if a signal interrupts it, such as SIGCONT after a pause."""
        while True:
            try:
                return int(getattr(self._serial, name))
            except InterruptedError:
                continue

    def _failed(self, error: Exception) -> DeviceFailedError:
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
        raise DeviceUnavailableError(
            "the Python package pyserial is not installed: pip install 'sofa-softctl[hardware]'"
        ) from error
    return serial


def _explained(path: str, baud_rate: int, error: Exception) -> DeviceError:
    """What to do about a port that did not open."""
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
        return DeviceOpenError(f"{path} is no serial port. {_ports()}")
    return DeviceOpenError(f"{path} cannot be opened: {text}.")


def _ports() -> str:
    """The ports that there are."""
    from serial.tools.list_ports import comports

    found = [
        port.device if port.description == "n/a" else f"{port.device} ({port.description})"
        for port in sorted(comports())
    ]
    if not found:
        return "This computer has no serial port now: is the board plugged in, and powered?"
    return f"Ports of this computer: {', '.join(found)}."


def _permission(path: str) -> str:
    """How to get it."""
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
"""Bytes before the first, and with `split` the second part."""


def packet(values: Sequence[int], header: Sequence[int], *, precise: bool, split: bool) -> bytes:
    """The bytes of a packet.

    Args:
        values: One a channel: 0 to 255, with `precise` 0 to 65535.
        header: One byte, or two with `split`.
        precise: Whether a value has two bytes, the higher one first.
        split: Whether the second header stands in the middle of the bytes of the values, also where
            that is within a value; with `precise` alone.
    """
    content = b"".join(value.to_bytes(2 if precise else 1, "big") for value in values)
    if split:
        half = len(values)
        content = content[:half] + bytes([header[1]]) + content[half:]
    return bytes([header[0]]) + content
