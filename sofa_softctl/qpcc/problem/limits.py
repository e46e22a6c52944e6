"""Limits of the actuators, as used by the QP, the least violation and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from sofa_softctl.qpcc.problem.kernels import effort_bounds
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


def limits_of(problem: InverseProblem) -> list[Limit]:
    """Return all limits that were set. The effort bounds are hard, the others may be relaxed."""
    limits = []
    is_set = np.asarray(np.isfinite(problem.arrays[-1]).any(axis=1))
    for quantity, first in zip(get_args(Quantity), (0, 5), strict=True):
        lower, upper, previous, rate, fixed = problem.arrays[-1][first : first + 5]
        if is_set[first] or is_set[first + 1]:
            limits.append(Limit(quantity, "bounds", lower, upper))
        if is_set[first + 3]:
            limits.append(Limit(quantity, "rate", previous - rate, previous + rate))
        if is_set[first + 4]:
            limits.append(Limit(quantity, "imposed", fixed, fixed))
    return limits


def effort_box(problem: InverseProblem) -> tuple[np.ndarray, np.ndarray]:
    """Hard ranges of the efforts: the bounds, and imposed efforts within them."""
    lower, upper = effort_bounds(problem.arrays[-1])
    return lower, upper


def intersect(problem: InverseProblem, limits: Iterable[Limit]) -> np.ndarray:
    """Return the ranges that satisfy all `limits`, as `kernels.limit_ranges`, shape (4, n_a)."""
    unlimited = np.full((2, problem.n_a), [[-np.inf], [np.inf]])
    ranges = np.concatenate((effort_box(problem), unlimited))
    for limit in limits:
        lower = 0 if limit.quantity == "effort" else 2
        ranges[lower] = np.fmax(ranges[lower], limit.lower)  # fmax ignores NaN
        ranges[lower + 1] = np.fmin(ranges[lower + 1], limit.upper)
    return ranges


_EXCESS_TEXTS = {
    "bounds": ("{} below its minimum", "{} above its maximum"),
    "rate": ("rate {} above its maximum", "rate {} above its maximum"),
    "imposed": ("{} below its imposed value", "{} above its imposed value"),
}
"""Texts by kind of limit, below and above it."""
_ENDS: list[tuple[Quantity, str, str, float]] = [
    (quantity, kind, f"{quantity} {text}", inward)
    for quantity in get_args(Quantity)
    for kind, text, inward in (
        ("bounds", "at its minimum", 1.0),
        ("bounds", "at its maximum", -1.0),
        ("rate", "rate at its maximum", 1.0),
        ("rate", "rate at its maximum", -1.0),
    )
]
"""Quantity, kind, text and inward sign of the ends of `kernels.reached_ends`."""


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


def reached_limits(names: Sequence[str], reached: np.ndarray) -> list[ReachedLimit]:
    """Return the ends of limits that are reached, as `kernels.reached_ends` numbers them."""
    limits = []
    for number in reached.tolist():
        end, i = divmod(number, len(names))
        quantity, kind, text, inward = _ENDS[end]
        limits.append(ReachedLimit(f"{names[i]}: {text}", i, quantity, kind, inward))
    return limits


def active_limits(names: Sequence[str], reached: np.ndarray) -> tuple[str, ...]:
    """Return texts of the limits that are reached, such as "cable L0: effort at its minimum".

    Arguments as for `reached_limits`; both ends of a rate of zero have the same text, once.
    """
    return tuple(dict.fromkeys(limit.text for limit in reached_limits(names, reached)))


def exceeded_limits(
    names: Sequence[str],
    limits: Iterable[Limit],
    values: dict[str, np.ndarray],
    margins: dict[str, np.ndarray],
) -> tuple[str, ...]:
    """Return the exceeded limits, such as "cable L0: displacement 0.25 above its maximum".

    An excess below the margin is not reported.

    Args:
        names: Names of the actuators, n_a of them.
        limits: The limits to check.
        values: "effort" and "displacement" of each actuator, shape (n_a,) each.
        margins: Smallest excess that is reported, shape (n_a,) each.
    """
    texts = []
    for limit in limits:
        value, margin = values[limit.quantity], margins[limit.quantity]
        below, above = _EXCESS_TEXTS[limit.kind]
        for excess, text in ((limit.lower - value, below), (value - limit.upper, above)):
            for i in (excess > margin).nonzero()[0]:
                amount = text.format(f"{excess[i]:.3g}")
                texts.append(f"{names[i]}: {limit.quantity} {amount}")
    return tuple(texts)
