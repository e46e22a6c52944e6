"""An aspect of inverse control: a separate concern, called at fixed points of each step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sofa_softctl.inverse.rows.step import ControlStep


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
