"""Slack cables: their displacement limits are suspended while the motor catches up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.inverse.aspects.aspect import ControlStep, StepAspect

_UNLIMITED = {
    "displacement_min": -np.inf,
    "displacement_max": np.inf,
    "displacement_rate": np.inf,
}


class Slack(StepAspect):
    """Keeps track of slack cables and of the times at which they are taut again.

    A robot that meets an obstacle fast can shorten a cable's path faster than its motor pulls, or
    further than its stroke. The limit on the displacement is then infeasible; it is omitted for the
    time that the motor needs for the missing length.

    Args:
        names: Names of the actuators.
        motor_speed: Length that each motor pulls in a unit of time [length/time], one number or
            shape (n_a,); None if limits apply again in the next step.

    Source: Coevoet, Escande, Duriez 2019, section III-E and Fig. 3.
    """

    def __init__(self, names: Sequence[str], motor_speed: Any) -> None:
        self.names = names
        speed = np.inf if motor_speed is None else np.asarray(motor_speed, dtype=float)
        self.motor_speed = np.array(np.broadcast_to(speed, len(names)))
        self.forget()

    @override
    def forget(self) -> None:
        self.until = np.full(len(self.names), -np.inf)
        """Time at which each cable is taut again [time], shape (n_a,)."""
        self._last_until = -np.inf  # the largest of these

    @override
    def snapshot(self) -> Any:
        return self.until.copy()

    @override
    def restore(self, snapshot: Any) -> None:
        self.until = snapshot.copy()
        self._last_until = float(self.until.max())

    @override
    def limit(self, limits: dict[str, np.ndarray], displaced: np.ndarray, time: float) -> None:
        del displaced
        if self._last_until > time:
            for name, unlimited in _UNLIMITED.items():
                limits[name][self.until > time] = unlimited

    @override
    def update(self, step: ControlStep) -> Iterable[str]:
        if not step.relaxed:
            return ()
        names = self.loosen(step.limits, step.displacement, step.displacement_before, step.start)
        if not names:
            return ()
        return (
            f"{', '.join(names)}: slack, the motion was faster than the motor or exceeded the "
            "actuator's stroke; its displacement limits rest until the motor has caught up.",
        )

    def loosen(
        self, limits: dict[str, Any], displacement: np.ndarray, displaced: Any, time: float
    ) -> list[str]:
        """Find the cables that a step made slack, from the limits that it exceeded.

        Args:
            limits: Limits of the step, by the names of InverseProblem.
            displacement: Displacement at the end of the step [length], shape (n_a,).
            displaced: Displacement at the start of the step [length].
            time: Time at the start of the step [time].

        Returns:
            Names of the cables that became slack.
        """
        was_slack = self.until > time
        low = np.maximum(limits["displacement_min"], displaced - limits["displacement_rate"])
        high = np.minimum(limits["displacement_max"], displaced + limits["displacement_rate"])
        excess = np.maximum(low - displacement, displacement - high)
        exceeds = excess > 1e-6 * (1.0 + np.abs(displacement))  # rounding of the solver aside
        if exceeds.any():
            until = time + np.where(exceeds, excess, 0.0) / self.motor_speed
            self.until = np.where(exceeds, np.maximum(self.until, until), self.until)
            self._last_until = float(self.until.max())
        return [self.names[int(i)] for i in np.flatnonzero((self.until > time) & ~was_slack)]
