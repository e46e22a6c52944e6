"""Controller that plays a library's motions and corrects each once by measurements."""

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
"""(parameters, motion, efforts (K + 1, n_lines) before it and in each step since, measurements
(K + 1, ...) at the same instants) -> motion for the rest of the time, and what was estimated."""

AS_PLANNED = "The motion goes on as planned: nothing was found to correct it by."
"""Message where `correct` gives the motion that it was given."""


class CorrectingLibraryController(LibraryController):
    """A LibraryController that corrects each motion once.

    The robot is measured at the start of a motion and after each step. When the time `after` has
    passed, `correct` gives the motion for the rest. Where that is the motion itself, `message` and
    the summary of a run say that it went on as planned.

    Args:
        measure: Gives the present measurement, an array of always the same shape.
        correct: Gives the motion for the rest of the time, such as a `ChainCorrection`; the one
            that it was given where it has no better one.
        after: Time from the start of a motion to its correction [time].
        given: Options of a LibraryController.

    Data:
        estimate: What `correct` estimated, of the last corrected motion.
        correction_time: Computing time of the last correction [s].

    Raises:
        SceneError: See LibraryController.
    """

    def __init__(
        self, *, measure: Callable[[], ArrayLike], correct: Correct, after: float, **given: Any
    ) -> None:
        options.check_signature(LibraryController, (), given, self.made_at)
        super().__init__(**given)
        self.measure = options.function(self, "measure", measure, "measure()")
        self.correct = options.function(
            self, "correct", correct, "correct(p, motion, effort, measured)", *4 * (None,)
        )
        self.after = options.number(self, "after", after, options.POSITIVE)
        self.factors: Any = None
        self.add_output("estimate", [np.nan], "What the correction estimated.")
        self.add_output("correction_time", [0.0], "Time that the correction took [s].")
        self.reset()

    def reset(self) -> None:
        """Forget motion, measurements and outputs; lines pull as at first."""
        super().reset()
        self.keep(noted=None, efforts=[], seen=[], corrected=False, kept=0)
        for name, value in (("estimate", np.nan), ("correction_time", 0.0)):
            if name in self.outputs:
                self.outputs[name].value = [value]

    def snapshot(self) -> dict[str, Any]:
        """State that persists over steps."""
        own = {"noted": self.noted, "corrected": self.corrected, "kept": self.kept}
        lists = {"efforts": list(self.efforts), "seen": list(self.seen)}
        return {**super().snapshot(), **own, **lists}

    @override
    def summary(self, history: History) -> LibrarySummary:
        return replace(super().summary(history), kept=self.kept)

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Measure, correct the motion if it is time, and go on."""
        self._observe(event)
        super().onAnimateBeginEvent(event)

    @pauses_on_error
    def _observe(self, event: Any) -> None:
        """Note what was measured and pulled up to now, as far as it belongs to the motion."""
        del event
        if self.factors is None:
            system = ComplianceSystem(self.root)
            self.keep(factors=[system.effort_factor(line) for line in self.lines])
        if self.motion is None or self.begun != self.noted:  # only the last sample belongs to it
            self.keep(efforts=self.efforts[-1:], seen=self.seen[-1:], noted=self.begun)
            self.keep(corrected=False)
        pairs = zip(self.lines, self.factors, strict=True)
        pulls = [line.value.value[0] / factor for line, factor in pairs]
        self.keep(efforts=[*self.efforts, pulls], seen=[*self.seen, self._measured()])
        if self.motion is None or self.corrected:
            return
        if float(self.time.value) < self.begun + self.after - 1e-9:
            return
        begin = perf_counter()
        given = (self.motion, np.array(self.efforts), np.array(self.seen))
        motion, found = self.correct(self.asked, *given)
        if motion is self.motion:
            self.keep(kept=self.kept + 1)
            self.outputs["message"].value = AS_PLANNED
        self.keep(motion=motion, corrected=True)
        self.outputs["estimate"].value = np.atleast_1d(np.asarray(found, float))
        self.outputs["correction_time"].value = [perf_counter() - begin]

    def _measured(self) -> np.ndarray:
        return np.array(self.measure(), float)
