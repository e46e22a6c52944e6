"""Plan a task of a scene file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl._internal.executors.workers import check_workers, files_sent
from sofa_softctl._internal.executors.workers import workers as workers_of
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.loader import load_scene
from sofa_softctl.scene.provenance import environment
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate, estimate
from sofa_softctl.surrogate.planning.planner import Iteration, Plan
from sofa_softctl.surrogate.robot import PlannedRobot, Task
from sofa_softctl.surrogate.scene_task import at_fault, make_task, read_task
from sofa_softctl.units import Units


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """A plan of a scene's task, with its costs."""

    scene: str
    """Scene file."""
    name: str
    """Name of the task."""
    task: Task
    """The task."""
    robot: PlannedRobot
    """The robot, with its grid."""
    plan: Plan
    """The plan."""
    spot: np.ndarray
    """Position of the task's probe at each instant [length], shape (K, 3)."""
    estimate: CostEstimate | None
    """Estimated cost; None without a grid, or where it is not known."""
    seconds: float
    """Computing time [s]."""
    units: Units | None = None
    """Units of the scene."""

    @property
    def lines(self) -> list[str]:
        """Names of the lines: those of their nodes."""
        return [cable.getContext().getName() for cable in self.robot.map.map.cables]

    def write(self, path: str | Path | RecordFile) -> None:
        """Write it as a recording for playback; an existing file is replaced atomically.

        Each row is the end of a step, as in recordings of runs: plan.tension, tensions of that step
        [force]; plan.spot, position of the probe [length]; plan.coordinates, a.
        """
        plan, dynamics = self.plan, self.robot.dynamics
        d = plan.u.shape[1]
        metadata = {"scene": self.scene, "task": self.name, "status": plan.status.name}
        computer = environment()
        metadata |= computer["versions"] | {"cpu": computer["cpu"], "os": computer["os"]}
        with RecordWriter(path, metadata) as file:
            file.add_channel("plan.tension", shape=(d,), description="Tension of each line.")
            file.add_channel("plan.spot", shape=(3,), description="Where the task's point is.")
            file.add_channel("plan.coordinates", shape=(d,), description="Coordinates a.")
            for k, u in enumerate(plan.u):
                row = (dynamics.force * u, self.spot[k + 1], plan.a[k + 1])
                names = ("plan.tension", "plan.spot", "plan.coordinates")
                file.write((k + 1) * dynamics.dt, dict(zip(names, row, strict=True)))

    @property
    def _shared(self) -> bool:
        """Whether other processes also solved equilibria, so that their time is not known."""
        return self.robot.grid is not None and self.robot.grid.corners.executor is not None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plan, robot = self.plan, self.robot
        counts = None if robot.grid is None else robot.grid.counts
        return {
            "scene": self.scene,
            "task": self.name,
            "status": plan.status.name,
            "verdict": plan.status.verdict.name,
            "message": plan.message,
            "miss": plan.miss,
            "violation": plan.violation,
            "defect": plan.defect,
            "iterations": plan.iterations,
            "dofs": 3 * robot.map.layout.nodes,
            "evaluations": robot.evaluations,
            "corners": None if counts is None else {str(k): v for k, v in counts.exact.items()},
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "from_store": None if counts is None else counts.from_store,
            "branching": None if counts is None else counts.branching,
            "refused": None if counts is None else counts.refused,
            "coordinates": None if robot.grid is None else robot.compressed.used,
            "lost": None if robot.grid is None else robot.compressed.lost,
            "map_error": robot.map_error(plan.a),
            "seconds": self.seconds,
            "seconds_exact": None if self._shared else robot.map.seconds,
        }


