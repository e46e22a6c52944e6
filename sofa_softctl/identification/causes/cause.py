"""Detected cause of residuals, with sentences for the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sofa_softctl.identification.data.units import quantity

Kind = Literal["effect", "fixed", "columns", "samples"]
"""An effect that the model leaves out, a parameter that the caller fixed, wrong columns, samples of
a sensor that sticks."""
EFFECT_TEXTS = {
    "armature": "rotor inertia in {}",
    "damping": "damping in {}",
    "delay": "a delay of {}",
    "friction": "friction in {}",
    "gain": "a gain of {}",
    "hold": "a hold of {}",
    "mass": "another mass in {}",
    "offset": "an offset of {}",
    "payload": "a payload at {}",
    "sign": "a reversed {}",
    "stuck": "a stuck {}",
    "swap": "swapped {}",
}
"""Description of an effect, by the part of its name before the dot."""


@dataclass(frozen=True)
class CauseSettings:
    """Thresholds for causes."""

    unit_gain_min: float = 50.0
    """Gain above which a wrong unit is more likely [-]."""
    shift_min: float = 0.5
    """Smallest shift of a parameter that matters [half-widths of its interval]."""
    explained_fraction_min: float = 0.9
    """Smallest fraction of the cost above noise that a sufficient cause explains [-]."""
    rms_ratio_max: float = 1.3
    """Largest RMS residual with a sufficient cause, relative to noise [-], of few data."""
    correlation_ratio_max: float = 0.2
    """Largest covariance of successive residuals with a sufficient cause, relative to the
    covariance without it [-]; above, there is another reason, such as noise that is not white."""


SETTINGS = CauseSettings()


@dataclass(frozen=True, eq=False)
class Cause:
    """Cause that fits the data better than noise explains."""

    name: str
    """Name of the effect or of the parameter, or such as 'swap.a.b'."""
    kind: Kind
    """Kind of the cause."""
    text: str
    """Description of wrong columns or samples; "" if the description follows from the name."""
    change: float
    """Size of the effect, or change of the fixed parameter [unit], or NaN."""
    unit: str
    """Unit of `change`."""
    low: float
    """Lower end of the 95 % interval of `change` [unit]."""
    high: float
    """Upper end of the 95 % interval of `change` [unit]."""
    p_value: float
    """Probability that any tested cause reduces the cost by this much due to noise [-]."""
    decrease: float
    """Decrease of the cost with the cause [-]."""
    explained: float
    """Fraction of the cost above the expected one that the cause removes [-]."""
    left: float
    """RMS residual with the cause, relative to the RMS residual due to noise [-]."""
    shifts: dict[str, float]
    """Change of each parameter with the cause [unit of the parameter]."""
    half_widths: dict[str, float]
    """Change of each parameter with the cause [half-widths of its interval without it]."""
    kept: float = 0.0
    """Covariance of successive residuals with the cause, relative to the covariance without it [-];
    0 for white noise, or if it was not computed."""
    noise_max: float = SETTINGS.rms_ratio_max
    """Largest RMS residual that noise explains, relative to the RMS residual due to noise [-]."""
    adds_to_model: bool = False
    """True for what the model lacks, such as a payload or friction; False for another value of what
    it states, such as a mass or the gain of a sensor."""
    contradiction: str = ""
    """Value with the cause that contradicts a declared prior or bound, such as 'E at its lower
    bound, 300 kPa', or ""."""
    unexplained: tuple[str, ...] = ()
    """Channels whose residuals with the cause are not noise, largest first, if it was computed."""
    alike: tuple[str, ...] = ()
    """Other causes that fit equally well: the data cannot distinguish them."""

    @property
    def shifts_parameters(self) -> bool:
        """True if a parameter changes by a considerable part of its interval."""
        return any(
            not abs(half_width) < SETTINGS.shift_min for half_width in self.half_widths.values()
        )

    @property
    def fits_coloured_noise(self) -> bool:
        """True if it fits residuals that have another reason, such as coloured noise."""
        return self.kept > SETTINGS.correlation_ratio_max

    @property
    def explains_residuals(self) -> bool:
        """True if it explains the residuals except for noise."""
        return (
            self.explained >= SETTINGS.explained_fraction_min
            and self.left <= self.noise_max
            and not self.fits_coloured_noise
            and not self.contradiction
        )

    @property
    def what(self) -> str:
        """Description such as 'friction in elbow'."""
        if self.text:
            return self.text
        return f"another value of {self.name}" if self.kind == "fixed" else effect_text(self.name)

    @property
    def size(self) -> str:
        """Size such as '0.12 ± 0.01 N m', or ""."""
        if not np.isfinite(self.change):
            return ""
        sign = "+" if self.kind == "fixed" and self.change > 0.0 else ""
        return sign + value_text(self.change, 0.5 * (self.high - self.low), self.unit)

    @property
    def advice(self) -> str:
        """Option that adds it to the model, or another recommendation."""
        if self.kind == "columns":
            return "correct the recording" if self.explains_residuals else "check the recording"
        if self.kind == "samples":
            return "leave these cells empty"
        return f"leave out --fix {self.name}" if self.kind == "fixed" else f"--with {self.name}"

    @property
    def sentence(self) -> str:
        """Sentence on what it explains, with a recommendation."""
        if self.fits_coloured_noise:
            return (
                "Successive residuals have something in common that no tested effect explains: "
                f"perhaps the noise is not white. The likeliest, {self.what} of {self.size}, "
                f"leaves {self.kept:.0%} of it."
            )
        share = f"{self.explained:.0%} of it"
        if self.explained >= SETTINGS.explained_fraction_min:
            excess = f"most of it, and leaves {self.left:.3g} times the noise"
            share = "it" if self.left <= self.noise_max else excess
        if self.kind in ("columns", "samples"):
            subject = f"{self.what}, which"
        elif self.kind == "fixed":
            subject = f"{self.what}, {self.size},"
        else:
            subject = f"{self.what} of {self.size}"
        if self.contradiction:
            text = (
                f"{subject} would explain {share}, but only with {self.contradiction}: it is not "
                "the cause, or not the only one."
            )
        else:
            text = f"{subject} explains {share}: {self.advice}."
            if self.name.startswith("gain.") and abs(self.change) > SETTINGS.unit_gain_min:
                text += " Or its numbers are in another unit."
        if self.unexplained:
            text += f" It does not explain {join_alternatives(self.unexplained, 'and')}."
        if self.alike:
            names = [effect_text(name) for name in self.alike]
            text += f" The data cannot tell it from {join_alternatives(names)}."
        return text[:1].upper() + text[1:]

    @property
    def largest_shift(self) -> str:
        """Text on the parameter with the largest change, or "" if no parameter has an interval."""
        if not any(self.half_widths.values()):
            return ""
        name = max(self.half_widths, key=lambda half_width: abs(self.half_widths[half_width]))
        by, widths = self.shifts[name], abs(self.half_widths[name])
        return f"{name} changes by {by:.3g}, {widths:.2g} half-widths of its interval"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        values = vars(self) | {"alike": list(self.alike), "unexplained": list(self.unexplained)}
        values |= {"matters": self.shifts_parameters}
        return values | {"sentence": self.sentence}


def effect_text(name: str) -> str:
    """Describe an effect: 'friction.elbow' becomes 'friction in elbow'."""
    kind, _, of = name.partition(".")
    of = f"{of[:-1]} % of the length" if of.endswith("%") else of
    return EFFECT_TEXTS[kind].format(of) if of and kind in EFFECT_TEXTS else name


def value_text(value: float, half_width: float, unit: str) -> str:
    """Return a number with its interval, such as '0.12 ± 0.01 N m' or '-3.2 ± 0.1 %'."""
    if unit in ("", "-") and abs(value) < 10.0:
        value, half_width, unit = 100.0 * value, 100.0 * half_width, "%"
    half_width_text = f" ± {half_width:.2g}" if np.isfinite(half_width) else ""
    return quantity(f"{value:.3g}{half_width_text}", unit)


def join_alternatives(texts: Sequence[str], last: str = "or") -> str:
    """Join texts: 'a, b or c'."""
    return f" {last} ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
