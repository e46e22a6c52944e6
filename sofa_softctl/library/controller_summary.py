"""Summary of a run of a `LibraryController`: what it executed, where that ended, what it held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.scene.report import Line, Report, Summary
from sofa_softctl.status import Verdict

_SHOWN = 8
"""Errors that are written out."""


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
    errors: tuple[float, ...] = ()
    """Error of each motion that is over, in the scene; empty: none is, or it is not measured."""
    error_max: float = np.inf
    """Largest error with which a goal is reached."""
    error_unit: str = ""
    """Unit of both."""
    kept: int = 0
    """Motions that went on as planned where they were to be corrected."""

    @property
    def verdict(self) -> Verdict | None:
        """Held where an answer was not executed, else by where motions ended; None: not known."""
        if self.held:
            return Verdict.HELD
        if not self.errors:
            return None
        return Verdict.NOT_REACHED if self._missed else Verdict.REACHED

    @property
    def _missed(self) -> int:
        """Number of motions that missed their goal; one whose error is not a number did."""
        return sum(not error <= self.error_max for error in self.errors)

    def report(self, units: dict[str, str]) -> Report:
        """See `scene.report.Summary`."""
        asked = self.executed + self.held
        if not asked:
            return Report(lines=[Line("The library was not asked: no task came up.")])
        count = f"{self.executed} of {asked} answers of the library executed"
        lines = [Line(f"{count}.")]
        if self.held:
            at = f"{self.held_at:.4g} {units['time']}"
            text = f"{count}. At {at} the lines held their forces: {self.message}"
            lines = [Line(text, "doubt")]
        if self.kept:
            text = f"{self.kept} of them went on as planned: nothing was found to correct them by."
            lines.append(Line(text, "doubt"))
        if self.errors:
            lines.append(self._of_errors())
        return Report(lines=lines)

    def _of_errors(self) -> Line:
        unit = f" {self.error_unit}" if self.error_unit else ""
        errors = ", ".join(f"{error:.2g}" for error in self.errors[:_SHOWN])
        more = ", ..." if len(self.errors) > _SHOWN else ""
        text = f"Motions ended {errors}{more}{unit} from their goals"
        if not self._missed:
            return Line(f"{text}, within {self.error_max:.4g}{unit}.")
        missed = f"{self._missed} of {len(self.errors)} missed by more than {self.error_max:.4g}"
        return Line(f"{text}: {missed}{unit}.", "doubt")
