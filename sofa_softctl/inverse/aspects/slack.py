"""Slack cables: their displacement limits are suspended while the motor catches up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_DISPLACEMENT = {
    "displacement_min": -np.inf,
    "displacement_max": np.inf,
    "displacement_rate": np.inf,
}


class Slack:
    """Slack cables, and when they are taut again.

    A robot that meets an obstacle fast can shorten a cable's path faster than its motor pulls, or
    further than its stroke. The limit on the displacement is then infeasible; it is omitted for the
    time that the motor needs for the missing length.

    Args:
        names: Names of the actuators.
        motor_speed: Length that each motor pulls in a unit of time [length/time], one number or one
            each; None: limits apply again in the next step.

    Source: Coevoet, Escande, Duriez 2019, section III-E and Fig. 3.
    """

    def __init__(self, names: Sequence[str], motor_speed: float | np.ndarray | None) -> None:
        self.names = names
        speed = np.inf if motor_speed is None else np.asarray(motor_speed, dtype=float)
        self.motor_speed = np.array(np.broadcast_to(speed, len(names)))
        self.until = np.full(len(names), -np.inf)
        """Time from which on each cable is taut again [time], shape (n_a,)."""

    def relax(self, limits: dict[str, Any], time: float) -> dict[str, Any]:
        """The limits of this step, without those on the displacement of slack cables."""
        slack = self.until > time
        if not slack.any():
            return limits
        relaxed = dict(limits)
        for name, none in _DISPLACEMENT.items():
            relaxed[name] = np.where(slack, none, limits[name])
        return relaxed

    def look(
        self, limits: dict[str, Any], displacement: np.ndarray, before: Any, time: float
    ) -> list[str]:
        """Update from the limits that were exceeded in a step.

        Args:
            limits: Limits of the step, by the names of InverseProblem.
            displacement: Displacement of the solution [length], shape (n_a,).
            before: Displacement of the step before [length].
            time: Time at the start of the step.

        Returns:
            Names of the cables that became slack.
        """
        slack = self.until > time
        low = np.maximum(limits["displacement_min"], before - limits["displacement_rate"])
        high = np.minimum(limits["displacement_max"], before + limits["displacement_rate"])
        excess = np.maximum(low - displacement, displacement - high)
        scale = 1e-6 * (1.0 + np.abs(displacement))
        over = excess > scale
        if over.any():
            until = time + np.where(over, excess, 0.0) / self.motor_speed
            self.until = np.where(over, np.maximum(self.until, until), self.until)
        return [self.names[int(i)] for i in np.flatnonzero((self.until > time) & ~slack)]
