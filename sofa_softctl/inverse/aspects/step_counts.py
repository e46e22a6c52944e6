"""Counts of the steps of a run: how they were solved, and which limits they met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typing_extensions import override

from sofa_softctl.inverse.aspects.aspect import ControlStep, StepAspect
from sofa_softctl.status import Status


class StepCounts(StepAspect):
    """Counts steps, and warns when the status changes to one other than SOLVED."""

    def __init__(self) -> None:
        self.forget()

    @override
    def forget(self) -> None:
        self.statuses: dict[Status, int] = dict.fromkeys(Status, 0)
        """Number of steps with each status."""
        self.limits_met: dict[str, int] = {}
        """Number of steps at each limit that was met, by its name."""
        self.searches: list[tuple[float, bool]] = []
        """Gap [-] and convergence of each step with contacts."""
        self.fallback = ""
        """Message of the last step that another QP solver solved."""

    @override
    def update(self, step: ControlStep) -> Iterable[str]:
        status = step.status
        assert status is not None
        self.statuses[status] += 1
        for limit in step.active:
            self.limits_met[limit] = self.limits_met.get(limit, 0) + 1
        if status is Status.SOLVED and not step.modes:
            return ()
        solution = step.solution
        assert solution is not None
        if step.modes:
            self.searches.append((solution.gap, solution.converged or solution.goes_on))
        if status is Status.FALLBACK:
            self.fallback = solution.message
        if status in (Status.SOLVED, step.status_before):
            return ()
        relaxed = "; ".join(solution.relaxed)
        parts = (status.value, relaxed and f"{relaxed}.", solution.message)
        return (" ".join(filter(None, parts)),)

    @override
    def snapshot(self) -> Any:
        return dict(self.statuses), dict(self.limits_met), list(self.searches), self.fallback

    @override
    def restore(self, snapshot: Any) -> None:
        statuses, limits_met, searches, self.fallback = snapshot
        self.statuses, self.limits_met = dict(statuses), dict(limits_met)
        self.searches = list(searches)
