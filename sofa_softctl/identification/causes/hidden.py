"""Effects that would spoil an estimate before its data could show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from sofa_softctl.identification.causes.cause import described, measured
from sofa_softctl.identification.causes.score import Score
from sofa_softctl.identification.data.units import quantity

LEAST = 2.0
"""Effects are listed that shift a parameter by so many half-widths before they are seen [-]."""
ALIKE = 1e-4
"""An effect that adds to one parameter, and changes others by less, is that parameter [-]."""
PLAUSIBLE = 3.0
"""Larger effects, in their typical size, are not plausible [-]."""
LISTED = 4
"""So many are listed."""
SURE = 0.4
"""Shifts below this share of a parameter are given in percent of it [-]."""
POWER = 0.8
"""Probability of being seen, of the sizes that count as seen [-]."""


@dataclass(frozen=True)
class Hidden:
    """An effect that shifts a parameter by more than its interval before it is seen."""

    name: str
    """Name of the effect."""
    harmful: float
    """Size that shifts a parameter by the half-width of its interval [unit]."""
    seen: float
    """Size that the tests would show in 80 % of recordings [unit]; infinite: at none."""
    unit: str
    """Unit of both."""
    parameter: str
    """The parameter that it shifts most."""
    shift: float
    """Its shift by `harmful`, either way [its unit]."""
    shift_unit: str
    """Unit of `shift`."""
    value: float
    """The estimate of that parameter [its unit]."""

    @property
    def sentence(self) -> str:
        """What would stay unseen."""
        size = measured(self.harmful, np.inf, self.unit)
        if abs(self.shift) < SURE * abs(self.value):
            by = f"{100.0 * abs(self.shift / self.value):.2g} %"
        else:
            by = quantity(f"{self.shift:.2g}", self.shift_unit)
        what = described(self.name)
        seen = (
            f"shows in these data from {measured(self.seen, np.inf, self.unit)} on only"
            if np.isfinite(self.seen)
            else "cannot be seen in these data at any size"
        )
        text = (
            f"{what} of {size} shifts {self.parameter} by the half-width of its interval, {by}, "
            f"and {seen}."
        )
        return text[:1].upper() + text[1:]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"sentence": self.sentence}


def hidden(
    scores: Sequence[Score],
    level: float,
    half_widths: dict[str, float],
    units: dict[str, str],
    values: dict[str, float],
) -> tuple[Hidden, ...]:
    """The effects that could do most harm unseen.

    Args:
        scores: Tests of all effects that were not found.
        level: Level of significance of each test.
        half_widths: Of the intervals of the fitted parameters [units].
        units: Of these parameters.
        values: Their estimates [units].
    """
    reach = float(stats.norm.isf(0.5 * level) + stats.norm.ppf(POWER))
    found = list[tuple[float, Hidden]]()
    for one in scores:
        slopes = dict(zip(values, np.abs(one.slopes).tolist(), strict=True))
        ratios = {
            name: slopes[name] / half
            for name, half in half_widths.items()
            if 0.0 < half < np.inf and slopes[name] > 0.0
        }
        if not ratios:
            continue
        worst = max(ratios, key=lambda name: ratios[name])
        harmful, seen = 1.0 / ratios[worst], reach * one.deviation
        if seen < LEAST * harmful or not _plausible(one, harmful):
            continue
        same = units[worst] == one.parameter.unit and abs(slopes[worst] - 1.0) < ALIKE
        if same and all(by < ALIKE * ratios[worst] for at, by in ratios.items() if at != worst):
            continue  # it is that parameter by another name, such as damping beside a damper's
        unit, shift = one.parameter.unit, half_widths[worst]
        found.append(
            (
                seen / harmful,
                Hidden(one.name, harmful, seen, unit, worst, shift, units[worst], values[worst]),
            )
        )
    found.sort(key=lambda pair: (-pair[0], pair[1].harmful))
    return tuple(one for _, one in found[:LISTED])


def _plausible(one: Score, size: float) -> bool:
    bound = max(-one.parameter.lower, one.parameter.upper)
    return size < min(bound, PLAUSIBLE * one.parameter.scale)
