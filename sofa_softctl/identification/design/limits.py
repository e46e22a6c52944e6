"""Limits of a designed motion: the ranges of the recordings, or ranges chosen by the user."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.model.recording import Recording


@dataclass(frozen=True)
class InputLimits:
    """Limits of one input for a designed motion."""

    name: str
    """Name of the input."""
    unit: str
    """Unit of the input."""
    low: float
    """Smallest value [unit]."""
    high: float
    """Largest value [unit]."""
    rate: float
    """Largest rate [unit / s]."""
    begin: float
    """Value at the start, as the recordings begin [unit]."""
    widened: bool = False
    """True if the user chose the range."""


def input_limits(
    problem: Problem,
    recordings: Sequence[Recording],
    amplitudes: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[InputLimits, ...]:
    """Return the limits of each input; inputs that cannot be commanded keep their first value.

    The effect of an input's noise on the extremes of its recorded values and rates is subtracted.

    Args:
        problem: Declares the inputs.
        recordings: Motions that the robot has made.
        amplitudes: Ranges [unit] that replace recorded ones, by name of the input.

    Raises:
        IdentificationError: No input can be commanded or changes, or a range is not possible.
    """
    ranges = dict(amplitudes or {})
    names = [channel.name for channel in problem.inputs]
    free = names if problem.commanded is None else list(problem.commanded)
    for name in ranges:
        if name not in free:
            raise IdentificationError(
                f"{problem.name}: there is no input '{name}' to be commanded."
                f"{did_you_mean(name, free)} It has: {', '.join(free) or 'none'}."
            )
    limits = tuple(
        _recorded_limits(
            channel,
            [recording.time for recording in recordings],
            [recording.inputs[:, k] for recording in recordings],
        )
        if channel.name in free
        else _constant_limits(channel, recordings[0].inputs[0, k])
        for k, channel in enumerate(problem.inputs)
    )
    channels = {channel.name: channel for channel in problem.inputs}
    limits = tuple(
        _replace_range(limit, channels[limit.name], *ranges[limit.name])
        if limit.name in ranges
        else limit
        for limit in limits
    )
    if not any(limit.high > limit.low for limit in limits):
        reason = "the recorded ones are constant" if free else "none can be commanded by itself"
        raise IdentificationError(
            f"{problem.name}: there is no input that a designed motion could change: {reason}."
        )
    return limits


def output_range(
    recordings: Sequence[Recording], channels: Sequence[Channel]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of recorded outputs, extended by a tenth, each of shape (n_outputs,)."""
    outputs = np.concatenate([recording.outputs for recording in recordings])
    is_measured = np.isfinite(outputs)
    low = np.where(is_measured, outputs, np.inf).min(axis=0)
    high = np.where(is_measured, outputs, -np.inf).max(axis=0)
    was_measured = high >= low  # else: never measured
    margin = 0.1 * np.where(was_measured, high - low, 0.0)
    return np.where(was_measured, low - margin, -np.inf), np.where(
        was_measured, high + margin, np.inf
    )


def _recorded_limits(
    channel: Channel, times: Sequence[np.ndarray], values: Sequence[np.ndarray]
) -> InputLimits:
    all_values = np.concatenate(values)
    noise = channel.deviation * math.sqrt(2.0 * math.log(max(len(all_values), 2)))
    low, high = float(all_values.min()) + noise, float(all_values.max()) - noise
    if low >= high:  # it does not change by more than its noise
        low = high = float(np.median(all_values))
    rate = max(
        _largest_rate(t, u, math.sqrt(2.0) * noise) for t, u in zip(times, values, strict=True)
    )
    begin = float(np.clip(values[0][0], low, high))
    return InputLimits(channel.name, channel.unit, low, high, rate, begin)


def _largest_rate(time: np.ndarray, values: np.ndarray, noise: float) -> float:
    """Return the largest rate between samples 1, 2, 4, ... apart, without noise [unit / s]."""
    rate_max, stride = 0.0, 1
    while stride < len(time):
        change = np.abs(values[stride:] - values[:-stride]) - noise
        rate_max = max(rate_max, float((change / (time[stride:] - time[:-stride])).max()))
        stride *= 2
    return rate_max


def _constant_limits(channel: Channel, value: float) -> InputLimits:
    return InputLimits(channel.name, channel.unit, value, value, 0.0, value)


def _replace_range(limit: InputLimits, channel: Channel, low: float, high: float) -> InputLimits:
    if not low < high:
        raise IdentificationError(
            f"The range of {limit.name} is {low:g} to {high:g} {limit.unit}. Expected its lower "
            "end "
            "first."
        )
    if max(-low, high) > channel.largest:
        raise IdentificationError(
            f"The range of {limit.name}, {low:g} to {high:g} {limit.unit}, is beyond "
            f"{channel.largest:g} {limit.unit}, the largest that the problem declares."
        )
    rate = limit.rate or high - low
    begin = min(max(limit.begin, low), high)
    return InputLimits(limit.name, limit.unit, low, high, rate, begin, widened=True)
