"""Online identification: parameters refined from a sliding window of signals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.identification.online.arrival_cost import ArrivalCost
from sofa_softctl.identification.online.plot import RefinementSummary, draw_refinement, summarise
from sofa_softctl.identification.online.refinement import (
    WindowEstimate,
    WindowTask,
    refine_parameters,
    with_priors,
)
from sofa_softctl.identification.online.window import (
    Background,
    Signal,
    SlidingWindow,
    Target,
    check_names,
    readers,
    writers,
)
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.report import History
from sofa_softctl.status import Status
from sofa_softctl.units import together

MIXED = (
    "There are no intervals until the window holds only samples from after the change of the robot."
)
RECORDED = {
    "parameters": ("", "The problem's parameters, in its order and units"),
    "half_width": ("", "Half-widths of their 95 % intervals"),
    "updates": ("", "Number of accepted fits"),
    "fitted": ("time", "Begin and end of the window of the last of these"),
    "misfit": ("", "Mean square of its residuals in standard deviations"),
    "seconds": ("s", "Wall time of the last fit"),
}
"""Unit and meaning of the recorded Data; those of the parameters are the problem's."""


class IdentificationController(SceneController):
    """Refines the parameters of a model periodically while the robot moves, with intervals.

    At the end of each step the signals are read. Every `every`, the parameters are fitted to the
    samples of the last `window`, starting from the present estimate. Earlier samples count through
    the arrival cost: each sample counts once, and the intervals follow from all samples. A fit that
    fails changes no parameter; `message` reports the reason. Earlier samples that contradict the
    window are forgotten: the robot has changed. Then intervals are infinite, and targets receive
    nothing, until the window holds only later samples.

    The simulation waits for a fit, so that runs are reproducible. With `background`, another
    process fits while the simulation continues, and its result is accepted when it is ready; fits
    that are due in the meantime are skipped.

    Args:
        root: Root of the scene; its time is in seconds.
        problem: The identification problem. Signals are sampled at its `rate`, if it has one.
        signals: Source of each input and output of the problem, by channel.
        window: Length of the window [s], or None for all samples.
        every: Time between refinements [s].
        calm: Channels of one unit that measure the motion: the window begins where they change
            least, up to `every` earlier. For models that start at rest.
        memory: Half-life of the weight of samples before the window [s]; inf: full weight, 0: none.
        doubt: Standard deviation of the prior of parameters that have none, as share of the start;
            inf: no prior. It holds parameters that the motion so far does not depend on.
        evaluations: Limit of evaluations of a refinement; the next continues.
        start: Samples count from this time on [time].
        background: Whether to refine in another process.
        targets: Data or functions that receive the parameters, by name.
        within: They receive those whose half-width is below this share of the value.
        name: Name of the controller.

    Data:
        parameters: The problem's, in its order and units.
        half_width: Half-widths of their 95 % intervals; infinite if not identifiable.
        status: Status of the last fit, see `Status`; "" before the first.
        message: The status as a sentence, or why the fit failed.
        updates: Number of accepted fits.
        fitted: Begin and end of the window of the last of these [s].
        misfit: Mean square of its residuals in standard deviations: 1 for noise only.
        seconds: Wall time of the last fit [s].

    Raises:
        SceneError: Signals or targets do not match the problem, or times are inconsistent.

    Source: Caldwell, Coleman, Correll 2014, who estimate after the motion; the arrival cost is that
        of moving-horizon estimation.
    """

    def __init__(
        self,
        *,
        root: Any,
        problem: Problem,
        signals: Mapping[str, Signal],
        window: float | None = 6.0,
        every: float = 2.0,
        calm: Sequence[str] = (),
        memory: float = math.inf,
        doubt: float = 1.0,
        evaluations: int = 8,
        start: float = 0.0,
        background: bool = False,
        targets: Mapping[str, Target] | None = None,
        within: float = math.inf,
        name: str = "identification",
    ) -> None:
        super().__init__(name=name, root=root)
        problem = self.problem = Problem.checked(problem)
        self.names = tuple(parameter.name for parameter in problem.parameters)
        self.units = {
            channel.name: channel.unit for channel in (*problem.inputs, *problem.channels)
        }
        columns = tuple(self.units)
        try:
            self.readers = readers(signals, columns)
            self.targets = writers(targets or {}, self.names)
            check_names(calm, columns, "'calm'")
            _check_times(window, every)
            self.worker = Background(problem) if background else None
        except SceneError as error:
            raise SceneError(f"{self.made_at}: {error}") from error
        self.window, self.every, self.start = window, float(every), float(start)
        self.calm, self.half_life = [columns.index(name) for name in calm], float(memory)
        self.unknowns, self.within = with_priors(problem.parameters, doubt), within
        self.evaluations = evaluations
        self.period = None if problem.rate is None else 1.0 / problem.rate
        rho, units = starts(problem.parameters), together([p.unit for p in problem.parameters])
        self.recorded = RECORDED | {
            name: (units, RECORDED[name][1]) for name in ("parameters", "half_width")
        }
        """Recorded Data, see `SceneController`."""
        self.add_output("parameters", rho, "The problem's, in its order and units.")
        self.add_output("half_width", rho, "Half-widths of their 95 % intervals.")
        self.add_output("status", "", "Status of the last fit.")
        self.add_output("message", "", "Status as a sentence, or why the fit failed.")
        self.add_output("updates", [0.0], "Number of accepted fits.")
        self.add_output("fitted", np.zeros(2), "Begin and end of the last one's window [s].")
        self.add_output("misfit", [np.nan], "Mean square of its residuals in deviations.")
        self.add_output("seconds", [0.0], "Wall time of the last fit [s].")
        self.reset()

    @override
    def about(self) -> dict[str, Any]:
        return {"parameters": list(self.names)}

    def reset(self) -> None:
        """Discard all samples and set the parameters to their starts."""
        rho = starts(self.problem.parameters)
        sliding = SlidingWindow(
            self.window, self.every, self.calm, self.half_life, ArrivalCost.none(len(rho))
        )
        self.keep(sliding=sliding, rho=rho, begun=None, done=0, history=[])
        self.keep(pending=None, failed=False)
        self._set(parameters=rho, half_width=np.full(len(rho), np.inf), status="", message="")
        self._set(updates=[0.0], fitted=[0.0, 0.0], misfit=[np.nan], seconds=[0.0])

    def snapshot(self) -> dict[str, Any]:
        """State of the controller, without a fit that is running."""
        state = {name: self.__dict__[name] for name in ("rho", "begun", "done")}
        return state | {"sliding": self.sliding.copy(), "history": list(self.history)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Restore the state of `snapshot`."""
        copies = {"sliding": snapshot["sliding"].copy(), "history": list(snapshot["history"])}
        self.keep(**(snapshot | copies), pending=None)

    @override
    def summary(self, history: History) -> RefinementSummary:
        del history
        return summarise(self)

    @override
    def plot(self, figure: Any, history: History) -> bool:
        del history
        draw_refinement(figure, self)
        return True

    @pauses_on_error
    def onAnimateEndEvent(self, event: Any) -> None:
        """Read the signals; refine when due."""
        del event
        now, dt = float(self.time.value), float(self.dt.value)
        if now < self.start + dt - 1e-9:
            return
        if self.begun is None:
            self._check_period(dt)
            self.keep(begun=now - dt)
        passed = round((now - self.begun) / dt)
        if passed % max(round((self.period or dt) / dt), 1) == 0:
            self.sliding.samples.append([now, *(read() for read in self.readers)])
        if self.pending is not None and self.pending.done():
            self._collect()
        if now >= self.begun + (self.done + 1) * self.every - 1e-9:
            self.keep(done=self.done + 1)
            if self.pending is None and self.sliding.samples:
                self._refine(now)

    def _refine(self, now: float) -> None:
        """Fit to the window that ends now, here or in the background."""
        sliding = self.sliding
        sliding.slide(now)
        task = WindowTask(
            problem=self.problem,
            parameters=self.unknowns,
            table=sliding.table(self.units),
            rho=self.rho,
            memory=sliding.memory,
            inflation=sliding.inflation,
            misfit=self.sliding.misfit,
            most=self.evaluations,
        )
        if self.worker is None:
            self._accept(refine_parameters(task))
        else:
            self.keep(pending=self.worker.submit(task))

    def _collect(self) -> None:
        """Accept the result of the background process."""
        pending = self.pending
        self.keep(pending=None)
        try:
            self._accept(pending.result())
        except BrokenExecutor:
            assert self.worker is not None
            self.worker.close()  # the next task starts another
            self._set(
                status=Status.HELD.name,
                message="The background process ended; the next fit starts another.",
            )

    def _accept(self, result: WindowEstimate) -> None:
        """Set the Data, and the initial parameters of the next fit."""
        status = Status.HELD if result.termination is None else result.termination.status
        self._set(status=status.name, message=result.message, seconds=[result.seconds])
        if not result.is_accepted or result.rows is None:
            return
        self.sliding.store_linearisation(result)
        if self.sliding.is_mixed(result):
            result = replace(result, half_width=np.full(len(result.rho), np.inf))
            self._set(message=f"{result.message} {MIXED}")
        self.history.append(replace(result, rows=None))
        self.keep(rho=result.rho)
        self._set(
            parameters=result.rho,
            half_width=result.half_width,
            updates=[self.outputs["updates"].value[0] + 1.0],
            fitted=[result.begin, result.end],
            misfit=[result.misfit],
        )
        results = dict(
            zip(self.names, zip(result.rho, result.half_width, strict=True), strict=True)
        )
        for name, write in self.targets.items():
            value, width = results[name]
            if np.isfinite(width) and width <= self.within * abs(value):
                write(float(value))

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            self.outputs[name].value = (
                value if isinstance(value, str) else np.asarray(value).tolist()
            )

    def _check_period(self, dt: float) -> None:
        steps = 1.0 if self.period is None else self.period / dt
        if abs(steps - round(steps)) > 1e-6 or steps < 0.5:
            raise SceneError(
                f"Problem '{self.problem.name}' needs a sample each {self.period:g} s; the scene's "
                f"dt = {dt:g} s does not divide that. Choose another dt."
            )


def _check_times(window: float | None, interval: float) -> None:
    if not interval > 0.0 or (window is not None and not window >= interval):
        raise SceneError(
            f"'every' must be positive, and 'window' no shorter. Got {interval:g} and {window} s."
        )
