"""Correction of a chain's trajectory by measurements of its first part.

Payload, stiffness and state are estimated by least squares, then the remaining inputs are
replanned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.reduced.chain.identification import RESIDUAL_MAX
from sofa_softctl.library.reduced.chain.model import ChainModel, Plant
from sofa_softctl.library.reduced.chain.motion import (
    finite_difference_jacobian,
    rollout,
    swing_rate,
)


@dataclass(frozen=True)
class Prior:
    """Means and standard deviations of the plant before any measurement."""

    payload: float
    """Expected payload [mass]."""
    payload_spread: float
    """Standard deviation of the payload [mass]."""
    stiffness_spread: float
    """Standard deviation of the stiffness factor, whose mean is 1 [-]."""
    noise: float
    """Standard deviation of the mean tip position, from model and sensor [length]."""


@dataclass(frozen=True, eq=False)
class ChainEstimate:
    """Estimated differences from the nominal plant, and present state."""

    plant: Plant
    """Payload and stiffness factor; heavier links appear as payload."""
    x: np.ndarray
    """Present angles, speeds and tension, shape (2 n + 1,)."""
    offset: np.ndarray
    """Measured minus modelled present tip position, along and aside [length], shape (2,)."""
    misfit: float
    """Rms distance of the tip from the model [length]."""


def estimate(
    model: ChainModel, tension: ArrayLike, tip: ArrayLike, prior: Prior, *, steps: int = 2
) -> ChainEstimate:
    """Estimate payload, stiffness and state from tip positions since rest, by least squares.

    Args:
        model: Chain of the nominal robot.
        tension: Tension at rest, then in each step since [force], shape (K + 1,).
        tip: Tip positions along and aside at the same instants [length], shape (K + 1, 2).
        prior: Means and standard deviations before. All positions together count as one with its
            noise, since the model's errors at neighbouring instants are similar.
        steps: Number of integration steps per step of the scene.

    Raises:
        ValueError: Tensions and positions differ in number, or are not finite.
    """
    pulls, measured = np.asarray(tension, float), np.asarray(tip, float)
    if measured.shape != (len(pulls), 2) or not (
        np.isfinite(pulls).all() and np.isfinite(measured).all()
    ):
        raise ValueError(
            "An estimate needs finite tensions of shape (K + 1,) and positions of shape "
            f"(K + 1, 2). Got shapes: {pulls.shape} and {measured.shape}"
        )
    mean = np.array([[prior.payload], [1.0]])
    deviation = np.array([[prior.payload_spread], [prior.stiffness_spread]])
    n, count = model.count, np.sqrt(len(pulls))

    def tip_residuals(deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states (K + 1, 2 n, c), and measured minus modelled tips (2, K + 1, c)."""
        plant = Plant(*(mean + deviation * deviations))
        angles = model.equilibrium(pulls[0], plant)
        x = rollout(model, angles, 0.0 * angles, pulls, plant, dt=model.dt, steps=steps)
        tips = model.tip([x[:, i] for i in range(n)], pulls[:, None])
        return x, measured.T[..., None] - np.array(tips)

    def residuals(deviations: np.ndarray) -> np.ndarray:
        """Return the residuals of tips and prior, shape (rows, c)."""
        scaled = np.nan_to_num(tip_residuals(deviations)[1] / prior.noise, nan=RESIDUAL_MAX).clip(
            -RESIDUAL_MAX, RESIDUAL_MAX
        )
        return np.concatenate((scaled.reshape(-1, deviations.shape[1]) / count, deviations))

    fit = least_squares(
        lambda deviations: residuals(deviations[:, None])[:, 0],
        np.zeros(2),
        lambda deviations: finite_difference_jacobian(residuals, deviations),
        bounds=((-0.9 * mean / deviation).ravel(), np.inf),
        xtol=1e-5,
        ftol=1e-5,
    )
    x, residual = tip_residuals(fit.x[:, None])
    return ChainEstimate(
        plant=Plant(*(float(v) for v in (mean + deviation * fit.x[:, None]).ravel())),
        x=np.append(x[-1, :, 0], pulls[-1]),
        offset=residual[:, -1, 0],
        misfit=float(np.sqrt((residual**2).sum(axis=0).mean())),
    )


@dataclass(frozen=True)
class Limits:
    """Limits of the cable."""

    tension_max: float
    """Largest tension; the smallest is 0 [force]."""
    rate_max: float
    """Largest absolute rate of the tension [force / time]."""


