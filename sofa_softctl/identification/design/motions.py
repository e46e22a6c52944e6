"""Families of motions: multisines, chirps, and steps with holds, of numbers between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.design.limits import InputLimits


@dataclass(frozen=True)
class MotionSettings:
    """Shape of motions."""

    tone_count: int = 6
    """Number of sines of a multisine."""
    hold_count: int = 8
    """Number of holds of a motion of steps."""
    amplitude_fraction_min: float = 0.2
    """Smallest amplitude of a wave, relative to the range [-]."""
    cycles_min: float = 0.5
    """Smallest number of cycles in a motion."""
    samples_per_cycle_min: float = 8.0
    """Smallest number of samples in a cycle."""


SETTINGS = MotionSettings()


class Multisine:
    """Sines at frequencies spread evenly in the logarithm, with a phase for each input."""

    name = "multisine"

    def size(self, inputs: int) -> int:
        """Number of parameters of a motion."""
        return 2 + inputs * (2 + SETTINGS.tone_count)

    def motion(self, x: np.ndarray, time: np.ndarray, inputs: int) -> np.ndarray:
        """Return the inputs as fractions of their ranges, shape (n_times, n_inputs)."""
        low, high = _frequencies(x[:2], time)
        angles = (
            2.0 * np.pi * np.outer(time - time[0], np.geomspace(low, high, SETTINGS.tone_count))
        )
        columns = []
        for amplitude, middle, *phases in x[2:].reshape(inputs, -1):
            wave = np.sin(angles + 2.0 * np.pi * np.array(phases)).sum(axis=1)
            columns.append(_place_wave(wave / np.abs(wave).max(), amplitude, middle))
        return np.column_stack(columns)


class Chirp:
    """A sine whose frequency grows or falls exponentially, with a phase for each input."""

    name = "chirp"

    def size(self, inputs: int) -> int:
        """Number of parameters of a motion."""
        return 3 + 3 * inputs

    def motion(self, x: np.ndarray, time: np.ndarray, inputs: int) -> np.ndarray:
        """Return the inputs as fractions of their ranges, shape (n_times, n_inputs)."""
        first, last = _frequencies(x[:2], time)
        if x[2] > 0.5:
            first, last = last, first
        t, growth = time - time[0], np.log(last / first) / (time[-1] - time[0])
        turns = first * (t if abs(growth) < 1e-9 else np.expm1(growth * t) / growth)
        return np.column_stack(
            [
                _place_wave(np.sin(2.0 * np.pi * (turns + phase)), amplitude, middle)
                for amplitude, middle, phase in x[3:].reshape(inputs, 3)
            ]
        )


class Steps:
    """Levels that are held for individual times, which are common to all inputs."""

    name = "steps and holds"

    def size(self, inputs: int) -> int:
        """Number of parameters of a motion."""
        return SETTINGS.hold_count * (1 + inputs)

    def motion(self, x: np.ndarray, time: np.ndarray, inputs: int) -> np.ndarray:
        """Return the inputs as fractions of their ranges, shape (n_times, n_inputs)."""
        hold_ends = np.cumsum(0.1 + x[: SETTINGS.hold_count])
        time_fraction = (time - time[0]) / (time[-1] - time[0])
        hold_index = np.searchsorted(hold_ends[:-1] / hold_ends[-1], time_fraction, side="right")
        return _concentrate_at_ends(
            x[SETTINGS.hold_count :].reshape(SETTINGS.hold_count, inputs)[hold_index]
        )


FAMILIES = (Multisine(), Chirp(), Steps())
"""Families that a design chooses among."""


def limit_inputs(
    fractions: np.ndarray, time: np.ndarray, limits: Sequence[InputLimits]
) -> np.ndarray:
    """Return the inputs for fractions of their ranges, from the first value, with limited rates.

    Args:
        fractions: Fractions of the ranges [-], shape (n_times, n_inputs).
        time: Times [s], shape (n_times,).
        limits: Limits of each input.

    Returns:
        Inputs [units], shape (n_times, n_inputs).
    """
    rows = [(limit.low, limit.high, limit.rate, limit.begin) for limit in limits]
    low, high, rate, begin = np.array(rows).T
    target = low + np.clip(fractions, 0.0, 1.0) * (high - low)
    step_max = rate * np.diff(time)[:, None]  # (n_times - 1, n_inputs)
    inputs = np.concatenate([[begin], target[1:]])
    if (np.abs(np.diff(inputs, axis=0)) <= step_max).all():
        return inputs
    for k, step in enumerate(step_max):
        inputs[k + 1] = inputs[k] + np.clip(target[k + 1] - inputs[k], -step, step)
    return inputs


def _frequencies(x: np.ndarray, time: np.ndarray) -> tuple[float, float]:
    """Return two ordered frequencies [Hz], even in the logarithm of the possible ones."""
    duration = time[-1] - time[0]
    frequency_min, frequency_max = (
        SETTINGS.cycles_min / duration,
        max(
            (len(time) - 1) / duration / SETTINGS.samples_per_cycle_min,
            SETTINGS.cycles_min / duration,
        ),
    )
    low, high = np.sort(frequency_min * (frequency_max / frequency_min) ** x)
    return float(low), float(high)


def _place_wave(wave: np.ndarray, amplitude: float, middle: float) -> np.ndarray:
    """Scale a wave between -1 and 1, and place it in the range that its amplitude allows."""
    amplitude = SETTINGS.amplitude_fraction_min + (1.0 - SETTINGS.amplitude_fraction_min) * float(
        _concentrate_at_ends(np.array(amplitude))
    )
    half_amplitude = 0.5 * amplitude
    wave_in_range: np.ndarray = half_amplitude + (1.0 - amplitude) * middle + half_amplitude * wave
    return wave_in_range


def _concentrate_at_ends(x: np.ndarray) -> np.ndarray:
    """Map numbers from 0 to 1 to denser ones at both ends, which are most informative."""
    denser: np.ndarray = 0.5 - 0.5 * np.cos(np.pi * x)
    return denser
