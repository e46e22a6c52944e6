"""An aspect of inverse control: a separate concern, called at fixed points of each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.qpcc.solve.tracking_step import TrackingStep
from sofa_softctl.status import Status

if TYPE_CHECKING:
    from sofa_softctl.inverse.rows.contact_rows import ContactRows

_NOTHING = np.empty(0)


class ControlStep(TrackingStep):
    """The present step of a controller, and what aspects need of the one before."""

    @override
    def forget(self) -> None:
        super().forget()
        self.start = self.end = 0.0
        """Time at the start and at the end of the step [time]."""
        self.displacement_before = self.displacement
        """Displacement of each actuator in the step before, shape (n_a,); 0 in the first one."""
        self.status_before: Status | None = None
        """Status of the step before, or None in the first one."""
        self.contacts: ContactRows | None = None
        """Contacts of the step, or None if there are none."""
        self.normal = self.slide = _NOTHING
        """Normal force [force] and slip in the step [length] of each contact, shape (n_c,)."""

    def begin(self, start: float, end: float, limits: np.ndarray, held: np.ndarray) -> None:
        """Begin a step.

        Args:
            start: Time at the start of the step [time].
            end: Time at its end [time].
            limits: Limits of options and Data, shape (10, n_a) as `kernels.LIMITS`.
            held: Efforts from which rates count, and to hold without a solution, shape (n_a,).
        """
        self.start, self.end = start, end
        self.status_before, self.displacement_before = self.status, self.displacement
        self.contacts, self.normal, self.slide = None, _NOTHING, _NOTHING
        self.set_limits(limits)
        self.limits["effort_previous"][:] = held
        self.limits["displacement_previous"][:] = self.displacement


class StepAspect:
    """One concern of inverse control; a subclass overrides what it needs.

    The controller calls all its aspects in the same order. State that lasts from step to step
    is in `snapshot`, so that copies of a scene can return to an earlier state.
    """

    def begin(self) -> None:
        """Prepare a step, before its goals are read."""

    def limit(self, limits: dict[str, np.ndarray], displaced: np.ndarray, time: float) -> None:
        """Change the limits of the actuators in a step, in place.

        Args:
            limits: Limits from earlier aspects, by the names of InverseProblem, (n_a,) each.
            displaced: Displacements at the start of the step [displacement], shape (n_a,).
            time: Time at the start of the step [time].
        """

    def update(self, step: ControlStep) -> Iterable[str]:
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
