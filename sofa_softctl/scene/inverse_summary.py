"""What is to be said of an inverse controller after a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sofa_softctl.status import Status
from sofa_softctl.units import Units, symbol

NAMED = 3
"""Actuators at a limit that a reason names, or one more."""


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
class SearchSummary:
    """How sure the answers of the steps with contacts are; each of the others is the best one."""

    steps: int
    """Steps with contacts."""
    proven: int
    """Steps whose gap is within that of `Search`: nothing better exists than what was found."""
    unbounded: int
    """Steps without a bound: something better may exist, by an unknown amount."""
    gap_median: float | None
    """Median of (objective - bound) / objective over the steps with a bound [-]; None: there are
    none."""
    gap_worst: float | None
    """Largest of these gaps [-]."""
    not_converged: int
    """Steps whose search ran into one of its limits."""


@dataclass(frozen=True)
class GoalSummary:
    """Whether the goals were reached at the end of a run."""

    tolerance: float
    """Distance that counts as reached [length]."""
    reached: bool
    """Whether all effectors are within it."""
    reasons: list[str]
    """What stood in the way; empty if they are."""
    verdict: str
    """All of this in a sentence."""


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
    """What the user should know: objects that slipped, were dropped or lost."""
    search: SearchSummary | None = None
    """How sure the answers are; None when nothing touched."""
    lost: dict[str, float] = field(default_factory=dict)
    """Time at which objects left all contacts for good [time], by their paths; see `LostObjects`.
    """
    goal: GoalSummary | None = None
    """Whether the goals were reached; None without a `goal_tolerance` of the controller."""


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
    search: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    """Gap [-] and whether the search converged, of each step with contacts, shape (k, 2)."""


def summarise(history: History) -> InverseSummary:
    """Sum up what an inverse controller did."""
    controller, values = history.controller, history.values
    effort, displacement = values["effort"], values["displacement"]
    lost = dict(controller.lost.left)
    search = _summarise_search(history.search, controller.search.gap)
    error = float(values["error"][-1].max())
    return InverseSummary(
        name=controller.getPathName(),
        error_mean=float(values["error"].mean()),
        error_max=float(values["error"].max()),
        error_last=error,
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
        warnings=[
            *(text for grasp in controller.grasps for text in _of_grasp(grasp)),
            *(_of_lost(name, time) for name, time in lost.items()),
        ],
        search=search,
        lost=lost,
        goal=_judge(controller, error, search, symbol(history.units, "length")),
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


def _summarise_search(search: np.ndarray, wanted: float) -> SearchSummary | None:
    """Args: gap and convergence of each step with contacts (k, 2), and the gap that is a proof."""
    if not len(search):
        return None
    gap, converged = search.T
    known = gap[np.isfinite(gap)]
    return SearchSummary(
        steps=len(gap),
        proven=int(
            (gap <= wanted * (1.0 + 1e-6)).sum()
        ),  # the search stops at it, but for rounding
        unbounded=len(gap) - len(known),
        gap_median=float(np.median(known)) if len(known) else None,
        gap_worst=float(known.max()) if len(known) else None,
        not_converged=int((converged == 0.0).sum()),
    )


def _judge(
    controller: Any, error: float, search: SearchSummary | None, unit: str
) -> GoalSummary | None:
    """Whether the goals were reached; None if the controller does not say what that is."""
    tolerance = controller.goal_tolerance
    if tolerance is None:
        return None
    if error <= tolerance:
        verdict = f"reached: {error:.3g} {unit} off at the end, {tolerance:g} allowed"
        return GoalSummary(tolerance, True, [], verdict)
    reasons = _reasons(controller, search)
    verdict = f"not reached: {error:.3g} {unit} off at the end, {tolerance:g} allowed"
    return GoalSummary(tolerance, False, reasons, f"{verdict}; {', '.join(reasons)}")


def _reasons(controller: Any, search: SearchSummary | None) -> list[str]:
    """What may have kept effectors from their goals, what is certain first."""
    found = [f"{name} is lost" for name in controller.lost.left]
    last = controller.solution
    found += last.relaxed if last is not None else ()
    found += _gathered(last.active) if last is not None else ()
    for status, text in (
        (Status.HELD, "the efforts were held"),
        (Status.CLOSEST_FEASIBLE, "the limits contradicted each other"),
    ):
        if count := controller.solutions[status]:
            found.append(f"{text} in {count} of {sum(controller.solutions.values())} steps")
    if search is not None and search.not_converged:
        found.append(f"the search ended early in {search.not_converged} steps")
    return found or [
        "no limit holds it back at the end: what is best for one step may lead nowhere, or the "
        "goal moves too fast"
    ]


def _gathered(limits: tuple[str, ...]) -> list[str]:
    """Limits such as 'cable left: effort at its minimum', one entry for all actuators at a kind."""
    names: dict[str, list[str]] = {}
    for limit in limits:
        name, _, kind = limit.partition(": ")
        names.setdefault(kind, []).append(name)
    return [f"{kind} ({_some(found)})" for kind, found in names.items()]


def _some(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names) if more < 2 else f"{', '.join(names[:NAMED])} and {more} others"


def _of_grasp(grasp: Any) -> list[str]:
    """What became of an object that is held."""
    found = []
    if grasp.dropped_at is not None:
        found.append(f"{grasp.body} was dropped at t = {grasp.dropped_at:.4g}")
    if grasp.slip > grasp.slip_tolerance:
        found.append(f"{grasp.body} slipped by {grasp.slip:.3g} in the grasp")
    return found


def _of_lost(name: str, time: float) -> str:
    return f"{name} is lost: nothing touches it since t = {time:.4g}, and no actuator moves it"
