"""Run of a session for some steps, with its summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base.processes import interrupted_after, stopped_by
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.report import History, Summary
from sofa_softctl.scene.session.condition import Finding
from sofa_softctl.scene.session.displacement import Displacement, Displacements
from sofa_softctl.scene.session.provenance import provenance
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict
from sofa_softctl.units import QUANTITIES, symbol

if TYPE_CHECKING:
    from sofa_softctl.scene.mesh_error.result import MeshEstimate


@dataclass(frozen=True)
class RunSummary:
    """Summary of a run."""

    scene: str
    """Scene file or function."""
    backend: str
    """Description of the backend."""
    steps: int
    """Number of steps done."""
    time: float
    """Simulated time at the end [time]."""
    ms_per_step: float
    """Wall time of a step, median [ms]."""
    real_time_factor: float
    """Simulated time by wall time, over the steps after the first, which compiles [-]."""
    phases: dict[str, float]
    """Wall time of each phase, mean over the steps after the first, which compiles [ms]."""
    controllers: dict[str, Summary] = field(default_factory=dict)
    """Summaries of controllers by their paths; see `SceneController.summary`."""
    findings: list[Finding] = field(default_factory=list)
    """Faults of bodies, imposed displacements and cables at the end; see `scene.condition`."""
    displacements: dict[str, Displacement] = field(default_factory=dict)
    """Displacement of each body and tip over the run, by the path of its state."""
    mesh_estimates: list[MeshEstimate] = field(default_factory=list)
    """Excess of each body's stiffness by its mesh; empty: not estimated. See `scene.mesh_error`."""
    units: dict[str, str] = field(default_factory=dict)
    """Unit of each of `units.QUANTITIES`, or its name if the scene declares no units."""
    interrupted: bool = False
    """Whether Ctrl-C or a signal stopped it before its end."""
    stopped_by: str = ""
    """Cause of the interruption: 'Ctrl-C', 'SIGTERM', 'SIGHUP' or ""."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Parameters, versions, computer, actuators; see `scene.provenance`."""
    histories: list[tuple[Any, History]] = field(default_factory=list, repr=False, compare=False)
    """Controllers with the history of their outputs; not in `to_dict`."""

    @property
    def inverse(self) -> list[Any]:
        """Summaries of the inverse controllers."""
        return [summary for summary in self.controllers.values() if hasattr(summary, "limits_met")]

    @property
    def verdict(self) -> Verdict | None:
        """Worst of the controllers' verdicts, or None if no controller has a goal.

        NOT_REACHED if a body is in an invalid condition, such as turned inside out.
        """
        verdicts = [getattr(summary, "verdict", None) for summary in self.controllers.values()]
        if any(finding.is_failure for finding in self.findings):
            verdicts.append(Verdict.NOT_REACHED)
        return Verdict.worst(verdict for verdict in verdicts if verdict is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        values = asdict(replace(self, histories=[]))
        del values["histories"]
        return values | {
            "verdict": None if self.verdict is None else self.verdict.name,
            "inverse": [asdict(summary) for summary in self.inverse],
            "findings": [finding._asdict() for finding in self.findings],
        }


class Observer:
    """Base of observers, called at the begin of a run, after each step, and at its end."""

    def begin(self, session: Session) -> None:
        """Prepare for a run, before its first step."""

    def step(self, session: Session, count: int) -> None:
        """Process a step of a run.

        Args:
            session: The session after the step.
            count: Number of steps done.
        """

    def end(self) -> None:
        """Clean up after the run, also after an error."""


class Histories(Observer):
    """Recorder of the outputs of a session's controllers, step by step."""

    @override
    def begin(self, session: Session) -> None:
        self.controllers = [
            candidate for candidate in session.controllers if _has_outputs(candidate)
        ]
        self._units = session.units
        self._time: list[float] = []
        self._values: list[dict[str, list[np.ndarray]]] = [
            {name: [] for name in controller.outputs} for controller in self.controllers
        ]

    @override
    def step(self, session: Session, count: int) -> None:
        self._time.append(session.time)
        for controller, values in zip(self.controllers, self._values, strict=True):
            for name, data in controller.outputs.items():
                values[name].append(np.array(data.value))

    def by_controller(self) -> list[tuple[Any, History]]:
        """Return each controller with its history."""
        time = np.array(self._time)
        histories = [History(time, values, self._units) for values in self._values]
        return list(zip(self.controllers, histories, strict=True))


class StepTimes(Observer):
    """Wall times of the steps, and of their phases."""

    @override
    def begin(self, session: Session) -> None:
        self.seconds: list[float] = []
        """Wall time of each step [s]."""
        self._phases_of_first: dict[str, float] = {}

    @override
    def step(self, session: Session, count: int) -> None:
        if count == 1:
            self._phases_of_first = session.phases()

    def phases(self, session: Session) -> dict[str, float]:
        """Return the mean time of each phase [ms], without the first of several steps."""
        first = self._phases_of_first if len(self.seconds) > 1 else {}
        count = max(len(self.seconds) - 1, 1)
        return {
            name: 1e3 * (value - first.get(name, 0.0)) / count
            for name, value in session.phases().items()
        }


def _has_outputs(controller: Any) -> bool:
    """Return True for a SceneController, without the import of SOFA that its class needs."""
    outputs, summary = (getattr(controller, name, None) for name in ("outputs", "summary"))
    return isinstance(outputs, dict) and callable(summary)


def step_count(session: Session, steps: int | None, duration: float | None, default: float) -> int:
    """Return the number of steps from that number, the simulated time, or the default duration.

    Raises:
        SceneError: both are given, or the time is not a positive multiple of dt.
    """
    if steps is not None and duration is not None:
        raise SceneError("Give either steps or a duration, not both.")
    if steps is None:
        length = default if duration is None else duration
        if not (length > 0.0 and math.isfinite(length)):
            raise SceneError(f"A duration must be positive and finite, got {length:g}.")
        count = length / session.dt
        steps = round(count)
        if not math.isclose(count, steps, rel_tol=1e-6, abs_tol=1e-6):
            raise SceneError(
                f"A duration of {length:g} is no multiple of the scene's dt = {session.dt:g}."
            )
    if steps < 1:
        raise SceneError(f"At least one step is needed, got {steps}.")
    return steps


def run(
    session: Session, steps: int, observers: Sequence[Observer] = (), *, close: bool = False
) -> RunSummary:
    """Run some steps and return their summary.

    Ctrl-C, or a signal of `ended_by_signals`, ends the run after the present step, and the
    session's recording with the status "interrupted". Closing the session is always completed.

    Args:
        session: The session.
        steps: Number of steps.
        observers: Called after each step in this order; they end in reverse.
        close: Close the session before the recording ends and the summary is made: both then
            contain the clean-up of controllers, such as motors that go to rest.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the end of the first step, or twice.
        DivergedError: The state became NaN or infinite, or a body exploded.
    """
    times, histories, displacements = StepTimes(), Histories(), Displacements(session)
    with ExitStack() as stack:
        everyone = (times, histories, *observers)
        for observer in everyone:
            observer.begin(session)
            stack.callback(observer.end)
        stopped = _do_steps(session, steps, everyone, times.seconds)
        session.condition.check(session.time)
        if close:
            stopped_while_closed = _close(session)
            stopped = stopped or stopped_while_closed
    if stopped:
        from sofa_softctl.record.status import INTERRUPTED

        session.end_recording(INTERRUPTED)
    return _summarise(session, times, histories, displacements, stopped)


def _do_steps(
    session: Session, steps: int, observers: Sequence[Observer], seconds: list[float]
) -> str:
    """Run steps and append their wall times; return the cause of an interruption, or ""."""
    begin = session.step_count
    try:
        for number in range(1, steps + 1):
            with interrupted_after():
                start = perf_counter()
                session.step()
                seconds.append(perf_counter() - start)
                for observer in observers:
                    observer.step(session, number)
    except KeyboardInterrupt as error:
        if not seconds or len(seconds) < session.step_count - begin:  # pressed twice
            raise
        return stopped_by(error)
    return ""


def _close(session: Session) -> str:
    """Close a session; return the cause of an interruption meanwhile, or ""."""
    try:
        session.close()
    except KeyboardInterrupt as error:
        session.close()  # no effect unless Ctrl-C came before the clean-up
        return stopped_by(error)
    return ""


def _summarise(
    session: Session,
    times: StepTimes,
    histories: Histories,
    displacements: Displacements,
    stopped: str,
) -> RunSummary:
    by_controller, seconds = histories.by_controller(), times.seconds
    return RunSummary(
        scene=session.name,
        backend=session.backend.describe(),
        steps=len(seconds),
        time=session.time,
        ms_per_step=1e3 * float(np.median(seconds)),
        real_time_factor=session.dt / float(np.mean(seconds[1:] or seconds)),
        phases=times.phases(session),
        controllers={
            controller.getPathName(): summary
            for controller, history in by_controller
            if (summary := controller.summary(history)) is not None
        },
        findings=session.condition.findings(),
        displacements=displacements.by_path(),
        units={name: symbol(session.units, name) for name in QUANTITIES},
        interrupted=bool(stopped),
        stopped_by=stopped,
        provenance=provenance(session),
        histories=by_controller,
    )
