"""A lab's own program, or a camera's stream of poses, over ZeroMQ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from sofa_softctl.bridge.devices.computers import unique_name
from sofa_softctl.bridge.devices.peer import PeerDevice
from sofa_softctl.errors import (
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

_MESSAGES_MAX = 1000
"""Greatest number of messages per call: a flood must not delay other devices."""
_COMMANDS_MAX = 4
"""Number of commands that wait for a slow program; further ones are dropped."""
_BYTES_MAX = 1 << 20
"""Greatest size of a message [bytes]; senders of longer ones are disconnected."""


class ZeroMqDevice(PeerDevice):
    """A program that speaks the messages of docs/reference/bridge-messages.md over ZeroMQ.

    Commands are published (PUB), measurements are subscribed to (SUB); of a message of several
    parts, as with topics, the last part counts. With only `receive` it is a reader.

    Args:
        name: Name of its table in the configuration file.
        send: Endpoint of commands, such as 'tcp://192.168.0.7:5555', or "" for a reader.
        receive: Endpoint of answers or measurements, such as 'tcp://192.168.0.7:5556'.
        bind: Whether this computer binds the endpoints, and the program connects to them.
        unit: Unit of the values of its channels.
        answers: Whether it answers commands; without, nobody notices that it is gone.
        watchdog: Silence after which it promises to stop its motors [s]; 0: it does not.
        timeout: Time in which it must answer, or send its first measurement, when it is opened [s];
            0: do not wait.
        answer_timeout: Time in which it must answer later [s].
    """

    modules = ("zmq",)

    def __init__(
        self,
        name: str,
        *,
        send: str = "",
        receive: str = "",
        bind: bool = False,
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
        self.send, self.receive, self.bind = send, receive, bind
        self._context: Any = None
        self._out: Any = None
        self._in: Any = None

    @classmethod
    @override
    def identify(cls, options: Mapping[str, Any]) -> tuple[object, ...]:
        transport, _, address = options["send"].partition("://")
        if transport != "tcp":
            return transport, address
        host, _, port = address.rpartition(";")[2].rpartition(":")  # behind ';': not our own end
        return transport, unique_name(host.strip("[]")), port

    @property
    @override
    def can_send(self) -> bool:
        return bool(self.send)

    def _connect(self) -> str:
        zmq = _pyzmq()
        if not (self.send or self.receive):
            raise DeviceOpenError(f"{self._where}: give the endpoints send, receive, or both.")
        if self.send and self.answers and not self.receive:
            raise DeviceOpenError(
                f"{self._where}: give the endpoint receive of its answers, or answers = false."
            )
        self._context = zmq.Context()
        try:
            if self.send:
                self._out = self._open_socket(zmq, zmq.PUB, self.send)
            if self.receive:
                self._in = self._open_socket(zmq, zmq.SUB, self.receive)
        except DeviceOpenError:
            self._disconnect()
            raise
        return f"ZeroMQ with {' and '.join(filter(None, (self.send, self.receive)))}"

    def _open_socket(self, zmq: Any, kind: int, endpoint: str) -> Any:
        socket = self._context.socket(kind)
        socket.linger = 0
        if kind == zmq.PUB:
            socket.sndhwm = _COMMANDS_MAX
        else:
            socket.rcvhwm = _MESSAGES_MAX
            socket.maxmsgsize = _BYTES_MAX
            socket.subscribe(b"")
        try:
            socket.bind(endpoint) if self.bind else socket.connect(endpoint)
        except zmq.ZMQError as error:
            socket.close()
            text = f"{self._where}: endpoint '{endpoint}': {error.strerror}."
            if error.errno == zmq.EADDRINUSE:
                text += " Another program of this computer has it already."
            elif error.errno in (zmq.EINVAL, zmq.EPROTONOSUPPORT):
                text += " An endpoint is such as 'tcp://192.168.0.7:5555' or 'ipc:///tmp/robot'."
            raise DeviceOpenError(text) from error
        return socket

    def _send(self, data: bytes) -> None:
        zmq = _pyzmq()
        try:
            self._out.send(data, zmq.NOBLOCK)
        except zmq.Again as error:
            raise DeviceTimeoutError(
                f"{self._where}: {self._with} does not take the messages."
            ) from error
        except zmq.ZMQError as error:
            raise DeviceFailedError(f"{self._where}: {self._with}: {error.strerror}.") from error

    def _receive(self) -> list[bytes]:
        zmq = _pyzmq()
        parts: list[bytes] = []
        if self._in is None:
            return parts
        try:
            while len(parts) < _MESSAGES_MAX:
                parts.append(self._in.recv_multipart(zmq.NOBLOCK)[-1])
        except zmq.Again:
            pass
        except zmq.ZMQError as error:
            raise DeviceFailedError(f"{self._where}: {self._with}: {error.strerror}.") from error
        return parts

    def _disconnect(self) -> None:
        for socket in (self._out, self._in):
            if socket is not None:
                socket.close()
        self._out = self._in = None
        context, self._context = self._context, None
        if context is not None:
            context.term()


def _pyzmq() -> Any:
    try:
        import zmq
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise DeviceUnavailableError(
            f"the Python package pyzmq is not installed: {install_command('hardware')}"
        ) from error
    return zmq
