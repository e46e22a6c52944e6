"""Replay of a plan on the full model: the scene's own steps under the planned tensions.

Acceptance test of a plan, by its replay on the full model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport, Criterion
from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.scene.channels import nodes_of, state_at
from sofa_softctl.scene.loader import load_scene
from sofa_softctl.scene.session import Session
from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.costs.obstacles import Obstacle
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.scene.plan_file import PlanFile, in_replay, robot_identity

QUIET = 50
"""Steps that a scene has to stay near a plan's start before the plan may begin."""
LONGEST = 2000
"""Most steps before a plan begins."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Motion of the full model under a plan."""

    points: np.ndarray
    """Watched points at the plan's instants [length], shape (K, 3 P); NaN after a failure."""
    robot: dict[str, list[float]]
    """The robot, see `robot_identity`."""
    simulator: str
    """What simulated it, such as 'embedded runtime, steps of 0.01'."""
    failure: str
    """Why the simulation ended early; empty if it did not."""
    seconds: float
    """Computing time [s]."""


def replay(
    scene: str | Path,
    plan: PlanFile,
    points: Sequence[str],
    parameters: dict[str, Any] | None = None,
) -> Replay:
    """Run a scene under a plan, as a run with its file does.

    A scene with a parameter `plan` gets the file by it; to others a `SurrogateController` is added
    that pulls all their cables.

    Args:
        scene: Scene file.
        plan: The plan.
        points: Paths of the nodes that are watched, such as "/arm/beam".
        parameters: Of createScene, as the plan was made with.

    Raises:
        SceneError: the scene cannot be loaded, or its cables take no tensions.
    """
    start = perf_counter()
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "plan.mcap")
        plan.write(path)
        with in_replay(path), _session(scene, path, dict(parameters or {})) as session:
            robot = robot_identity(session.root, lines_of(session.root))
            points_at_instants, failure = _run(session, plan, points)
            name = session.backend.describe()
            simulator = f"{name}, steps of {session.dt:g}"
    return Replay(points_at_instants, robot, simulator, failure, perf_counter() - start)


def lines_of(root: Any) -> list[Any]:
    """The lines of a scene that plans pull: its cables, in the order of the graph.

    Raises:
        SceneError: a cable does not take a tension.
    """
    cables = [
        component
        for node in nodes_of(root)
        for component in node.objects
        if component.getClassName() == "CableConstraint"
    ]
    for cable in cables:
        if cable.valueType.value not in ("force", 1):
            raise SceneError(
                f"{cable.getPathName()} has valueType='{cable.valueType.value}': a plan pulls with "
                "tensions. Give it valueType='force'."
            )
    return cables


def _session(scene: str | Path, plan: str, parameters: dict[str, Any]) -> Session:
    if "plan" in load_scene(scene).parameters:
        return Session(scene, parameters=parameters | {"plan": plan})

    def attach(root: Any) -> None:
        from sofa_softctl.surrogate.scene.controller import SurrogateController  # it imports Sofa

        root.addObject(SurrogateController(root=root, lines=lines_of(root), plan=plan))

    return Session(scene, parameters=parameters, add=attach)


def _run(session: Session, plan: PlanFile, points: Sequence[str]) -> tuple[np.ndarray, str]:
    """The watched points at the instants of the plan, and why it ended early."""
    watch = _watch(session, points)
    points_at_instants = np.full((len(plan.times) + 1, len(watch())), np.nan)
    dt = float(plan.times[1] - plan.times[0])
    if not np.isclose(dt, session.dt, rtol=1e-6):
        return points_at_instants, (
            f"the plan has steps of {dt:g}, and the scene of {session.dt:g}. Leave out SURROGATE's "
            "'dt'."
        )
    try:
        session.step(round(plan.times[0] / session.dt) - 1)
        points_at_instants[0] = watch()
        for row in points_at_instants[1:]:
            session.step()
            row[:] = watch()
    except DivergedError as error:
        return points_at_instants, str(error)
    return points_at_instants, ""


def _watch(session: Session, points: Sequence[str]) -> Callable[[], np.ndarray]:
    """Function that gives the watched points as they are, shape (3 P,)."""
    states = [state_at(session.root, path) for path in points]

    def watched() -> np.ndarray:
        places = [np.asarray(state.position.value)[:, :3].ravel() for state in states]
        return np.concatenate([np.empty(0), *places])

    return watched


def steps_to_rest(
    scene: str | Path,
    plan: PlanFile,
    points: Sequence[str],
    is_near: Callable[[np.ndarray], bool],
    parameters: dict[str, Any] | None = None,
) -> int:
    """Steps after which a scene stays near the start of a plan, with slack lines.

    A scene begins in the shape of its mesh, and sinks under its weight; plans begin at rest.

    Args:
        scene: Scene file.
        plan: The plan, which is not executed.
        points: Paths of the nodes that are watched.
        is_near: Whether the watched points, shape (3 P,), are near the plan's start.
        parameters: Of createScene.

    Returns:
        Number of steps; `LONGEST` where it does not come to rest there.
    """
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "plan.mcap")
        delayed = plan.delayed(LONGEST + QUIET)
        delayed.write(path)
        with in_replay(path), _session(scene, path, dict(parameters or {})) as session:
            watch = _watch(session, points)
            last_far_step = -1
            for step in range(LONGEST + QUIET):
                if not is_near(watch()):
                    last_far_step = step
                if step - last_far_step >= QUIET:
                    break
                try:
                    session.step()
                except DivergedError:
                    return LONGEST
    return min(last_far_step + 1, LONGEST)


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
    distance = _apart(task.probe, planned, replayed)
    path = Criterion("distance from the planned path", distance, tolerance)
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
    criteria = []
    for number, term in enumerate(task.outputs, 1):
        if not isinstance(term, Following) or not np.isfinite(term.tolerance):
            continue
        rows = list(term.rows)
        if term.distance(planned[:, rows]) <= term.tolerance:
            distance = term.distance(replayed[:, rows])
            criteria.append(Criterion(f"distance from goal {number}", distance, term.tolerance))
    return criteria


def _obstacles(
    task: Task, planned: np.ndarray, replayed: np.ndarray, tolerance: float
) -> list[Criterion]:
    criteria = []
    for number, obstacle in enumerate(task.obstacles, 1):
        if isinstance(obstacle, Obstacle):
            rows = list(obstacle.rows)
            cut, inside = (
                float(obstacle.violation_between(y[:, rows])[0].max()) for y in (planned, replayed)
            )
            allowed = max(TOUCHING * tolerance, cut)
            criteria.append(Criterion(f"depth in obstacle {number}", inside, allowed))
    return criteria
