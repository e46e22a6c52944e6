"""Replay of a plan on the full model, with the steps of the scene, and the acceptance test."""

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
from sofa_softctl.scene.graph.nodes import nodes_of, state_at
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.costs.obstacles import Obstacle
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.scene.plan_file import PlanFile, in_replay, robot_identity

SETTLED_STEPS_MIN = 50
"""Number of steps that a scene must stay near a plan's start before the plan begins."""
SETTLING_STEPS_MAX = 2000
"""Maximum number of steps before a plan begins."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Motion of the full model under a plan."""

    points: np.ndarray
    """Watched points at the plan's instants [length], shape (K, 3 P); NaN after a failure."""
    robot: dict[str, list[float]]
    """Identity of the robot, see `robot_identity`."""
    simulator: str
    """Simulator, such as 'embedded runtime, steps of 0.01'."""
    failure: str
    """Reason for a simulation that ended early; empty otherwise."""
    seconds: float
    """Computing time [s]."""


def replay(
    scene: str | Path,
    plan: PlanFile,
    points: Sequence[str],
    parameters: dict[str, Any] | None = None,
) -> Replay:
    """Run a scene under a plan, as a run with the plan's file does.

    A scene with a parameter `plan` gets the file by it; other scenes get a `SurrogateController`
    that pulls all cables.

    Args:
        scene: Scene file.
        plan: Plan to execute.
        points: Paths of the watched nodes, such as "/arm/beam".
        parameters: Parameters of createScene that the plan was made with.

    Raises:
        SceneError: The scene cannot be loaded, or its cables take no tensions.
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
    """Return the cables of a scene that plans pull, in the order of the graph.

    Raises:
        SceneError: A cable does not take a tension.
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
    """Return the watched points at the instants of the plan, and the reason of an early end."""
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
    """Return a function that reads the watched points, shape (3 P,)."""
    states = [state_at(session.root, path) for path in points]

    def read_points() -> np.ndarray:
        places = [np.asarray(state.position.value)[:, :3].ravel() for state in states]
        return np.concatenate([np.empty(0), *places])

    return read_points


def steps_to_rest(
    scene: str | Path,
    plan: PlanFile,
    points: Sequence[str],
    is_near: Callable[[np.ndarray], bool],
    parameters: dict[str, Any] | None = None,
) -> int:
    """Return the number of steps after which a scene stays near the start of a plan, slack.

    A scene begins in the shape of its mesh, and sinks under its weight; plans begin at rest.

    Args:
        scene: Scene file.
        plan: Plan, which is not executed.
        points: Paths of the watched nodes.
        is_near: Returns True if the watched points, shape (3 P,), are near the plan's start.
        parameters: Parameters of createScene.

    Returns:
        Number of steps; `SETTLING_STEPS_MAX` if it does not come to rest there.
    """
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "plan.mcap")
        delayed = plan.delayed(SETTLING_STEPS_MAX + SETTLED_STEPS_MIN)
        delayed.write(path)
        with in_replay(path), _session(scene, path, dict(parameters or {})) as session:
            watch = _watch(session, points)
            last_far_step = -1
            for step in range(SETTLING_STEPS_MAX + SETTLED_STEPS_MIN):
                if not is_near(watch()):
                    last_far_step = step
                if step - last_far_step >= SETTLED_STEPS_MIN:
                    break
                try:
                    session.step()
                except DivergedError:
                    return SETTLING_STEPS_MAX
    return min(last_far_step + 1, SETTLING_STEPS_MAX)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Replay of a plan with its outputs and report."""

    replay: Replay
    """Replay of the plan."""
    outputs: np.ndarray
    """Outputs in the replay [length], NaN if not watched, shape (K, n)."""
    report: AcceptanceReport
    """Acceptance report of the replay."""


def criteria_of(
    task: Task, planned: np.ndarray, replayed: np.ndarray, tolerance: float
) -> tuple[Criterion, ...]:
    """Return the criteria of a replay.

    The task's point must stay near the planned path. Goals with a tolerance that the plan reaches
    must be reached. No point and no segment between instants may be inside an obstacle, except for
    touching it and for corners cut in the plan, too.

    Args:
        task: Task of the plan.
        planned: Planned outputs at all instants [length], shape (K, n).
        replayed: Outputs of the replay, NaN if not watched or after a failure, shape (K, n).
        tolerance: Largest distance from the planned path [length].
    """
    distance = _distance_max(task.probe, planned, replayed)
    path = Criterion("distance from the planned path", distance, tolerance)
    return (path, *_goals(task, planned, replayed), *_obstacles(task, planned, replayed, tolerance))


def check_watched(task: Task, layout: Layout) -> None:
    """Check that a replay records the outputs of a task.

    Raises:
        SceneError: A probe uses nodes or lengths of cables.
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


def _distance_max(probe: Probe, planned: np.ndarray, replayed: np.ndarray) -> float:
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
            allowed = max(0.01 * tolerance, cut)  # the first one for touching
            criteria.append(Criterion(f"depth in obstacle {number}", inside, allowed))
    return criteria
