"""Motions of chains, many at once, and slopes by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sofa_softctl.library.chain.model import ChainModel, Plant
from sofa_softctl.library.ocp.runge_kutta import Slope, rk4


def rollout(
    model: ChainModel,
    angles: np.ndarray,
    speeds: np.ndarray,
    tension: np.ndarray,
    plant: Plant,
    *,
    dt: float,
    steps: int = 1,
) -> np.ndarray:
    """Angles and speeds of chains while the tension goes linearly from sample to sample.

    Args:
        model: The chain; its constants may be arrays, one a chain.
        angles: At the start, shape (n, ...).
        speeds: At the start, shape (n, ...).
        tension: At each sample, shape (K + 1, ...) [force].
        plant: Payload and factors, of one shape with the chains, or numbers.
        dt: Time from sample to sample [time].
        steps: Steps of the Runge-Kutta method of order four between two.

    Returns:
        Angles, then speeds, shape (K + 1, 2 n, ...); not finite where a chain's steps are too long.
    """
    n, h = model.count, dt / steps
    x: Any = np.concatenate((angles, speeds))
    seen = np.empty((len(tension), *x.shape))
    seen[0] = x

    def slope(first: Any, last: Any) -> Slope:
        """The rates in a step, from the tension at its start and that at its end."""

        def rates(x: list[Any], share: float) -> list[Any]:
            force = first + share * (last - first)
            return [*x[n:], *model.acceleration(x[:n], x[n:], force, plant)]

        return rates

    with np.errstate(over="ignore", invalid="ignore"):
        for k, (begin, end) in enumerate(pairwise(tension)):
            forces = [begin + i / steps * (end - begin) for i in range(steps + 1)]
            for first, last in pairwise(forces):
                x = rk4(slope(first, last), x, h)
            seen[k + 1] = x
    return seen


def slopes(
    misses: Callable[[np.ndarray], np.ndarray], at: np.ndarray, tiny: float = 1e-6
) -> np.ndarray:
    """Jacobian of a function of columns, by forward differences of all columns at once."""
    every = misses(at[:, None] + tiny * np.column_stack([np.zeros_like(at), np.eye(len(at))]))
    return np.asarray((every[:, 1:] - every[:, :1]) / tiny)
