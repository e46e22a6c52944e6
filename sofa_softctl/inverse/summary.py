"""Summary of an inverse controller after a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from typing_extensions import override

from sofa_softctl.inverse.goals.verdict import GoalSummary, judge
from sofa_softctl.scene.control.report import History, Line, Report, Summary, Table
from sofa_softctl.status import Status, Verdict
from sofa_softctl.units import SEPARATOR, symbol, together


@dataclass(frozen=True)
class ActuatorSummary:
    """Ranges of one actuator over a run."""

    name: str
    """Name of the actuator."""
    effort_min: float
    """Smallest effort [effort_unit]."""
    effort_max: float
    """Largest effort [effort_unit]."""
    displacement_min: float
    """Smallest length pulled in, or growth [displacement_unit]."""
    displacement_max: float
    """Largest length pulled in, or growth [displacement_unit]."""
    effort_unit: str = ""
    """Unit of the effort, or its quantity if the scene declares no units."""
    displacement_unit: str = ""
    """Unit of the displacement, or its quantity if the scene declares no units."""


@dataclass(frozen=True)
class ContactSummary:
    """The contacts of one inverse controller over a run."""

    most: int
    """Largest number of contacts in a step."""
    normal_mean: float
    """Mean of the summed normal forces, over the steps with contacts [force]."""
    normal_max: float
    """Largest sum [force]."""
    sliding: float
    """Fraction of the pushing contacts that slid [-]."""
    slide: float
    """Total slip, as the mean of the touching points weighted by force [length]."""


@dataclass(frozen=True)
class SearchSummary:
    """Optimality of the steps with contacts; the others are optimal."""

    steps: int
    """Steps with contacts."""
    proven: int
    """Steps with a gap of at most `SearchOptions.gap`: nothing better exists."""
    unbounded: int
    """Steps without a bound: the gap is unknown."""
    gap_median: float | None
    """Median of (objective - bound) / objective over the steps with a bound [-], or None."""
    gap_worst: float | None
    """Largest of these gaps [-]."""
    not_converged: int
    """Steps whose search reached one of its limits."""


@dataclass(frozen=True)
class InverseSummary(Summary):
    """One inverse controller over a run."""

    name: str
    """Path of the controller."""
    error_mean: float
    """Mean distance of the effectors to their goals [length]."""
    error_max: float
    """Largest distance [length]."""
    error_last: float
    """Distance at the end [length]."""
    statuses: dict[str, int]
    """Number of steps by status."""
    limits_met: dict[str, int]
    """Number of steps at a limit, by its name."""
    actuators: list[ActuatorSummary]
    """Every actuator."""
    contacts: ContactSummary | None = None
    """Contacts, or None if nothing touched."""
    warnings: list[str] = field(default_factory=list)
    """Warnings: objects that slipped, were dropped or lost; motors that were waited for."""
    search: SearchSummary | None = None
    """Optimality, or None if nothing touched."""
    lost: dict[str, float] = field(default_factory=dict)
    """Time at which objects left all contacts for good [time], by their paths; see `LostObjects`.
    """
    goal: GoalSummary | None = None
    """Verdict on the goals, or None if `goal_tolerance` judges no effector."""
    fallback: str = ""
    """Reason for another QP solver's solution in the last step with status FALLBACK, or ""."""
    held_at_end: bool = False
    """Whether the last step found no trustworthy solution and held the efforts."""

    @property
    def verdict(self) -> Verdict | None:
        """Held at the end, reached or not, or None if no effector is judged."""
        if self.held_at_end:
            return Verdict.HELD
        return None if self.goal is None else self.goal.outcome

    @override
    def report(self, units: dict[str, str]) -> Report:
        lines = [] if self.contacts is None else [Line(_contact_line(self.contacts, units))]
        if self.search is not None:
            lines.append(Line(_search_line(self.search)))
        if self.goal is not None:
            level: Literal["good", "doubt"] = "good" if self.goal.reached else "doubt"
            lines.append(Line(f"Goal {self.goal.verdict}.", level))
        if self.fallback:
            lines.append(Line(_fallback_line(self), "doubt"))
        if self.held_at_end:
            lines.append(Line("Held at the end: the last step had no trustworthy answer.", "doubt"))
        lines += [Line(f"Warning: {text}.", "doubt") for text in self.warnings]
        return Report([_table(self, units)], lines)


