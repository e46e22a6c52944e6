"""Motions of chains, many at once, and slopes by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sofa_softctl.library.chain_model import ChainModel, Plant


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
    x = np.concatenate((angles, speeds))
    seen = np.empty((len(tension), *x.shape))
    seen[0] = x

    def rate(x: np.ndarray, force: Any) -> np.ndarray:
        return np.array([*x[n:], *model.acceleration(x[:n], x[n:], force, plant)])

    with np.errstate(over="ignore", invalid="ignore"):
        for k, (begin, end) in enumerate(pairwise(tension)):
            for i in range(steps):
                first, middle, last = (begin + (i + s) / steps * (end - begin) for s in (0, 0.5, 1))
                k1 = rate(x, first)
                k2 = rate(x + 0.5 * h * k1, middle)
                k3 = rate(x + 0.5 * h * k2, middle)
                k4 = rate(x + h * k3, last)
                x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            seen[k + 1] = x
    return seen


def slopes(
    misses: Callable[[np.ndarray], np.ndarray], at: np.ndarray, tiny: float = 1e-6
) -> np.ndarray:
    """Jacobian of a function of columns, by forward differences of all columns at once."""
    every = misses(at[:, None] + tiny * np.column_stack([np.zeros_like(at), np.eye(len(at))]))
    return np.asarray((every[:, 1:] - every[:, :1]) / tiny)
