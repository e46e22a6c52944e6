"""Families of motions: multisines, chirps, and steps with holds, of numbers between 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.design.limits import InputLimits

TONES, HOLDS = 6, 8
"""Sines of a multisine, and holds of a motion of steps."""
LEAST = 0.2
"""Least amplitude of a wave, as share of the range."""
CYCLES = 0.5
"""Least number of cycles in a motion."""
SAMPLES = 8.0
"""Least number of samples in a cycle."""


class Multisine:
    """Sines at frequencies spread evenly in the logarithm, with a phase for each input."""

    name = "multisine"

    def size(self, inputs: int) -> int:
        """How many numbers make a motion."""
        return 2 + inputs * (2 + TONES)

    def motion(self, x: np.ndarray, time: np.ndarray, inputs: int) -> np.ndarray:
        """Shares of the inputs' ranges, shape (n_times, n_inputs)."""
        low, high = _frequencies(x[:2], time)
        angles = 2.0 * np.pi * np.outer(time - time[0], np.geomspace(low, high, TONES))
        columns = []
        for amplitude, middle, *phases in x[2:].reshape(inputs, -1):
            wave = np.sin(angles + 2.0 * np.pi * np.array(phases)).sum(axis=1)
            columns.append(_placed(wave / np.abs(wave).max(), amplitude, middle))
        return np.column_stack(columns)


class Chirp:
    """A sine whose frequency grows or falls exponentially, with a phase for each input."""

    name = "chirp"

    def size(self, inputs: int) -> int:
        """How many numbers make a motion."""
        return 3 + 3 * inputs

    def motion(self, x: np.ndarray, time: np.ndarray, inputs: int) -> np.ndarray:
        """Shares of the inputs' ranges, shape (n_times, n_inputs)."""
        first, last = _frequencies(x[:2], time)
        if x[2] > 0.5:
            first, last = last, first
        t, growth = time - time[0], np.log(last / first) / (time[-1] - time[0])
        turns = first * (t if abs(growth) < 1e-9 else np.expm1(growth * t) / growth)
        return np.column_stack(
            [
                _placed(np.sin(2.0 * np.pi * (turns + phase)), amplitude, middle)
                for amplitude, middle, phase in x[3:].reshape(inputs, 3)
            ]
        )


class Steps:
    """Levels that are held, each for a time of its own, which the inputs share."""

    name = "steps and holds"

    def size(self, inputs: int) -> int:
        """How many numbers make a motion."""
        return HOLDS * (1 + inputs)

    def motion(self, x: np.ndarray, time: np.ndarray, inputs: int) -> np.ndarray:
        """Shares of the inputs' ranges, shape (n_times, n_inputs)."""
        ends = np.cumsum(0.1 + x[:HOLDS])
        share = (time - time[0]) / (time[-1] - time[0])
        hold = np.searchsorted(ends[:-1] / ends[-1], share, side="right")
        return _to_ends(x[HOLDS:].reshape(HOLDS, inputs)[hold])


FAMILIES = (Multisine(), Chirp(), Steps())
"""Families that a design chooses among."""


def within(shares: np.ndarray, time: np.ndarray, limits: Sequence[InputLimits]) -> np.ndarray:
    """Inputs from shares of their ranges: from the first value on, no faster than allowed.

    Args:
        shares: Between 0 and 1, shape (n_times, n_inputs).
        time: Times [s], shape (n_times,).
        limits: Of each input.

    Returns:
        [units], shape (n_times, n_inputs).
    """
    rows = [(one.low, one.high, one.rate, one.begin) for one in limits]
    low, high, rate, begin = np.array(rows).T
    wanted = low + np.clip(shares, 0.0, 1.0) * (high - low)
    most = rate * np.diff(time)[:, None]  # (n_times - 1, n_inputs)
    found = np.concatenate([[begin], wanted[1:]])
    if (np.abs(np.diff(found, axis=0)) <= most).all():
        return found
    for k, step in enumerate(most):
        found[k + 1] = found[k] + np.clip(wanted[k + 1] - found[k], -step, step)
    return found


def _frequencies(x: np.ndarray, time: np.ndarray) -> tuple[float, float]:
    """Two frequencies in order [Hz], even in the logarithm of those that a motion can hold."""
    duration = time[-1] - time[0]
    least, most = CYCLES / duration, max((len(time) - 1) / duration / SAMPLES, CYCLES / duration)
    low, high = np.sort(least * (most / least) ** x)
    return float(low), float(high)


def _placed(wave: np.ndarray, amplitude: float, middle: float) -> np.ndarray:
    """A wave between -1 and 1 about the middle of what its amplitude leaves room for."""
    amplitude = LEAST + (1.0 - LEAST) * float(_to_ends(np.array(amplitude)))
    half = 0.5 * amplitude
    found: np.ndarray = half + (1.0 - amplitude) * middle + half * wave
    return found


def _to_ends(x: np.ndarray) -> np.ndarray:
    """Numbers between 0 and 1 as such that are denser at both ends, where most is to be learnt."""
    found: np.ndarray = 0.5 - 0.5 * np.cos(np.pi * x)
    return found