def summarise(controller: Any, history: History) -> InverseSummary:
    """Summarise a run of an inverse controller.

    Args:
        controller: The controller, after the run.
        history: Outputs of the controller.
    """
    effort, displacement, errors = (history[name] for name in ("effort", "displacement", "error"))
    counts = controller.step_counts
    search = _summarise_search(
        np.array(counts.searches, dtype=float).reshape(-1, 2), controller.search.gap
    )
    return InverseSummary(
        name=controller.getPathName(),
        error_mean=float(errors.mean()),
        error_max=float(errors.max()),
        error_last=float(errors[-1].max()),
        statuses={status.name: n for status, n in counts.statuses.items() if n},
        limits_met=dict(counts.limits_met),
        actuators=[
            ActuatorSummary(
                name,
                float(effort[:, i].min()),
                float(effort[:, i].max()),
                float(displacement[:, i].min()),
                float(displacement[:, i].max()),
                *(symbol(history.units, quantity) for quantity in quantities),
            )
            for i, (name, quantities) in enumerate(
                zip(controller.names, controller.driven.quantities, strict=True)
            )
        ],
        contacts=_summarise_contacts(contacts_of(history)),
        warnings=[text for aspect in controller.aspects for text in aspect.warnings()],
        search=search,
        lost=dict(controller.lost.left),
        goal=judge(controller, history),
        fallback=counts.fallback,
        held_at_end=controller.solution is not None and controller.solution.status is Status.HELD,
    )


def contacts_of(history: History) -> np.ndarray:
    """Return numbers on the contacts of each step, shape (n, 5).

    Count of contacts, of pushing ones, of sliding ones; sum of the normal forces [force]; mean slip
    weighted by force [length].
    """
    names = ("contact_normal", "contact_slide", "contact_mode")
    steps = zip(*(history.values[name] for name in names), strict=True)
    return np.array([_contacts_in(*step) for step in steps]).reshape(-1, 5)


def _contacts_in(normal: np.ndarray, slide: np.ndarray, mode: np.ndarray) -> tuple[float, ...]:
    total = float(normal.sum())
    mean = float(normal @ slide) / total if total > 0.0 else 0.0
    return float(len(normal)), float((mode > 0).sum()), float((mode == 2).sum()), total, mean


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


def _summarise_search(search: np.ndarray, gap_tolerance: float) -> SearchSummary | None:
    """Args: gap and convergence of each step with contacts (k, 2), and the gap of a proof."""
    if not len(search):
        return None
    gap, converged = search.T
    gaps = gap[np.isfinite(gap)]
    return SearchSummary(
        steps=len(gap),
        proven=int((gap <= gap_tolerance * (1.0 + 1e-6)).sum()),  # 1e-6: rounding
        unbounded=len(gap) - len(gaps),
        gap_median=float(np.median(gaps)) if len(gaps) else None,
        gap_worst=float(gaps.max()) if len(gaps) else None,
        not_converged=int((converged == 0.0).sum()),
    )


def _table(inverse: InverseSummary, units: dict[str, str]) -> Table:
    solved = ", ".join(f"{name} {count}" for name, count in inverse.statuses.items())
    rows = []
    efforts = together([actuator.effort_unit for actuator in inverse.actuators])
    displacements = together([actuator.displacement_unit for actuator in inverse.actuators])
    for actuator in inverse.actuators:
        limits = [
            f"{limit.split(': ', 1)[1]} {count}"
            for limit, count in inverse.limits_met.items()
            if limit.startswith(f"{actuator.name}: ")
        ]
        effort = f"{actuator.effort_min:.4g} to {actuator.effort_max:.4g}"
        displacement = f"{actuator.displacement_min:.4g} to {actuator.displacement_max:.4g}"
        effort += f" {actuator.effort_unit}" * (SEPARATOR in efforts)
        displacement += f" {actuator.displacement_unit}" * (SEPARATOR in displacements)
        rows.append((actuator.name, effort, displacement, "; ".join(limits)))
    return Table(
        f"Inverse control {inverse.name}",
        (
            "actuator",
            "effort" if SEPARATOR in efforts else f"effort ({efforts})",
            "displacement" if SEPARATOR in displacements else f"displacement ({displacements})",
            "limits met (steps)",
        ),
        rows,
        f"Tracking error: mean {inverse.error_mean:.3g}, largest {inverse.error_max:.3g}, "
        f"at the end {inverse.error_last:.3g} {units['length']}. Steps: {solved}.",
        texts=(0, 3),
    )


def _fallback_line(inverse: InverseSummary) -> str:
    count, steps = inverse.statuses[Status.FALLBACK.name], sum(inverse.statuses.values())
    return (
        f"Warning: another QP solver's answer was taken in {count} of {steps} steps. The last "
        f"time: {inverse.fallback}"
    )


def _contact_line(c: ContactSummary, units: dict[str, str]) -> str:
    return (
        f"Contacts: up to {c.most} at once, normal forces {c.normal_mean:.4g} {units['force']} "
        f"in sum (at most {c.normal_max:.4g}), {c.sliding:.0%} of the touching ones slid, by "
        f"{c.slide:.3g} {units['length']} in all."
    )


def _search_line(search: SearchSummary) -> str:
    bounded = search.steps - search.unbounded
    line = f"Search: {search.proven} of {search.steps} steps with contacts proven optimal"
    if search.gap_median is not None and search.gap_worst is not None:
        line += (
            f"; gap {search.gap_median:.2g} in the median and {search.gap_worst:.2g} at worst over "
            f"the {bounded} with a bound"
        )
    line += f"; {search.unbounded} without a bound, {search.not_converged} not converged."
    return line
