"""Controller that executes a plan in a scene, in open loop or as a goal."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene import options
from sofa_softctl.scene.constraints.system import ComplianceSystem
from sofa_softctl.scene.controller import SceneController, pauses_on_error


class SurrogateController(SceneController):
    """Executes a plan of `softctl plan` in open loop, or serves as the goal of another controller.

    Stock components alone: cables whose valueType is "force". Each step has the plan's
    tensions; the last ones are held.

    Args:
        root: Root of the scene; it holds the constraint solver.
        lines: The CableConstraints, in the order of the scene that was planned for. Empty: no
            tensions, `spot` alone.
        plan: The file.
        name: Name of the controller.

    Data:
        tension: Planned tensions of this step [force].
        planned: Planned position of the task's point at its end [length].

    Raises:
        SceneError: `lines` are no components.
        RecordError: the file cannot be read, is no plan, or one for another number of lines.
    """

    def __init__(
        self,
        *,
        root: Any,
        lines: Sequence[Any],
        plan: str | os.PathLike[str],
        name: str = "surrogate",
    ) -> None:
        super().__init__(name=name, root=root)
        self.lines = options.components(self, "lines", lines, "cables")
        record = read_record(plan)
        if "plan.tension" not in record.channels:
            raise RecordError(f"{plan}: this recording is no plan. Make one with softctl plan.")
        self.times = record.time
        self.tensions, self.spots = record.channels["plan.tension"], record.channels["plan.spot"]
        if self.lines and self.tensions.shape[1] != len(self.lines):
            raise RecordError(
                f"{plan}: the plan is for {self.tensions.shape[1]} lines, not {len(self.lines)}. "
                "Give those of the scene that was planned for, in its order."
            )
        self.factor: Any = None
        self.add_output("tension", np.zeros(len(self.tensions.T)), "Planned tensions [force].")
        self.add_output("planned", np.zeros((1, 3)), "Where the task's point is to be [length].")

    def spot(self, time: float) -> np.ndarray:
        """Planned position of the task's point at a time [length], shape (3,)."""
        return np.array([np.interp(time, self.times, column) for column in self.spots.T])

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Tensions of the step, as multipliers of SOFA's cables."""
        del event
        if self.factor is None:
            system = ComplianceSystem(self.root)
            self.keep(factor=[system.effort_factor(line) for line in self.lines])
        end = self.time.value + self.dt.value
        row = min(int(np.searchsorted(self.times, end - 1e-6 * self.dt.value)), len(self.times) - 1)
        tension = self.tensions[row]
        for line, force, factor in zip(self.lines, tension, self.factor, strict=False):
            line.value.value = [float(force * factor)]
        self.outputs["tension"].value = tension
        self.outputs["planned"].value = self.spot(end)[None]

    def hold(self) -> None:
        """Hold the tensions: they are in the lines' own `value`."""
