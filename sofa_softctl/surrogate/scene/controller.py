"""Controller that executes a plan in a scene, in open loop or as a goal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import RecordError, SceneError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History, Line, Report, Summary


class SurrogateController(SceneController):
    """Controller that executes a plan of `softctl plan` in open loop, or is another one's goal.

    The cables have valueType "force". Each step has the plan's tensions; before the plan begins the
    cables are slack, and after it they keep the last tensions. Steps have the stiffness of the
    cables, as in the plan's replay, see `LineStiffness`.

    Args:
        root: Root of the scene; it holds the constraint solver.
        lines: CableConstraints in the order of the planned scene; without any, only `spot` is
            computed.
        plan: File of the plan.
        anyway: Execute a plan that did not pass its replay on the full model; the run reports it.
        name: Name of the controller.

    Data:
        tension: Planned tensions of this step [force].
        planned: Planned position of the task's point at the end of the step [length].

    Raises:
        SceneError: `lines` are not components; or, at the first step, the scene has another robot
            than the plan.
        RecordError: The file cannot be read or is not a plan; the plan is for another number of
            cables, or did not pass its replay.
    """

    def __init__(
        self,
        *,
        root: Any,
        lines: Sequence[Any],
        plan: str | os.PathLike[str],
        anyway: bool = False,
        name: str = "surrogate",
    ) -> None:
        # here, since many scenes import this class and few runs have a plan
        from sofa_softctl.surrogate.costs.line_dynamics import LinePull
        from sofa_softctl.surrogate.scene.plan_file import is_in_replay, read_plan

        super().__init__(name=name, root=root)
        self.lines = options.components(self, "lines", lines, "cables")
        self.file, self.found = os.fspath(plan), read_plan(plan)
        self.times, self.tensions, self.spots = (
            self.found.times,
            self.found.tension,
            self.found.spot,
        )
        if self.lines and self.tensions.shape[1] != len(self.lines):
            raise RecordError(
                f"{plan}: the plan is for {self.tensions.shape[1]} lines, not {len(self.lines)}. "
                "Give those of the scene that was planned for, in its order."
            )
        self.in_replay = is_in_replay(plan)
        if self.lines and not (self.found.accepted or self.in_replay or anyway):
            raise RecordError(
                f"{plan}: {self._judgement} Such a plan is executed with anyway=True alone. Make "
                "a plan that passes with softctl plan."
            )
        self.line_pull = LinePull(root, self.lines, stiffness=self.found.line_stiffness)
        self._checked, self._now = False, 0.0
        self.add_output("tension", np.zeros(len(self.tensions.T)), "Planned tensions [force].")
        self.add_output(
            "planned", np.zeros((1, 3)), "Planned position of the task's point [length]."
        )

    @override
    def about(self) -> dict[str, Any]:
        return {"actuators": [line.getContext().getName() for line in self.lines]}

    @property
    def _judgement(self) -> str:
        """Sentence on the result of the plan's replay."""
        report = self.found.report
        if report is None:
            return "the plan was never replayed on the full model."
        if report.passed:
            return "the plan passed its replay on the full model."
        return f"the plan did not pass its replay on the full model. {report.reason}"

    def start_warnings(self) -> list[str]:
        """Return warnings on a plan that did not pass its replay, or flutters."""
        from sofa_softctl.scene.control.line_stiffness import has_line_stiffness

        if self.in_replay:
            return []
        warnings = [] if self.found.accepted else [f"{self.file}: {self._judgement}"]
        warnings += self._other_simulator()
        if self.found.flutter > 1.0 and not has_line_stiffness(self.root):
            warnings.append(
                f"{self.file}: the forces of the lines may flutter along this plan: their number "
                f"is {self.found.flutter:.2g}, and SOFA's steps are stable up to 1. Add the "
                "stiffness of the lines, by add_line_stiffness for each."
            )
        return warnings

    def _other_simulator(self) -> list[str]:
        """Return a warning if the replay was on another backend than this run."""
        backend, report = find_backend(), self.found.report
        if report is None or report.simulator.startswith("SOFA") == (backend.name == "sofa"):
            return []
        return [
            f"{self.file}: the plan was replayed on another backend: {report.simulator}. Plan with "
            f"--backend {backend.name} to have it replayed on this one."
        ]

    def spot(self, time: float) -> np.ndarray:
        """Return the planned position of the task's point at a time [length], shape (3,)."""
        return np.array([np.interp(time, self.times, column) for column in self.spots.T])

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Set the tensions of the step, as multipliers of SOFA's cables."""
        del event
        if not self._checked:
            self._check_robot()
            self.keep(_checked=True)
        end, dt = self.time.value + self.dt.value, self.dt.value
        self.keep(_now=end)
        row = min(int(np.searchsorted(self.times, end - 1e-6 * dt)), len(self.times) - 1)
        begun = end > self.times[0] - 1e-6 * dt
        tension = self.tensions[row] if begun else np.zeros_like(self.tensions[0])
        self.line_pull.pull(tension)
        self.outputs["tension"].value = tension
        self.outputs["planned"].value = self.spot(end)[None]

    def _check_robot(self) -> None:
        if self.found.robot is None or not self.lines:
            return
        from sofa_softctl.surrogate.scene.plan_file import differences, robot_identity

        differing = differences(self.found.robot, robot_identity(self.root, self.lines))
        if differing:
            raise SceneError(
                f"{self.file}: the plan is for another robot: {'; '.join(sorted(differing))}. Plan "
                "for this one, with the same --set for softctl plan and softctl run."
            )

    def hold(self) -> None:
        """Hold the tensions: the cables keep them in `value`."""

    @override
    def summary(self, history: History) -> Summary | None:
        del history
        report = self.found.report
        worst = None if report is None else report.worst
        return PlanSummary(
            self.file, self.found.accepted, self._judgement, worst, self._unplayed_part()
        )

    def _unplayed_part(self) -> str:
        """Remaining part of the plan at the end of the run, or ""."""
        now, dt = self._now, self.dt.value
        first, last = float(self.times[0]), float(self.times[-1])
        if now > last - 0.5 * dt:
            return ""
        played = f"{max(now - first + dt, 0.0):.3g} of its {last - first + dt:.3g}"
        return f"the run ended after {played} of time. It takes a run until {last:.4g}."


@dataclass(frozen=True)
class PlanSummary(Summary):
    """Summary of the plan that a run executed."""

    file: str
    """File of the plan."""
    accepted: bool
    """Whether the plan passed its replay."""
    judgement: str
    """Sentence on the result of the replay."""
    worst: float | None
    """Worst criterion of the replay over its limit [-], or None without a replay."""
    left: str = ""
    """Remaining part of the plan at the end of the run, or ""."""

    @override
    def report(self, units: dict[str, str]) -> Report:
        del units
        lines = [Line(f"{self.file}: {self.judgement}", "good" if self.accepted else "doubt")]
        if self.left:
            lines.append(Line(f"{self.file}: {self.left}", "doubt"))
        return Report(lines=lines)
