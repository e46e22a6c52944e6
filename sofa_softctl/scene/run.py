"""Running a session for some steps, and what is to be said about it afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session import Session
from sofa_softctl.units import Units, symbol


@dataclass(frozen=True)
class ActuatorSummary:
    """One actuator over a run."""

    name: str
    """Its name."""
    effort_min: float
    """Least effort [force]."""
    effort_max: float
    """Greatest effort [force]."""
    displacement_min: float
    """Least length pulled in [length]."""
    displacement_max: float
    """Greatest length pulled in [length]."""


@dataclass(frozen=True)
class ContactSummary:
    """The contacts of one inverse controller over a run."""

    most: int
    """Greatest number of contacts in a step."""
    normal_mean: float
    """Mean of the summed normal forces, over the steps with contacts [force]."""
    normal_max: float
    """Greatest sum [force]."""
    sliding: float
    """Share of the pushing contacts that slid."""
    slide: float
    """How far the touching points slid in all, as their mean weighted by force [length]."""


@dataclass(frozen=True)
class InverseSummary:
    """One inverse controller over a run."""

    name: str
    """Its path."""
    error_mean: float
    """Mean distance of the effectors to their goals [length]."""
    error_max: float
    """Greatest distance [length]."""
    error_last: float
    """Distance at the end [length]."""
    statuses: dict[str, int]
    """Steps by how they were solved."""
    limits_met: dict[str, int]
    """Steps in which a limit was reached, by the limit's name."""
    actuators: list[ActuatorSummary]
    """Every actuator."""
    contacts: ContactSummary | None = None
    """Contacts; None when nothing touched."""
    warnings: list[str] = field(default_factory=list)
    """What the user should know: objects that slipped or were dropped."""


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


@dataclass(frozen=True)
class History:
    """What an inverse controller did in every step."""

    controller: Any
    """The controller."""
    time: np.ndarray
    """Time after each step [time], shape (n,)."""
    values: dict[str, np.ndarray]
    """error (n, n_e), goal and tip (n, n_e, 3), effort and displacement (n, n_a)."""
    solved: np.ndarray
    """Whether each step was solved, bool (n,)."""
    contacts: np.ndarray
    """In each step: contacts, those that push, those that slide, summed normal force [force], mean
    slide weighted by force [length]; shape (n, 5)."""
    units: Units | None = None
    """Units of the scene."""


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

    def look(self, session: Session) -> None:
        """Remember the step that was just done."""
        self._time.append(session.time)
        for k, entry in enumerate(self.controllers):
            self._rows[k].append([np.array(entry.findData(name).value) for name in OUTPUTS])
            self._solved[k].append(entry.status.value == "SOLVED")
            self._contacts[k].append(_contacts_now(entry))

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
            )
            for entry, rows, solved, contacts in zip(
                self.controllers, self._rows, self._solved, self._contacts, strict=True
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
        inverse=[_summarise(history) for history in histories],
        units={name: symbol(session.units, name) for name in ("length", "time", "force")},
    )
    return summary, histories


def _summarise(history: History) -> InverseSummary:
    controller, values = history.controller, history.values
    effort, displacement = values["effort"], values["displacement"]
    return InverseSummary(
        name=controller.getPathName(),
        error_mean=float(values["error"].mean()),
        error_max=float(values["error"].max()),
        error_last=float(values["error"][-1].max()),
        statuses={status.name: n for status, n in controller.solutions.items() if n},
        limits_met=dict(controller.limits_met),
        actuators=[
            ActuatorSummary(
                name,
                float(effort[:, i].min()),
                float(effort[:, i].max()),
                float(displacement[:, i].min()),
                float(displacement[:, i].max()),
            )
            for i, name in enumerate(controller.names)
        ],
        contacts=_summarise_contacts(history.contacts),
        warnings=[text for grasp in controller.grasps for text in _of_grasp(grasp)],
    )


def _summarise_contacts(contacts: np.ndarray) -> ContactSummary | None:
    count, pushing, sliding, normal, slide = contacts.T
    if not count.any():
        return None
    return ContactSummary(
        most=int(count.max()),
        normal_mean=float(normal[count > 0].mean()),
        normal_max=float(normal.max()),
        sliding=float(sliding.sum() / max(pushing.sum(), 1.0)),
        slide=float(slide.sum()),
    )


def _of_grasp(grasp: Any) -> list[str]:
    """What became of an object that is held."""
    found = []
    if grasp.dropped_at is not None:
        found.append(f"{grasp.body} was dropped at t = {grasp.dropped_at:.4g}")
    if grasp.slip > grasp.slip_tolerance:
        found.append(f"{grasp.body} slipped by {grasp.slip:.3g} in the grasp")
    return found
