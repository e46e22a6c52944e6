"""Sensors that failed, as their columns show: frozen, samples lost and written as zeros, wrapped.

The first two are told from a robot at rest, or at zero, by noise: where a sensor shows noise, it
does not repeat a number exactly. Columns without visible noise, such as simulated or coarsely
rounded ones, are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.identification.channel import Channel
from sofa_softctl.identification.data.units import SIZES, dimension

LEAST = 20
"""Least number of samples to test."""
RUN = 10
"""Least number of equal samples in a row of a frozen sensor."""
VISIBLE = 0.3
"""Least noise to judge a column, in declared deviations [-]."""
COARSE = 0.2
"""Least distance of two values of a column that is too coarsely rounded, in deviations [-]."""
JUMP = 0.7
"""Least change of a wrapped angle between samples, in turns; other samples change by less than the
rest of a turn."""
LOST = 10.0
"""Least distance of lost samples from zero, in deviations [-]."""


def sensor_notes(time: np.ndarray, outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Notes on measured outputs that look frozen, or lost and written as zeros.

    Args:
        time: Times [s], shape (n,).
        outputs: NaN where missing, shape (n, n_outputs).
        channels: Channels of the columns.
    """
    noisy = [
        visible_noise(y, channel.deviation) for y, channel in zip(outputs.T, channels, strict=True)
    ]
    notes = _lost(time, outputs, channels) + _wrapped(time, outputs, channels)
    for y, channel in zip(outputs.T, channels, strict=True):
        at = np.flatnonzero(np.isfinite(y))
        if len(at) < LEAST:
            continue
        if np.ptp(y[at]) == 0.0:
            if any(noisy):
                notes.append(
                    f"'{channel.name}' is {y[at[0]]:.4g} {channel.unit} in all samples, without "
                    "noise: if its sensor did not work, leave its cells empty"
                )
            continue
        first, end = _longest_run(y[at])
        outside = np.concatenate([y[at[:first]], y[at[end:]]])
        if end > first and y[at[first]] != 0.0 and visible_noise(outside, channel.deviation):
            notes.append(
                f"'{channel.name}' is exactly {y[at[first]]:.6g} {channel.unit} from t = "
                f"{time[at[first]]:g} to {time[at[end - 1]]:g} s ({end - first} samples) and noisy "
                "elsewhere: a frozen sensor? If so, leave these cells empty"
            )
    return notes


def input_notes(inputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Notes on recorded inputs that do not change, shape (n, n_inputs)."""
    return [
        f"the input '{channel.name}' is {u[0]:.4g} {channel.unit} in all samples: if it was not "
        "held, check its sensor or column"
        for u, channel in zip(inputs.T, channels, strict=True)
        if len(u) >= LEAST and np.ptp(u) == 0.0
    ]


def visible_noise(y: np.ndarray, deviation: float) -> bool:
    """Whether a column shows white noise of about the declared deviation.

    Third differences of white noise have the deviation sqrt(20), and the correlation -0.75 with
    the next; those of a smooth motion are small, and correlated with +1.
    """
    y = y[np.isfinite(y)]
    if len(y) < LEAST // 2 or deviation <= 0.0:
        return False
    values = np.unique(y)
    gaps = np.diff(values)
    gaps = gaps[gaps > 1e-9 * np.abs(values).max()]
    if not len(gaps) or gaps.min() > COARSE * deviation:
        return False
    d = np.diff(y, n=3)
    d = np.clip(d, *(np.median(d) + 5.0 * np.median(np.abs(d)) * np.array([-1.0, 1.0])))
    return noise_level(y) > VISIBLE * deviation and float(d[1:] @ d[:-1]) < -0.3 * float(d @ d)


def noise_level(y: np.ndarray) -> float:
    """Standard deviation of white noise that third differences show; 0 for fewer than 4 numbers."""
    return (
        1.4826 * float(np.median(np.abs(np.diff(y, n=3)))) / math.sqrt(20.0) if len(y) > 3 else 0.0
    )


def _longest_run(y: np.ndarray) -> tuple[int, int]:
    """Begin and end of the longest run of equal values; (0, 0): shorter than `RUN`."""
    edges = np.flatnonzero(np.concatenate(([True], np.diff(y) != 0.0, [True])))
    lengths = np.diff(edges)
    k = int(lengths.argmax())
    return (int(edges[k]), int(edges[k + 1])) if lengths[k] >= RUN else (0, 0)


def _wrapped(time: np.ndarray, outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Notes on angles that jump by a turn between samples that else change little."""
    notes = []
    for y, channel in zip(outputs.T, channels, strict=True):
        at = np.flatnonzero(np.isfinite(y))
        if dimension(channel.unit) != "angle" or len(at) < LEAST:
            continue
        turn = SIZES["angle"]["turn"] / SIZES["angle"][channel.unit]
        step = np.abs(np.diff(y[at]))
        jumps = np.flatnonzero(step > JUMP * turn)
        others = np.delete(step, jumps)
        if len(jumps) and others.max(initial=0.0) < (1.0 - JUMP) * turn and step.max() < 1.2 * turn:
            notes.append(
                f"'{channel.name}' jumps by a turn at t = {time[at[jumps[0] + 1]]:g} s"
                f"{f' and {len(jumps) - 1} times more' if len(jumps) > 1 else ''}: an angle within "
                "one turn? Add the turns, such as with numpy.unwrap"
            )
    return notes


def _lost(time: np.ndarray, outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Notes on columns with exact zeros far from the values around them; same rows together."""
    found: dict[bytes, list[str]] = {}
    for y, channel in zip(outputs.T, channels, strict=True):
        zero, other = y == 0.0, np.isfinite(y) & (y != 0.0)
        if not zero.any() or zero.sum() > other.sum():
            continue
        if not visible_noise(y[other], channel.deviation):
            continue
        around = np.interp(time[zero], time[other], y[other])
        if np.abs(around).max() > LOST * channel.deviation:
            found.setdefault(zero.tobytes(), []).append(f"'{channel.name}'")
    notes = []
    for rows, names in found.items():
        at = np.flatnonzero(np.frombuffer(rows, dtype=bool))
        verb = "are" if len(names) > 1 else "is"
        count = f"{len(at)} sample{'s' * (len(at) > 1)}, the first"
        notes.append(
            f"{', '.join(names)} {verb} exactly 0 in {count} at t = {time[at[0]]:g} s, and far "
            "from 0 around them: lost samples? If so, leave these cells empty"
        )
    return notes
