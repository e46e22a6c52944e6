"""Correct a motion of a chain once, by what was measured in its first part.

What differs from the nominal robot, from the first part of a motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.reduced.chain.model import ChainModel, Plant
from sofa_softctl.library.reduced.chain.motion import rollout, slopes, swing_rate

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


@dataclass(frozen=True)
class Limits:
    """Limits of the cable."""

    tension_max: float
    """Largest tension; the least is 0 [force]."""
    rate_max: float
    """Largest rate of the tension, both ways [force / time]."""


def replanned(
    model: ChainModel,
    motion: Motion,
    interval: int,
    now: Estimate,
    *,
    goal: float,
    horizon: float,
    limits: Limits,
    steps: int = 10,
) -> Motion:
    """Change the inputs from an interval on such that the estimated plant rests at the goal.

    Least squares on the end, with little weight on changes of the inputs.

    Args:
        model: The chain of the nominal robot.
        motion: What was planned.
        interval: Number of the first interval to change.
        now: Estimate of plant and state at its start.
        goal: Displacement of the tip at the end [length].
        horizon: Duration of the whole motion [time].
        limits: Of the cable.
        steps: Steps of integration an interval.
    """
    n, dt, plant = model.count, horizon / len(motion.u), now.plant
    top, most = limits.tension_max, limits.rate_max
    planned = motion.u[interval:, :1] / most
    size, rate = sum(model.lengths), swing_rate(model, float(now.x[-1]), plant)

    def course(share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tensions (N + 1, c) and states (N + 1, 2 n, c) at the ends of the intervals left."""
        change = np.cumsum(dt * most * share, axis=0)
        pulls = now.x[-1] + np.concatenate((0.0 * change[:1], change))
        angles, speeds = (
            np.repeat(each[:, None], share.shape[1], axis=1) for each in (now.x[:n], now.x[n:-1])
        )
        return pulls, rollout(model, angles, speeds, pulls, plant, dt=dt, steps=steps)

    def misses(share: np.ndarray) -> np.ndarray:
        """The end [length], the tension's excess, changes of the inputs; shape (rows, c)."""
        pulls, x = course(share)
        angles, speeds = list(x[-1, :n]), x[-1, n:]
        tip = model.tip(angles, pulls[-1])[1] + now.offset[1] - goal
        torques = np.array(model.torques(angles, n * [0.0], pulls[-1], plant))
        excess = np.maximum(pulls - top, 0.0) + np.maximum(-pulls, 0.0)
        parts = (
            tip[None],
            size * speeds / rate,
            size * torques / model.stiffness[0],
            100.0 * size * excess / top,
            0.1 * (share - planned),
        )
        return np.nan_to_num(np.concatenate(parts), nan=FAR).clip(-FAR, FAR)

    found = least_squares(
        lambda share: misses(share[:, None])[:, 0],
        planned[:, 0].clip(-0.999, 0.999),
        lambda share: slopes(misses, share),
        bounds=(-1.0, 1.0),
        xtol=1e-4,
        ftol=1e-4,
        max_nfev=20,
    )
    share = found.x[:, None]
    pulls, x = course(share)
    after = np.concatenate((x[..., 0], pulls.clip(0.0, top)), axis=1)
    return Motion(
        u=np.concatenate((motion.u[:interval], most * share)),
        x=np.concatenate((motion.x[:interval], after)),
        z=motion.z,
    )


Replan = Callable[[Motion, int, Estimate, float], Motion]
"""(motion, first interval to change, estimate at its start, goal) -> changed motion."""


@dataclass(frozen=True)
class ChainCorrection:
    """`correct` of a CorrectingLibraryController for motions of `chain_problem`.

    The motion is replanned for the estimated plant from the estimated state, unless the chain does
    not explain what was measured.
    """

    model: ChainModel
    """The chain of the nominal robot."""
    horizon: float
    """Duration of a motion [time]."""
    limits: Limits
    """Limits of the cable."""
    payload_spread: float
    """Standard deviation of the payload from the one that was asked with [mass]."""
    stiffness_spread: float
    """Standard deviation of the factor of stiffness [-]."""
    noise: float
    """Standard deviation of the mean position of the tip, by model and sensor [length]."""
    misfit_max: float = np.inf
    """Misfit above which the motion goes on as planned [length]."""
    replan: Replan | None = None
    """What changes the inputs; by default `replanned`."""

    def __call__(
        self, p: np.ndarray, motion: Motion, effort: np.ndarray, measured: np.ndarray
    ) -> tuple[Motion, np.ndarray]:
        """The motion for the rest of the time, and [payload, stiffness, misfit].

        Args:
            p: Parameters of the motion, [tension at the start, goal, payload].
            motion: What was planned.
            effort: Tension at rest, then in each step since [force], shape (K + 1, 1).
            measured: Positions of the tip along and aside then [length], shape (K + 1, 2).

        Raises:
            ValueError: The K steps are no whole number of intervals.
        """
        share = (len(effort) - 1) * self.model.dt / self.horizon * len(motion.u)
        interval = round(share)
        if abs(share - interval) > 1e-6 or not 0 < interval < len(motion.u):
            raise ValueError(
                f"A motion of {len(motion.u)} intervals can be corrected at the start of each but "
                f"the first. Got: after {share:.3f} intervals. Choose another time."
            )
        prior = Prior(float(p[2]), self.payload_spread, self.stiffness_spread, self.noise)
        now = estimate(self.model, effort[:, 0], measured, prior)
        numbers = np.array([now.plant.payload, now.plant.stiffness, now.misfit])
        if now.misfit > self.misfit_max:
            return motion, numbers
        if self.replan is not None:
            return self.replan(motion, interval, now, float(p[1])), numbers
        changed = replanned(
            self.model,
            motion,
            interval,
            now,
            goal=float(p[1]),
            horizon=self.horizon,
            limits=self.limits,
        )
        return changed, numbers
