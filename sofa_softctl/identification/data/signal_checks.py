"""Plausibility of recorded values: wrong units, and sensors that failed.

Sensors fail by freezing, by writing lost samples as zeros, or by wrapping angles. A frozen sensor
and lost samples are distinguished from a robot at rest, or at zero, by noise: a sensor with visible
noise does not repeat a number exactly. Columns without visible noise, such as simulated or coarsely
rounded ones, are not tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.units import (
    SIZES,
    dimension,
    is_usual_mistake,
    mistaken_units,
    usual_mistakes,
)
from sofa_softctl.identification.model.channel import Channel


@dataclass(frozen=True)
class SignalSettings:
    """Thresholds for implausible values and failed sensors."""

    turns_max: float = 10.0
    """Largest plausible angle of a channel without `largest` [turns]."""
    angle_variation_ratio_max: float = 20.0
    """Largest plausible ratio of measured to predicted variation of angles and their velocities, or
    of its inverse [-]: a third of the 57 degrees in a radian."""
    variation_ratio_max: float = 100.0
    """The same ratio for other quantities [-]."""
    visible_noise_ratio: float = 5.0
    """Variation of a column above which it is more than noise [standard deviations]."""
    unit_ratio_tolerance: float = 1.5
    """Factor within which a wrong unit explains a ratio that would be plausible otherwise [-]."""
    samples_min: int = 20
    """Smallest number of samples to test."""
    frozen_samples_min: int = 10
    """Smallest number of successive equal samples of a frozen sensor."""
    noise_min: float = 0.3
    """Smallest noise of a column that is tested [declared standard deviations]."""
    quantisation_min: float = 0.2
    """Smallest distance of two values of a column that is too coarsely rounded [deviations]."""
    wrap_jump_min: float = 0.7
    """Smallest change of a wrapped angle between samples [turns]; other samples change by less than
    the remainder of a turn."""
    zero_distance_min: float = 10.0
    """Smallest distance of lost samples, written as 0, from their neighbours [deviations]."""


SETTINGS = SignalSettings()


def check_size(column: np.ndarray, channel: Channel, location: str) -> None:
    """Refuse values above the largest plausible one of a channel.

    Raises:
        IdentificationError: A value is too large; the message guesses the unit.
    """
    largest = _largest_plausible(channel)
    magnitude = float(np.abs(column[np.isfinite(column)]).max(initial=0.0))
    if magnitude <= largest:
        return
    sizes = SIZES.get(dimension(channel.unit) or "", {})
    smaller = [unit for unit in sizes if magnitude * sizes[unit] / sizes[channel.unit] <= largest]
    guess = max(smaller, key=lambda unit: sizes[unit], default=None)
    hint = f" Are they in {guess}?" if guess else " Check the sensor and its unit."
    step = 10.0 ** math.floor(math.log10(magnitude) - 1.0)
    largest_to_declare = step * math.floor(magnitude / step + 1.0)
    raise IdentificationError(
        f"{location}: '{channel.name}' reaches {magnitude:.4g} {channel.unit}; at most "
        f"{largest:.4g} is "
        f"plausible.{hint} Values are converted from the unit in the header. If they are right, "
        f"declare more: Channel('{channel.name}', ..., largest={largest_to_declare:.3g})."
    )


def suspicious_channels(
    measured: np.ndarray,
    predicted: np.ndarray,
    channels: tuple[Channel, ...],
    inputs: Sequence[Channel] = (),
) -> list[str]:
    """Return warnings on channels whose variation suggests that a unit is wrong.

    Args:
        measured: Measured outputs, NaN where missing, shape (n_times, n_outputs).
        predicted: Predicted outputs at the start of a search, of the same shape.
        channels: Channels of the columns.
        inputs: Recorded inputs, whose units may be wrong.
    """
    warnings = []
    for channel, y, model in zip(channels, measured.T, predicted.T, strict=True):
        is_measured = np.isfinite(y)
        if is_measured.sum() < 2:
            continue
        measured_deviation, predicted_deviation = (
            float(np.std(y[is_measured])),
            float(np.std(model[is_measured])),
        )
        noise = max(channel.deviation, np.finfo(float).tiny)
        ratio = max(measured_deviation, noise) / max(predicted_deviation, noise)
        levels = [max(np.sqrt(np.mean(column[is_measured] ** 2)), noise) for column in (y, model)]
        visible_deviation = SETTINGS.visible_noise_ratio * noise_level(y[is_measured])
        is_distinguishable = min(measured_deviation, predicted_deviation) > noise or (
            measured_deviation > visible_deviation and predicted_deviation > noise
        )
        if is_distinguishable:
            ratio = measured_deviation / max(predicted_deviation, noise)
            levels[0] = float(np.sqrt(np.mean(y[is_measured] ** 2)))
        pairs = [
            pair
            for pair in mistaken_units(ratio, channel.unit, SETTINGS.unit_ratio_tolerance)
            if channel.unit in pair
        ]
        if not is_distinguishable or pairs != mistaken_units(
            levels[0] / levels[1], channel.unit, SETTINGS.unit_ratio_tolerance
        ):
            pairs = []  # an offset of the right size, as of a marker, excludes another unit
        ratio_max = SETTINGS.variation_ratio_max
        if is_distinguishable and dimension(channel.unit) in ("angle", "angular velocity"):
            ratio_max = SETTINGS.angle_variation_ratio_max
        if not pairs and 1.0 / ratio_max <= ratio <= ratio_max:
            continue
        input_guesses: list[str] = []
        if predicted_deviation > 0.0:
            pairs = pairs or usual_mistakes(measured_deviation / predicted_deviation, channel.unit)
            input_guesses = [
                f"the input '{channel.name}' in {true} had been declared in {wrong}"
                for channel in inputs
                for wrong, true in usual_mistakes(
                    predicted_deviation / max(measured_deviation, noise * 1e-6), channel.unit
                )
            ]
            if not input_guesses:
                pairs = pairs or mistaken_units(
                    measured_deviation / predicted_deviation, channel.unit, 3.0
                )
        unit_guess = " or ".join(
            f"in {true} had been declared in {wrong}" for wrong, true in pairs[:2]
        )
        guesses = [f"numbers {unit_guess}"] if unit_guess else []
        is_usual = any(is_usual_mistake(*pair) for pair in pairs)
        guesses = guesses + input_guesses if is_usual else input_guesses + guesses
        hint = f", as if {' or '.join(guesses)}" if guesses else ": check unit, sensor and start"
        warnings.append(
            f"'{channel.name}' varies by {measured_deviation:.3g} {channel.unit}, the model at "
            "the start by "
            f"{predicted_deviation:.3g} {channel.unit}{hint}"
        )
    return warnings


def _largest_plausible(channel: Channel) -> float:
    if math.isfinite(channel.largest) or dimension(channel.unit) != "angle":
        return channel.largest
    return SETTINGS.turns_max * SIZES["angle"]["turn"] / SIZES["angle"][channel.unit]


def sensor_notes(time: np.ndarray, outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Return notes on measured outputs that look frozen, lost and written as zeros, or wrapped.

    Args:
        time: Times [s], shape (n,).
        outputs: Measured outputs, NaN where missing, shape (n, n_outputs).
        channels: Channels of the columns.
    """
    noisy = [
        visible_noise(y, channel.deviation) for y, channel in zip(outputs.T, channels, strict=True)
    ]
    notes = _lost_sample_notes(time, outputs, channels) + _wrapped_notes(time, outputs, channels)
    for y, channel in zip(outputs.T, channels, strict=True):
        index = np.flatnonzero(np.isfinite(y))
        if len(index) < SETTINGS.samples_min:
            continue
        if np.ptp(y[index]) == 0.0:
            if any(noisy):
                notes.append(
                    f"'{channel.name}' is {y[index[0]]:.4g} {channel.unit} in all samples, without "
                    "noise: if its sensor did not work, leave its cells empty"
                )
            continue
        first, end = _longest_run(y[index])
        outside = np.concatenate([y[index[:first]], y[index[end:]]])
        if end > first and y[index[first]] != 0.0 and visible_noise(outside, channel.deviation):
            notes.append(
                f"'{channel.name}' is exactly {y[index[first]]:.6g} {channel.unit} from t = "
                f"{time[index[first]]:g} to {time[index[end - 1]]:g} s ({end - first} samples) "
                "and noisy "
                "elsewhere: a frozen sensor? If so, leave these cells empty"
            )
    return notes


