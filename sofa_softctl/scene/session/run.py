"""Run a session for some steps and summarise it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.base.processes import interrupted_after, stopped_by
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.report import History, Summary
from sofa_softctl.scene.session.condition import Finding
from sofa_softctl.scene.session.provenance import provenance
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict
from sofa_softctl.units import QUANTITIES, symbol


@dataclass(frozen=True)
class RunSummary:
    """Summary of a run."""

    scene: str
    """Scene file or function."""
    backend: str
    """What ran it."""
    steps: int
    """Steps done."""
    time: float
    """Simulated time at the end [time]."""
    ms_per_step: float
    """Wall time of a step, median [ms]."""
    real_time_factor: float
    """Simulated time by wall time, over the steps after the first, which compiles."""
    phases: dict[str, float]
    """Wall time of each phase, mean over the steps after the first, which compiles [ms]."""
    controllers: dict[str, Summary] = field(default_factory=dict)
    """What controllers say, by their paths; see `SceneController.summary`."""
    findings: list[Finding] = field(default_factory=list)
    """Faults of bodies, imposed displacements and cables at the end; see `scene.condition`."""
    units: dict[str, str] = field(default_factory=dict)
    """Unit of each of `units.QUANTITIES`; the words themselves where the scene declares none."""
    interrupted: bool = False
    """Whether Ctrl-C or a signal stopped it before its end."""
    stopped_by: str = ""
    """What did: 'Ctrl-C', 'SIGTERM' or 'SIGHUP'; empty: nothing."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """What produced it: parameters, versions, computer, actuators; see `scene.provenance`."""

    @property
    def inverse(self) -> list[Any]:
        """Summaries of the inverse controllers."""
        return [said for said in self.controllers.values() if hasattr(said, "limits_met")]

    @property
    def verdict(self) -> Verdict | None:
        """The worst of the controllers' verdicts; None where none has a goal to judge by.

        NOT_REACHED if a body is not in a condition to judge by, such as turned inside out.
        """
        verdicts = [getattr(said, "verdict", None) for said in self.controllers.values()]
        if any(finding.is_failure for finding in self.findings):
            verdicts.append(Verdict.NOT_REACHED)
        return Verdict.worst(verdict for verdict in verdicts if verdict is not None)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "verdict": None if self.verdict is None else self.verdict.name,
            "inverse": [asdict(said) for said in self.inverse],
            "findings": [finding._asdict() for finding in self.findings],
        }


class Watcher:
    """Keeps the outputs of a session's controllers, step by step."""

    def __init__(self, session: Session) -> None:
        self.controllers = [one for one in session.controllers if _shows(one)]
        self._units = session.units
        self._time: list[float] = []
        self._values: list[dict[str, list[np.ndarray]]] = [
            {name: [] for name in one.outputs} for one in self.controllers
        ]

    def look(self, session: Session) -> None:
        """Remember the step that was just done."""
        self._time.append(session.time)
        for controller, values in zip(self.controllers, self._values, strict=True):
            for name, data in controller.outputs.items():
                values[name].append(np.array(data.value))

    def histories(self) -> list[tuple[Any, History]]:
        """The controllers, each with its history."""
        time = np.array(self._time)
        found = [History(time, values, self._units) for values in self._values]
        return list(zip(self.controllers, found, strict=True))


def _shows(controller: Any) -> bool:
    """Whether it is a SceneController; asked so that SOFA need not be imported for it."""
    outputs, summary = (getattr(controller, name, None) for name in ("outputs", "summary"))
    return isinstance(outputs, dict) and callable(summary)


def step_count(session: Session, steps: int | None, duration: float | None, default: float) -> int:
    """Steps to do, from the number of steps, or the simulated time, or the scene's own duration.

    Raises:
        SceneError: both were given, or the time is no positive multiple of dt.
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
    session: Session,
    steps: int,
    on_step: Callable[[int], None] | None = None,
    *,
    close: bool = False,
) -> tuple[RunSummary, list[tuple[Any, History]]]:
    """Do some steps and sum them up; the controllers' histories are given too.

    Ctrl-C, or a signal of `ended_by_signals`, ends it after the step that is going on, and the
    session's recording with the status "interrupted"; so does one while the session is closed,
    which goes on to its end.

    Args:
        session: The session.
        steps: Steps to do.
        on_step: Called after each step with the number of steps done.
        close: Whether to close the session before the recording ends and the run is summed up:
            both then have what controllers do in their clean-up, such as motors that go to rest.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the first step was done, or twice.
        DivergedError: The state became NaN or infinite, or a body exploded.
    """
    watcher = Watcher(session)
    seconds = []
    first: dict[str, float] = {}
    begin = session.step_count
    stopped = ""
    try:
        for done in range(1, steps + 1):
            with interrupted_after():
                start = perf_counter()
                session.step()
                seconds.append(perf_counter() - start)
                watcher.look(session)
                if on_step is not None:
                    on_step(done)
                if done == 1 and steps > 1:
                    first = session.phases()
    except KeyboardInterrupt as error:
        if not seconds or len(seconds) < session.step_count - begin:  # pressed twice
            raise
        stopped = stopped_by(error)
    session.condition.check(session.time)
    if close:
        closed = _closed(session)
        stopped = stopped or closed
    if stopped:
        from sofa_softctl.record.file import INTERRUPTED

        session.end_recording(INTERRUPTED)
    steps = len(seconds)
    histories = watcher.histories()
    counted = max(steps - 1, 1)
    median = float(np.median(seconds))
    summary = RunSummary(
        scene=session.name,
        backend=session.backend.describe(),
        steps=steps,
        time=session.time,
        ms_per_step=1e3 * median,
        real_time_factor=session.dt / float(np.mean(seconds[1:] or seconds)),
        phases={
            name: 1e3 * (value - first.get(name, 0.0)) / counted
            for name, value in session.phases().items()
        },
        controllers={
            one.getPathName(): said
            for one, history in histories
            if (said := one.summary(history)) is not None
        },
        findings=session.condition.findings(),
        units={name: symbol(session.units, name) for name in QUANTITIES},
        interrupted=bool(stopped),
        stopped_by=stopped,
        provenance=provenance(session),
    )
    return summary, histories


def _closed(session: Session) -> str:
    """Close a session; what asked for the end meanwhile, 'Ctrl-C' or a signal; empty: nothing."""
    try:
        session.close()
    except KeyboardInterrupt as error:
        session.close()  # where it came before that began
        return stopped_by(error)
    return ""
