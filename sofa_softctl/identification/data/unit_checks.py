"""Plausibility of recorded values in their declared units."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.channel import Channel
from sofa_softctl.identification.data.signal_checks import noise_level
from sofa_softctl.identification.data.units import (
    SIZES,
    dimension,
    is_usual_mistake,
    mistaken,
    usual_mistakes,
)

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
