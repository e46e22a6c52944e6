"""Where a motion meets obstacles, and which obstacle is between its end and its goal."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from sofa_softctl.surrogate.planning.costs import Following
from sofa_softctl.surrogate.planning.obstacles import Obstacle
from sofa_softctl.surrogate.planning.solids import Solid
from sofa_softctl.surrogate.planning.swept import nearest
from sofa_softctl.surrogate.planning.transcription import PlanningProblem, Trial

_SURFACE = 1e-4  # of the way of a probe: as exactly as the optimiser keeps it on a surface


@dataclass(frozen=True, eq=False)
class Approach:
    """The point of a motion that is nearest to an obstacle, or deepest inside."""

    number: int
    """Number of the obstacle, from 1."""
    obstacle: Obstacle
    """The obstacle."""
    distance: float
    """Signed distance from the solid, without margin [length]."""
    instant: float
    """When, from 1 to K; 57.5 is halfway between instants 57 and 58."""
    tolerance: float
    """Depth up to which it only touches the obstacle [length]: between instants, what the straight
    way cuts short of a bend."""
    depth: float
    """Largest depth in the margin at an instant, negative outside [length]."""
    deepest: int
    """That instant, from 2 to K."""

    @property
    def inside(self) -> bool:
        """Whether the point is inside the solid, not only its margin."""
        return self.distance < -self.tolerance

    @property
    def too_near(self) -> bool:
        """Whether the point is inside the margin at an instant."""
        return self.depth > self.tolerance

    def __str__(self) -> str:
        """The obstacle as text."""
        return obstacle_name(self.number, self.obstacle.shape)


def approaches(problem: PlanningProblem, trial: Trial) -> list[Approach]:
    """The nearest approach to each obstacle, on the straight ways between instants too.

    A motion with second differences dd differs from its straight ways by up to s (1 - s) / 2 |dd|.
    """
    found = []
    for number, obstacle in enumerate(problem.obstacles, 1):
        p = obstacle.probe.locate(trial.y[:, list(obstacle.rows)])[0]
        near = nearest(obstacle.shape, p[:-1], p[1:])
        bend = np.zeros(len(p))
        bend[1:-1] = np.linalg.norm(np.diff(p, 2, axis=0), axis=1)
        cut = 0.5 * near.share * (1.0 - near.share) * np.maximum(bend[:-1], bend[1:])
        k = int((near.distance + cut).argmin())
        tolerance = _SURFACE * float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum()) + cut[k]
        instant = 1 + k + float(near.share[k])
        depth = obstacle.violation(trial.y[1:, list(obstacle.rows)])[0]
        found.append(
            Approach(
                number,
                obstacle,
                float(near.distance[k]),
                instant,
                tolerance,
                float(depth.max()),
                int(depth.argmax()) + 2,
            )
        )
    return found


def between(problem: PlanningProblem, trial: Trial) -> list[tuple[str, float]]:
    """Obstacles on the straight way from the motion's end to its last goal, with its length.

    Such a motion has stopped in front of an obstacle, or has gone past its wrong side.
    """
    found = []
    for term in problem.outputs:
        if not isinstance(term, Following):
            continue
        last = int(np.flatnonzero(np.broadcast_to(term.weight, len(term.goal)) > 0.0)[-1:].sum())
        p = term.probe.locate(trial.y[:, list(term.rows)])[0]
        here, goal = p[last : last + 1], term.goal[last : last + 1]
        way = float(np.linalg.norm(goal - here))
        for number, obstacle in enumerate(problem.obstacles, 1):
            if obstacle.probe != term.probe or obstacle.shape.distance(goal)[0][0] < 0.0:
                continue
            near = nearest(obstacle.shape, here, goal)
            if near.distance[0] < -_SURFACE * way:
                found.append((obstacle_name(number, obstacle.shape), way))
    return found


def obstructed(problem: PlanningProblem, trial: Trial) -> bool:
    """Whether a motion enters an obstacle's margin, or ends behind an obstacle."""
    if not problem.obstacles:
        return False
    near = any(each.inside or each.too_near for each in approaches(problem, trial))
    return near or bool(between(problem, trial))


def obstacle_name(number: int, shape: Solid) -> str:
    """Such as 'obstacle 2 (Sphere, center [2, 9, -180], radius 5)'."""
    values: tuple[Any, ...] = fields(shape) if is_dataclass(shape) else ()
    parts = [type(shape).__name__]
    for field in values:
        numbers = np.atleast_1d(getattr(shape, field.name))
        text = ", ".join(f"{value:.4g}" for value in numbers)
        parts.append(f"{field.name} [{text}]" if len(numbers) > 1 else f"{field.name} {text}")
    return f"obstacle {number} ({', '.join(parts)})"
