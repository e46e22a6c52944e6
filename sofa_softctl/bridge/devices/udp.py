"""A lab's own program, or a camera's stream of poses, over UDP."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from sofa_softctl.bridge.devices.computers import unique_name
from sofa_softctl.bridge.devices.peer import PeerDevice
from sofa_softctl.bridge.protocol.json_messages import SIZE_MAX
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError

_MESSAGES_MAX = 1000
"""Greatest number of messages per call: a flood must not delay other devices."""


class UdpDevice(PeerDevice):
    """A program that speaks the messages of docs/reference/bridge-messages.md in UDP datagrams.

    With `host` and `port` commands go there, and only messages from there count; the program
    answers to a command's sender. With only `bind` it is a reader, such as of a camera,
    that takes measurements from everybody.

    Args:
        name: Name of its table in the configuration file.
        host: Computer of the program, or "" for a reader.
        port: Port of the program.
        bind: Address of this computer at which messages arrive, such as '0.0.0.0:9001' or ':9001';
            empty: any free port.
        unit: Unit of the values of its channels.
        answers: Whether it answers commands; without, nobody notices that it is gone.
        watchdog: Silence after which it promises to stop its motors [s]; 0: it does not.
        timeout: Time in which it must answer, or send its first measurement, when it is opened [s];
            0: do not wait.
        answer_timeout: Time in which it must answer later [s].
    """

    def __init__(
        self,
        name: str,
        *,
        host: str = "",
        port: int = 0,
        bind: str = "",
        unit: str = "",
        answers: bool = True,
        watchdog: float = 0.0,
        timeout: float = 3.0,
        answer_timeout: float = 0.5,
    ) -> None:
        super().__init__(
            name,
            unit=unit,
            answers=answers,
            watchdog=watchdog,
            timeout=timeout,
            answer_timeout=answer_timeout,
        )
        self.host, self.port, self.bind = host, port, bind
        self._socket: socket.socket | None = None

    @classmethod
    @override
    def identify(cls, options: Mapping[str, Any]) -> tuple[object, ...]:
        return unique_name(options["host"]), options["port"]

    @property
    @override
    def can_send(self) -> bool:
        return bool(self.host)

    def _connect(self) -> str:
        if bool(self.host) != bool(self.port) or not (self.host or self.bind):
            raise DeviceOpenError(
                f"{self._where}: give host and port of the program that takes commands, or bind "
                "for measurements that come by themselves."
            )
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        local = self._local(family)
        socket_ = socket.socket(family, socket.SOCK_DGRAM)
        try:
            socket_.setblocking(False)
            if local is not None:
                socket_.bind(local)
            if self.host:
                socket_.connect((self.host, self.port))
        except (OSError, OverflowError) as error:
            socket_.close()
            raise DeviceOpenError(f"{self._where}: {self._explanation(error)}") from error
        self._socket = socket_
        return f"UDP with {self.host}:{self.port}" if self.host else f"UDP at {self.bind}"

    def _local(self, family: int) -> tuple[str, int] | None:
        if not self.bind:
            return None
        host, _, port = self.bind.rpartition(":")
        if not port.isdecimal() or not 0 < int(port) < 2**16:
            raise DeviceOpenError(
                f"{self._where}: bind is an address and a port, such as '0.0.0.0:9001' or ':9001'; "
                f"got '{self.bind}'."
            )
        anywhere = "::" if family == socket.AF_INET6 else "0.0.0.0"
        return host.strip("[]") or anywhere, int(port)

    def _explanation(self, error: Exception) -> str:
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            return (
                f"another program of this computer receives at {self.bind} already: close it, or "
                f"take another port; 'ss -ulpn' lists them."
            )
        if number == errno.EADDRNOTAVAIL:
            return f"this computer has no address {self.bind}; 'ip address' lists them."
        if isinstance(error, socket.gaierror):
            return f"no computer is known as '{self.host}' ({error.strerror})."
        return f"no UDP with {self.host or self.bind}:{self.port or ''}: {error}."

    def _send(self, data: bytes) -> None:
        assert self._socket is not None
        try:
            self._socket.send(data)
        except BlockingIOError as error:
            raise DeviceTimeoutError(
                f"{self._where}: the network does not take the messages to {self._with}."
            ) from error
        except OSError as error:
            raise self._send_error(error) from error

    def _receive(self) -> list[bytes]:
        assert self._socket is not None
        messages: list[bytes] = []
        try:
            while len(messages) < _MESSAGES_MAX:
                messages.append(self._socket.recv(SIZE_MAX + 1))  # one more: it is too long
        except BlockingIOError:
            pass
        except OSError as error:
            if not messages:
                raise self._send_error(error) from error
        return messages

    def _send_error(self, error: OSError) -> DeviceFailedError:
        if error.errno == errno.ECONNREFUSED:
            return DeviceFailedError(
                f"{self._where}: nobody receives at {self.host}:{self.port}: the program there is "
                "not running."
            )
        return DeviceFailedError(f"{self._where}: {self._with} cannot be reached: {error}.")

    def _disconnect(self) -> None:
        socket_, self._socket = self._socket, None
        if socket_ is not None:
            socket_.close()
