"""Summary of a run of a `LibraryController`: what it executed, and what it held and why."""

from __future__ import annotations

from dataclasses import dataclass

from sofa_softctl.scene.report import Line, Report, Summary
from sofa_softctl.status import Verdict


@dataclass(frozen=True)
class LibrarySummary(Summary):
    """One `LibraryController` over a run."""

    name: str
    """Its path."""
    executed: int
    """Answers that were executed."""
    held: int
    """Answers that were not."""
    held_at: float
    """Time of the first of these; 0: there is none [time]."""
    message: str
    """Why that one was not executed; empty: there is none."""

    @property
    def verdict(self) -> Verdict | None:
        """Held when an answer was not executed; else None: where motions end is not measured."""
        return Verdict.HELD if self.held else None

    def report(self, units: dict[str, str]) -> Report:
        """See `scene.report.Summary`."""
        asked = self.executed + self.held
        if not asked:
            return Report(lines=[Line("The library was not asked: no task came up.")])
        count = f"{self.executed} of {asked} answers of the library executed"
        if not self.held:
            return Report(lines=[Line(f"{count}.")])
        at = f"{self.held_at:.4g} {units['time']}"
        text = f"{count}. At {at} the lines held their forces: {self.message}"
        return Report(lines=[Line(text, "doubt")])
