"""Termination of a search for parameters."""

from __future__ import annotations

from enum import Enum

from sofa_softctl.status import Status


class Termination(Enum):
    """Reason why a search ended. The value is a sentence for the user; compare by member."""

    CONVERGED = "The search converged: no small change of the parameters fits the data better."
    AT_BOUND = (
        "The search converged with parameters at their bounds. Widen bounds that are not physical; "
        "otherwise the model is wrong, or the data hardly depend on them."
    )
    BLOCKED = (
        "The search ended next to parameters with which the model cannot be simulated; a better "
        "fit is predicted there. Set another start, tighter bounds, or a smaller step of the model."
    )
    EXHAUSTED = (
        "The search reached its limit of simulations before it converged. Raise the limit "
        "(--iterations), or start where it ended (--set-start)."
    )
    STALLED = (
        "The search found no better fit although derivatives predict one, near the data: the "
        "simulation is not smooth in the parameters there, or its derivatives are not exact."
    )
    MISFIT = (
        "The search ended far from the data: steps that should fit better do not, as happens where "
        "no parameters of this model fit. Look for columns that are swapped or reversed, for what "
        "the model leaves out, and for a better start."
    )
    LEFT = "The search was left before its end: another fits the data far better."
    FIXED = "Every parameter is fixed: they stay at their starts."
    UNOBSERVABLE = "No parameter that is not fixed is observable: they stay at their starts."

    @property
    def status(self) -> Status:
        """SOLVED: the parameters are a best fit within their bounds, as far as they are fitted."""
        if self in (Termination.CONVERGED, Termination.AT_BOUND, Termination.FIXED):
            return Status.SOLVED
        return Status.HELD if self is Termination.UNOBSERVABLE else Status.NOT_CONVERGED