def input_notes(inputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Return notes on recorded inputs, shape (n, n_inputs), that do not change."""
    return [
        f"the input '{channel.name}' is {u[0]:.4g} {channel.unit} in all samples: if it was not "
        "held, check its sensor or column"
        for u, channel in zip(inputs.T, channels, strict=True)
        if len(u) >= SETTINGS.samples_min and np.ptp(u) == 0.0
    ]


def visible_noise(y: np.ndarray, deviation: float) -> bool:
    """Return True if a column shows white noise of about the declared deviation.

    Third differences of white noise have a standard deviation of sqrt(20), and a correlation of
    -0.75 with the next one; for a smooth motion they are small, with a correlation of +1.
    """
    y = y[np.isfinite(y)]
    if len(y) < SETTINGS.samples_min // 2 or deviation <= 0.0:
        return False
    values = np.unique(y)
    gaps = np.diff(values)
    gaps = gaps[gaps > 1e-9 * np.abs(values).max()]
    if not len(gaps) or gaps.min() > SETTINGS.quantisation_min * deviation:
        return False
    d = np.diff(y, n=3)
    d = np.clip(d, *(np.median(d) + 5.0 * np.median(np.abs(d)) * np.array([-1.0, 1.0])))
    return noise_level(y) > SETTINGS.noise_min * deviation and float(d[1:] @ d[:-1]) < -0.3 * float(
        d @ d
    )


def noise_level(y: np.ndarray) -> float:
    """Standard deviation of white noise from third differences; 0 for fewer than 4 numbers."""
    return (
        1.4826 * float(np.median(np.abs(np.diff(y, n=3)))) / math.sqrt(20.0) if len(y) > 3 else 0.0
    )


def _longest_run(y: np.ndarray) -> tuple[int, int]:
    """Begin and end of the longest run of equal values, (0, 0) below `frozen_samples_min`."""
    edges = np.flatnonzero(np.concatenate(([True], np.diff(y) != 0.0, [True])))
    lengths = np.diff(edges)
    k = int(lengths.argmax())
    return (
        (int(edges[k]), int(edges[k + 1])) if lengths[k] >= SETTINGS.frozen_samples_min else (0, 0)
    )


def _wrapped_notes(time: np.ndarray, outputs: np.ndarray, channels: Sequence[Channel]) -> list[str]:
    """Return notes on angles that jump by a turn, although other samples change little."""
    notes = []
    for y, channel in zip(outputs.T, channels, strict=True):
        index = np.flatnonzero(np.isfinite(y))
        if dimension(channel.unit) != "angle" or len(index) < SETTINGS.samples_min:
            continue
        turn = SIZES["angle"]["turn"] / SIZES["angle"][channel.unit]
        step = np.abs(np.diff(y[index]))
        jumps = np.flatnonzero(step > SETTINGS.wrap_jump_min * turn)
        other_steps = np.delete(step, jumps)
        if (
            len(jumps)
            and other_steps.max(initial=0.0) < (1.0 - SETTINGS.wrap_jump_min) * turn
            and step.max() < 1.2 * turn
        ):
            notes.append(
                f"'{channel.name}' jumps by a turn at t = {time[index[jumps[0] + 1]]:g} s"
                f"{f' and {len(jumps) - 1} times more' if len(jumps) > 1 else ''}: an angle within "
                "one turn? Add the turns, such as with numpy.unwrap"
            )
    return notes


def _lost_sample_notes(
    time: np.ndarray, outputs: np.ndarray, channels: Sequence[Channel]
) -> list[str]:
    """Return notes on columns with exact zeros far from neighbouring values, grouped by rows."""
    names_by_rows: dict[bytes, list[str]] = {}
    for y, channel in zip(outputs.T, channels, strict=True):
        is_zero, is_nonzero = y == 0.0, np.isfinite(y) & (y != 0.0)
        if not is_zero.any() or is_zero.sum() > is_nonzero.sum():
            continue
        if not visible_noise(y[is_nonzero], channel.deviation):
            continue
        values_around = np.interp(time[is_zero], time[is_nonzero], y[is_nonzero])
        if np.abs(values_around).max() > SETTINGS.zero_distance_min * channel.deviation:
            names_by_rows.setdefault(is_zero.tobytes(), []).append(f"'{channel.name}'")
    notes = []
    for rows, names in names_by_rows.items():
        index = np.flatnonzero(np.frombuffer(rows, dtype=bool))
        verb = "are" if len(names) > 1 else "is"
        count = f"{len(index)} sample{'s' * (len(index) > 1)}, the first"
        notes.append(
            f"{', '.join(names)} {verb} exactly 0 in {count} at t = {time[index[0]]:g} s, and far "
            "from 0 around them: lost samples? If so, leave these cells empty"
        )
    return notes
