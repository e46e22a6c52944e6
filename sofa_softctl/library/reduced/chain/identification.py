"""Identification of a chain from recorded motions of an FEM robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.errors import SceneError
from sofa_softctl.library.reduced.chain.model import ChainModel, Plant
from sofa_softctl.library.reduced.chain.motion import finite_difference_jacobian, rollout
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.session.session import Session

RESIDUAL_MAX = 1e3
"""Residual of a chain that buckles or whose steps are unstable [unit of the data]."""


@dataclass(frozen=True)
class Frame:
    """Plane in which the robot bends."""

    base: Sequence[float]
    """Base of the straight robot, shape (3,)."""
    along: Sequence[float]
    """Unit vector from base to tip, shape (3,)."""
    aside: Sequence[float]
    """Unit vector to the side of the cable, shape (3,)."""

    def coordinates(self, points: ArrayLike) -> np.ndarray:
        """Return the coordinates along and aside of points (..., 3), shape (..., 2)."""
        plane = np.array([self.along, self.aside], float)
        return np.asarray((np.asarray(points, float) - np.asarray(self.base, float)) @ plane.T)


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Motion of points of the robot from rest, sampled at each step."""

    plant: Plant
    """Payload and factors of the recorded robot."""
    tension: np.ndarray
    """Tension at rest, then in each step [force], shape (K + 1,)."""
    points: np.ndarray
    """Positions along and aside at the same instants [length], shape (K + 1, m, 2)."""


def record(
    session: Session,
    line: Any,
    points: Callable[[], ArrayLike],
    frame: Frame,
    tension: ArrayLike,
    plant: Plant,
) -> RecordedMotion:
    """Record the robot while its cable follows tensions.

    Args:
        session: Scene at rest, in which nothing else moves the robot.
        line: CableConstraint of valueType "force", which pulls with tension[0].
        points: Returns the present positions, shape (m, 3).
        frame: Plane of the motion.
        tension: Tension at rest, then in each step [force], shape (K + 1,).
        plant: Payload of the scene.
    """
    tensions = np.asarray(tension, float)
    factor = ComplianceSystem(session.root).effort_factor(line)
    positions = [frame.coordinates(points())]
    for force in tensions[1:]:
        line.value.value = [float(force * factor)]
        session.step()
        positions.append(frame.coordinates(points()))
    return RecordedMotion(plant, tensions, np.array(positions))


def identify_chain(
    motions: Sequence[RecordedMotion],
    start: ChainModel,
    distances: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    steps: int = 2,
) -> ChainModel:
    """Fit lengths, springs, dampers, moment arms and shortening to recorded motions.

    Positions over whole motions are fitted by least squares; the motions begin in equilibria of the
    chain. Total length, density, gravity and dt are kept from `start`.

    Args:
        motions: Recorded motions, all with the same number of samples.
        start: Initial guess.
        distances: Distance of each point from the base [length], shape (m,).
        weights: Weights of the points, shape (m,); by default 1.
        steps: Number of integration steps per sample.

    Raises:
        SceneError: The fitted chain does not follow the motions in stable steps.
    """
    weight = np.ones(len(distances)) if weights is None else np.asarray(weights, float)
    # (m, 2, K + 1, r)
    measured = np.array([motion.points for motion in motions]).transpose(2, 3, 1, 0)
    tension = np.array([motion.tension for motion in motions]).T[..., None]  # (K + 1, r, 1)
    columns = zip(*(motion.plant for motion in motions), strict=True)
    plant = Plant(*(np.array(values, float)[:, None] for values in columns))
    unknowns = _ScaledUnknowns(start)

    def residuals(scaled: np.ndarray) -> np.ndarray:
        """Return the weighted residuals of c chains, from unknowns (n_unknowns, c)."""
        chains = unknowns.to_chain(scaled)
        angles = chains.equilibrium(tension[0], plant)  # (n, r, c)
        x = rollout(chains, angles, 0.0 * angles, tension, plant, dt=start.dt, steps=steps)
        links = [x[:, i] for i in range(start.count)]
        modelled = np.array([chains.point(links, tension, distance) for distance in distances])
        weighted = weight[:, None, None, None, None] * (modelled - measured[..., None])
        return (
            np.nan_to_num(weighted, nan=RESIDUAL_MAX)
            .clip(-RESIDUAL_MAX, RESIDUAL_MAX)
            .reshape(-1, scaled.shape[1])
        )

    fit = least_squares(
        lambda scaled: residuals(scaled[:, None])[:, 0],
        unknowns.scale_model(start),
        lambda scaled: finite_difference_jacobian(residuals, scaled),
        bounds=unknowns.bounds,
        x_scale="jac",
        xtol=1e-7,
        ftol=1e-6,
        max_nfev=200,
    )
    residual_rows = fit.fun.reshape(len(distances), -1) / weight[:, None]
    if np.abs(residual_rows).max() >= RESIDUAL_MAX:
        raise SceneError(
            f"No stable chain of {start.count} moving links follows the motions with {steps} steps "
            "of integration a sample. Give more steps, fewer links, or a better initial guess."
        )
    best = unknowns.to_chain(fit.x)
    return replace(best, misfit=float(np.sqrt(2.0 * np.mean(residual_rows**2))))


