"""Topics that a ROS device publishes and reads, and received messages."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import numpy as np

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Feedback, explain_silence
from sofa_softctl.bridge.devices import ros_messages as messages
from sofa_softctl.errors import ConfigError, DeviceOpenError, DeviceTimeoutError

STOP_TYPE = "std_msgs/Bool"
_MESSAGES_MAX = 1000
"""Greatest number of messages that wait to be read."""
_RUNS = "Does the node that publishes it run, with these names?"


class Topics:
    """Part of both ROS devices: checked options, the queue of messages, conversion to feedback.

    Args:
        label: The device, for messages.
        topic: Topic of commands, or "" for a device that only measures.
        type: Type of the commands.
        joints: Name of each value by its channel; by default names of the actuators.
        feedback_topic: Topic with positions, or "".
        feedback_type: Type of the feedback.
        signals: Topic and type of each signal, as 'TOPIC TYPE'.
        answer_timeout: Longest silence of the feedback's topic [s].

    Raises:
        ConfigError: A type that is not known, or a signal without one.
    """

    def __init__(
        self,
        label: str,
        topic: str,
        type: str,
        joints: Sequence[str],
        feedback_topic: str,
        feedback_type: str,
        signals: Mapping[str, str],
        answer_timeout: float,
    ) -> None:
        self.where, self.topic, self.joints = label, topic, list(joints)
        self.answer_timeout = answer_timeout
        self.type = messages.check_type("type", type, messages.COMMANDS)
        self.read: dict[str, tuple[str, str]] = {}
        """Topic and type of everything that is read; the key '' is the feedback's."""
        if feedback_topic:
            kind = messages.check_type("feedback_type", feedback_type, messages.COMMANDS)
            self.read[""] = (feedback_topic, kind)
        for name, text in signals.items():
            topic_name, _, kind = text.partition(" ")
            signal_kind = messages.check_type(
                f"signals.{name}", kind.strip(), tuple(messages.SIGNALS)
            )
            self.read[name] = (topic_name, signal_kind)
        if "" in signals:
            raise ConfigError("signals: a signal needs a name")
        self.count = 0
        """Messages that have arrived."""
        self.dropped: Counter[str] = Counter()
        """Unusable messages by reason, see `Device.dropped`."""
        self._arrived: deque[tuple[str, Any, float]] = deque(maxlen=_MESSAGES_MAX)
        self._numbers: list[int] = []

    def open(self, channels: Sequence[ChannelSetup]) -> None:
        """Set the channels and the names of their joints.

        Raises:
            DeviceOpenError: There is no topic for commands, a value of the message has no channel,
                or there is another number of joints.
        """
        if channels and not self.topic:
            raise DeviceOpenError(
                f"{self.where}: actuators use it, and it has no `topic` for commands."
            )
        by_number = {channel.number: channel for channel in channels}
        missing = sorted(set(range(len(by_number))) - by_number.keys())
        if missing:
            raise DeviceOpenError(
                f"{self.where}: no actuator uses channel {missing[0]}, and a message on "
                f"{self.topic} has a value for each from 0 to {max(by_number)}."
            )
        if self.joints and len(self.joints) != len(channels):
            raise DeviceOpenError(
                f"{self.where}: {len(self.joints)} joints ({', '.join(self.joints)}) for "
                f"{len(channels)} channels: give one name a channel."
            )
        self._order = [channel.number for channel in channels]
        self._numbers = sorted(by_number)
        self.names = self.joints or [by_number[number].name for number in self._numbers]
        self._arrived.clear()
        self._positions: dict[int, float] = {}
        self._heard = monotonic()  # time of the last usable message of the feedback's topic
        self._first = False  # whether `take_feedback` has yet to return positions of `wait`

    def command(self, values: np.ndarray) -> dict[str, Any]:
        """Return the fields of a message with values of the channels, in the order of `open`."""
        by_number = dict(zip(self._order, values.tolist(), strict=True))
        return self._message(by_number)

    def hold(self) -> dict[str, Any] | None:
        """Return the fields of a command that holds the measured positions, if all are known."""
        if len(self._positions) < len(self._numbers) or not self._numbers:
            return None
        return self._message(self._positions)

    def store(self, name: str, message: Any) -> None:
        """Store a message that arrived; from any thread."""
        self._arrived.append((name, message, monotonic()))
        self.count += 1

    def wait(self, longest: float, spin: Callable[[], None]) -> None:
        """Wait for positions of all channels, if there is a topic of feedback.

        Args:
            longest: Timeout [s].
            spin: Called repeatedly; returns soon.

        Raises:
            DeviceTimeoutError: Positions are missing.
        """
        end = monotonic() + longest
        while "" in self.read and len(self._positions) < len(self._numbers):
            if monotonic() > end:
                missing = [n for i, n in enumerate(self.names) if i not in self._positions]
                raise DeviceTimeoutError(
                    f"{self.where}: no position of {', '.join(missing)} on {self.read[''][0]} "
                    f"within {longest:g} s. " + explain_silence(self.dropped, _RUNS)
                )
            spin()
            self.take_feedback()
        self._heard = monotonic()
        self._first = bool(self._positions)

    def take_feedback(self) -> Feedback | None:
        """Return the feedback since the last call, or None; at first with positions of `wait`.

        Its time is that of the last usable message of the feedback's topic, if there is one:
        neither signals nor messages without positions make old positions new.
        """
        positions: dict[int, float] = dict(self._positions) if self._first else {}
        efforts: dict[int, float] = {}
        signals: dict[str, np.ndarray] = {}
        self._first, signal_time = False, self._heard
        while self._arrived:
            name, message, time = self._arrived.popleft()
            try:
                if name:
                    signals[name] = messages.SIGNALS[self.read[name][1]](message)
                    signal_time = time
                    continue
                values, forces = messages.positions(self.read[""][1], self.names, message)
            except (KeyError, AttributeError, TypeError, ValueError):
                self.dropped["of another type, or not complete"] += 1
                continue
            if not values and not forces:
                self.dropped["without a finite position of its joints"] += 1
                continue
            positions.update(values)
            efforts.update(forces)
            self._heard = time
        self._positions.update(positions)
        if not (positions or efforts or signals):
            return None
        return Feedback(
            self._heard if "" in self.read else signal_time, positions, efforts, signals
        )

    def check_silence(self) -> None:
        """Raise an error if there is no more feedback.

        Raises:
            DeviceTimeoutError: The topic of feedback is silent.
        """
        silence = monotonic() - self._heard
        if "" in self.read and silence > self.answer_timeout:
            raise DeviceTimeoutError(
                f"{self.where}: nothing {'of use ' * bool(self.dropped)}on {self.read[''][0]} for "
                f"{silence:.2g} s. "
                + explain_silence(self.dropped, "Does the node that publishes it still run?")
            )

    def capabilities(self, name: str, description: str, unit: str, watchdog: float) -> Capabilities:
        """Return the capabilities of a ROS device; the node behind a topic is unknown."""
        if not self.topic:
            description, watchdog = f"{description}, reads {len(self.read)} topics", 0.0
        note = (
            f"device '{name}': what is behind {self.topic} is said to have no watchdog. Where it "
            "has one, give its time as `watchdog`."
        )
        return Capabilities(
            description=f"{description}, {self.type} on {self.topic}"
            if self.topic
            else description,
            unit=unit,
            resolution=0.0,
            range=(-float("inf"), float("inf")),
            rate_max=float("inf"),
            watchdog=watchdog or None,
            acknowledges=False,
            moves=bool(self.topic),
            measures="" in self.read,
            notes=() if watchdog or not self.topic else (note,),
        )

    def _message(self, values: Mapping[int, float]) -> dict[str, Any]:
        return messages.command(self.type, self.names, [values[n] for n in self._numbers])
