"""Controller that plays a library's trajectories and corrects each once by measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.playing.controller import LibraryController, LibrarySummary
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.controller import pauses_on_error
from sofa_softctl.scene.control.report import History
from sofa_softctl.scene.control.system import ComplianceSystem

Correct = Callable[[np.ndarray, Motion, np.ndarray, np.ndarray], tuple[Motion, ArrayLike]]
"""(parameters, trajectory, efforts (K + 1, cables) before it and in each step since, measurements
(K + 1, ...) at the same instants) -> trajectory for the remaining time, estimate."""

AS_PLANNED = "The motion is left as planned: no correction was found."
"""Message if `correct` returns its argument."""


class CorrectingLibraryController(LibraryController):
    """LibraryController that corrects each trajectory once.

    The robot is measured at the start of a trajectory and after each step. At the time `after`,
    `correct` returns the trajectory for the remaining time. If that is its argument, `message` and
    the summary of the run report that nothing was corrected.

    Args:
        measure: Returns the present measurement, an array of constant shape.
        correct: Returns the trajectory for the remaining time, such as a `ChainCorrection`, or its
            argument if it has no better one.
        after: Time from the start of a trajectory to its correction [time].
        controller_options: Options of a LibraryController.

    Data:
        estimate: Estimate by `correct` for the last corrected trajectory.
        correction_time: Computing time of the last correction [s].

    Raises:
        SceneError: An option is wrong, as for LibraryController.
    """

    def __init__(
        self,
        *,
        measure: Callable[[], ArrayLike],
        correct: Correct,
        after: float,
        **controller_options: Any,
    ) -> None:
        options.check_signature(LibraryController, (), controller_options, self.made_at)
        super().__init__(**controller_options)
        self.measure = options.function(self, "measure", measure, "measure()")
        self.correct = options.function(
            self, "correct", correct, "correct(p, motion, effort, measured)", *4 * (None,)
        )
        self.after = options.number(self, "after", after, options.POSITIVE)
        self.factors: Any = None
        self.add_output("estimate", [np.nan], "Estimate of the last correction.")
        self.add_output("correction_time", [0.0], "Computing time of the last correction [s].")
        self.reset()

    def reset(self) -> None:
        """Clear trajectory, measurements and outputs; restore the initial forces of the cables."""
        super().reset()
        self.keep(
            samples_start=None, efforts=[], measurements=[], is_corrected=False, uncorrected=0
        )
        for name, value in (("estimate", np.nan), ("correction_time", 0.0)):
            if name in self.outputs:
                self.outputs[name].value = [value]

    def snapshot(self) -> dict[str, Any]:
        """Return the state that persists over steps."""
        motion_state = {
            "samples_start": self.samples_start,
            "is_corrected": self.is_corrected,
            "uncorrected": self.uncorrected,
        }
        samples = {"efforts": list(self.efforts), "measurements": list(self.measurements)}
        return {**super().snapshot(), **motion_state, **samples}

    @override
    def summary(self, history: History) -> LibrarySummary:
        return replace(super().summary(history), uncorrected=self.uncorrected)

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Measure, correct the trajectory if it is time, and continue it."""
        self._observe(event)
        super().onAnimateBeginEvent(event)

    @pauses_on_error
    def _observe(self, event: Any) -> None:
        """Record measurement and forces, and correct the trajectory if it is time."""
        del event
        if self.factors is None:
            system = ComplianceSystem(self.root)
            self.keep(factors=[system.effort_factor(line) for line in self.lines])
        if (
            self.motion is None or self.motion_start != self.samples_start
        ):  # only the last sample belongs to it
            self.keep(
                efforts=self.efforts[-1:],
                measurements=self.measurements[-1:],
                samples_start=self.motion_start,
            )
            self.keep(is_corrected=False)
        pairs = zip(self.lines, self.factors, strict=True)
        pulls = [line.value.value[0] / factor for line, factor in pairs]
        self.keep(
            efforts=[*self.efforts, pulls],
            measurements=[*self.measurements, self._read_measurement()],
        )
        if self.motion is None or self.is_corrected:
            return
        if float(self.time.value) < self.motion_start + self.after - 1e-9:
            return
        begin = perf_counter()
        trajectory_and_samples = (self.motion, np.array(self.efforts), np.array(self.measurements))
        motion, estimate = self.correct(self.motion_parameters, *trajectory_and_samples)
        if motion is self.motion:
            self.keep(uncorrected=self.uncorrected + 1)
            self.outputs["message"].value = AS_PLANNED
        self.keep(motion=motion, is_corrected=True)
        self.outputs["estimate"].value = np.atleast_1d(np.asarray(estimate, float))
        self.outputs["correction_time"].value = [perf_counter() - begin]

    def _read_measurement(self) -> np.ndarray:
        return np.array(self.measure(), float)
