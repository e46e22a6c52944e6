"""Answer of a library."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from sofa_softctl.acceptance import AcceptanceReport
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.trials import Trial
from sofa_softctl.status import Status


class Correction(Enum):
    """How the nearest motion was adapted to the parameters. The value is a sentence."""

    NONE = "The nearest motion, as it is."
    LINEAR = "The nearest motion, corrected linearly: no limit is reached or left."
    TANGENT_QP = "The nearest motion, corrected by the tangent QP, as limits are reached or left."
    CLIPPED = "The nearest motion, corrected linearly and cut off at the limits."


UNCHECKED = "It was not simulated: no acceptance test was made."


@dataclass(frozen=True, eq=False)
class Answer:
    """A motion for given parameters, and its acceptance test."""

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    motion: Motion
    """Inputs, states and constants: the simulated states where it was simulated."""
    status: Status
    """SOLVED: it passed the acceptance test. REJECTED: it did not, do not execute it."""
    correction: Correction
    """How the nearest motion was adapted."""
    shifts: int
    """Second-order corrections after that: the same for final conditions that are shifted by what
    the simulation missed."""
    steps: int
    """Steps of sequential quadratic programming after these."""
    nearest: int
    """Number of its entry."""
    mirrored: bool
    """Whether the entry was mirrored."""
    distance: float
    """Distance to the entry, in the library's metric."""
    report: AcceptanceReport | None
    """The acceptance test; None: none was made."""
    error: float
    """Error of the motion in simulation; NaN if it was not simulated."""
    cost: float
    """Its cost in simulation; NaN if it was not simulated."""
    expected_error: float
    """Error that 95 % of motions at such a distance kept to when the library was built, adapted but
    not corrected; infinite: unknown."""
    outside: bool
    """Whether it is outside of the regions of all entries, in which answers passed before."""
    beyond: tuple[str, ...]
    """Parameters beyond the problem's range."""
    trial: Trial | None
    """It as a trial of the library; None: it was not simulated."""
    seconds: float
    """Computing time [s]."""
    notes: tuple[str, ...] = ()
    """Notes of the QP solvers."""

    @property
    def message(self) -> str:
        """Message; empty if all went well."""
        reasons = []
        if not self.status.ok:
            why = UNCHECKED if self.report is None else self.report.reason
            reasons.append(f"{why} Do not execute it.")
        if self.beyond:
            reasons.append(f"Beyond the problem's range: {', '.join(self.beyond)}.")
            if self.status.ok:
                reasons.append("It passed its test, but check what else that range stands for.")
        elif self.outside and not self.status.ok:
            reasons.append("No motion of the library has passed a test at such parameters before.")
        return " ".join((*reasons, *self.notes))
