"""Lemma IV.1 of the planning paper: convergence of plans as the grid is refined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.surrogate.program.settings import Settings

LEVELS = 4
SPACING = 0.5
"""Of level 0 [-]; some 0.9 is what the plan pulls with."""
DURATION = 0.6
"""Of the motion [s]."""
SETTINGS = Settings(stationarity=1e-10)
"""So tight that plans differ by their maps alone."""
ERRORS = ("tension", "coordinate", "reward", "map")
"""What falls with the spacing."""


@dataclass(frozen=True)
class Level:
    """A plan made by Algorithm 1 that ends at a level of the grid, beside that of the exact map."""

    level: int | None
    """Number of refinements; None: the plan with the exact map."""
    spacing: float
    """Of the finest grid [-]; 0 for the exact map."""
    equilibria: int
    """Solved for the plan."""
    seconds: float
    """Time of the plan [s]."""
    tension: float
    """Largest difference of a tension from the exact plan's, over the force [-]."""
    coordinate: float
    """Largest difference of a coordinate a from the exact plan's [-]."""
    reward: float
    """Difference of the reward, over that of the exact plan [-]."""
    map: float
    """Largest error of a node's position on the motion of the exact plan [length]."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_convergence(
    folder: Path,
    progress: Callable[[str], None] | None = None,
    *,
    instants: int = 60,
    levels: int = LEVELS,
) -> tuple[Level, ...]:
    """Plan the planar arm's reach at each level, a new robot each time, and with the exact map.

    Args:
        folder: Where the scenes are.
        progress: Called with a line of text before each plan.
        instants: K.
        levels: Number of levels, the coarsest included.

    Returns:
        A row for each level, then one for the exact map.
    """
    scene = folder / "planar_arm.py"
    report = progress or (lambda line: None)
    report("the planar arm with the exact map")
    robot, exact, seconds = _planned(scene, instants, exact=True)
    solved = robot.evaluations
    truth = robot.positions(exact.a)  # (K, N, 3)
    rows = []
    for level in range(levels):
        spacing = SPACING / 2**level
        report(f"the planar arm on a grid of {spacing:g}")
        rows.append(_level(scene, instants, level, exact, truth))
    return (*rows, Level(None, 0.0, solved, seconds, 0.0, 0.0, 0.0, 0.0))


def observed_order(rows: Sequence[Level], error: str) -> float:
    """Slope of log(error) over log(spacing): p where the error is C spacing^p.

    Args:
        rows: Of `measure_convergence`; that of the exact map does not count.
        error: One of `ERRORS`.
    """
    found = [(row.spacing, getattr(row, error)) for row in rows if row.level is not None]
    spacing, size = np.log(found).T
    return float(np.polyfit(spacing, size, 1)[0])


def _level(scene: Path, instants: int, level: int, exact: Plan, truth: np.ndarray) -> Level:
    spacing = SPACING / 2**level
    robot, plan, seconds = _planned(scene, instants, eta=spacing)
    solved = robot.evaluations  # before it is asked along the exact plan
    error = np.linalg.norm(robot.positions(exact.a) - truth, axis=2)
    return Level(
        level=level,
        spacing=spacing,
        equilibria=solved,
        seconds=seconds,
        tension=float(np.abs(plan.u - exact.u).max()),
        coordinate=float(np.abs(plan.a - exact.a).max()),
        reward=abs(plan.reward / exact.reward - 1.0),
        map=float(error.max()),
    )


def _planned(scene: Path, instants: int, **arguments: Any) -> tuple[PlannedRobot, Plan, float]:
    """The robot, its plan for the reach, and the time that it took [s]."""
    module = load_scene(scene).module
    start = perf_counter()
    given = {"spacing": SPACING, "dt": DURATION / instants} | arguments
    robot = PlannedRobot(scene, **(module.SURROGATE | given))
    share = np.arange(instants) / (instants - 1)
    task = module.TASKS["reach"](robot.dynamics.layout, share)
    found = robot.plan(robot.problem(task, instants), settings=SETTINGS)
    return robot, found, perf_counter() - start
