"""Summary of a run of pick-and-place: what was caught and placed, and why not all was."""

from __future__ import annotations

from dataclasses import dataclass

from sofa_softctl.scene.report import Line, Report, Summary
from sofa_softctl.status import Verdict


@dataclass(frozen=True)
class PickAndPlaceSummary(Summary):
    """One `PickAndPlace` over a run."""

    name: str
    """Its path."""
    phase: str
    """What it did at the end: settle, plan, move, done or missed."""
    message: str
    """Why it is missed; empty: it is not."""
    objects: int
    """Objects that were to be caught."""
    caught: int
    """Objects that were."""
    placed: int
    """Objects that were released."""
    grasp_error: list[float]
    """Distance of tip and goal, each time that the hand acted [length]."""
    duration: float
    """Time at which all was done; 0: it was not [time]."""

    @property
    def verdict(self) -> Verdict:
        """Reached when all objects were caught and placed."""
        return Verdict.REACHED if self.phase == "done" else Verdict.NOT_REACHED

    def report(self, units: dict[str, str]) -> Report:
        """See `scene.report.Summary`."""
        count = f"{self.caught} of {self.objects} objects caught, {self.placed} placed"
        if self.verdict.ok:
            far = f"{max(self.grasp_error):.3g} {units['length']}"
            text = (
                f"{count} after {self.duration:.4g} {units['time']}; missed goals by up to {far}."
            )
            return Report(lines=[Line(text, "good")])
        why = self.message or f"The run ended before the rest: it was in phase '{self.phase}'."
        return Report(lines=[Line(f"{count}. {why}", "doubt")])
