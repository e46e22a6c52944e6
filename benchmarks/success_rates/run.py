"""One run of a robot, as one row of `python -m benchmarks.success_rates`."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.success_rates.cases import ROBOTS, Case, Robot
from benchmarks.success_rates.perturbation import with_perturbed_rest
from benchmarks.success_rates.run_measures import MEASURES, RunMeasures
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.loader import SceneFile, load_scene
from sofa_softctl.scene.session.run import step_count
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Status

SLOWEST = 40
"""Times of a run that its row keeps, so that the slowest 0.1 % of many runs can be found."""
COLUMNS = (
    *("robot", "parameters", "seed", "steps", "contacts"),
    *MEASURES,
    *("plane mean", "reached", "why"),
    *(status.name for status in Status),
    *("last status", "not converged", "gap median", "gap worst", "lost"),
    *("qp median", "qp p99", "qp p99.9", "qp worst", "qp slowest", "step median", "lookahead"),
    "error",
)
"""Of a row. Errors in lengths of the scene and degrees; plane: of the angle in the plane of the
goals' motion, tilts out of it left out; qp, step: CPU time [ms]; lookahead: CPU time of all steps'
look-ahead together [ms]; the statuses and 'not converged' count steps."""


def run_case(scene: Path, case: Case) -> dict[str, Any]:
    """Run one case; an error of the run becomes the row's.

    Args:
        scene: The scene file of its robot.
        case: What to run.
    """
    row: dict[str, Any] = dict(zip(("robot", "parameters", "seed"), case.key, strict=True))
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # what the rows count is no news
            return row | _measure(scene, case)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return row | {"reached": "no", "why": "the run failed", "error": " ".join(text.split())}


def _measure(scene: Path, case: Case) -> dict[str, Any]:
    robot = ROBOTS[case.robot]
    file = load_scene(scene)
    session = Session(with_perturbed_rest(file.create, case.seed), parameters=case.parameters)
    run = RunMeasures(session, robot.place, robot.turn, robot.begin)
    for _ in range(step_count(session, case.steps, None, _duration(robot, file, case))):
        run.step()
    row: dict[str, Any] = {"steps": session.step_count, "lost": int(run.lost)}
    row["plane mean"] = run.angle_in_plane()
    row |= run.errors() | _of_solutions(run.solutions) | _of_times(run)
    why = _why_not(robot, row)
    return row | {"reached": "no" if why else "yes", "why": why}


def _duration(robot: Robot, file: SceneFile, case: Case) -> float:
    if robot.duration is not None:
        return robot.duration(case.parameters)
    if file.duration is None:
        raise SceneError(f"'{file.path}' has no DURATION, the simulated time of its run.")
    return file.duration


def _of_solutions(solutions: Sequence[Any]) -> dict[str, Any]:
    through = [one.gap for one in solutions if one.modes]
    return {
        "contacts": float(np.mean([len(one.modes) for one in solutions])),
        **{status.name: sum(one.status is status for one in solutions) for status in Status},
        "last status": solutions[-1].status.name,
        "not converged": sum(not one.converged for one in solutions),
        "gap median": float(np.median(through)) if through else 0.0,
        "gap worst": float(np.max(through)) if through else 0.0,
    }


def _of_times(run: RunMeasures) -> dict[str, Any]:
    qp = np.array(run.qp_ms)
    if not len(qp):
        return {}
    names = {"qp median": 0.5, "qp p99": 0.99, "qp p99.9": 0.999, "qp worst": 1.0}
    return {
        **{name: float(np.quantile(qp, share)) for name, share in names.items()},
        "qp slowest": " ".join(f"{time:.4g}" for time in np.sort(qp)[::-1][:SLOWEST]),
        "step median": float(np.median(run.step_ms)),
        "lookahead": 1e3 * float(getattr(run.controller, "lookahead_cpu", 0.0)),
    }


def _why_not(robot: Robot, row: dict[str, Any]) -> str:
    """Reason why a run failed; empty if it succeeded."""
    missed = []
    for name, limit in robot.limits.items():
        if np.isnan(row[name]):
            missed.append(f"{name} was not measured")
        elif row[name] > limit:
            missed.append(f"{name} {row[name]:.3g} above {limit:g}")
    return ", ".join([*missed, "left all contacts"] if row["lost"] else missed)
