"""DataVariationLimiter: values without jumps."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Real, Reals, UInt
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain


class DataVariationLimiter(Component):
    """Copies `input` to `output`, but approaches a value that jumped in `nbStep` growing steps.

    Values are vectors of three numbers, or of one with a template such as Vec1d, and a jump is a
    distance between them. Source: SoftRobots' DataVariationLimiter.
    """

    category: ClassVar[str] = "controller"

    listening = Bool(False, "Follow the input in every step.")
    input = Reals([], "Values.")
    output = Reals([], "Values without jumps.")
    size = UInt(0, "Number of values.", read_only=True)
    maxJump = Real(0.1, "Largest change that is copied immediately.")
    nbStep = UInt(50, "Steps to approach a value that jumped.")
    initOutput = Bool(True, "Start with the input.", follows="start")

    @property
    def _width(self) -> int:
        template = self.template.get()
        return int(template[3]) if template[:3] == "Vec" and template[3:4] in "123" else 3

    def init(self) -> None:
        """Start with the input, or with the output of the scene."""
        self.maxJump.set(max(0.0, self.maxJump.get()))
        self.nbStep.set(max(1, self.nbStep.get()))
        width, values = self._width, self.input.get()
        if excess := len(values) % width:
            problem = f"takes vectors of {width} numbers in 'input', got {len(values)} numbers."
            complain(self, self.fault(problem), f" The last {excess} do not count.")
            self.input.set(values[:-excess])
        if self.initOutput.get():
            self.output.set(self.input.get().copy())
        count = len(self.output.get()) // width
        self.size.set(count if self.input.isSet() else 0)
        self.output.set(self.output.get()[: count * width])
        self._first = self.output.get().copy()
        self.reset()
        if not self.listening.get():
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} hands on nothing new while its "
                "'listening' is False, which is the default, as in SOFA: set listening=True.",
            )

    def reset(self) -> None:
        """Restart with the first output."""
        self.output.set(self._first.copy())
        self._steps = np.zeros(self.size.get(), dtype=np.int64)

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"steps": self._steps.copy()}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._steps = snapshot["steps"].copy()

    def handle(self, event: Event) -> None:
        """Follow the input at the start of a step."""
        if event["type"] != "AnimateBeginEvent" or not (
            self.listening.get() and self.input.isSet()
        ):
            return
        width, count = self._width, self.size.get()
        target, present = self.input.get(), self.output.get()
        if len(target) < count * width:
            problem = self.fault(f"had {count} values in 'input'; now it has {len(target)}.")
            complain(self, problem, " The output stays, as in SOFA.")
            return
        rows, out = (values[: count * width].reshape(-1, width) for values in (target, present))
        for k, row in enumerate(rows):
            gap = row - out[k]
            length = float(np.linalg.norm(gap))
            if length <= max(0.0, self.maxJump.get()):
                out[k] = row
                continue
            steps = max(1, self.nbStep.get())
            out[k] += gap / steps * self._steps[k]
            self._steps[k] = (self._steps[k] + 1) % steps
        self.output.touch()
