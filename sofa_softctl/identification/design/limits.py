"""Limits of a designed motion: those that the recordings kept, or wider ones if asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.recording import Recording
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.problem import Problem

ROOM = 0.1
"""Predicted outputs may leave the range of the measured ones by this share of it."""


@dataclass(frozen=True)
class InputLimits:
    """What a designed motion may command of one input."""

    name: str
    """Name of the input."""
    unit: str
    """Its unit."""
    low: float
    """Least value [unit]."""
    high: float
    """Greatest value [unit]."""
    rate: float
    """Largest rate [unit / s]."""
    begin: float
    """Value at the start, as the recordings begin [unit]."""
    widened: bool = False
    """Whether the range was given, and not taken from the recordings."""


def input_limits(
    problem: Problem,
    recordings: Sequence[Recording],
    amplitudes: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[InputLimits, ...]:
    """Limits of each input; those that cannot be commanded keep their first value.

    What noise of an input alone may add to the extremes of its recorded values and rates is taken
    off.

    Args:
        problem: Declares the inputs.
        recordings: Motions that the robot has made.
        amplitudes: Ranges [unit] that replace recorded ones, by name of the input.

    Raises:
        IdentificationError: No input can be commanded or changes, or a range is not possible.
    """
    given = dict(amplitudes or {})
    names = [one.name for one in problem.inputs]
    free = names if problem.commanded is None else list(problem.commanded)
    for name in given:
        if name not in free:
            raise IdentificationError(
                f"{problem.name}: there is no input '{name}' to be commanded."
                f"{did_you_mean(name, free)} It has: {', '.join(free) or 'none'}."
            )
    found = tuple(
        _limits(channel, [one.time for one in recordings], [one.inputs[:, k] for one in recordings])
        if channel.name in free
        else _held(channel, recordings[0].inputs[0, k])
        for k, channel in enumerate(problem.inputs)
    )
    channels = {one.name: one for one in problem.inputs}
    found = tuple(
        _widened(one, channels[one.name], *given[one.name]) if one.name in given else one
        for one in found
    )
    if not any(one.high > one.low for one in found):
        why = "the recorded ones are constant" if free else "none can be commanded by itself"
        raise IdentificationError(
            f"{problem.name}: there is no input that a designed motion could change: {why}."
        )
    return found


def output_range(
    recordings: Sequence[Recording], channels: Sequence[Channel]
) -> tuple[np.ndarray, np.ndarray]:
    """Range of outputs that the robot has shown, and `ROOM`, each of shape (n_outputs,)."""
    every = np.concatenate([one.outputs for one in recordings])
    there = np.isfinite(every)
    low = np.where(there, every, np.inf).min(axis=0)
    high = np.where(there, every, -np.inf).max(axis=0)
    seen = high >= low  # else: never measured
    room = ROOM * np.where(seen, high - low, 0.0)
    return np.where(seen, low - room, -np.inf), np.where(seen, high + room, np.inf)


def _limits(
    channel: Channel, times: Sequence[np.ndarray], values: Sequence[np.ndarray]
) -> InputLimits:
    every = np.concatenate(values)
    noise = channel.deviation * math.sqrt(2.0 * math.log(max(len(every), 2)))
    low, high = float(every.min()) + noise, float(every.max()) - noise
    if low >= high:  # it does not change by more than its noise
        low = high = float(np.median(every))
    rate = max(_rate(t, u, math.sqrt(2.0) * noise) for t, u in zip(times, values, strict=True))
    begin = float(np.clip(values[0][0], low, high))
    return InputLimits(channel.name, channel.unit, low, high, rate, begin)


def _rate(time: np.ndarray, values: np.ndarray, noise: float) -> float:
    """Largest rate between samples 1, 2, 4, ... apart that is not noise [unit / s]."""
    most, apart = 0.0, 1
    while apart < len(time):
        change = np.abs(values[apart:] - values[:-apart]) - noise
        most = max(most, float((change / (time[apart:] - time[:-apart])).max()))
        apart *= 2
    return most


def _held(channel: Channel, value: float) -> InputLimits:
    return InputLimits(channel.name, channel.unit, value, value, 0.0, value)


def _widened(one: InputLimits, channel: Channel, low: float, high: float) -> InputLimits:
    if not low < high:
        raise IdentificationError(
            f"The range of {one.name} is {low:g} to {high:g} {one.unit}. Expected its lower end "
            "first."
        )
    if max(-low, high) > channel.largest:
        raise IdentificationError(
            f"The range of {one.name}, {low:g} to {high:g} {one.unit}, is beyond "
            f"{channel.largest:g} {one.unit}, the largest that the problem declares."
        )
    rate = one.rate or high - low
    begin = min(max(one.begin, low), high)
    return InputLimits(one.name, one.unit, low, high, rate, begin, widened=True)
