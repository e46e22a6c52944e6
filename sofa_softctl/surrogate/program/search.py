"""Protocol of a search for the best trajectory."""

from __future__ import annotations

from typing import Protocol

from sofa_softctl.surrogate.program.transcription import TrajectoryIterate
from sofa_softctl.surrogate.program.trust_region import Answers


class Search(Protocol):
    """Iterations that improve a trajectory, such as `Collocation`."""

    radius: float
    """Trust region of the next step [-]."""
    trial: TrajectoryIterate
    """Best trajectory so far."""
    converged: bool
    """Whether the first-order conditions hold."""
    stationarity: float
    """Largest violation of the first-order conditions [-]."""
    answers: Answers
    """Verified solutions of QPs."""

    @property
    def merit(self) -> float:
        """Quantity that accepted steps decrease."""

    @property
    def balanced(self) -> bool:
        """True if the trajectory can be executed."""

    @property
    def stuck(self) -> bool:
        """True if further iterations would not help."""

    def iterate(self) -> bool:
        """Try a step; return True if it was accepted."""