def replan_inputs(
    model: ChainModel,
    motion: Motion,
    interval: int,
    estimate: ChainEstimate,
    *,
    goal: float,
    horizon: float,
    limits: Limits,
    steps: int = 10,
) -> Motion:
    """Change the inputs from an interval on such that the estimated plant rests at the goal.

    Least squares on the final state, with a small weight on changes of the inputs.

    Args:
        model: The chain of the nominal robot.
        motion: Planned trajectory.
        interval: Index of the first interval to change.
        estimate: Estimate of plant and state at its start.
        goal: Displacement of the tip at the end [length].
        horizon: Duration of the whole motion [time].
        limits: Limits of the cable.
        steps: Number of integration steps per interval.
    """
    n, dt, plant = model.count, horizon / len(motion.u), estimate.plant
    tension_max, rate_max = limits.tension_max, limits.rate_max
    planned = motion.u[interval:, :1] / rate_max
    size, rate = sum(model.lengths), swing_rate(model, float(estimate.x[-1]), plant)

    def course(rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return tensions (N + 1, c) and states (N + 1, 2 n, c) at the ends of the intervals."""
        change = np.cumsum(dt * rate_max * rates, axis=0)
        pulls = estimate.x[-1] + np.concatenate((0.0 * change[:1], change))
        angles, speeds = (
            np.repeat(value[:, None], rates.shape[1], axis=1)
            for value in (estimate.x[:n], estimate.x[n:-1])
        )
        return pulls, rollout(model, angles, speeds, pulls, plant, dt=dt, steps=steps)

    def residuals(rates: np.ndarray) -> np.ndarray:
        """Return final state [length], tension excess and input changes, shape (rows, c)."""
        pulls, x = course(rates)
        angles, speeds = list(x[-1, :n]), x[-1, n:]
        tip = model.tip(angles, pulls[-1])[1] + estimate.offset[1] - goal
        torques = np.array(model.torques(angles, n * [0.0], pulls[-1], plant))
        excess = np.maximum(pulls - tension_max, 0.0) + np.maximum(-pulls, 0.0)
        parts = (
            tip[None],
            size * speeds / rate,
            size * torques / model.stiffness[0],
            100.0 * size * excess / tension_max,
            0.1 * (rates - planned),
        )
        return np.nan_to_num(np.concatenate(parts), nan=RESIDUAL_MAX).clip(
            -RESIDUAL_MAX, RESIDUAL_MAX
        )

    fit = least_squares(
        lambda rates: residuals(rates[:, None])[:, 0],
        planned[:, 0].clip(-0.999, 0.999),
        lambda rates: finite_difference_jacobian(residuals, rates),
        bounds=(-1.0, 1.0),
        xtol=1e-4,
        ftol=1e-4,
        max_nfev=20,
    )
    rates = fit.x[:, None]
    pulls, x = course(rates)
    remaining_states = np.concatenate((x[..., 0], pulls.clip(0.0, tension_max)), axis=1)
    return Motion(
        u=np.concatenate((motion.u[:interval], rate_max * rates)),
        x=np.concatenate((motion.x[:interval], remaining_states)),
        z=motion.z,
    )


Replan = Callable[[Motion, int, ChainEstimate, float], Motion]
"""(trajectory, first interval to change, estimate at its start, goal) -> new trajectory."""


@dataclass(frozen=True)
class ChainCorrection:
    """Function `correct` of a CorrectingLibraryController for `chain_problem`.

    The trajectory is replanned for the estimated plant from the estimated state, unless the chain
    does not explain the measurements.
    """

    model: ChainModel
    """Chain of the nominal robot."""
    horizon: float
    """Duration of a motion [time]."""
    limits: Limits
    """Limits of the cable."""
    payload_spread: float
    """Standard deviation of the payload from the task's payload [mass]."""
    stiffness_spread: float
    """Standard deviation of the stiffness factor [-]."""
    noise: float
    """Standard deviation of the mean tip position, from model and sensor [length]."""
    misfit_max: float = np.inf
    """Misfit above which the trajectory is left as planned [length]."""
    replan: Replan | None = None
    """Function that replans; by default `replan_inputs`."""

    def __call__(
        self, p: np.ndarray, motion: Motion, effort: np.ndarray, measured: np.ndarray
    ) -> tuple[Motion, np.ndarray]:
        """Return the trajectory for the remaining time, and [payload, stiffness, misfit].

        Args:
            p: Parameters of the task, [tension at the start, goal, payload].
            motion: Planned trajectory.
            effort: Tension at rest, then in each step since [force], shape (K + 1, 1).
            measured: Tip positions along and aside at these instants [length], shape (K + 1, 2).

        Raises:
            ValueError: The K steps are not a whole number of intervals.
        """
        interval_exact = (len(effort) - 1) * self.model.dt / self.horizon * len(motion.u)
        interval = round(interval_exact)
        if abs(interval_exact - interval) > 1e-6 or not 0 < interval < len(motion.u):
            raise ValueError(
                f"A motion of {len(motion.u)} intervals can be corrected at the start of each but "
                f"the first. Got: after {interval_exact:.3f} intervals. Choose another time."
            )
        prior = Prior(float(p[2]), self.payload_spread, self.stiffness_spread, self.noise)
        estimate_now = estimate(self.model, effort[:, 0], measured, prior)
        numbers = np.array(
            [estimate_now.plant.payload, estimate_now.plant.stiffness, estimate_now.misfit]
        )
        if estimate_now.misfit > self.misfit_max:
            return motion, numbers
        if self.replan is not None:
            return self.replan(motion, interval, estimate_now, float(p[1])), numbers
        replanned_motion = replan_inputs(
            self.model,
            motion,
            interval,
            estimate_now,
            goal=float(p[1]),
            horizon=self.horizon,
            limits=self.limits,
        )
        return replanned_motion, numbers