@dataclass(frozen=True, eq=False)
class Prepared:
    """A task of a scene, planned on the affine map, before the full plan."""

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
    """The plan on the affine map; None if there is none."""
    estimate: CostEstimate | None
    """Estimated cost of the plan."""
    started: float
    """Start of the preparation, by `perf_counter` [s]."""
    units: Units | None = None
    """Units of the scene."""

    def plan(self, progress: Callable[[Iteration], None] | None = None) -> ScenePlan:
        """Plan. `progress` is called after each iteration."""
        robot, task = self.robot, self.task
        with at_fault(f"'{self.scene}': task '{self.name}'"):
            found = robot.plan(task, self.instants, guess=self.rehearsal, progress=progress)
        spot = robot.locate(task.probe, found.a)
        seconds = perf_counter() - self.started
        return ScenePlan(
            self.scene, self.name, task, robot, found, spot, self.estimate, seconds, self.units
        )

    def progress_text(self, steps: Sequence[Iteration]) -> str:
        """Progress line after some iterations, with the equilibria so far."""
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
    instants: int = 200,
    store: str | Path | None = None,
    exact: bool = False,
    workers: int = 0,
    cluster: str = "",
    tolerance: float | None = None,
    parameters: dict[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> ScenePlan:
    """Plan one of a scene file's TASKS for the robot of its SURROGATE.

    Arguments as for `prepare_scene`; `progress` is called with a line of text after each iteration.
    """
    with prepare_scene(
        scene,
        task,
        instants=instants,
        store=store,
        exact=exact,
        workers=workers,
        cluster=cluster,
        tolerance=tolerance,
        parameters=parameters,
    ) as ready:
        steps: list[Iteration] = []

        def report(step: Iteration) -> None:
            steps.append(step)
            if progress is not None:
                progress(ready.progress_text(steps))

        return ready.plan(report)


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
    tolerance: float | None = None,
    parameters: dict[str, Any] | None = None,
) -> Iterator[Prepared]:
    """Prepare a task of a scene file, with an estimate of its cost; processes end with it.

    This solves the 2^d corners of the cell of the start and two or three more, which the plan
    needs anyway; on a sparse grid, the samples of its first round.

    Args:
        scene: Scene file. SURROGATE holds arguments of `PlannedRobot`, TASKS functions
            (layout, share of the time at each instant (K,)) -> `Task`.
        task: Name of the task.
        instants: Number of instants K.
        store: File of equilibria for later plans.
        exact: Plan with the exact map instead of a grid.
        workers: Number of processes that solve equilibria; 0: this one alone.
        cluster: Address of the scheduler of a Dask cluster whose workers solve equilibria, such as
            'tcp://host:8786'; empty: none. The scene, and what it reads, are sent to them.
        tolerance: Estimated error of positions above which cells are split [length]; None: that of
            SURROGATE, or all.
        parameters: Parameters of createScene.

    Raises:
        SceneError: the scene file has no such task, or its declarations are invalid.
        ValueError: there are less than 3 instants.
        UsageError: there are both workers and a cluster.
        ClusterError: the cluster is not reached, or its workers cannot be used.
    """
    check_workers(workers, cluster)
    start = perf_counter()
    with files_sent(cluster, str(scene)) as files:
        surrogate, make = read_task(scene, task)
        if tolerance is not None:
            surrogate["tolerance"] = tolerance
        with at_fault(f"'{scene}': SURROGATE"):
            robot = PlannedRobot(
                scene, **surrogate, parameters=parameters, store=store, exact=exact
            )
    with workers_of(workers, cluster, files) as executor:
        if robot.grid is not None:
            robot.grid.corners.executor = executor
        expected = None
        with at_fault(f"'{scene}': task '{task}'"):
            wanted = make_task(make, robot.dynamics.layout, instants)
            rehearsal = robot.prepare(wanted, instants)
        if robot.grid is not None and rehearsal is not None:
            count = 0 if executor is None else executor.count
            expected = estimate(
                robot.grid, rehearsal.a, robot.rounds, workers=count, tolerance=robot.tolerance
            )
        units = load_scene(scene).units
        yield Prepared(str(scene), task, wanted, instants, robot, rehearsal, expected, start, units)
