"""Controller that queries a library for each task and plays the motion.

Summary of a run of a `LibraryController`: what it executed, where that ended, what it held.
"""

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
"""time -> parameters p of a motion to begin now, or None."""
Command = Callable[[Motion, float], np.ndarray]
"""(motion, share of its time from 0 to 1) -> effort of each line [force]."""
MeasureError = Callable[[np.ndarray], float]
"""Parameters p of a motion that is over -> its error in the scene."""

HELD = "It is not executed. Ask for less, build a wider library, or give extrapolate=True."
"""Message on a task beyond the problem's range."""


def held_inputs(motion: Motion, share: float) -> np.ndarray:
    """Inputs u of the interval."""
    return np.asarray(motion.u[min(int(share * len(motion.u) + 1e-9), len(motion.u) - 1)])


class LibraryController(SceneController):
    """Queries a library for the motion of each task, and plays it.

    Stock components alone: cables whose valueType is "force". After a motion, and where the library
    has no executable answer, or none within the problem's range, the lines hold their forces, and
    `message` gives the reason; the summary of a run says so, with the verdict `HELD`. With
    `measure_error` it also says where motions ended, with the verdict `REACHED` or `NOT_REACHED`.

    Args:
        root: Root of the scene; it holds the constraint solver.
        lines: The CableConstraints.
        library: The library, or its file.
        task: Called at the beginning of each step without a motion.
        command: Force of each line at an instant of a motion; by default its inputs.
        budget: Time for an answer [s].
        extrapolate: Whether to execute motions of tasks beyond the problem's range.
        plant: Numbers that say which robot it is, as in the library's problem; None: not compared.
        measure_error: Called with the task's parameters p when its motion is over: how far from
            its goal it ended in the scene, in the unit of the library's tolerance; None: that is
            not measured.
        error_max: Largest of these errors with which a goal counts as reached; None: the library's
            tolerance.
        name: Of the controller.

    Data:
        effort: Force of each line [force].
        status: Of the last answer, see `Status`.
        correction: How the nearest motion was adapted for it, see `Correction`.
        message: Notes on it.
        error: Its error in the acceptance test.
        answer_time: Its computing time [s].
        end_error: What `measure_error` gave for the last motion that is over.

    Raises:
        SceneError: `lines` are no components, or another option is wrong.
        LibraryError: the file cannot be read, or p does not fit the library.

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
            self, "command", command, "command(motion, share)", None, 0.0
        )
        self.budget = options.number(self, "budget", budget, options.NOT_NEGATIVE)
        known = library if isinstance(library, TrajectoryLibrary) else load(library)
        if plant is not None:
            check_plant(known.model, plant, self.made_at)
        self.measure_error = measure_error
        if measure_error is not None:
            options.function(self, "measure_error", measure_error, "measure_error(p)", None)
        self.error_max = known.model.tolerance
        if error_max is not None:
            self.error_max = options.number(self, "error_max", error_max, options.POSITIVE)
        known.prepare()
        self.library = known
        self.extrapolate = extrapolate
        self.factor: Any = None
        self.at_first: list[list[float]] = []
        self.add_output("effort", np.zeros(len(self.lines)), "What the lines pull [force].")
        self.add_output("status", "", "Of the last answer.")
        self.add_output("correction", "", "How the nearest motion was adapted.")
        self.add_output("message", "", "What to know of it, in words.")
        self.add_output("error", [np.nan], "Error of the answer in its acceptance test.")
        self.add_output("answer_time", [0.0], "Time that the answer took [s].")
        self.add_output("end_error", [np.nan], "Error with which the last motion ended.")
        self.reset()

    def reset(self) -> None:
        """Forget the motion and its outputs; lines pull as at first."""
        self.keep(motion=None, asked=None, begun=0.0, failed=False)
        self.keep(executed=0, held=0, first_held=(0.0, ""), end_errors=())
        for line, value in zip(self.lines, self.at_first, strict=False):
            line.value.value = value
        self.outputs["effort"].value = np.zeros(len(self.lines))
        for name in ("status", "correction", "message"):
            self.outputs[name].value = ""
        for name in ("error", "end_error"):
            self.outputs[name].value = [np.nan]
        self.outputs["answer_time"].value = [0.0]

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        names = ("motion", "asked", "begun", "executed", "held", "first_held", "end_errors")
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
        """Continue the motion, or begin the next one."""
        del event
        if self.factor is None:
            system = ComplianceSystem(self.root)
            self.keep(factor=[system.effort_factor(line) for line in self.lines])
            self.keep(at_first=[list(line.value.value) for line in self.lines])
        now, horizon = float(self.time.value), self.library.model.horizon
        if self.motion is not None and now > self.begun + horizon - 1e-9:
            self._end()
        if self.motion is None:
            p = self.task(now)
            if p is None:
                return
            self._ask(p, now)
            if self.motion is None:
                return
        share = (now - self.begun) / horizon
        effort = np.asarray(self.command(self.motion, share), float)
        for line, force, factor in zip(self.lines, effort, self.factor, strict=True):
            line.value.value = [float(force * factor)]
        self.outputs["effort"].value = effort

    def _end(self) -> None:
        """End the motion, and note with which error it did."""
        if self.measure_error is not None:
            error = float(self.measure_error(self.asked))
            self.keep(end_errors=(*self.end_errors, error))
            self.outputs["end_error"].value = [error]
        self.keep(motion=None)

    def _ask(self, p: Any, now: float) -> None:
        """Begin the motion for parameters p, if the answer may be executed."""
        answer: Answer = self.library.query(p, budget=self.budget)
        refused = bool(answer.beyond) and not self.extrapolate
        held = HELD if refused and answer.status.ok else ""
        self.outputs["status"].value = answer.status.name
        self.outputs["correction"].value = answer.correction.name
        message = f"{answer.message} {held}".strip()
        self.outputs["message"].value = message
        self.outputs["error"].value = [answer.error]
        self.outputs["answer_time"].value = [answer.seconds]
        if answer.status.ok and not refused:
            self.keep(motion=answer.motion, asked=np.array(p, float), begun=now)
            self.keep(executed=self.executed + 1)
            return
        if not self.held:
            self.keep(first_held=(now, message))
        self.keep(held=self.held + 1)

    def hold(self) -> None:
        """Hold the forces: they are in the lines' own `value`."""


