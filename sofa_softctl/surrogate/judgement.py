"""Acceptance test of a plan, by its replay on the full model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport, Criterion
from sofa_softctl.errors import SceneError
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.planning.costs import Following
from sofa_softctl.surrogate.planning.obstacles.obstacle import Obstacle
from sofa_softctl.surrogate.planning.probes import Probe
from sofa_softctl.surrogate.replay import Replay
from sofa_softctl.surrogate.task import Task

TOUCHING = 0.01
"""Depth in an obstacle that counts as touching it, as a share of the replay's tolerance."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """A replay, and what it was judged by."""

    replay: Replay
    """The replay."""
    outputs: np.ndarray
    """Outputs in the replay [length], NaN where they were not watched, shape (K, n)."""
    report: AcceptanceReport
    """The report."""


def criteria_of(
    task: Task, planned: np.ndarray, replayed: np.ndarray, tolerance: float
) -> tuple[Criterion, ...]:
    """What a replay is judged by.

    The task's point must stay near the planned path; goals with a tolerance that the plan reaches
    must be reached; and no point, nor its way between two instants, may be inside an obstacle, but
    for touching it, and for what is cut of a bend as in the plan.

    Args:
        task: The task.
        planned: Planned outputs at all instants [length], shape (K, n).
        replayed: Those of the replay, NaN where they were not watched or it failed, shape (K, n).
        tolerance: Largest distance from the planned path [length].
    """
    apart = _apart(task.probe, planned, replayed)
    path = Criterion("distance from the planned path", apart, tolerance)
    return (path, *_goals(task, planned, replayed), *_obstacles(task, planned, replayed, tolerance))


def check_watched(task: Task, layout: Layout) -> None:
    """Check that a replay sees what a task looks at.

    Raises:
        SceneError: a probe looks at nodes or lengths of lines.
    """
    probes: list[Probe] = [task.probe]
    probes += [term.probe for term in (*task.outputs, *task.obstacles) if hasattr(term, "probe")]
    for probe in probes:
        if min(probe.rows) < layout.length.stop:
            raise SceneError(
                "A probe looks at a node of the body, which a replay does not watch. Name the "
                "path of its state in SURROGATE's 'points', such as '/arm', and look at "
                "layout.point('/arm.NUMBER')."
            )


def _apart(probe: Probe, planned: np.ndarray, replayed: np.ndarray) -> float:
    first, second = (probe.locate(y[1:, list(probe.rows)])[0] for y in (planned, replayed))
    return float(np.linalg.norm(first - second, axis=1).max())


def _goals(task: Task, planned: np.ndarray, replayed: np.ndarray) -> list[Criterion]:
    found = []
    for number, term in enumerate(task.outputs, 1):
        if not isinstance(term, Following) or not np.isfinite(term.tolerance):
            continue
        rows = list(term.rows)
        if term.distance(planned[:, rows]) <= term.tolerance:
            reached = term.distance(replayed[:, rows])
            found.append(Criterion(f"distance from goal {number}", reached, term.tolerance))
    return found


def _obstacles(
    task: Task, planned: np.ndarray, replayed: np.ndarray, tolerance: float
) -> list[Criterion]:
    found = []
    for number, obstacle in enumerate(task.obstacles, 1):
        if isinstance(obstacle, Obstacle):
            rows = list(obstacle.rows)
            cut, inside = (
                float(obstacle.violation_between(y[:, rows])[0].max()) for y in (planned, replayed)
            )
            allowed = max(TOUCHING * tolerance, cut)
            found.append(Criterion(f"depth in obstacle {number}", inside, allowed))
    return found
