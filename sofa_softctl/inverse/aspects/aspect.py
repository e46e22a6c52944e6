"""An aspect of inverse control: a separate concern, called at fixed points of each step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solution import InverseSolution

if TYPE_CHECKING:
    from sofa_softctl.inverse.rows.contact_rows import ContactRows


@dataclass(frozen=True, eq=False)
class SolvedStep:
    """A step whose efforts were applied."""

    start: float
    """Time at the start of the step [time]."""
    end: float
    """Time at the end of the step [time]."""
    problem: InverseProblem
    """Inverse problem of the step."""
    limits: dict[str, Any]
    """Limits of the actuators in the problem, by the names of InverseProblem."""
    solution: InverseSolution
    """Solution of the step."""
    previous: InverseSolution | None
    """Solution of the step before, or None in the first step."""
    contacts: ContactRows | None
    """Contacts of the step, or None if there are none."""
    normal: np.ndarray
    """Normal force of each contact [force], shape (n_c,)."""
    slide: np.ndarray
    """Slip of each contact in the step [length], shape (n_c,)."""


class StepAspect:
    """One concern of inverse control; a subclass overrides what it needs.

    The controller calls all its aspects in the same order. State that lasts from step to step
    is in `snapshot`, so that copies of a scene can return to an earlier state.
    """

    def begin(self) -> None:
        """Prepare a step, before its goals are read."""

    def limit(self, limits: dict[str, Any], displaced: Any, time: float) -> dict[str, Any]:
        """Return the limits of the actuators in a step.

        Args:
            limits: Limits from earlier aspects, by the names of InverseProblem.
            displaced: Displacements at the start of the step [displacement], shape (n_a,), or 0.
            time: Time at the start of the step [time].
        """
        del displaced, time
        return limits

    def update(self, step: SolvedStep) -> Iterable[str]:
        """Update from a solved step; return warnings, a sentence each."""
        del step
        return ()

    def warnings(self) -> Iterable[str]:
        """Return warnings on the whole run, without full stops."""
        return ()

    def forget(self) -> None:
        """Return to the state before the first step."""

    def snapshot(self) -> Any:
        """Return the state that lasts from step to step."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Restore a `snapshot`."""
