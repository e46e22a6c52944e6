"""What differs from the nominal robot, from the first part of a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.library.chain.model import ChainModel, Plant
from sofa_softctl.library.chain.rollout import rollout, slopes

FAR = 1e3
"""What a chain misses that buckles or whose steps are not stable, in units of the data."""


@dataclass(frozen=True)
class Prior:
    """What is known of the plant before anything is measured: means and standard deviations."""

    payload: float
    """Expected payload [mass]."""
    payload_spread: float
    """Its standard deviation [mass]."""
    stiffness_spread: float
    """Standard deviation of the factor of stiffness, expected to be 1 [-]."""
    noise: float
    """Standard deviation of the mean position of the tip, by model and sensor [length]."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What differs from the nominal plant, and the state now."""

    plant: Plant
    """Payload and factor of stiffness; links that are heavier show as payload."""
    x: np.ndarray
    """Angles, speeds and tension now, shape (2 n + 1,)."""
    offset: np.ndarray
    """Measured less modelled position of the tip now, along and aside [length], shape (2,)."""
    misfit: float
    """Rms distance of the tip from the model [length]."""


def estimate(
    model: ChainModel, tension: ArrayLike, tip: ArrayLike, prior: Prior, *, steps: int = 2
) -> Estimate:
    """Payload, stiffness and state by least squares from positions of the tip since rest.

    Args:
        model: The chain of the nominal robot.
        tension: At rest, then in each step since [force], shape (K + 1,).
        tip: Positions along and aside at the same instants [length], shape (K + 1, 2).
        prior: What is known before. All positions together count as much as one of its noise,
            since the model's errors at neighbouring instants are alike.
        steps: Steps of integration a step of the scene.

    Raises:
        ValueError: Numbers of tensions and positions differ, or they are not finite.
    """
    pulls, seen = np.asarray(tension, float), np.asarray(tip, float)
    if seen.shape != (len(pulls), 2) or not (np.isfinite(pulls).all() and np.isfinite(seen).all()):
        raise ValueError(
            "An estimate needs finite tensions of shape (K + 1,) and positions of shape "
            f"(K + 1, 2). Got shapes: {pulls.shape} and {seen.shape}"
        )
    mean = np.array([[prior.payload], [1.0]])
    spread = np.array([[prior.payload_spread], [prior.stiffness_spread]])
    n, count = model.count, np.sqrt(len(pulls))

    def away(share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States (K + 1, 2 n, c), and measured less modelled tips (2, K + 1, c)."""
        plant = Plant(*(mean + spread * share))
        angles = model.equilibrium(pulls[0], plant)
        x = rollout(model, angles, 0.0 * angles, pulls, plant, dt=model.dt, steps=steps)
        tips = model.tip([x[:, i] for i in range(n)], pulls[:, None])
        return x, seen.T[..., None] - np.array(tips)

    def misses(share: np.ndarray) -> np.ndarray:
        """Shape (rows, c)."""
        far = np.nan_to_num(away(share)[1] / prior.noise, nan=FAR).clip(-FAR, FAR)
        return np.concatenate((far.reshape(-1, share.shape[1]) / count, share))

    found = least_squares(
        lambda share: misses(share[:, None])[:, 0],
        np.zeros(2),
        lambda share: slopes(misses, share),
        bounds=((-0.9 * mean / spread).ravel(), np.inf),
        xtol=1e-5,
        ftol=1e-5,
    )
    x, left = away(found.x[:, None])
    return Estimate(
        plant=Plant(*(float(v) for v in (mean + spread * found.x[:, None]).ravel())),
        x=np.append(x[-1, :, 0], pulls[-1]),
        offset=left[:, -1, 0],
        misfit=float(np.sqrt((left**2).sum(axis=0).mean())),
    )
