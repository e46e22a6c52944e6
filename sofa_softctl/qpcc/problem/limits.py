"""Limits of the actuators, as used by the QP, the least violation and messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from sofa_softctl.qpcc.problem.kernels import is_at_any, limit_ranges
from sofa_softctl.qpcc.problem.problem import InverseProblem

Quantity = Literal["effort", "displacement"]


class Limit(NamedTuple):
    """An interval that the effort or the displacement of each actuator should stay in."""

    quantity: Quantity
    """Limited quantity."""
    kind: Literal["bounds", "rate", "imposed"]
    """Source of the interval."""
    lower: np.ndarray
    """Lower ends, shape (n_a,). -inf or NaN = none."""
    upper: np.ndarray
    """Upper ends, shape (n_a,). inf or NaN = none."""

    @property
    def is_hard(self) -> bool:
        """True if the limit is never exceeded."""
        return self.quantity == "effort" and self.kind == "bounds"


class IntersectedLimits(NamedTuple):
    """Intersection of several limits of each actuator. Lower above upper: empty."""

    effort_lower: np.ndarray
    """Smallest effort [effort], shape (n_a,)."""
    effort_upper: np.ndarray
    """Largest effort [effort], shape (n_a,)."""
    displacement_lower: np.ndarray
    """Smallest displacement [displacement], shape (n_a,)."""
    displacement_upper: np.ndarray
    """Largest displacement [displacement], shape (n_a,)."""


def limits_of(problem: InverseProblem) -> list[Limit]:
    """Return all limits that were set. The effort bounds are hard, the others may be relaxed."""
    p = problem
    limits = []
    if p.has("effort_min") or p.has("effort_max"):
        limits.append(Limit("effort", "bounds", p.effort_min, p.effort_max))
    if p.has("effort_rate"):
        limits.append(_rate("effort", p.effort_previous, p.effort_rate))
    if p.has("effort_fixed"):
        limits.append(Limit("effort", "imposed", p.effort_fixed, p.effort_fixed))
    if p.has("displacement_min") or p.has("displacement_max"):
        limits.append(Limit("displacement", "bounds", p.displacement_min, p.displacement_max))
    if p.has("displacement_rate"):
        limits.append(_rate("displacement", p.displacement_previous, p.displacement_rate))
    if p.has("displacement_fixed"):
        limits.append(Limit("displacement", "imposed", p.displacement_fixed, p.displacement_fixed))
    return limits


def intersected_limits(problem: InverseProblem) -> IntersectedLimits:
    """Return the ranges in which all limits of a problem hold."""
    p = problem
    return IntersectedLimits(
        *limit_ranges(
            p.effort_min,
            p.effort_max,
            p.effort_previous,
            p.effort_rate,
            p.effort_fixed,
            p.displacement_min,
            p.displacement_max,
            p.displacement_previous,
            p.displacement_rate,
            p.displacement_fixed,
        )
    )


def _rate(quantity: Quantity, previous: np.ndarray, rate: np.ndarray) -> Limit:
    return Limit(quantity, "rate", previous - rate, previous + rate)


def effort_box(problem: InverseProblem) -> tuple[np.ndarray, np.ndarray]:
    """Hard ranges of the efforts: the bounds, and imposed efforts within them."""
    lower, upper = problem.effort_min, problem.effort_max
    fixed = np.minimum(np.maximum(problem.effort_fixed, lower), upper)  # NaN stays NaN
    return np.fmax(lower, fixed), np.fmin(upper, fixed)


def intersect(problem: InverseProblem, limits: Iterable[Limit]) -> IntersectedLimits:
    """Return the ranges that satisfy all `limits`, inside the effort box."""
    effort_lower, effort_upper = effort_box(problem)
    lower = {"effort": effort_lower, "displacement": np.full(problem.n_a, -np.inf)}
    upper = {"effort": effort_upper, "displacement": np.full(problem.n_a, np.inf)}
    for limit in limits:
        lower[limit.quantity] = np.fmax(lower[limit.quantity], limit.lower)  # fmax ignores NaN
        upper[limit.quantity] = np.fmin(upper[limit.quantity], limit.upper)
    return IntersectedLimits(
        lower["effort"], upper["effort"], lower["displacement"], upper["displacement"]
    )


_TEXTS = {
    # kind: at the lower end, at the upper end, below, above
    "bounds": ("at its minimum", "at its maximum", "{} below its minimum", "{} above its maximum"),
    "rate": (
        "rate at its maximum",
        "rate at its maximum",
        "rate {} above its maximum",
        "rate {} above its maximum",
    ),
    "imposed": ("", "", "{} below its imposed value", "{} above its imposed value"),
}


class ReachedLimit(NamedTuple):
    """One end of a limit that an answer reaches."""

    text: str
    """Such as "cable L0: effort at its minimum"."""
    actuator: int
    """Number of the actuator."""
    quantity: Quantity
    """Limited quantity."""
    kind: str
    """Source of the limit, as in `Limit`."""
    inward: float
    """1 at a lower end, -1 at an upper one."""


def reached_limits(
    names: Sequence[str],
    limits: Iterable[Limit],
    values: dict[str, np.ndarray],
    margins: dict[str, np.ndarray],
) -> Iterator[ReachedLimit]:
    """Yield the ends of limits that are reached, except imposed values.

    Args:
        names: Names of the actuators, n_a of them.
        limits: The limits to check.
        values: "effort" and "displacement" of each actuator, shape (n_a,) each.
        margins: Distance to a limit that counts as reached, shape (n_a,) each.
    """
    for limit in limits:
        value, margin = values[limit.quantity], margins[limit.quantity]
        if not is_at_any(value, limit.lower, limit.upper, margin):
            continue
        at_lower, at_upper, *_ = _TEXTS[limit.kind]
        for end, text, inward in ((limit.lower, at_lower, 1.0), (limit.upper, at_upper, -1.0)):
            if text:
                for i in (np.abs(value - end) <= margin).nonzero()[0]:
                    sentence = f"{names[i]}: {limit.quantity} {text}"
                    yield ReachedLimit(sentence, int(i), limit.quantity, limit.kind, inward)


def active_limits(
    names: Sequence[str],
    limits: Iterable[Limit],
    values: dict[str, np.ndarray],
    margins: dict[str, np.ndarray],
) -> tuple[str, ...]:
    """Return the limits that are reached, such as "cable L0: effort at its minimum".

    Arguments as for `reached_limits`; both ends of a rate of zero have the same text, once.
    """
    reached = reached_limits(names, limits, values, margins)
    return tuple(dict.fromkeys(limit.text for limit in reached))


def exceeded_limits(
    names: Sequence[str],
    limits: Iterable[Limit],
    values: dict[str, np.ndarray],
    margins: dict[str, np.ndarray],
) -> tuple[str, ...]:
    """Return the exceeded limits, such as "cable L0: displacement 0.25 above its maximum".

    Arguments as for `active_limits`. An excess below the margin is not reported.
    """
    texts = []
    for limit in limits:
        value, margin = values[limit.quantity], margins[limit.quantity]
        *_, below, above = _TEXTS[limit.kind]
        for excess, text in ((limit.lower - value, below), (value - limit.upper, above)):
            for i in (excess > margin).nonzero()[0]:
                amount = text.format(f"{excess[i]:.3g}")
                texts.append(f"{names[i]}: {limit.quantity} {amount}")
    return tuple(texts)
