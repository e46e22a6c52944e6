"""The explicit Runge-Kutta method of order four, of numbers, arrays and symbols alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sofa_softctl.library.ocp.problem import Symbol

Slope = Callable[[list[Symbol], float], Sequence[Symbol]]
"""(states, share of the step from 0 to 1) -> their rates."""


def rk4(slope: Slope, x: Sequence[Symbol], h: float) -> list[Symbol]:
    """States after a step h of time.

    Args:
        slope: Rates of the states; the share is for inputs that change during the step.
        x: States: numbers, symbols, or arrays of one shape, each a state of many systems.
        h: Time.
    """
    k1 = slope(list(x), 0.0)
    k2 = slope([a + 0.5 * h * b for a, b in zip(x, k1, strict=True)], 0.5)
    k3 = slope([a + 0.5 * h * b for a, b in zip(x, k2, strict=True)], 0.5)
    k4 = slope([a + h * b for a, b in zip(x, k3, strict=True)], 1.0)
    ends = zip(x, k1, k2, k3, k4, strict=True)
    return [a + h / 6.0 * (b + 2.0 * c + 2.0 * d + e) for a, b, c, d, e in ends]
