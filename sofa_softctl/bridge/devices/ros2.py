"""ROS 2 on this computer or in its network, through rclpy, in a shell where ROS is set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any

from typing_extensions import override

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Command, Device, Feedback
from sofa_softctl.bridge.devices import ros_messages as messages
from sofa_softctl.bridge.devices.ros_topics import STOP_TYPE, Topics
from sofa_softctl.errors import (
    DeviceError,
    DeviceFailedError,
    DeviceTimeoutError,
    DeviceUnavailableError,
)

_READ_MAX = 100
"""Greatest number of messages per `read`."""


class Ros2Device(Device):
    """Publishes commands to a topic, and reads positions and signals from others.

    Somebody must subscribe to the topic of commands, when it is opened and later.

    Args:
        name: Name of its table in the configuration file, and of the node after 'softctl_'.
        topic: Topic of commands, or "" for a reader, such as a camera.
        type: 'std_msgs/Float64MultiArray': value c belongs to channel c; or
            'sensor_msgs/JointState', with names.
        joints: Names of the joints by channel; by default the actuators' names.
        feedback_topic: Topic with positions, or "".
        feedback_type: Type of the feedback, with the values of `type`.
        signals: Other topics that are read: name = "TOPIC TYPE", such as
            tip = "/camera/tip geometry_msgs/PoseStamped".
        stop_topic: Topic of a std_msgs/Bool, true at a stop, or "".
        unit: Unit of the values, for messages.
        watchdog: Silence after which what is behind the topic stops [s]; 0: it does not.
        open_timeout: Longest time until there is a subscriber, and the first feedback [s].
        answer_timeout: Longest silence of the feedback later [s].
    """

    identity = ("topic",)
    modules = ("rclpy",)

    def __init__(
        self,
        name: str,
        *,
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
        self.stop_topic, self.unit, self.watchdog = stop_topic, unit, watchdog
        self.open_timeout = open_timeout
        self._where = f"device '{name}', ROS 2"
        self.topics = Topics(
            self._where,
            topic,
            type,
            joints,
            feedback_topic,
            feedback_type,
            signals or {},
            answer_timeout,
        )
        self._context: Any = None

    @override
    def open(self, channels: Sequence[ChannelSetup]) -> Capabilities:
        self.topics.open(channels)
        self._start()
        try:
            end = monotonic() + self.open_timeout
            while self.topics.topic and not self._command.get_subscription_count():
                self._spin(0.01)
                if monotonic() > end:
                    raise DeviceTimeoutError(
                        f"{self._where}: nobody subscribes to {self.topics.topic} as "
                        f"{self.topics.type}: start the node that drives the motors; "
                        f"'ros2 topic info {self.topics.topic}' shows who does. Do ROS_DOMAIN_ID "
                        "and RMW_IMPLEMENTATION agree?"
                    )
            self.topics.wait(self.open_timeout, partial(self._spin, 0.01))
        except DeviceError:
            self.close()
            raise
        return self.topics.capabilities(self.name, "ROS 2", self.unit, self.watchdog)

    @override
    def write(self, command: Command) -> None:
        if self._context is None:
            raise DeviceFailedError(f"{self._where} is not open.")
        if not self.topics.topic:
            return
        if not self._command.get_subscription_count():
            raise DeviceFailedError(
                f"{self._where}: nobody subscribes to {self.topics.topic} any more: the node that "
                "drives the motors has ended."
            )
        self._publish(self.topics.command(command.values))

    @override
    def read(self) -> Feedback | None:
        if self._context is None:
            return None
        self._spin(0.0)
        feedback = self.topics.take_feedback()
        self.topics.check_silence()
        return feedback

    @override
    def dropped(self) -> dict[str, int]:
        return dict(self.topics.dropped)

    def stop(self) -> None:
        """Send true on `stop_topic`, and the measured positions as a command."""
        if self._context is None:
            return
        if self.stop_topic:
            self._stop.publish(self._stop_message(data=True))
        if (fields := self.topics.hold()) is not None:
            self._publish(fields)

    @override
    def close(self) -> None:
        context, self._context = self._context, None
        if context is None:
            return
        try:
            self._executor.shutdown()
            self._node.destroy_node()
            context.try_shutdown()
        except Exception:  # ROS was shut down by somebody else
            pass

    def _start(self) -> None:
        """Create a context and a node, apart from other ROS code in this process."""
        try:
            rclpy = import_module("rclpy")
            executors, qos = import_module("rclpy.executors"), import_module("rclpy.qos")
            kinds = {topic: _message_class(kind) for topic, kind in self._kinds().items()}
        except ImportError as error:
            raise DeviceUnavailableError(
                f"{self._where}: {error}. ROS 2 is not set up in this shell: "
                "source /opt/ros/jazzy/setup.bash (or that of your release), with the same Python "
                "as this one; or use type = 'rosbridge', which needs no ROS here."
            ) from error
        context = rclpy.context.Context()
        context.init()
        name = "softctl_" + "".join(c if c.isalnum() else "_" for c in self.name)
        self._node = rclpy.create_node(name, context=context, enable_rosout=False)
        self._executor = executors.SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        # An old command is worse than none; positions may be published by best effort.
        newest = qos.QoSProfile(depth=1)
        if topic := self.topics.topic:
            self._command_class = kinds[topic]
            self._command = self._node.create_publisher(self._command_class, topic, newest)
        if self.stop_topic:
            self._stop_message = kinds[self.stop_topic]
            self._stop = self._node.create_publisher(self._stop_message, self.stop_topic, newest)
        for key, (topic, _) in self.topics.read.items():
            self._node.create_subscription(
                kinds[topic], topic, partial(self.topics.store, key), qos.qos_profile_sensor_data
            )
        self._context = context

    def _kinds(self) -> dict[str, str]:
        """Return the type of each topic."""
        kinds = {topic: kind for topic, kind in self.topics.read.values()}
        if self.topics.topic:
            kinds[self.topics.topic] = self.topics.type
        if self.stop_topic:
            kinds[self.stop_topic] = STOP_TYPE
        return kinds

    def _publish(self, fields: Mapping[str, Any]) -> None:
        message = self._command_class()
        for name, value in fields.items():
            if name != "layout":  # empty, as it is in a new message
                setattr(message, name, value)
        if hasattr(message, "header"):
            message.header.stamp = self._node.get_clock().now().to_msg()
        self._command.publish(message)

    def _spin(self, longest: float) -> None:
        """Store received messages; wait up to `longest` for the first [s]."""
        for _ in range(_READ_MAX):
            before = self.topics.count
            self._executor.spin_once(timeout_sec=longest)
            if self.topics.count == before:
                return
            longest = 0.0


def _message_class(kind: str) -> Any:
    """Return the class of a message type."""
    package, name = messages.parts(kind)
    return getattr(import_module(f"{package}.msg"), name)
