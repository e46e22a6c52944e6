"""Plan of a scene's task, with its replay and costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.errors import RecordError
from sofa_softctl.record.file import RecordFile
from sofa_softctl.scene.session.provenance import environment
from sofa_softctl.status import Status
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.outcome import limits_reached
from sofa_softctl.surrogate.planning.planner import Plan
from sofa_softctl.surrogate.program.transcription import PlanningProblem
from sofa_softctl.surrogate.scene.plan_file import PlanFile
from sofa_softctl.surrogate.scene.replay import Judgement
from sofa_softctl.units import Units


@dataclass(frozen=True, eq=False)
class ScenePlan:
    """Plan of a scene's task, with its replay and costs."""

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
    estimate: CostEstimate | None
    """Estimated cost, or None without a grid or if unknown."""
    seconds: float
    """Computing time [s], replays included."""
    units: Units | None = None
    """Units of the scene."""
    backend: str = "embedded"
    """Backend that replays the plan, see `call_on_backend`."""
    offset: np.ndarray | None = None
    """Offset of the full model's outputs from the map in earlier replays [length], (K, n)."""
    delay: int = 0
    """Steps from the start of the scene until the robot rests where the plan begins."""
    judgement: Judgement | None = None
    """Replay on the full model with its report, or None."""
    flutter: float = 0.0
    """Largest flutter number along the plan, see `flutter_number` [-]; above 1 it must not be
    executed in steps without the stiffness of the cables."""
    corrections: int = 0
    """Number of earlier plans, whose errors in the replay this one corrects."""
    exact_corrections: int = 0
    """Number of Gauss-Newton steps on the full model, see `StepCorrection`."""
    exact_seconds: float = 0.0
    """Computing time of these steps, with their replays [s]."""
    no_derivative: str = ""
    """Reason why Gauss-Newton steps were not possible, or ""."""
    timed_out: bool = False
    """True if the time limit ended the corrections before the plan passed its replay."""

    @property
    def outputs(self) -> np.ndarray:
        """Planned outputs at each instant [length], shape (K, n)."""
        return self.plan.y

    @property
    def spot(self) -> np.ndarray:
        """Planned position of the task's probe at each instant [length], shape (K, 3)."""
        return self._locate_all(self.outputs)

    @property
    def replayed_spot(self) -> np.ndarray | None:
        """Position of the task's probe in the replay [length], shape (K, 3), or None."""
        return None if self.judgement is None else self._locate_all(self.judgement.outputs)

    @property
    def report(self) -> AcceptanceReport | None:
        """Acceptance report of the replay, or None."""
        return None if self.judgement is None else self.judgement.report

    @property
    def passed(self) -> bool:
        """True if the plan passed its replay."""
        return self.report is not None and self.report.passed

    @property
    def failed(self) -> bool:
        """True if the replay did not reach the end."""
        return self.report is not None and bool(self.report.failure)

    @property
    def error(self) -> float:
        """Worst criterion of the replay over its limit [-]; infinite without a replay."""
        return math.inf if self.report is None else self.report.worst

    def _locate_all(self, outputs: np.ndarray) -> np.ndarray:
        probe = self.task.probe
        return probe.locate(outputs[:, list(probe.rows)])[0]

    @property
    def status(self) -> Status:
        """Status of the plan, or REJECTED if it did not pass its replay."""
        failed = self.report is not None and not self.report.passed
        return Status.REJECTED if failed else self.plan.status

    @property
    def message(self) -> str:
        """Notes on the plan and its replay, or "" if all went well."""
        reasons = [self.plan.message]
        if self.report is not None and not self.report.passed:
            reasons.append(f"{self.report.reason} {self._advice}")
        elif self.report is not None:
            reasons.append(self._coarse)
        return " ".join(filter(None, reasons))

    @property
    def _coarse(self) -> str:
        """Note on a full robot far from the path compared with the motion, or ""."""
        assert self.report is not None
        distance, motion = self.report.criteria[0].value, float(np.ptp(self.spot, axis=0).max())
        if distance <= 0.1 * motion or not motion:
            return ""
        return (
            f"The full robot is off its path by {distance:.2g}. That is {distance / motion:.0%} of "
            "the motion: give a smaller replay_tolerance."
        )

    @property
    def _advice(self) -> str:
        tries = self._tries
        if self.flutter > 1.0 and not self.robot.line_stiffness:
            tries += (
                f"The lines' forces flutter: their number is {self.flutter:.2g}, and SOFA's steps "
                "are stable up to 1. Leave out line_stiffness=False. "
            )
        return (
            f"{tries}The full robot does not follow this plan: do not execute it. Give the motion "
            "more time, bend the robot less, or allow more by replay_tolerance."
        )

    @property
    def _tries(self) -> str:
        """Sentences on corrections that did not suffice, and their limits."""
        counts = [(self.corrections, "correction"), (self.exact_corrections, "Gauss-Newton step")]
        made = [f"{n} {name}{'s' if n > 1 else ''}" for n, name in counts if n]
        text = f"{' and '.join(made)} did not suffice. " if made else ""
        if self.timed_out:
            text += "The time limit ended the corrections. "
        if self.no_derivative:
            text += f"No Gauss-Newton steps on the full robot: {self.no_derivative}. "
        elif self.exact_corrections:
            text += f"{limits_reached(self.problem, self.plan.a, self.plan.u)} "
        return text

    @property
    def problem(self) -> PlanningProblem:
        """Planning problem without costs, from rest with slack cables."""
        first, robot = self.plan.a[0], self.robot
        slack = np.maximum(first, 0.0)
        instants = len(self.plan.a)
        return PlanningProblem(robot.dynamics, instants, first, robot.limits, u_before=slack)

    @property
    def lines(self) -> list[str]:
        """Names of the cables' nodes."""
        return [cable.getContext().getName() for cable in self.robot.map.map.cables]

    def file(self) -> PlanFile:
        """Return the content of the plan's file."""
        plan, dynamics = self.plan, self.robot.dynamics
        metadata = {"scene": self.scene, "task": self.name, "status": self.status.name}
        if self.units is not None:
            metadata["units"] = str(self.units)
        computer = environment()
        metadata |= computer["versions"] | {"cpu": computer["cpu"], "os": computer["os"]}
        return PlanFile(
            times=dynamics.dt * np.arange(self.delay + 1, self.delay + 1 + len(plan.u)),
            tension=dynamics.force * plan.u,
            spot=self.spot[1:],
            coordinates=plan.a[1:],
            metadata=metadata,
            line_stiffness=self.robot.line_stiffness,
            flutter=self.flutter,
            robot=None if self.judgement is None else self.judgement.replay.robot,
            report=self.report,
        )

    def write(self, path: str | Path | RecordFile, *, anyway: bool = False) -> None:
        """Write the plan as a recording for playback, see `PlanFile`.

        Args:
            path: File; an existing one is replaced atomically.
            anyway: Also write a plan that must not be executed, which the file then records.

        Raises:
            RecordError: The plan must not be executed, or the file cannot be written.
        """
        if not (self.status.executable or anyway):
            raise RecordError(f"{path}: nothing is written. {self.message}")
        self.file().write(path)

    @property
    def _has_shared_work(self) -> bool:
        """True if other processes also solved equilibria, so that their time is unknown."""
        return self.robot.grid is not None and self.robot.grid.corners.executor is not None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        plan, robot = self.plan, self.robot
        return {
            "scene": self.scene,
            "task": self.name,
            "status": self.status.name,
            "verdict": self.status.verdict.name,
            "message": self.message,
            "replay": None if self.report is None else self.report.to_dict(),
            "corrections": self.corrections,
            "exact_corrections": self.exact_corrections,
            "exact_seconds": self.exact_seconds,
            "no_derivative": self.no_derivative,
            "flutter": self.flutter,
            "line_stiffness": self.robot.line_stiffness,
            "timed_out": self.timed_out or plan.timed_out,
            "delay": self.delay,
            "miss": plan.miss,
            "violation": plan.violation,
            "inside": plan.inside,
            "defect": plan.defect,
            "iterations": plan.iterations,
            "dofs": 3 * robot.map.layout.nodes,
            "evaluations": robot.evaluations,
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            **robot.model.to_dict(),
            "map_error": robot.model.error(plan.a),
            "seconds": self.seconds,
            "seconds_exact": None if self._has_shared_work else robot.map.seconds,
        }
