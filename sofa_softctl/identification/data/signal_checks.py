"""Plausibility of recorded values in their declared units.

Sensors that failed, as their columns show: frozen, samples lost and written as zeros, wrapped.

The first two are told from a robot at rest, or at zero, by noise: where a sensor shows noise, it
does not repeat a number exactly. Columns without visible noise, such as simulated or coarsely
rounded ones, are not judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.units import (
    SIZES,
    dimension,
    is_usual_mistake,
    mistaken,
    usual_mistakes,
)
from sofa_softctl.identification.model.channel import Channel

TURNS = 10.0
"""Largest plausible angle of a channel without `largest`, in turns."""
SPREAD = {"angle": 20.0, "angular velocity": 20.0}
"""Largest plausible ratio of measured to predicted variation, or its inverse: a third of the 57
degrees in a radian..."""
SPREAD_ELSE = 100.0
"""... and of other quantities."""
LEVELS = 5.0
"""Variation above which a column shows more than its own noise, in deviations of that."""
NEAR = 1.5
"""A ratio that a wrong unit explains within this factor is suspicious as well."""


def check_size(column: np.ndarray, channel: Channel, where: str) -> None:
    """Refuse values above the largest plausible one of a channel.

    Raises:
        IdentificationError: There are; the message guesses their unit.
    """
    largest = _largest(channel)
    found = float(np.abs(column[np.isfinite(column)]).max(initial=0.0))
    if found <= largest:
        return
    sizes = SIZES.get(dimension(channel.unit) or "", {})
    smaller = [unit for unit in sizes if found * sizes[unit] / sizes[channel.unit] <= largest]
    guess = max(smaller, key=lambda unit: sizes[unit], default=None)
    hint = f" Are they in {guess}?" if guess else " Check the sensor and its unit."
    step = 10.0 ** math.floor(math.log10(found) - 1.0)
    enough = step * math.floor(found / step + 1.0)
    raise IdentificationError(
        f"{where}: '{channel.name}' reaches {found:.4g} {channel.unit}; at most {largest:.4g} is "
        f"plausible.{hint} Values are converted from the unit in the header. If they are right, "
        f"declare more: Channel('{channel.name}', ..., largest={enough:.3g})."
    )


def suspicious_channels(
    measured: np.ndarray,
    predicted: np.ndarray,
    channels: tuple[Channel, ...],
    inputs: Sequence[Channel] = (),
) -> list[str]:
    """Warnings on channels whose variation differs from the prediction, as if in another unit.

    Args:
        measured: NaN where missing, shape (n_times, n_outputs).
        predicted: Outputs at the start of a search, of the same shape.
        channels: Channels of the columns.
        inputs: Recorded inputs, whose units may be the wrong ones.
    """
    warnings = []
    for channel, y, model in zip(channels, measured.T, predicted.T, strict=True):
        there = np.isfinite(y)
        if there.sum() < 2:
            continue
        found, expected = float(np.std(y[there])), float(np.std(model[there]))
        noise = max(channel.deviation, np.finfo(float).tiny)
        ratio = max(found, noise) / max(expected, noise)
        level = [max(np.sqrt(np.mean(column[there] ** 2)), noise) for column in (y, model)]
        visible = LEVELS * noise_level(y[there])
        clear = min(found, expected) > noise or (found > visible and expected > noise)
        if clear:
            ratio = found / max(expected, noise)
            level[0] = float(np.sqrt(np.mean(y[there] ** 2)))
        pairs = [pair for pair in mistaken(ratio, channel.unit, NEAR) if channel.unit in pair]
        if not clear or pairs != mistaken(level[0] / level[1], channel.unit, NEAR):
            pairs = []  # an offset of the right size, as of a marker, excludes another unit
        most = SPREAD.get(dimension(channel.unit) or "", SPREAD_ELSE) if clear else SPREAD_ELSE
        if not pairs and 1.0 / most <= ratio <= most:
            continue
        of_inputs: list[str] = []
        if expected > 0.0:
            pairs = pairs or usual_mistakes(found / expected, channel.unit)
            of_inputs = [
                f"the input '{one.name}' in {true} had been declared in {wrong}"
                for one in inputs
                for wrong, true in usual_mistakes(expected / max(found, noise * 1e-6), one.unit)
            ]
            if not of_inputs:
                pairs = pairs or mistaken(found / expected, channel.unit, 3.0)
        own = " or ".join(f"in {true} had been declared in {wrong}" for wrong, true in pairs[:2])
        guesses = [f"numbers {own}"] if own else []
        is_usual = any(is_usual_mistake(*pair) for pair in pairs)
        guesses = guesses + of_inputs if is_usual else of_inputs + guesses
        hint = f", as if {' or '.join(guesses)}" if guesses else ": check unit, sensor and start"
        warnings.append(
            f"'{channel.name}' varies by {found:.3g} {channel.unit}, the model at the start by "
            f"{expected:.3g} {channel.unit}{hint}"
        )
    return warnings


def _largest(channel: Channel) -> float:
    if math.isfinite(channel.largest) or dimension(channel.unit) != "angle":
        return channel.largest
    return TURNS * SIZES["angle"]["turn"] / SIZES["angle"][channel.unit]


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
