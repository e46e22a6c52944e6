"""Checks of a device's options, capabilities and feedback."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sofa_softctl.bridge.device import Capabilities, ChannelSetup, Feedback, capability_fault


def check_signature(device: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Check that options are passed by keyword, with types: they are keys of a configuration file.

    Raises:
        AssertionError: An option is not as expected.
    """
    if not isinstance(device, type):
        return
    kind = device.__name__
    first, *options_of_class = inspect.signature(device).parameters.values()
    if first.name != "name" or first.kind is not first.POSITIONAL_OR_KEYWORD:
        raise AssertionError(
            f"{kind}: expected the name of its table as first argument, `name: str`, got '{first}'."
        )
    for option in options_of_class:
        if option.kind is not option.KEYWORD_ONLY:
            raise AssertionError(
                f"{kind}: expected every option by keyword, as in `(self, name: str, *, port: str, "
                f"baud_rate: int = 115200)`, got '{option}' without a `*` before it."
            )
        if option.annotation is option.empty:
            raise AssertionError(f"{kind}: expected a type for the option '{option.name}'.")
    names = [option.name for option in options_of_class]
    for name in options:
        if name not in names:
            raise AssertionError(f"{kind}: there is no option '{name}'. It has: {names}.")


def check_capabilities(kind: str, capabilities: Any, channels: Sequence[ChannelSetup]) -> None:
    """Check that the result of `open` is complete and fits the channels.

    Raises:
        AssertionError: A field is not as expected.
    """
    if fault := capability_fault(capabilities):
        raise AssertionError(f"{kind}: {fault}.")
    low, high = capabilities.range
    for channel in channels:
        if not low <= channel.low <= channel.high <= high:
            raise AssertionError(
                f"{kind}: channel {channel.number} of this check goes from {channel.low:g} to "
                f"{channel.high:g}, the device's range is {low:g} to {high:g}. Give `check_device` "
                f"channels within it."
            )


class FeedbackCheck:
    """Check of each feedback of a device, with the last received values.

    Args:
        kind: Name of the device's class, for messages.
        numbers: Numbers of the channels.
        capabilities: Capabilities that the device returned when it was opened.
    """

    def __init__(self, kind: str, numbers: Sequence[int], capabilities: Capabilities) -> None:
        self.kind, self.numbers, self.capabilities = kind, numbers, capabilities
        self.time = self.device_time = -math.inf
        self.acknowledged: int | None = None
        self.positions: dict[int, float] = {}

    def check_feedback(self, feedback: Any, began: float, now: float, sent: Sequence[int]) -> None:
        """Check one feedback.

        Args:
            feedback: Result of `read`.
            began: Time at which the device was opened [s].
            now: Present time [s].
            sent: Numbers of the commands until now.

        Raises:
            AssertionError: A field is not as expected.
        """
        kind = self.kind
        if not isinstance(feedback, Feedback):
            raise AssertionError(f"{kind}: expected Feedback or None from read, got {feedback!r}.")
        if not (max(began, self.time) <= feedback.time <= now):
            raise AssertionError(
                f"{kind}: Feedback.time: expected when it arrived, from {max(began, self.time):.6f}"
                f" to now, {now:.6f} of time.monotonic(), got {feedback.time!r}."
            )
        self.time = feedback.time
        for name in ("positions", "efforts"):
            for number, value in getattr(feedback, name).items():
                if number not in self.numbers or not math.isfinite(value):
                    raise AssertionError(
                        f"{kind}: Feedback.{name}: expected finite numbers of the channels "
                        f"{list(self.numbers)}, got {value!r} of {number!r}."
                    )
        for name, signal in feedback.signals.items():
            if not (isinstance(name, str) and isinstance(signal, np.ndarray) and signal.ndim == 1):
                raise AssertionError(
                    f"{kind}: Feedback.signals: expected arrays of shape (n,) by name, got "
                    f"{name!r}: {signal!r}."
                )
        if feedback.device_time is not None:
            if not feedback.device_time >= self.device_time:
                raise AssertionError(
                    f"{kind}: Feedback.device_time: expected no step back from "
                    f"{self.device_time:g} s, got {feedback.device_time:g} s."
                )
            self.device_time = feedback.device_time
        self.positions.update(feedback.positions)
        if feedback.acknowledged is not None:
            self._acknowledge(feedback.acknowledged, sent)

    def _acknowledge(self, number: int, sent: Sequence[int]) -> None:
        if not self.capabilities.acknowledges:
            raise AssertionError(
                f"{self.kind}: Feedback.acknowledged: expected None, as Capabilities.acknowledges "
                f"is False, got {number}."
            )
        if number not in sent:
            raise AssertionError(
                f"{self.kind}: Feedback.acknowledged: expected the number of a command that was "
                f"sent, {f'{sent[0]} to {sent[-1]}' if sent else 'none yet'}, got {number}. Numbers"
                f" that a device sends modulo 2^16 continue from the last command's."
            )
        if self.acknowledged is not None and number < self.acknowledged:
            raise AssertionError(
                f"{self.kind}: Feedback.acknowledged: expected no step back from "
                f"{self.acknowledged}, got {number}."
            )
        self.acknowledged = number
