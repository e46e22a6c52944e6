"""Other initial motions of a plan: around obstacles, to either side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.costs.obstacles import Obstacle
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial

_SAMPLES = 200  # of the way without obstacles
_STEPS = 200  # aside, until a sample is free: each by what it lacks of the margin
_WIDTH = 2.0  # largest detour aside, over the length of the way
_DIRECTIONS = 0.1  # of the strongest direction in which the probe moves: weaker ones are left out
_ARRIVED = 0.8  # share of the instants by which a detour has ended
_RUNS = 3  # obstructed parts whose sides are combined; the others take the side of the last


def detours(problem: PlanningProblem, trial: Trial) -> list[PlanningProblem]:
    """Problems without obstacles whose goals lead around them, the shortest detour first.

    Their solutions are other initial motions for the problem: sequential programming stays on the
    side of an obstacle on which it starts. The way through the goals is cut at the obstacles of
    their probe, and each cut part is moved aside, to one side or the other, until it is free.
    """
    term = _guided(problem)
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
        shifted = _moved(obstacles, path, sides)
        if shifted is not None:
            candidates.append((float(np.linalg.norm(shifted - path, axis=1).sum()), shifted))
    candidates.sort(key=lambda obstacle: obstacle[0])
    weight = float(np.max(term.weight))
    return [
        replace(
            problem,
            obstacles=(),
            outputs=(Following(term.probe, _timed(shifted, problem.instants), weight),),
        )
        for _, shifted in candidates
    ]


def _guided(problem: PlanningProblem) -> Following | None:
    """The heaviest `Following` of a point that has obstacles."""
    probes = [obstacle.probe for obstacle in problem.obstacles]
    terms = [
        term
        for term in problem.outputs
        if isinstance(term, Following)
        and np.any(np.asarray(term.weight) > 0.0)
        and term.probe in probes
    ]
    return max(terms, key=lambda term: float(np.max(term.weight)), default=None)


def _way(term: Following, trial: Trial) -> np.ndarray:
    """The way from the start through all goals of positive weight, evenly, (_SAMPLES, 3)."""
    start = term.probe.locate(trial.y[:1, list(term.rows)])[0]
    counts = np.broadcast_to(term.weight, len(term.goal)) > 0.0
    return _even(np.concatenate((start, term.goal[1:][counts[1:]])), np.linspace(0, 1, _SAMPLES))


def _even(points: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """Points at shares of the length of a polygon, shape (k, 3) -> (m, 3)."""
    length = np.linalg.norm(np.diff(points, axis=0, prepend=points[:1]), axis=1).cumsum()
    positions = fractions * length[-1]
    return np.stack([np.interp(positions, length, column) for column in points.T], axis=1)


def _timed(path: np.ndarray, instants: int) -> np.ndarray:
    """Goals along a way for each instant, from rest to rest, shape (K, 3)."""
    s = np.clip(np.linspace(0.0, 1.0 / _ARRIVED, instants), 0.0, 1.0)
    return _even(path, s * s * s * (10.0 + s * (6.0 * s - 15.0)))


def _reachable(probe: Probe, trial: Trial) -> np.ndarray:
    """Directions in which the robot moves a point, at least two if there are, shape (r, 3)."""
    rows = list(probe.rows)
    p_y = probe.locate(trial.y[:, rows])[1]
    p_a = np.matmul(p_y, trial.jet.gradient[1:][:, rows])  # (K, 3, d)
    direction, size, _ = np.linalg.svd(np.concatenate(p_a, axis=1), full_matrices=False)
    count = max(2, int((size > _DIRECTIONS * size[0]).sum()))
    return direction.T[: min(count, int((size > 1e-6 * size[0]).sum()))]


def _runs(obstacles: list[Obstacle], path: np.ndarray) -> list[np.ndarray]:
    """Indices of the parts of a way that are inside margins, one after the other."""
    inside = np.flatnonzero(_missing(obstacles, path) > 0.0)
    inside = inside[(inside > 0) & (inside < len(path) - 1)]
    return [run for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1) if len(run)]


def _missing(obstacles: list[Obstacle], points: np.ndarray) -> np.ndarray:
    """What points, shape (k, 3), lack of the margins, negative where they are free, (k,)."""
    depths = [obstacle.margin - obstacle.shape.distance(points)[0] for obstacle in obstacles]
    return np.asarray(np.max(depths, axis=0))


def _choices(
    obstacles: list[Obstacle], path: np.ndarray, reachable: np.ndarray
) -> Iterator[list[np.ndarray]]:
    """Choices of a direction aside for each obstructed part, those of the last ones the same."""
    runs = _runs(obstacles, path)
    aside = []
    for run in runs:
        chord = path[min(run[-1] + 1, len(path) - 1)] - path[max(run[0] - 1, 0)]
        component = reachable @ chord
        component = component / max(float(np.linalg.norm(component)), 1e-300)
        across = np.linalg.svd(component[None])[2][1:] @ reachable  # (r - 1, 3)
        aside.append(np.concatenate((across, -across)))
    free = min(len(runs), _RUNS)
    count = len(aside[0]) if runs else 0
    for choice in product(range(count), repeat=free) if free else ():
        yield [aside[k][choice[min(k, free - 1)]] for k in range(len(runs))]


def _moved(
    obstacles: list[Obstacle], path: np.ndarray, sides: list[np.ndarray]
) -> np.ndarray | None:
    """The way with its obstructed parts moved aside until they are free; None if they never are."""
    shifted = path.copy()
    shift_max = _WIDTH * float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    for run, side in zip(_runs(obstacles, path), sides, strict=True):
        shift = np.zeros(len(run))
        for _ in range(_STEPS):
            depths = _missing(obstacles, path[run] + shift[:, None] * side)
            shift += np.where(depths > 0.0, depths + 1e-3 * shift_max, 0.0)
            if not (depths > 0.0).any():
                break
        else:
            return None
        if shift.max() > shift_max:
            return None
        shifted[run] += shift[:, None] * side
    return shifted
