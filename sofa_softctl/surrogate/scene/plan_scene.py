"""Planning of a task of a scene file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.executors.workers import check_workers, files_sent
from sofa_softctl.base.executors.workers import workers as workers_of
from sofa_softctl.base.time_limit import deadline
from sofa_softctl.scene.backend.call import backend_of_runs
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.surrogate.models.reach import check_reach
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.planner import Iteration, Plan
from sofa_softctl.surrogate.scene.correction import correct_until_accepted
from sofa_softctl.surrogate.scene.scene_plan import ScenePlan
from sofa_softctl.surrogate.scene.scene_task import at_fault, make_task, read_task
from sofa_softctl.units import Units


@dataclass(frozen=True, eq=False)
class PreparedPlan:
    """Task of a scene with a plan on the affine map, ready for the full plan."""

    scene: str
    """Scene file."""
    name: str
    """Name of the task."""
    task: Task
    """The task."""
    instants: int
    """Number of instants K."""
    robot: PlannedRobot
    """The robot, with its grid."""
    rehearsal: Plan | None
    """Plan on the affine map, or None."""
    estimate: CostEstimate | None
    """Estimated cost of the plan."""
    started: float
    """Start of the preparation, by `perf_counter` [s]."""
    units: Units | None = None
    """Units of the scene."""
    backend: str = "embedded"
    """Backend that replays the plan, see `call_on_backend`."""

    def plan(self, progress: Callable[[Iteration], None] | None = None) -> ScenePlan:
        """Plan without a replay; `progress` is called after each iteration."""
        robot, task = self.robot, self.task
        with at_fault(f"'{self.scene}': task '{self.name}'"):
            problem = robot.problem(task, self.instants)
            result = robot.plan(problem, guess=self.rehearsal, progress=progress)
        seconds = perf_counter() - self.started
        return ScenePlan(
            self.scene,
            self.name,
            task,
            robot,
            result,
            self.estimate,
            seconds,
            self.units,
            backend=self.backend,
        )

    def progress_text(self, steps: Sequence[Iteration]) -> str:
        """Return a line on the iterations and equilibria so far."""
        expected = ""
        if self.estimate is not None:
            bound = "at most " if self.estimate.at_most else ""
            expected = f" of {bound}~{self.estimate.equilibria}"
        line = f"{self.robot.evaluations}{expected} equilibria"
        if not steps:
            return line
        step = steps[-1]
        return (
            f"{line}, round {step.round + 1}, iteration {len(steps)}, "
            f"cost {step.cost:.3g}, imbalance {step.defect:.0e}"
        )


def plan_scene(
    scene: str | Path,
    task: str,
    *,
    progress: Callable[[str], None] | None = None,
    timeout: float | None = None,
    **given: Any,
) -> ScenePlan:
    """Plan one of a scene file's TASKS for the robot of its SURROGATE, and replay it.

    A plan is SOLVED when it passed its replay on the full model, see `correct_until_accepted`.

    Args:
        scene, task, given: As for `prepare_scene`.
        progress: Called with a line of text after each iteration.
        timeout: Time after which the best plan so far is returned, with its replay [s]; by default
            there is no limit.

    Raises:
        TimeLimitError: The time passed before there was a plan.
        ReachError: As by `prepare_scene`.
    """
    with deadline(timeout), prepare_scene(scene, task, **given) as ready:
        steps: list[Iteration] = []

        def report(step: Iteration) -> None:
            steps.append(step)
            if progress is not None:
                progress(ready.progress_text(steps))

        return correct_until_accepted(ready.plan(report), progress=progress)


@contextmanager
def prepare_scene(
    scene: str | Path,
    task: str,
    *,
    instants: int = 200,
    store: str | Path | None = None,
    exact: bool = False,
    workers: int = 0,
    cluster: str = "",
    grid: str | None = None,
    tolerance: float | None = None,
    replay_tolerance: float | None = None,
    parameters: dict[str, Any] | None = None,
    task_parameters: dict[str, Any] | None = None,
    backend: str = "embedded",
    closest: bool = False,
) -> Iterator[PreparedPlan]:
    """Prepare a task of a scene file and estimate its cost; worker processes end with the block.

    This solves the 2^d corners of the cell of the start and two or three more, which the plan needs
    in any case; on a sparse grid, the samples of its first round.

    Args:
        scene: Scene file. SURROGATE holds arguments of `PlannedRobot`, TASKS functions (layout,
            fraction of the time at each instant (K,)) -> `Task`, see `MakeTask`.
        task: Name of the task.
        instants: Number of instants K.
        store: File of equilibria for later plans.
        exact: Plan with the exact map instead of a grid.
        workers: Number of processes that solve equilibria; with 0 this process solves them.
        cluster: Address of the scheduler of a Dask cluster whose workers solve equilibria, such as
            'tcp://host:8786'. The scene, and the files that it reads, are sent to them.
        grid: Kind of grid: 'auto', 'cells' or 'sparse'; by default from SURROGATE.
        tolerance: Estimated error of positions above which cells are split [length]; by default
            from SURROGATE, else all are split.
        replay_tolerance: Largest distance from the planned path in the replay [length]; by default
            from SURROGATE.
        parameters: Parameters of createScene.
        task_parameters: Parameters of the task's function, such as {"radius": 80.0}.
        backend: Backend of the replay: 'embedded', 'sofa', or 'auto', which is SOFA if it can be
            used. Equilibria are always solved by the embedded runtime.
        closest: Also plan to goals out of reach, as near as the limits allow.

    Raises:
        ReachError: A goal is out of reach, see `check_reach`.
        SceneError: The scene file does not have the task, or its declarations are invalid.
        ValueError: There are less than 3 instants.
        UsageError: Both workers and a cluster are given.
        ClusterError: The cluster cannot be reached, or its workers cannot be used.
        BackendError: The backend does not exist.
    """
    backend = backend_of_runs(backend)
    check_workers(workers, cluster)
    start = perf_counter()
    with files_sent(cluster, str(scene)) as files:
        surrogate, make = read_task(scene, task)
        overrides = {"grid": grid, "tolerance": tolerance, "replay_tolerance": replay_tolerance}
        surrogate |= {name: value for name, value in overrides.items() if value is not None}
        with at_fault(f"'{scene}': SURROGATE"):
            robot = PlannedRobot(
                scene, **surrogate, parameters=parameters, store=store, exact=exact
            )
    with workers_of(workers, cluster, files) as executor:
        if robot.grid is not None:
            robot.grid.corners.executor = executor
        estimate = None
        with at_fault(f"'{scene}': task '{task}'"):
            layout = robot.dynamics.layout
            planned_task = make_task(
                make, layout, instants, task_parameters, lambda: start_outputs(robot)
            )
            problem = robot.problem(planned_task, instants)
            rehearsal = None if problem.obstacles else robot.model.prepare(problem)
            if not closest:
                check_reach(robot, problem, rehearsal)
            if problem.obstacles:  # whose detours take seconds on the affine map too
                rehearsal = robot.model.prepare(problem)
        if rehearsal is not None:
            count = 0 if executor is None else executor.count
            estimate = robot.model.estimate(rehearsal.a, count)
        units = load_scene(scene).units
        yield PreparedPlan(
            str(scene),
            task,
            planned_task,
            instants,
            robot,
            rehearsal,
            estimate,
            start,
            units,
            backend,
        )


def start_outputs(robot: PlannedRobot) -> np.ndarray:
    """Return the outputs of a robot at rest without tension, where plans begin [length], (n,).

    This takes one exact equilibrium. On a grid, positions of nodes are NaN, since `Layout.node` has
    no rows.

    Raises:
        MapError: The robot does not rest without tension.
    """
    exact, layout = robot.map, robot.dynamics.layout
    value = exact(np.zeros(exact.dimension)).value
    if not layout.reduced:
        return value
    return np.concatenate(
        (np.full(layout.length.start, np.nan), value[exact.layout.length.start :])
    )
