"""Correct a motion of a chain by what was measured in its first part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.library.chain_model import ChainModel, Plant, rollout
from sofa_softctl.library.chain_motion import swing_rate
from sofa_softctl.library.ocp.problem import Motion

TINY = 1e-5
"""Step of finite differences, as a share of each unknown's scale."""


@dataclass(frozen=True)
class Prior:
    """What is known of the plant before anything is measured."""

    payload: float
    """Expected payload [mass]."""
    payload_spread: float
    """Standard deviation of the payload [mass]."""
    stiffness_spread: float = 0.1
    """Standard deviation of the factor of stiffness, expected to be 1 [-]."""
    noise: float = 1.0
    """Standard deviation of the tip: model and sensor [length]."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What differs from the nominal plant, and the state now."""

    plant: Plant
    """Payload and factor of stiffness; what is heavier in the links shows as payload."""
    x: np.ndarray
    """Angles, speeds and tension now, shape (2 n + 1,)."""
    misfit: float
    """Rms distance of the tip from the model [length]."""
    offset: np.ndarray
    """Measured less modelled position of the tip now, along and aside [length], shape (2,)."""


def estimate(
    model: ChainModel,
    tension: ArrayLike,
    tip: ArrayLike,
    prior: Prior,
    *,
    steps: int = 2,
) -> Estimate:
    """Payload, stiffness and state by least squares from positions of the tip since rest.

    Args:
        model: The chain of the nominal robot.
        tension: At rest, then at the end of each step since [force], shape (K + 1,).
        tip: Measured positions along and aside then [length], shape (K + 1, 2).
        prior: What is known before.
        steps: Steps of integration a step.
    """
    pulls, seen = np.asarray(tension, float), np.asarray(tip, float)
    expected = np.array([prior.payload, 1.0])
    spread = np.array([prior.payload_spread, prior.stiffness_spread])

    def simulated(unknown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and tips of the plants of unknowns of shape (2, m)."""
        plant = Plant(*(expected[:, None] + spread[:, None] * unknown))
        angles = model.equilibrium(pulls[0], plant)
        x = rollout(
            model, angles, np.zeros_like(angles), pulls, plant, dt=model.dt, steps=steps
        )
        n = model.count
        return x, np.array(model.tip([x[:, i] for i in range(n)], pulls[:, None]))

    def misses(unknown: np.ndarray) -> np.ndarray:
        """Shape (rows, m)."""
        _, tips = simulated(unknown)
        far = (tips - seen.T[..., None]) / prior.noise
        far = np.nan_to_num(far, nan=1e3).clip(-1e3, 1e3)
        # neighbouring samples share the model's error: all together count as one for each swing
        return np.concatenate((far.reshape(-1, unknown.shape[1]) / np.sqrt(len(seen)), unknown))

    found = least_squares(
        lambda share: misses(share[:, None])[:, 0],
        np.zeros(2),
        lambda share: _slopes(misses, share),
        bounds=(-0.8 * expected / spread, np.inf),
        xtol=1e-6,
    )
    x, tips = simulated(found.x[:, None])
    plant = Plant(*(float(each) for each in expected + spread * found.x))
    away = seen.T - tips[..., 0]
    return Estimate(
        plant=plant,
        x=np.append(x[-1, :, 0], pulls[-1]),
        misfit=float(np.sqrt((away**2).sum(axis=0).mean())),
        offset=away[:, -1],
    )


def replanned(
    model: ChainModel,
    motion: Motion,
    interval: int,
    now: Estimate,
    *,
    goal: float,
    horizon: float,
    tension_max: float,
    rate_max: float,
    steps: int = 10,
) -> Motion:
    """The motion with other inputs from an interval on, such that the estimated plant rests at the goal.

    Least squares on the end, with little weight on changes of the inputs.

    Args:
        model: The chain of the nominal robot.
        motion: What was planned.
        interval: Number of the first interval to change.
        now: Estimate of plant and state at its start.
        goal: Displacement of the tip at the end [length].
        horizon: Duration of the whole motion [time].
        tension_max: Largest tension [force].
        rate_max: Largest rate of the tension, both ways [force / time].
        steps: Steps of integration an interval.
    """
    n, dt, plant = model.count, horizon / len(motion.u), now.plant
    planned = motion.u[interval:, 0] / rate_max
    size, still = sum(model.lengths), n * [0.0]
    rate = swing_rate(model, float(now.x[-1]), plant)

    def pulls(share: np.ndarray) -> np.ndarray:
        change = dt * rate_max * np.cumsum(share, axis=0)
        return now.x[-1] + np.concatenate((np.zeros_like(change[:1]), change))

    def states(share: np.ndarray) -> np.ndarray:
        angles, speeds = (
            np.broadcast_to(each[:, None], (n, share.shape[1])) for each in (now.x[:n], now.x[n:-1])
        )
        return rollout(model, angles, speeds, pulls(share), plant, dt=dt, steps=steps)

    def misses(share: np.ndarray) -> np.ndarray:
        """Shape (rows, m): the end [length], excess tension, change."""
        tension, x = pulls(share), states(share)[-1]
        angles, speeds = list(x[:n]), x[n:]
        arrived = model.tip(angles, tension[-1])[1] + now.offset[1] - goal
        balance = np.array(model.torques(angles, still, tension[-1], plant)) / model.stiffness[0]
        over = np.maximum(tension - tension_max, 0.0) + np.maximum(-tension, 0.0)
        return np.concatenate(
            (
                arrived[None],
                size * speeds / rate,
                size * balance,
                100.0 * size * over / tension_max,
                0.1 * (share - planned[:, None]),
            )
        )

    found = least_squares(
        lambda share: misses(share[:, None])[:, 0],
        np.clip(planned, -0.99, 0.99),
        lambda share: _slopes(misses, share),
        bounds=(-1.0, 1.0),
        xtol=1e-6,
    )
    share = found.x[:, None]
    x = np.concatenate((states(share)[..., 0], pulls(share)), axis=1)
    return Motion(
        u=np.concatenate((motion.u[:interval], rate_max * share)),
        x=np.concatenate((motion.x[:interval], x)),
        z=motion.z,
    )


def _slopes(misses: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    """Jacobian by forward differences, all columns at once."""
    every = misses(at[:, None] + TINY * np.column_stack([np.zeros_like(at), np.eye(len(at))]))
    return np.asarray((every[:, 1:] - every[:, :1]) / TINY)
