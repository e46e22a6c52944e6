"""Collisions of a trajectory with obstacles, and obstacles between its end and its goal."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.costs.obstacles import (
    Obstacle,
    Solid,
    find_nearest_points,
    measure_segments,
)
from sofa_softctl.surrogate.program.transcription import PlanningProblem, TrajectoryIterate


@dataclass(frozen=True)
class CollisionSettings:
    """Tolerances of the tests for collisions."""

    corner_cut_max: float = 0.02
    """Largest depth by which a segment may cut a bend around an obstacle, over its length [-]; the
    depth is 1/8 length^2 / radius."""
    reached_ratio: float = 0.01
    """Distance from the last goal over the travelled path, at which it counts as reached [-]."""
    surface_tolerance: float = 1e-4
    """Depth over the path of a probe, to which the optimiser keeps it on a surface [-]."""


SETTINGS = CollisionSettings()


@dataclass(frozen=True, eq=False)
class Approach:
    """Segment of a trajectory that is nearest to an obstacle, or deepest inside."""

    number: int
    """Number of the obstacle, from 1."""
    obstacle: Obstacle
    """Obstacle that is approached."""
    inside_by: float
    """Displacement by which the segment would leave the solid; negative outside [length]."""
    instant: float
    """Time as an instant, from 1 to K; 57.5 is halfway between instants 57 and 58."""
    tolerance: float
    """Depth up to which the segment only touches the obstacle [length]."""
    depth: float
    """Largest depth in the margin at an instant, negative outside [length]."""
    deepest: int
    """Instant of the largest depth, from 2 to K."""

    @property
    def is_inside(self) -> bool:
        """True if the segment is inside the solid, not only in its margin."""
        return self.inside_by > self.tolerance

    @property
    def is_inside_margin(self) -> bool:
        """True if the point is inside the margin at an instant."""
        return self.depth > self.tolerance

    def __str__(self) -> str:
        """Return the name of the obstacle."""
        return obstacle_name(self.number, self.obstacle.shape)


def approaches(problem: PlanningProblem, trial: TrajectoryIterate) -> list[Approach]:
    """Find the nearest approach to each obstacle, including segments between instants.

    A trajectory with second differences dd differs from its segments by up to s (1 - s) / 2 |dd|. A
    segment may cut into a solid by that much, but by at most 2 % of its length.
    """
    nearest_approaches = []
    for number, obstacle in enumerate(problem.obstacles, 1):
        y = trial.y[:, list(obstacle.rows)]
        p = obstacle.probe.locate(y)[0]
        segment_lengths = np.linalg.norm(np.diff(p, axis=0), axis=1)
        fraction = find_nearest_points(obstacle.shape, p[:-1], p[1:]).fraction
        bends = np.zeros(len(p))
        bends[1:-1] = np.linalg.norm(np.diff(p, 2, axis=0), axis=1)
        cut_depth = 0.5 * fraction * (1.0 - fraction) * np.maximum(bends[:-1], bends[1:])
        cut_depth = np.minimum(cut_depth, SETTINGS.corner_cut_max * segment_lengths)
        inside_by = -measure_segments(obstacle.shape, p[:-1], p[1:]).distance
        k = int((inside_by - cut_depth).argmax())
        depth = obstacle.violation(y[1:])[0]
        nearest_approaches.append(
            Approach(
                number,
                obstacle,
                inside_by=float(inside_by[k]),
                instant=1 + k + float(fraction[k]),
                tolerance=SETTINGS.surface_tolerance * float(segment_lengths.sum())
                + float(cut_depth[k]),
                depth=float(depth.max()),
                deepest=int(depth.argmax()) + 2,
            )
        )
    return nearest_approaches


def blocking_obstacles(
    problem: PlanningProblem, trial: TrajectoryIterate
) -> list[tuple[str, float]]:
    """Return obstacles, with margins, on the straight line from the end to the last goal.

    Such a trajectory has stopped in front of an obstacle, or passed it on the wrong side. A goal is
    reached within its tolerance, or within 1 % of the travelled path.

    Returns:
        Names of the obstacles, with the length of the line.
    """
    blocking = []
    for term in problem.outputs:
        if not isinstance(term, Following):
            continue
        last = int(np.flatnonzero(np.broadcast_to(term.weight, len(term.goal)) > 0.0)[-1:].sum())
        p = term.probe.locate(trial.y[:, list(term.rows)])[0]
        end, goal = p[last : last + 1], term.goals_of(p)[last : last + 1]
        distance = float(np.linalg.norm(goal - end))
        travelled = float(np.linalg.norm(np.diff(p, axis=0), axis=1).sum())
        reach_tolerance = (
            term.tolerance if np.isfinite(term.tolerance) else SETTINGS.reached_ratio * travelled
        )
        if distance <= reach_tolerance:
            continue
        for number, obstacle in enumerate(problem.obstacles, 1):
            if obstacle.probe == term.probe:
                clearance = measure_segments(obstacle.shape, end, goal).distance[0]
                if clearance < obstacle.margin - SETTINGS.surface_tolerance * (
                    travelled + distance
                ):
                    blocking.append((obstacle_name(number, obstacle.shape), distance))
    return blocking


def is_obstructed(problem: PlanningProblem, trial: TrajectoryIterate) -> bool:
    """Return True if a trajectory enters an obstacle's margin, or ends behind an obstacle."""
    if not problem.obstacles:
        return False
    is_inside = any(
        approach.is_inside or approach.is_inside_margin for approach in approaches(problem, trial)
    )
    return is_inside or bool(blocking_obstacles(problem, trial))


def obstacle_name(number: int, shape: Solid) -> str:
    """Return a name like 'obstacle 2 (Sphere, center [2, 9, -180], radius 5)'."""
    values: tuple[Any, ...] = fields(shape) if is_dataclass(shape) else ()
    parts = [type(shape).__name__]
    for field in values:
        numbers = np.atleast_1d(getattr(shape, field.name))
        text = ", ".join(f"{value:.4g}" for value in numbers)
        parts.append(f"{field.name} [{text}]" if len(numbers) > 1 else f"{field.name} {text}")
    return f"obstacle {number} ({', '.join(parts)})"
