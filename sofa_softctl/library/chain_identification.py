"""Identify a chain from recorded motions of a robot of finite elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from sofa_softctl.library.chain_model import ChainModel, Plant, rollout
from sofa_softctl.scene.constraints.system import ComplianceSystem
from sofa_softctl.scene.session import Session


@dataclass(frozen=True)
class Frame:
    """Plane in which the robot bends."""

    base: Sequence[float]
    """Base of the straight robot, shape (3,)."""
    along: Sequence[float]
    """Unit vector from its base to its tip, shape (3,)."""
    aside: Sequence[float]
    """Unit vector towards the cable, shape (3,)."""

    def coordinates(self, points: ArrayLike) -> np.ndarray:
        """Points (..., 3) along and aside, shape (..., 2)."""
        plane = np.array([self.along, self.aside], float)
        return (np.asarray(points, float) - np.asarray(self.base, float)) @ plane.T


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Motion of points of the robot from rest, sampled at each step."""

    plant: Plant
    """Payload, and factors if they are known."""
    tension: np.ndarray
    """At the start, then what the cable pulled in each step [force], shape (K + 1,)."""
    points: np.ndarray
    """Positions along and aside [length], shape (K + 1, m, 2)."""


def record(
    session: Session,
    line: Any,
    points: Callable[[], ArrayLike],
    frame: Frame,
    tension: ArrayLike,
    plant: Plant,
) -> RecordedMotion:
    """Record the robot while its cable pulls as given; it must be at rest, its line at tension[0].

    Args:
        session: A scene in which nothing else moves the robot.
        line: The CableConstraint; its valueType is "force".
        points: Gives the present positions, shape (m, 3).
        frame: Plane of the motion.
        tension: At the start and in each step [force], shape (K + 1,).
        plant: Payload of the scene.
    """
    given = np.asarray(tension, float)
    seen = [frame.coordinates(points())]
    factor = ComplianceSystem(session.root).effort_factor(line)
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

    Least squares on the positions of the points over whole motions. The total length, density,
    gravity and dt stay those of `start`.

    Args:
        motions: All with the same number of samples.
        start: Initial guess.
        at: Distance of each point from the base [length], shape (m,).
        weights: Of the points; by default 1.
        steps: Steps of integration a sample.
    """
    total, n = sum(start.lengths), start.count
    weight = np.ones(len(at)) if weights is None else np.asarray(weights, float)
    seen = np.array([motion.points for motion in motions])  # (records, K + 1, m, 2)
    tension = np.array([motion.tension for motion in motions]).T  # (K + 1, records)
    plant = Plant(*(np.array(each) for each in zip(*(m.plant for m in motions), strict=True)))
    scales = np.concatenate(
        (n * [total / n], *(n * [max(start.stiffness)] for _ in range(2)), n*[max(start.stiffness)*start.dt])
    )
    scales = np.concatenate((scales, start.arms, [0.1 / np.ptp(tension)]))

    def model(share: np.ndarray) -> ChainModel:
        """The chain of scaled unknowns, shape (n_v,) or (n_v, ...)."""
        values = share * scales.reshape(-1, *np.ones(share.ndim - 1, int))
        lengths, k, b, c, arms = (values[i * n : (i + 1) * n] for i in range(5))
        first = total - lengths.sum(axis=0)
        return _unchecked(
            start,
            lengths=[first, *lengths],
            stiffness=list(k),
            cubic=list(b),
            damping=list(c),
            arms=list(arms),
            shortening=values[-1],
        )

    def misses(share: np.ndarray) -> np.ndarray:
        """Weighted distances, shape (rows,) or (rows, columns) for columns of unknowns."""
        chains = model(share[:, None] if share.ndim == 1 else share[:, None, :])
        # chains vary over the last axis, motions over the one before
        pulls = tension[..., None]
        loads = Plant(*(each[:, None] for each in plant))
        shape = np.broadcast_shapes(pulls.shape[1:], np.shape(chains.shortening))
        angles = chains.equilibrium(np.broadcast_to(pulls[0], shape), loads)
        x = rollout(
            chains, angles, np.zeros_like(angles), pulls, loads, dt=start.dt, steps=steps
        )
        rows = []
        for place, w in zip(at, weight, strict=True):
            found = _point(chains, x, pulls, place)
            rows.append(w * (np.array(found) - _measured(seen, list(at).index(place))[..., None]))
        flat = np.nan_to_num(np.array(rows), nan=1e3).clip(-1e3, 1e3)
        flat = flat.reshape(-1, shape[-1])
        return flat[:, 0] if share.ndim == 1 else flat

    def slopes(share: np.ndarray) -> np.ndarray:
        tiny = 1e-6
        columns = share[:, None] + tiny * np.column_stack([np.zeros_like(share), np.eye(len(share))])
        every = misses(columns)
        return (every[:, 1:] - every[:, :1]) / tiny

    initial = np.concatenate(
        (start.lengths[1:], start.stiffness, start.cubic, start.damping, start.arms)
    )
    initial = np.append(initial, start.shortening) / scales
    lower = np.concatenate((n * [0.05], n * [0.01], n * [-5.0], n * [0.0], n * [0.01], [-1.0]))
    lower[n:2*n] = 1e-3
    found = least_squares(misses, initial, slopes, bounds=(lower, np.inf), x_scale="jac", verbose=VERBOSE,max_nfev=200,xtol=1e-7,ftol=1e-6)
    best = model(found.x)
    left = found.fun.reshape(len(at), -1) / weight[:, None]
    rms = float(np.sqrt(2.0 * np.mean(left**2)))
    return replace(
        start,
        **{
            name: [float(v) for v in getattr(best, name)]
            for name in ("lengths", "stiffness", "cubic", "damping", "arms")
        },
        shortening=float(best.shortening),
        misfit=rms,
    )
VERBOSE=2

def _unchecked(start, **values):
    chain = object.__new__(ChainModel)
    chain.__dict__.update(start.__dict__ | values)
    return chain

def _measured(seen, i):
    return np.moveaxis(seen[:, :, i, :], (0, 1, 2), (2, 1, 0))

def _point(chains, x, pulls, at):
    n=chains.count
    angles=[x[:, i] for i in range(n)]
    # smooth version
    along = np.minimum(chains.lengths[0], at); aside=0.0
    left = at - chains.lengths[0]
    for length, angle in zip(chains.lengths[1:], angles):
        part=np.minimum(np.maximum(left,0.0),length)
        along=along+part*np.cos(angle); aside=aside+part*np.sin(angle); left=left-length
    s=1-chains.shortening*pulls
    return s*along, s*aside
