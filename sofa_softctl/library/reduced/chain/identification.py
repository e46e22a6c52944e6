"""Identify a chain from recorded motions of a robot of finite elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.errors import SceneError
from sofa_softctl.library.reduced.chain.model import ChainModel, Plant
from sofa_softctl.library.reduced.chain.motion import rollout, slopes
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.session.session import Session

FAR = 1e3
"""What a chain misses whose steps are not stable, in units of the data."""


@dataclass(frozen=True)
class Frame:
    """Plane in which the robot bends."""

    base: Sequence[float]
    """Base of the straight robot, shape (3,)."""
    along: Sequence[float]
    """Unit vector from its base to its tip, shape (3,)."""
    aside: Sequence[float]
    """Unit vector to the side of the cable, shape (3,)."""

    def coordinates(self, points: ArrayLike) -> np.ndarray:
        """Points (..., 3) along and aside, shape (..., 2)."""
        plane = np.array([self.along, self.aside], float)
        return np.asarray((np.asarray(points, float) - np.asarray(self.base, float)) @ plane.T)


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Motion of points of the robot from rest, sampled at each step."""

    plant: Plant
    """Payload, and factors if they are not 1."""
    tension: np.ndarray
    """At rest, then what the cable pulled in each step [force], shape (K + 1,)."""
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
    """Record the robot while its cable pulls as given.

    Args:
        session: A scene at rest, in which nothing else moves the robot.
        line: The CableConstraint; its valueType is "force", and it pulls with tension[0].
        points: Gives the present positions, shape (m, 3).
        frame: Plane of the motion.
        tension: At rest, then in each step [force], shape (K + 1,).
        plant: Payload of the scene.
    """
    given = np.asarray(tension, float)
    factor = ComplianceSystem(session.root).effort_factor(line)
    seen = [frame.coordinates(points())]
    for force in given[1:]:
        line.value.value = [float(force * factor)]
        session.step()
        seen.append(frame.coordinates(points()))
    return RecordedMotion(plant, given, np.array(seen))


def identify_chain(
    motions: Sequence[RecordedMotion],
    start: ChainModel,
    at: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    steps: int = 2,
) -> ChainModel:
    """Fit lengths, springs, dampers, moment arms and shortening to recorded motions.

    Least squares on positions over whole motions, which begin in the chain's own equilibria. The
    total length, density, gravity and dt stay those of `start`.

    Args:
        motions: All with the same number of samples.
        start: Initial guess.
        at: Distance of each point from the base [length], shape (m,).
        weights: Of the points, shape (m,); by default 1.
        steps: Steps of integration from sample to sample.

    Raises:
        SceneError: The chain found does not follow the motions in stable steps.
    """
    weight = np.ones(len(at)) if weights is None else np.asarray(weights, float)
    seen = np.array([motion.points for motion in motions]).transpose(2, 3, 1, 0)  # (m, 2, K + 1, r)
    tension = np.array([motion.tension for motion in motions]).T[..., None]  # (K + 1, r, 1)
    columns = zip(*(motion.plant for motion in motions), strict=True)
    plant = Plant(*(np.array(each, float)[:, None] for each in columns))
    unknowns = _Unknowns(start)

    def misses(share: np.ndarray) -> np.ndarray:
        """Weighted misses of c chains, share (n_unknowns, c); shape (rows, c)."""
        chains = unknowns.chain(share)
        angles = chains.equilibrium(tension[0], plant)  # (n, r, c)
        x = rollout(chains, angles, 0.0 * angles, tension, plant, dt=start.dt, steps=steps)
        links = [x[:, i] for i in range(start.count)]
        found = np.array([chains.point(links, tension, place) for place in at])
        far = weight[:, None, None, None, None] * (found - seen[..., None])
        return np.nan_to_num(far, nan=FAR).clip(-FAR, FAR).reshape(-1, share.shape[1])

    found = least_squares(
        lambda share: misses(share[:, None])[:, 0],
        unknowns.of(start),
        lambda share: slopes(misses, share),
        bounds=unknowns.bounds,
        x_scale="jac",
        xtol=1e-7,
        ftol=1e-6,
        max_nfev=200,
    )
    rows = found.fun.reshape(len(at), -1) / weight[:, None]
    if np.abs(rows).max() >= FAR:
        raise SceneError(
            f"No stable chain of {start.count} moving links follows the motions with {steps} steps "
            "of integration a sample. Give more steps, fewer links, or a better initial guess."
        )
    best = unknowns.chain(found.x)
    return replace(best, misfit=float(np.sqrt(2.0 * np.mean(rows**2))))


class _Unknowns:
    """Scaled unknowns of the identification, and their chains."""

    def __init__(self, start: ChainModel) -> None:
        self.start, n = start, start.count
        stiff, arm = max(start.stiffness), max(start.arms)
        # A link takes a share of what the links before it left: no length is negative.
        kinds: list[tuple[float, float, float]] = [
            (1.0, 1e-3, 0.95),
            (stiff, 1e-3, np.inf),
            (stiff, -np.inf, np.inf),
            (stiff * start.dt, 0.0, np.inf),
            (arm, -np.inf, np.inf),
        ]
        every = np.array([each for each in kinds for _ in range(n)])
        every = np.vstack((every, (0.01 * arm / stiff, -np.inf, np.inf)))
        self.scale, self.bounds = every[:, 0], (every[:, 1], every[:, 2])

    def of(self, model: ChainModel) -> np.ndarray:
        """Unknowns of a chain, shape (n_unknowns,)."""
        ends = np.cumsum(model.lengths[::-1])[::-1]  # what is left from each link on
        shares = np.array(model.lengths[:-1]) / ends[:-1]
        rest = (model.stiffness, model.cubic, model.damping, model.arms, [model.shortening])
        values = np.concatenate((shares, *rest)) / self.scale
        return np.asarray(np.clip(values, self.bounds[0] + 1e-6, self.bounds[1] - 1e-6))

    def chain(self, share: np.ndarray) -> ChainModel:
        """Chain of unknowns (n_unknowns,), or chains of unknowns (n_unknowns, c)."""
        n, left = self.start.count, sum(self.start.lengths)
        values = (share.T * self.scale).T
        parts, k, b, c, arms = (values[i * n : (i + 1) * n] for i in range(5))
        lengths = []
        for part in parts:
            lengths.append(part * left)
            left = left - lengths[-1]
        numbers = (lambda v: float(v)) if share.ndim == 1 else (lambda v: v)
        return replace(
            self.start,
            lengths=tuple(numbers(v) for v in (*lengths, left)),
            stiffness=tuple(numbers(v) for v in k),
            cubic=tuple(numbers(v) for v in b),
            damping=tuple(numbers(v) for v in c),
            arms=tuple(numbers(v) for v in arms),
            shortening=numbers(values[-1]),
        )
