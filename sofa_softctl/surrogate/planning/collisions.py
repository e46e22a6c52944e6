"""Where a motion meets obstacles, and which obstacle is between its end and its goal."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.costs.obstacles import Obstacle, Solid, nearest, swept
from sofa_softctl.surrogate.program.transcription import PlanningProblem, Trial

_CUT = (
    0.02  # of a way: what it may cut short of a bend round an obstacle, which is 1/8 way^2 / radius
)
_REACHED = 0.01  # of the way travelled: so near to the last goal a motion has reached it
_SURFACE = 1e-4  # of the way of a probe: as exactly as the optimiser keeps it on a surface


@dataclass(frozen=True, eq=False)
class Approach:
    """The part of a motion that is nearest to an obstacle, or deepest inside."""

    number: int
    """Number of the obstacle, from 1."""
    obstacle: Obstacle
    """The obstacle."""
    inside_by: float
    """How far the way between two instants would have to be moved to leave the solid; negative
    outside [length]."""
    instant: float
    """When, from 1 to K; 57.5 is halfway between instants 57 and 58."""
    tolerance: float
    """Depth up to which it only touches the obstacle [length]."""
    depth: float
    """Largest depth in the margin at an instant, negative outside [length]."""
    deepest: int
    """That instant, from 2 to K."""

    @property
    def inside(self) -> bool:
        """Whether the way is inside the solid, not only its margin."""
        return self.inside_by > self.tolerance

    @property
    def too_near(self) -> bool:
        """Whether the point is inside the margin at an instant."""
        return self.depth > self.tolerance

    def __str__(self) -> str:
        """The obstacle as text."""
        return obstacle_name(self.number, self.obstacle.shape)


def approaches(problem: PlanningProblem, trial: Trial) -> list[Approach]:
    """The nearest approach to each obstacle, on the straight ways between instants too.

    A motion with second differences dd differs from its straight ways by up to s (1 - s) / 2 |dd|:
    so far a way may cut into a solid, but by no more than 2 % of its length.
    """
    nearest_approaches = []
    for number, obstacle in enumerate(problem.obstacles, 1):
        y = trial.y[:, list(obstacle.rows)]
        p = obstacle.probe.locate(y)[0]
        segment_lengths = np.linalg.norm(np.diff(p, axis=0), axis=1)
        fraction = nearest(obstacle.shape, p[:-1], p[1:]).share
        bends = np.zeros(len(p))
        bends[1:-1] = np.linalg.norm(np.diff(p, 2, axis=0), axis=1)
        cut_depth = 0.5 * fraction * (1.0 - fraction) * np.maximum(bends[:-1], bends[1:])
        cut_depth = np.minimum(cut_depth, _CUT * segment_lengths)
        inside_by = -swept(obstacle.shape, p[:-1], p[1:]).distance
        k = int((inside_by - cut_depth).argmax())
        depth = obstacle.violation(y[1:])[0]
        nearest_approaches.append(
            Approach(
                number,
                obstacle,
                inside_by=float(inside_by[k]),
                instant=1 + k + float(fraction[k]),
                tolerance=_SURFACE * float(segment_lengths.sum()) + float(cut_depth[k]),
                depth=float(depth.max()),
                deepest=int(depth.argmax()) + 2,
            )
        )
    return nearest_approaches


def between(problem: PlanningProblem, trial: Trial) -> list[tuple[str, float]]:
    """Obstacles, with margins, on the straight way from a motion's end to its last goal.

    Such a motion has stopped in front of an obstacle, or has gone past its wrong side. A goal
    within its tolerance, or 1 % of the way travelled, is reached.

    Returns:
        The obstacles' names, with the length of the way.
    """
    blocking = []
    for term in problem.outputs:
        if not isinstance(term, Following):
            continue
        last = int(np.flatnonzero(np.broadcast_to(term.weight, len(term.goal)) > 0.0)[-1:].sum())
        p = term.probe.locate(trial.y[:, list(term.rows)])[0]
        end, goal = p[last : last + 1], term.goal[last : last + 1]
        distance = float(np.linalg.norm(goal - end))
        travelled = float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum())
        reach_tolerance = term.tolerance if np.isfinite(term.tolerance) else _REACHED * travelled
        if distance <= reach_tolerance:
            continue
        for number, obstacle in enumerate(problem.obstacles, 1):
            if obstacle.probe == term.probe:
                clearance = swept(obstacle.shape, end, goal).distance[0]
                if clearance < obstacle.margin - _SURFACE * (travelled + distance):
                    blocking.append((obstacle_name(number, obstacle.shape), distance))
    return blocking


def obstructed(problem: PlanningProblem, trial: Trial) -> bool:
    """Whether a motion enters an obstacle's margin, or ends behind an obstacle."""
    if not problem.obstacles:
        return False
    is_inside = any(approach.inside or approach.too_near for approach in approaches(problem, trial))
    return is_inside or bool(between(problem, trial))


def obstacle_name(number: int, shape: Solid) -> str:
    """Such as 'obstacle 2 (Sphere, center [2, 9, -180], radius 5)'."""
    values: tuple[Any, ...] = fields(shape) if is_dataclass(shape) else ()
    parts = [type(shape).__name__]
    for field in values:
        numbers = np.atleast_1d(getattr(shape, field.name))
        text = ", ".join(f"{value:.4g}" for value in numbers)
        parts.append(f"{field.name} [{text}]" if len(numbers) > 1 else f"{field.name} {text}")
    return f"obstacle {number} ({', '.join(parts)})"