class _ScaledUnknowns:
    """Scaling of the unknowns of the identification, and their chains."""

    def __init__(self, start: ChainModel) -> None:
        self.start, n = start, start.count
        stiffness_scale, arm_scale = max(start.stiffness), max(start.arms)
        # A link takes a fraction of the length behind the links before it: none is negative.
        kinds: list[tuple[float, float, float]] = [
            (1.0, 1e-3, 0.95),
            (stiffness_scale, 1e-3, np.inf),
            (stiffness_scale, -np.inf, np.inf),
            (stiffness_scale * start.dt, 0.0, np.inf),
            (arm_scale, -np.inf, np.inf),
        ]
        table = np.array([kind for kind in kinds for _ in range(n)])
        table = np.vstack((table, (0.01 * arm_scale / stiffness_scale, -np.inf, np.inf)))
        self.scale, self.bounds = table[:, 0], (table[:, 1], table[:, 2])

    def scale_model(self, model: ChainModel) -> np.ndarray:
        """Return the unknowns of a chain, shape (n_unknowns,)."""
        remaining_lengths = np.cumsum(model.lengths[::-1])[::-1]  # what is left from each link on
        fractions = np.array(model.lengths[:-1]) / remaining_lengths[:-1]
        constants = (model.stiffness, model.cubic, model.damping, model.arms, [model.shortening])
        values = np.concatenate((fractions, *constants)) / self.scale
        return np.asarray(np.clip(values, self.bounds[0] + 1e-6, self.bounds[1] - 1e-6))

    def to_chain(self, unknowns: np.ndarray) -> ChainModel:
        """Return the chain of unknowns (n_unknowns,), or c chains of unknowns (n_unknowns, c)."""
        n, remaining = self.start.count, sum(self.start.lengths)
        values = (unknowns.T * self.scale).T
        fractions, k, b, c, arms = (values[i * n : (i + 1) * n] for i in range(5))
        lengths = []
        for fraction in fractions:
            lengths.append(fraction * remaining)
            remaining = remaining - lengths[-1]
        convert = (lambda v: float(v)) if unknowns.ndim == 1 else (lambda v: v)
        return replace(
            self.start,
            lengths=tuple(convert(v) for v in (*lengths, remaining)),
            stiffness=tuple(convert(v) for v in k),
            cubic=tuple(convert(v) for v in b),
            damping=tuple(convert(v) for v in c),
            arms=tuple(convert(v) for v in arms),
            shortening=convert(values[-1]),
        )
