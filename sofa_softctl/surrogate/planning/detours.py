"""Other initial trajectories of a plan: around obstacles, to either side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.costs.obstacles import Obstacle
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate


@dataclass(frozen=True)
class DetourSettings:
    """Numbers of the detours around obstacles."""

    samples: int = 200
    """Number of samples of the path without obstacles."""
    shifts_max: int = 200
    """Maximum number of shifts of a sample, each by its depth in the margin."""
    width_max: float = 2.0
    """Largest shift over the length of the path [-]."""
    direction_ratio_min: float = 0.1
    """Singular value of a direction of the probe over the largest, below which it is ignored
    [-]."""
    arrival_fraction: float = 0.8
    """Fraction of the instants after which a detour has ended [-]."""
    combined_runs_max: int = 3
    """Number of obstructed parts with independent sides; others take the side of the last one."""


SETTINGS = DetourSettings()


def detours(problem: PlanningProblem, trial: TrajectoryIterate) -> list[PlanningProblem]:
    """Return problems without obstacles whose goals lead around them, shortest detour first.

    Their solutions are other initial trajectories, since sequential programming stays on the side
    of an obstacle on which it starts. The path through the goals is split at the obstacles of their
    probe, and each obstructed part is shifted to one side or the other until it is free.
    """
    term = _heaviest_guided_cost(problem)
    if term is None:
        return []
    path = _way(term, trial)
    # No solid fits between two samples then, however thin it is.
    spacing = float(np.linalg.norm(np.diff(path, axis=0), axis=1).max(initial=0.0))
    obstacles = [
        replace(obstacle, margin=obstacle.margin + spacing)
        for obstacle in problem.obstacles
        if obstacle.probe == term.probe
    ]
    candidates = []
    for sides in _choices(obstacles, path, _reachable(term.probe, trial)):
        shifted = _shift_path(obstacles, path, sides)
        if shifted is not None:
            candidates.append((float(np.linalg.norm(shifted - path, axis=1).sum()), shifted))
    candidates.sort(key=lambda candidate: candidate[0])
    weight = float(np.max(term.weight))
    return [
        replace(
            problem,
            obstacles=(),
            outputs=(Following(term.probe, _time_path(shifted, problem.instants), weight),),
        )
        for _, shifted in candidates
    ]


def _heaviest_guided_cost(problem: PlanningProblem) -> Following | None:
    """Return the `Following` of largest weight among points with obstacles."""
    probes = [obstacle.probe for obstacle in problem.obstacles]
    terms = [
        term
        for term in problem.outputs
        if isinstance(term, Following)
        and np.any(np.asarray(term.weight) > 0.0)
        and term.probe in probes
    ]
    return max(terms, key=lambda term: float(np.max(term.weight)), default=None)


def _way(term: Following, trial: TrajectoryIterate) -> np.ndarray:
    """Sample the path from the start through all goals of positive weight evenly."""
    points = term.probe.locate(trial.y[:, list(term.rows)])[0]
    goals, counts = term.goals_of(points), np.broadcast_to(term.weight, len(points)) > 0.0
    corners = np.concatenate((points[:1], goals[1:][counts[1:]]))
    return _even(corners, np.linspace(0, 1, SETTINGS.samples))


def _even(points: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """Return points at fractions of the length of a polygon, shape (k, 3) -> (m, 3)."""
    length = np.linalg.norm(np.diff(points, axis=0, prepend=points[:1]), axis=1).cumsum()
    positions = fractions * length[-1]
    return np.stack([np.interp(positions, length, column) for column in points.T], axis=1)


def _time_path(path: np.ndarray, instants: int) -> np.ndarray:
    """Return goals along a path for each instant, from rest to rest, shape (K, 3)."""
    s = np.clip(np.linspace(0.0, 1.0 / SETTINGS.arrival_fraction, instants), 0.0, 1.0)
    return _even(path, s * s * s * (10.0 + s * (6.0 * s - 15.0)))


def _reachable(probe: Probe, trial: TrajectoryIterate) -> np.ndarray:
    """Return the directions in which the robot can move a point, shape (r, 3)."""
    rows = list(probe.rows)
    p_y = probe.locate(trial.y[:, rows])[1]
    p_a = np.matmul(p_y, trial.jet.gradient[1:][:, rows])  # (K, 3, d)
    direction, size, _ = np.linalg.svd(np.concatenate(p_a, axis=1), full_matrices=False)
    count = max(2, int((size > SETTINGS.direction_ratio_min * size[0]).sum()))
    return direction.T[: min(count, int((size > 1e-6 * size[0]).sum()))]


def _runs(obstacles: list[Obstacle], path: np.ndarray) -> list[np.ndarray]:
    """Return the indices of each part of a path that is inside margins."""
    inside = np.flatnonzero(_margin_depths(obstacles, path) > 0.0)
    inside = inside[(inside > 0) & (inside < len(path) - 1)]
    return [run for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if len(run)]


def _margin_depths(obstacles: list[Obstacle], points: np.ndarray) -> np.ndarray:
    """Return the depth of points (k, 3) in the margins, negative if free, shape (k,)."""
    depths = [obstacle.margin - obstacle.shape.distance(points)[0] for obstacle in obstacles]
    return np.asarray(np.max(depths, axis=0))


def _choices(
    obstacles: list[Obstacle], path: np.ndarray, reachable: np.ndarray
) -> Iterator[list[np.ndarray]]:
    """Yield choices of a side for each obstructed part; the last parts share one."""
    runs = _runs(obstacles, path)
    aside = []
    for run in runs:
        chord = path[min(run[-1] + 1, len(path) - 1)] - path[max(run[0] - 1, 0)]
        component = reachable @ chord
        component = component / max(float(np.linalg.norm(component)), 1e-300)
        across = np.linalg.svd(component[None])[2][1:] @ reachable  # (r - 1, 3)
        aside.append(np.concatenate((across, -across)))
    free = min(len(runs), SETTINGS.combined_runs_max)
    count = len(aside[0]) if runs else 0
    for choice in product(range(count), repeat=free) if free else ():
        yield [aside[k][choice[min(k, free - 1)]] for k in range(len(runs))]


def _shift_path(
    obstacles: list[Obstacle], path: np.ndarray, sides: list[np.ndarray]
) -> np.ndarray | None:
    """Shift the obstructed parts of a path until they are free; None if that fails."""
    shifted = path.copy()
    shift_max = SETTINGS.width_max * float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    for run, side in zip(_runs(obstacles, path), sides, strict=True):
        shift = np.zeros(len(run))
        for _ in range(SETTINGS.shifts_max):
            depths = _margin_depths(obstacles, path[run] + shift[:, None] * side)
            shift += np.where(depths > 0.0, depths + 1e-3 * shift_max, 0.0)
            if not (depths > 0.0).any():
                break
        else:
            return None
        if shift.max() > shift_max:
            return None
        shifted[run] += shift[:, None] * side
    return shifted
