"""Running a session for some steps, and what is to be said about it afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.inverse_summary import History, InverseSummary, summarise
from sofa_softctl.scene.session import Session
from sofa_softctl.units import symbol


@dataclass(frozen=True)
class RunSummary:
    """What is to be said about a run."""

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
    """Simulated time of a step by its median wall time."""
    phases: dict[str, float]
    """Wall time of each phase, mean over the steps after the first, which compiles [ms]."""
    inverse: list[InverseSummary] = field(default_factory=list)
    """Inverse controllers."""
    units: dict[str, str] = field(default_factory=dict)
    """Units of length, time and force; the words themselves where the scene declares none."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


OUTPUTS = ("error", "goal", "tip", "effort", "displacement")


class Watcher:
    """Keeps what the inverse controllers of a session did, step by step."""

    def __init__(self, session: Session) -> None:
        self.controllers = [
            entry for entry in session.controllers if entry.getClassName() == "InverseController"
        ]
        self._units = session.units
        self._time: list[float] = []
        self._rows: list[list[list[np.ndarray]]] = [[] for _ in self.controllers]
        self._solved: list[list[bool]] = [[] for _ in self.controllers]
        self._contacts: list[list[np.ndarray]] = [[] for _ in self.controllers]
        self._search: list[list[tuple[float, float]]] = [[] for _ in self.controllers]

    def look(self, session: Session) -> None:
        """Remember the step that was just done."""
        self._time.append(session.time)
        for k, entry in enumerate(self.controllers):
            self._rows[k].append([np.array(entry.findData(name).value) for name in OUTPUTS])
            self._solved[k].append(entry.status.value == "SOLVED")
            self._contacts[k].append(_contacts_now(entry))
            solution = entry.solution
            if solution is not None and solution.modes:
                self._search[k].append((solution.gap, float(solution.converged)))

    def histories(self) -> list[History]:
        """One history a controller."""
        time = np.array(self._time)
        return [
            History(
                entry,
                time,
                {name: np.array([row[k] for row in rows]) for k, name in enumerate(OUTPUTS)},
                np.array(solved, dtype=bool),
                np.array(contacts).reshape(-1, 5),
                self._units,
                np.array(search, dtype=float).reshape(-1, 2),
            )
            for entry, rows, solved, contacts, search in zip(
                self.controllers,
                self._rows,
                self._solved,
                self._contacts,
                self._search,
                strict=True,
            )
        ]


def _contacts_now(controller: Any) -> np.ndarray:
    """The numbers of `History.contacts` for the step that was just done, shape (5,)."""
    normal = np.asarray(controller.contact_normal.value, dtype=float)
    if not len(normal):
        return np.zeros(5)
    slide = np.asarray(controller.contact_slide.value, dtype=float)
    mode = np.asarray(controller.contact_mode.value)
    total = float(normal.sum())
    mean = float(normal @ slide) / total if total > 0.0 else 0.0
    return np.array([len(normal), (mode > 0).sum(), (mode == 2).sum(), total, mean])


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
    session: Session, steps: int, on_step: Callable[[int], None] | None = None
) -> tuple[RunSummary, list[History]]:
    """Do some steps and sum them up.

    Args:
        session: The session.
        steps: Steps to do.
        on_step: Called after each step with the number of steps done.
    """
    watcher = Watcher(session)
    seconds = []
    first: dict[str, float] = {}
    for done in range(1, steps + 1):
        start = perf_counter()
        session.step()
        seconds.append(perf_counter() - start)
        if done == 1 and steps > 1:
            first = session.phases()
        watcher.look(session)
        if on_step is not None:
            on_step(done)
    histories = watcher.histories()
    counted = max(steps - 1, 1)
    median = float(np.median(seconds))
    summary = RunSummary(
        scene=session.name,
        backend=session.backend.describe(),
        steps=steps,
        time=session.time,
        ms_per_step=1e3 * median,
        real_time_factor=session.dt / median,
        phases={
            name: 1e3 * (value - first.get(name, 0.0)) / counted
            for name, value in session.phases().items()
        },
        inverse=[summarise(history) for history in histories],
        units={name: symbol(session.units, name) for name in ("length", "time", "force")},
    )
    return summary, histories