_SHOWN = 8
"""Errors that are written out."""


@dataclass(frozen=True)
class LibrarySummary(Summary):
    """One `LibraryController` over a run."""

    name: str
    """Its path."""
    executed: int
    """Answers that were executed."""
    held: int
    """Answers that were not."""
    held_at: float
    """Time of the first of these; 0: there is none [time]."""
    message: str
    """Why that one was not executed; empty: there is none."""
    errors: tuple[float, ...] = ()
    """Error of each motion that is over, in the scene; empty: none is, or it is not measured."""
    error_max: float = np.inf
    """Largest error with which a goal is reached."""
    error_unit: str = ""
    """Unit of both."""
    kept: int = 0
    """Motions that went on as planned where they were to be corrected."""

    @property
    def verdict(self) -> Verdict | None:
        """Held where an answer was not executed, else by where motions ended; None: not known."""
        if self.held:
            return Verdict.HELD
        if not self.errors:
            return None
        return Verdict.NOT_REACHED if self._missed else Verdict.REACHED

    @property
    def _missed(self) -> int:
        """Number of motions that missed their goal; one whose error is not a number did."""
        return sum(not error <= self.error_max for error in self.errors)

    @override
    def report(self, units: dict[str, str]) -> Report:
        asked = self.executed + self.held
        if not asked:
            return Report(lines=[Line("The library was not asked: no task came up.")])
        count = f"{self.executed} of {asked} answers of the library executed"
        lines = [Line(f"{count}.")]
        if self.held:
            at = f"{self.held_at:.4g} {units['time']}"
            text = f"{count}. At {at} the lines held their forces: {self.message}"
            lines = [Line(text, "doubt")]
        if self.kept:
            text = f"{self.kept} of them went on as planned: nothing was found to correct them by."
            lines.append(Line(text, "doubt"))
        if self.errors:
            lines.append(self._of_errors())
        return Report(lines=lines)

    def _of_errors(self) -> Line:
        unit = f" {self.error_unit}" if self.error_unit else ""
        errors = ", ".join(f"{error:.2g}" for error in self.errors[:_SHOWN])
        more = ", ..." if len(self.errors) > _SHOWN else ""
        text = f"Motions ended {errors}{more}{unit} from their goals"
        if not self._missed:
            return Line(f"{text}, within {self.error_max:.4g}{unit}.")
        missed = f"{self._missed} of {len(self.errors)} missed by more than {self.error_max:.4g}"
        return Line(f"{text}: {missed}{unit}.", "doubt")
