"""ROS 1 or 2 on another computer or in a container, through rosbridge, by roslibpy."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from time import sleep
from typing import Any

from typing_extensions import override

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device, Feedback
from sofa_softctl.bridge.devices.computers import unique_name
from sofa_softctl.bridge.devices.ros_topics import STOP_TYPE, Topics
from sofa_softctl.errors import (
    DeviceError,
    DeviceFailedError,
    DeviceOpenError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

_UNSENT_BYTES_MAX = 65536
"""Number of unsent bytes above which the other side does not read."""
_CLOSE_TIMEOUT = 1.0
"""Timeout of closing the connection [s]."""


class RosbridgeDevice(Device):
    """Publishes commands to a topic, and reads positions and signals from others.

    roslibpy runs on a separate thread, with asyncio: Twisted is not loaded.

    Args:
        name: Name of its table in the configuration file.
        host: Computer on which rosbridge runs.
        port: Port of rosbridge.
        topic: Topic of commands, or "" for a reader, such as a camera.
        type: 'std_msgs/Float64MultiArray': value c belongs to channel c; or
            'sensor_msgs/JointState', with names. In this short form types fit ROS 1 and 2.
        joints: Names of the joints by channel; by default the actuators' names.
        feedback_topic: Topic with positions, or "".
        feedback_type: Type of the feedback, with the values of `type`.
        signals: Other topics that are read: name = "TOPIC TYPE", such as
            tip = "/camera/tip geometry_msgs/PoseStamped".
        stop_topic: Topic of a std_msgs/Bool, true at a stop, or "".
        unit: Unit of the values, for messages.
        watchdog: Silence after which what is behind the topic stops [s]; 0: it does not.
        open_timeout: Longest time until the first feedback [s].
        answer_timeout: Longest silence of the feedback later [s].
    """

    modules = ("roslibpy",)

    def __init__(
        self,
        name: str,
        *,
        host: str = "localhost",
        port: int = 9090,
        topic: str = "",
        type: str = "std_msgs/Float64MultiArray",
        joints: Sequence[str] = (),
        feedback_topic: str = "",
        feedback_type: str = "sensor_msgs/JointState",
        signals: Mapping[str, str] | None = None,
        stop_topic: str = "",
        unit: str = "rad",
        watchdog: float = 0.0,
        open_timeout: float = 3.0,
        answer_timeout: float = 0.5,
    ) -> None:
        super().__init__(name)
        self.host, self.port, self.stop_topic = host, port, stop_topic
        self.unit, self.watchdog, self.open_timeout = unit, watchdog, open_timeout
        self._where = f"device '{name}', rosbridge at {host}:{port}"
        self._type, self._feedback_type = type, feedback_type
        self._signals = dict(signals or {})
        self.topics = Topics(
            self._where,
            topic,
            type,
            joints,
            feedback_topic,
            feedback_type,
            self._signals,
            answer_timeout,
        )
        self._ros: Any = None

    @classmethod
    @override
    def identify(cls, options: Mapping[str, Any]) -> tuple[object, ...]:
        return unique_name(options["host"]), options["port"], options["topic"]

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self.topics.open(channels)
        self._ros = self._connect()
        try:
            self._set_up()
            self.topics.wait(self.open_timeout, lambda: sleep(2e-3))
        except DeviceError:
            self.close()
            raise
        return self.topics.capabilities(
            self.name, f"rosbridge at {self.host}:{self.port}", self.unit, self.watchdog
        )

    @override
    def write(self, command: Command) -> None:
        self._check_connection()
        if self.topics.topic:
            self._command.publish(self.topics.command(command.values))

    @override
    def read(self) -> Feedback | None:
        if self._ros is None:
            return None
        feedback = self.topics.take_feedback()
        if feedback is None:
            self._check_connection()
        self.topics.check_silence()
        return feedback

    @override
    def dropped(self) -> dict[str, int]:
        return dict(self.topics.dropped)

    def stop(self) -> None:
        """Send true on `stop_topic`, and the measured positions as a command."""
        if self._ros is None:
            return
        self._check_connection()
        if self.stop_topic:
            self._stop.publish({"data": True})
        if (fields := self.topics.hold()) is not None:
            self._command.publish(fields)

    @override
    def close(self) -> None:
        ros, self._ros = self._ros, None
        if ros is None:
            return
        closed = threading.Event()
        ros.on("close", lambda _: closed.set())
        try:
            if ros.is_connected:
                ros.close(timeout=_CLOSE_TIMEOUT)
                closed.wait(_CLOSE_TIMEOUT)
        except Exception:  # it is gone: there is nothing left to close
            pass

    def _connect(self) -> Any:
        try:
            import roslibpy
        except ImportError as error:
            from sofa_softctl.base.extras import install_command

            raise DeviceUnavailableError(
                f"the Python package roslibpy is not installed: {install_command('ros')}"
            ) from error
        logging.getLogger("roslibpy").setLevel(logging.CRITICAL)  # its errors are raised here
        start = (
            "ros2 launch rosbridge_server rosbridge_websocket_launch.xml (ROS 1: roslaunch "
            "rosbridge_server rosbridge_websocket.launch)"
        )
        try:  # roslibpy itself does not say why it cannot connect
            socket.create_connection((self.host, self.port), self.open_timeout).close()
        except (OSError, OverflowError) as error:
            raise DeviceOpenError(
                f"{self._where}: no connection: {error}. Start it there: {start}"
            ) from error
        ros = roslibpy.Ros(self.host, self.port, transport="asyncio")
        ros.factory.maxRetries = 0  # a motor must not start again by itself
        try:
            ros.run(timeout=self.open_timeout)
        except roslibpy.core.RosTimeoutError as error:
            raise DeviceTimeoutError(
                f"{self._where}: no answer within {self.open_timeout:g} s: something else than "
                f"rosbridge listens there? {start}"
            ) from error
        return ros

    def _set_up(self) -> None:
        from roslibpy import Topic

        def topic(name: str, kind: str) -> Any:
            return Topic(self._ros, name, kind, queue_size=1, reconnect_on_close=False)

        if self.topics.topic:
            self._command = topic(self.topics.topic, self._type)
            self._command.advertise()
        if self.stop_topic:
            self._stop = topic(self.stop_topic, STOP_TYPE)
            self._stop.advertise()
        for name, (topic_name, kind) in self.topics.read.items():
            given_kind = (
                self._signals[name].partition(" ")[2].strip() if name else self._feedback_type
            )
            topic(topic_name, given_kind or kind).subscribe(partial(self.topics.store, name))

    def _check_connection(self) -> None:
        if self._ros is None:
            raise DeviceFailedError(f"{self._where} is not open.")
        connection = self._ros.factory._proto
        if connection is None or not self._ros.is_connected:
            raise DeviceFailedError(f"{self._where}: the connection is lost.")
        if connection.transport.get_write_buffer_size() > _UNSENT_BYTES_MAX:
            raise DeviceTimeoutError(f"{self._where}: it does not read what is sent.")
