"""Controller that queries a library for each task and plays the trajectory, and its summary."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.library.motions.answer import Answer
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.motions.storage import load
from sofa_softctl.library.ocp.model import check_plant
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History, Line, Report, Summary
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.status import Verdict

Task = Callable[[float], Any]
"""(time) -> parameters p of a trajectory to begin now, or None."""
Command = Callable[[Motion, float], np.ndarray]
"""(trajectory, fraction of its time from 0 to 1) -> effort of each cable [force]."""
MeasureError = Callable[[np.ndarray], float]
"""(parameters p of a trajectory that has ended) -> its error in the scene."""

OUT_OF_RANGE_MESSAGE = (
    "It is not executed. Ask for less, build a wider library, or give extrapolate=True."
)
"""Message on a task beyond the problem's range."""


def held_inputs(motion: Motion, fraction: float) -> np.ndarray:
    """Return the inputs u of the interval."""
    return np.asarray(motion.u[min(int(fraction * len(motion.u) + 1e-9), len(motion.u) - 1)])


class LibraryController(SceneController):
    """Controller that queries a library for each task and plays the trajectory.

    It needs only stock components: cables whose valueType is "force". The cables keep their forces
    after a trajectory, and if the answer must not be executed or the task is outside the problem's
    range; then `message` gives the reason, and the verdict of the run is `HELD`. With
    `measure_error` the verdict is otherwise `REACHED` or `NOT_REACHED`.

    Args:
        root: Root of the scene; it holds the constraint solver.
        lines: CableConstraints of the robot.
        library: Library, or its file.
        task: Called at the beginning of each step without a trajectory.
        command: Returns the force of each cable at an instant of a trajectory; by default its
            inputs.
        budget: Time for an answer [s].
        extrapolate: Also execute answers to tasks outside the problem's range.
        plant: Numbers that identify the robot, compared with the library's if given.
        measure_error: Called with the task's parameters p at the end of its trajectory; returns the
            distance to the goal in the scene, in the unit of the library's tolerance.
        error_max: Largest of these errors with which a goal counts as reached; by default the
            library's tolerance.
        name: Name of the controller.

    Data:
        effort: Force of each cable [force].
        status: Status of the last answer, see `Status`.
        correction: Adaptation of the nearest trajectory for it, see `Correction`.
        message: Notes on the last answer, and the reason if it is not executed.
        error: Error of the last answer in its acceptance test.
        answer_time: Computing time of the last answer [s].
        end_error: Result of `measure_error` for the last trajectory that has ended.

    Raises:
        SceneError: `lines` are not components, or another option is wrong.
        LibraryError: The file cannot be read, or p does not fit the library.

    Source: Marcucci et al., section 5.
    """

    def __init__(
        self,
        *,
        root: Any,
        lines: Sequence[Any],
        library: TrajectoryLibrary | str | os.PathLike[str],
        task: Task,
        command: Command = held_inputs,
        budget: float = np.inf,
        extrapolate: bool = False,
        plant: Mapping[str, float] | None = None,
        measure_error: MeasureError | None = None,
        error_max: float | None = None,
        name: str = "library",
    ) -> None:
        super().__init__(name=name, root=root)
        self.lines = options.components(self, "lines", lines, "cables")
        self.task = options.function(self, "task", task, "task(time)", 0.0)
        self.command = options.function(
            self, "command", command, "command(motion, fraction)", None, 0.0
        )
        self.budget = options.number(self, "budget", budget, options.NOT_NEGATIVE)
        loaded_library = library if isinstance(library, TrajectoryLibrary) else load(library)
        if plant is not None:
            check_plant(loaded_library.model, plant, self.made_at)
        self.measure_error = measure_error
        if measure_error is not None:
            options.function(self, "measure_error", measure_error, "measure_error(p)", None)
        self.error_max = loaded_library.model.tolerance
        if error_max is not None:
            self.error_max = options.number(self, "error_max", error_max, options.POSITIVE)
        loaded_library.prepare()
        self.library = loaded_library
        self.extrapolate = extrapolate
        self.factor: Any = None
        self.initial_values: list[list[float]] = []
        self.add_output("effort", np.zeros(len(self.lines)), "Force of each cable [force].")
        self.add_output("status", "", "Status of the last answer.")
        self.add_output("correction", "", "Adaptation of the nearest trajectory.")
        self.add_output("message", "", "Notes on the last answer.")
        unit = f" [{self.library.model.error_unit}]" if self.library.model.error_unit else ""
        accepted = f"Error of the last answer in its acceptance test{unit}."
        self.add_output("error", [np.nan], accepted)
        self.add_output("answer_time", [0.0], "Computing time of the last answer [s].")
        at_end = f"Error at the end of the last trajectory{unit}."
        self.add_output("end_error", [np.nan], at_end)
        self.reset()

    @override
    def about(self) -> dict[str, Any]:
        return {"actuators": [line.getContext().getName() for line in self.lines]}

    def reset(self) -> None:
        """Clear the trajectory and the outputs; restore the initial forces of the cables."""
        self.keep(motion=None, motion_parameters=None, motion_start=0.0, failed=False)
        self.keep(executed=0, held=0, first_held=(0.0, ""), end_errors=())
        for line, value in zip(self.lines, self.initial_values, strict=False):
            line.value.value = value
        self.outputs["effort"].value = np.zeros(len(self.lines))
        for name in ("status", "correction", "message"):
            self.outputs[name].value = ""
        for name in ("error", "end_error"):
            self.outputs[name].value = [np.nan]
        self.outputs["answer_time"].value = [0.0]

    def snapshot(self) -> dict[str, Any]:
        """Return the state that persists over steps."""
        names = (
            "motion",
            "motion_parameters",
            "motion_start",
            "executed",
            "held",
            "first_held",
            "end_errors",
        )
        return {name: self.__dict__[name] for name in names}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore a `snapshot`."""
        self.keep(**snapshot)

    @override
    def summary(self, history: History) -> LibrarySummary:
        del history
        held_at, message = self.first_held
        return LibrarySummary(
            self.getPathName(),
            self.executed,
            self.held,
            held_at,
            message,
            self.end_errors,
            self.error_max,
            self.library.model.error_unit,
        )

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Continue the trajectory, or begin the next one."""
        del event
        if self.factor is None:
            system = ComplianceSystem(self.root)
            self.keep(factor=[system.effort_factor(line) for line in self.lines])
            self.keep(initial_values=[list(line.value.value) for line in self.lines])
        now, horizon = float(self.time.value), self.library.model.horizon
        if self.motion is not None and now > self.motion_start + horizon - 1e-9:
            self._end_motion()
        if self.motion is None:
            p = self.task(now)
            if p is None:
                return
            self._begin_motion(p, now)
            if self.motion is None:
                return
        fraction = (now - self.motion_start) / horizon
        effort = np.asarray(self.command(self.motion, fraction), float)
        for line, force, factor in zip(self.lines, effort, self.factor, strict=True):
            line.value.value = [float(force * factor)]
        self.outputs["effort"].value = effort

    def _end_motion(self) -> None:
        """End the trajectory, and measure its error."""
        if self.measure_error is not None:
            error = float(self.measure_error(self.motion_parameters))
            self.keep(end_errors=(*self.end_errors, error))
            self.outputs["end_error"].value = [error]
        self.keep(motion=None)

    def _begin_motion(self, p: Any, now: float) -> None:
        """Begin the trajectory for parameters p, if the answer may be executed."""
        answer: Answer = self.library.query(p, budget=self.budget)
        is_refused = bool(answer.beyond) and not self.extrapolate
        reason = OUT_OF_RANGE_MESSAGE if is_refused and answer.status.ok else ""
        self.outputs["status"].value = answer.status.name
        self.outputs["correction"].value = answer.correction.name
        message = f"{answer.message} {reason}".strip()
        self.outputs["message"].value = message
        self.outputs["error"].value = [answer.error]
        self.outputs["answer_time"].value = [answer.seconds]
        if answer.status.ok and not is_refused:
            self.keep(motion=answer.motion, motion_parameters=np.array(p, float), motion_start=now)
            self.keep(executed=self.executed + 1)
            return
        if not self.held:
            self.keep(first_held=(now, message))
        self.keep(held=self.held + 1)

    def hold(self) -> None:
        """Hold the forces: the cables keep them in `value`."""


