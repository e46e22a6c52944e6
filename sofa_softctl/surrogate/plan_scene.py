"""Planning for a scene file: what it says of its robot, a task of it, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.loader import load_scene
from sofa_softctl.scene.record import RecordWriter
from sofa_softctl.surrogate.estimate import Estimate, estimate
from sofa_softctl.surrogate.planner import Iteration, Plan
from sofa_softctl.surrogate.robot import PlannedRobot, Task


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """A plan, and what it took."""

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
    """Where the task's probe is at each instant [length], shape (K, 3)."""
    estimate: Estimate | None
    """What it was expected to take; None without a grid, or where that could not be found out."""
    seconds: float
    """Time that it took [s]."""

    def write(self, path: str | Path) -> None:
        """Write it as a recording that scenes play back; a file that exists is replaced at once.

        Each row tells of the end of a step, as recordings of runs do: plan.tension, what the lines
        pull in that step [force]; plan.spot, where the probe then is [length]; plan.coordinates, a.
        """
        plan, dynamics = self.plan, self.robot.dynamics
        d = plan.u.shape[1]
        told = {"scene": self.scene, "task": self.name, "status": plan.status.name}
        with RecordWriter(path, told) as file:
            file.add_channel("plan.tension", shape=(d,), description="Tension of each line.")
            file.add_channel("plan.spot", shape=(3,), description="Where the task's point is.")
            file.add_channel("plan.coordinates", shape=(d,), description="Coordinates a.")
            for k, u in enumerate(plan.u):
                row = (dynamics.force * u, self.spot[k + 1], plan.a[k + 1])
                names = ("plan.tension", "plan.spot", "plan.coordinates")
                file.write((k + 1) * dynamics.dt, dict(zip(names, row, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plan, robot = self.plan, self.robot
        counts = None if robot.grid is None else robot.grid.counts
        return {
            "scene": self.scene,
            "task": self.name,
            "status": plan.status.name,
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
            "seconds": self.seconds,
            "seconds_exact": robot.map.seconds,
        }


@dataclass(frozen=True, eq=False)
class Prepared:
    """A task of a scene, rehearsed on the affine map: all that is known before the work."""

    scene: str
    """Scene file."""
    name: str
    """Name of the task."""
    task: Task
    """The task."""
    instants: int
    """K."""
    robot: PlannedRobot
    """The robot, with its grid."""
    rehearsal: Plan | None
    """The plan on the affine map; None if there is none."""
    estimate: Estimate | None
    """What the plan will take."""
    started: float
    """When that began, by `perf_counter` [s]."""

    def plan(self, progress: Callable[[Iteration], None] | None = None) -> ScenePlan:
        """Do the work. `progress` is called after each iteration."""
        robot, task = self.robot, self.task
        found = robot.plan(task, self.instants, guess=self.rehearsal, progress=progress)
        spot = robot.locate(task.probe, found.a)
        seconds = perf_counter() - self.started
        return ScenePlan(self.scene, self.name, task, robot, found, spot, self.estimate, seconds)

    def told(self, steps: Sequence[Iteration]) -> str:
        """Where planning is after some iterations: a line of text, with equilibria until now."""
        expected = "" if self.estimate is None else f" of ~{self.estimate.equilibria}"
        line = f"{self.robot.evaluations}{expected} equilibria"
        if not steps:
            return line
        step = steps[-1]
        return (
            f"{line}, round {step.round + 1} of {self.robot.rounds + 1}, iteration {len(steps)}, "
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
    tolerance: float | None = None,
    parameters: dict[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> ScenePlan:
    """Plan one of a scene file's TASKS for the robot that its SURROGATE describes.

    Arguments as for `prepare_scene`; `progress` is called with a line of text after each iteration.
    """
    with prepare_scene(
        scene,
        task,
        instants=instants,
        store=store,
        exact=exact,
        workers=workers,
        tolerance=tolerance,
        parameters=parameters,
    ) as ready:
        steps: list[Iteration] = []

        def tell(step: Iteration) -> None:
            steps.append(step)
            if progress is not None:
                progress(ready.told(steps))

        return ready.plan(tell)


@contextmanager
def prepare_scene(
    scene: str | Path,
    task: str,
    *,
    instants: int = 200,
    store: str | Path | None = None,
    exact: bool = False,
    workers: int = 0,
    tolerance: float | None = None,
    parameters: dict[str, Any] | None = None,
) -> Iterator[Prepared]:
    """A task of a scene file, and an estimate of what its plan takes; processes end with it.

    Two equilibria are solved for that, which the plan needs anyway.

    Args:
        scene: Scene file. SURROGATE holds arguments of `PlannedRobot`, TASKS functions
            (layout, share of the time at each instant (K,)) -> `Task`.
        task: Name of the task.
        instants: K.
        store: File in which equilibria are kept for later plans.
        exact: Plan with the exact map instead of a grid.
        workers: Processes that solve equilibria at the same time; 0: this one alone.
        tolerance: Split only cells whose positions are estimated to be further off [length]; None:
            as SURROGATE says, or all.
        parameters: Of createScene.

    Raises:
        SceneError: the scene file has no SURROGATE or no such task.
    """
    module = load_scene(scene).module
    known = getattr(module, "TASKS", {})
    if not hasattr(module, "SURROGATE") or task not in known:
        names = ", ".join(sorted(known)) or "none"
        raise SceneError(
            f"'{scene}' has no task '{task}' to plan. It has: {names}. A scene file that can be "
            "planned for has SURROGATE and TASKS, see scenes/laser_arm.py."
        )
    start = perf_counter()
    with ExitStack() as stack:
        executor = None
        if workers:
            processes = ProcessPoolExecutor(workers, get_context("spawn"))
            executor = stack.enter_context(processes)
        robot = PlannedRobot(
            scene,
            **module.SURROGATE | ({} if tolerance is None else {"tolerance": tolerance}),
            parameters=parameters,
            store=store,
            executor=executor,
            exact=exact,
        )
        share = np.arange(instants) / (instants - 1)
        wanted: Task = known[task](robot.dynamics.layout, share)
        rehearsal, expected = None, None
        if robot.grid is not None:
            rehearsal = robot.rehearse(robot.problem(wanted, instants))
        if robot.grid is not None and rehearsal is not None:
            expected = estimate(robot.grid, rehearsal.a, robot.rounds, workers=workers)
        yield Prepared(str(scene), task, wanted, instants, robot, rehearsal, expected, start)
