"""A cause of what a model does not predict, and sentences on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sofa_softctl.identification.data.units import quantity

Kind = Literal["effect", "fixed", "columns"]
"""An effect that the model leaves out, a parameter that the caller fixed, wrong columns."""
WORDS = {
    "armature": "rotor inertia in {}",
    "damping": "damping in {}",
    "delay": "a delay of {}",
    "friction": "friction in {}",
    "gain": "a gain of {}",
    "hold": "a hold of {}",
    "mass": "another mass in {}",
    "offset": "an offset of {}",
    "payload": "a payload in {}",
    "sign": "a reversed {}",
    "swap": "swapped {}",
}
"""Effects in words, by the part of their name before the dot."""
OTHER_UNIT = 50.0
"""Gains above this are rather a wrong unit [-]."""
SMALL = 0.5
"""Shifts below this many half-widths of the intervals are of no consequence [-]."""
MOST = 0.9
"""A cause that explains this share of what noise leaves open explains it [-]..."""
LEFT = 1.3
"""... unless it leaves more than this multiple of the noise..."""
KEPT = 0.2
"""... or this share of what samples have in common with those before: the rest has another reason,
such as noise that is not white [-]."""


@dataclass(frozen=True, eq=False)
class Cause:
    """One cause that fits the data better than noise explains."""

    name: str
    """Name of the effect or of the parameter, or such as 'swap.a.b'."""
    kind: Kind
    """What it is."""
    text: str
    """As a sentence without its end, of wrong columns; empty: made of the name."""
    change: float
    """Size of the effect, or change of the fixed parameter [unit]; NaN: it has none."""
    unit: str
    """Unit of `change`."""
    low: float
    """Lower end of its 95 % interval [unit]."""
    high: float
    """Upper end [unit]."""
    p_value: float
    """Probability that any of the tested causes fits so much better by noise alone [-]."""
    decrease: float
    """Decrease of the cost with it [-]."""
    explained: float
    """Share of the cost above what noise explains that it takes away, 1 if all [-]."""
    left: float
    """RMS residual with it, in that of noise [-]."""
    shifts: dict[str, float]
    """Change of each parameter with it [its unit]."""
    half_widths: dict[str, float]
    """These changes in half-widths of the parameters' intervals without it [-]."""
    kept: float = 0.0
    """Share of the residuals' covariance from sample to sample that is left with it, 0 where it is
    that of white noise, or was not looked at [-]."""
    alike: tuple[str, ...] = ()
    """Other causes that fit as well: the data cannot tell which."""

    @property
    def matters(self) -> bool:
        """Whether a parameter changes by a good part of its interval."""
        return any(not abs(one) < SMALL for one in self.half_widths.values())

    @property
    def beside(self) -> bool:
        """Whether it fits what something else has left in the residuals, such as coloured noise."""
        return self.kept > KEPT

    @property
    def suffices(self) -> bool:
        """Whether it leaves little but noise."""
        return self.explained >= MOST and self.left <= LEFT and not self.beside

    @property
    def what(self) -> str:
        """Such as 'friction in elbow'."""
        if self.text:
            return self.text
        return f"another value of {self.name}" if self.kind == "fixed" else described(self.name)

    @property
    def size(self) -> str:
        """Such as '0.12 ± 0.01 N m'; empty: it has none."""
        if not np.isfinite(self.change):
            return ""
        sign = "+" if self.kind == "fixed" and self.change > 0.0 else ""
        return sign + measured(self.change, 0.5 * (self.high - self.low), self.unit)

    @property
    def advice(self) -> str:
        """What to do to have it in the model."""
        if self.kind == "columns":
            return "correct the recording" if self.suffices else "check the recording"
        return f"leave out --fix {self.name}" if self.kind == "fixed" else f"--with {self.name}"

    @property
    def sentence(self) -> str:
        """What it explains, and what to do."""
        if self.beside:
            return (
                "Successive residuals have something in common that no tested effect explains: "
                f"perhaps the noise is not white. The likeliest, {self.what} of {self.size}, "
                f"leaves {self.kept:.0%} of it."
            )
        share = "it" if self.suffices else f"{self.explained:.0%} of it"
        if self.explained >= MOST and self.left > LEFT:
            share = f"most of it, and leaves {self.left:.2g} times the noise"
        if self.kind == "columns":
            text = f"{self.what}, which explains {share}: {self.advice}."
        elif self.kind == "fixed":
            text = f"{self.what}, {self.size}, explains {share}: {self.advice}."
        else:
            text = f"{self.what} of {self.size} explains {share}: {self.advice}."
            if self.name.startswith("gain.") and abs(self.change) > OTHER_UNIT:
                text += " Or its numbers are in another unit."
        if self.alike:
            text += f" The data cannot tell it from {listed(self.alike)}."
        return text[:1].upper() + text[1:]

    @property
    def largest_shift(self) -> str:
        """The parameter that changes most, of those with an interval; empty: there is none."""
        if not any(self.half_widths.values()):
            return ""
        name = max(self.half_widths, key=lambda one: abs(self.half_widths[one]))
        by, widths = self.shifts[name], abs(self.half_widths[name])
        return f"{name} changes by {by:.3g}, {widths:.2g} half-widths of its interval"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = vars(self) | {"alike": list(self.alike), "matters": self.matters}
        return values | {"sentence": self.sentence}


def described(name: str) -> str:
    """An effect in words: 'friction in elbow' of 'friction.elbow'."""
    kind, _, of = name.partition(".")
    return WORDS[kind].format(of) if of and kind in WORDS else name


def measured(value: float, half: float, unit: str) -> str:
    """A number with its interval, such as '0.12 ± 0.01 N m' or '-3.2 ± 0.1 %'."""
    if unit in ("", "-") and abs(value) < 10.0:
        value, half, unit = 100.0 * value, 100.0 * half, "%"
    spread = f" ± {half:.2g}" if np.isfinite(half) else ""
    return quantity(f"{value:.3g}{spread}", unit)


def listed(names: tuple[str, ...]) -> str:
    """'a, b or c'."""
    words = [described(name) for name in names]
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