@dataclass(frozen=True)
class LibrarySummary(Summary):
    """Summary of a `LibraryController` over a run."""

    name: str
    """Path of the controller in the scene."""
    executed: int
    """Number of executed answers."""
    held: int
    """Number of answers that were not executed."""
    held_at: float
    """Time of the first answer that was not executed, or 0 [time]."""
    message: str
    """Reason for not executing it, or ""."""
    errors: tuple[float, ...] = ()
    """Error in the scene of each trajectory that has ended, as far as it is measured."""
    error_max: float = np.inf
    """Largest error with which a goal counts as reached."""
    error_unit: str = ""
    """Unit of errors and `error_max`."""
    uncorrected: int = 0
    """Number of trajectories that `correct` left as planned."""

    @property
    def verdict(self) -> Verdict | None:
        """HELD if an answer was not executed, else from measured errors; None without any."""
        if self.held:
            return Verdict.HELD
        if not self.errors:
            return None
        return Verdict.NOT_REACHED if self._missed_count else Verdict.REACHED

    @property
    def _missed_count(self) -> int:
        """Number of trajectories that missed their goals; a NaN error counts."""
        return sum(not error <= self.error_max for error in self.errors)

    @override
    def report(self, units: dict[str, str]) -> Report:
        query_count = self.executed + self.held
        if not query_count:
            return Report(lines=[Line("The library was not asked: no task came up.")])
        count = f"{self.executed} of {query_count} answers of the library executed"
        lines = [Line(f"{count}.")]
        if self.held:
            held_time = f"{self.held_at:.4g} {units['time']}"
            text = f"{count}. At {held_time} the lines held their forces: {self.message}"
            lines = [Line(text, "doubt")]
        if self.uncorrected:
            text = f"{self.uncorrected} of them were left as planned: no correction was found."
            lines.append(Line(text, "doubt"))
        if self.errors:
            lines.append(self._error_line())
        return Report(lines=lines)

    def _error_line(self) -> Line:
        unit = f" {self.error_unit}" if self.error_unit else ""
        shown_max = 8
        errors = ", ".join(f"{error:.2g}" for error in self.errors[:shown_max])
        ellipsis = ", ..." if len(self.errors) > shown_max else ""
        text = f"Motions ended {errors}{ellipsis}{unit} from their goals"
        if not self._missed_count:
            return Line(f"{text}, within {self.error_max:.4g}{unit}.")
        missed_text = (
            f"{self._missed_count} of {len(self.errors)} missed by more than {self.error_max:.4g}"
        )
        return Line(f"{text}: {missed_text}{unit}.", "doubt")
