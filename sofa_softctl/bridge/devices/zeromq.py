"""A lab's own program, or a camera's stream of poses, over ZeroMQ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from sofa_softctl.bridge.devices.computers import one_name
from sofa_softctl.bridge.devices.peer import PeerDevice
from sofa_softctl.errors import (
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

_MOST = 1000
"""Messages that are taken in one call: a flood must not hold up the others."""
_WAITING = 4
"""Commands that wait for a slow program; more are dropped, as they would be old."""
_BYTES_MAX = 1 << 20
"""A sender of longer messages is cut off."""


class ZeroMqDevice(PeerDevice):
    """A program that speaks the messages of docs/reference/bridge-messages.md over ZeroMQ.

    Commands are published (PUB), measurements are subscribed to (SUB); of a message of several
    parts, as with topics, the last part counts. With `receive` alone it is a reader.

    Args:
        name: Name of its table in the configuration file.
        send: Endpoint of commands, such as 'tcp://192.168.0.7:5555'; empty: a reader.
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
        transport, _, place = options["send"].partition("://")
        if transport != "tcp":
            return transport, place
        host, _, port = place.rpartition(";")[2].rpartition(":")  # behind ';': not our own end
        return transport, one_name(host.strip("[]")), port

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
                self._out = self._opened(zmq, zmq.PUB, self.send)
            if self.receive:
                self._in = self._opened(zmq, zmq.SUB, self.receive)
        except DeviceOpenError:
            self._disconnect()
            raise
        return f"ZeroMQ with {' and '.join(filter(None, (self.send, self.receive)))}"

    def _opened(self, zmq: Any, kind: int, endpoint: str) -> Any:
        found = self._context.socket(kind)
        found.linger = 0
        if kind == zmq.PUB:
            found.sndhwm = _WAITING
        else:
            found.rcvhwm = _MOST
            found.maxmsgsize = _BYTES_MAX
            found.subscribe(b"")
        try:
            found.bind(endpoint) if self.bind else found.connect(endpoint)
        except zmq.ZMQError as error:
            found.close()
            text = f"{self._where}: endpoint '{endpoint}': {error.strerror}."
            if error.errno == zmq.EADDRINUSE:
                text += " Another program of this computer has it already."
            elif error.errno in (zmq.EINVAL, zmq.EPROTONOSUPPORT):
                text += " An endpoint is such as 'tcp://192.168.0.7:5555' or 'ipc:///tmp/robot'."
            raise DeviceOpenError(text) from error
        return found

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
        found: list[bytes] = []
        if self._in is None:
            return found
        try:
            while len(found) < _MOST:
                found.append(self._in.recv_multipart(zmq.NOBLOCK)[-1])
        except zmq.Again:
            pass
        except zmq.ZMQError as error:
            raise DeviceFailedError(f"{self._where}: {self._with}: {error.strerror}.") from error
        return found

    def _disconnect(self) -> None:
        for one in (self._out, self._in):
            if one is not None:
                one.close()
        self._out = self._in = None
        context, self._context = self._context, None
        if context is not None:
            context.term()


def _pyzmq() -> Any:
    try:
        import zmq
    except ImportError as error:
        raise DeviceUnavailableError(
            "the Python package pyzmq is not installed: pip install 'sofa-softctl[hardware]'"
        ) from error
    return zmq
