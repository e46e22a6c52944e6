"""Slack cables: their displacement limits are suspended while the motor catches up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.inverse.aspects.aspect import SolvedStep, StepAspect

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

    @override
    def snapshot(self) -> Any:
        return self.until.copy()

    @override
    def restore(self, snapshot: Any) -> None:
        self.until = snapshot.copy()

    @override
    def limit(self, limits: dict[str, Any], displaced: Any, time: float) -> dict[str, Any]:
        del displaced
        is_slack = self.until > time
        if not is_slack.any():
            return limits
        relaxed = dict(limits)
        for name, unlimited in _UNLIMITED.items():
            relaxed[name] = np.where(is_slack, unlimited, limits[name])
        return relaxed

    @override
    def update(self, step: SolvedStep) -> Iterator[str]:
        if not step.solution.relaxed:
            return
        displaced = 0.0 if step.previous is None else step.previous.displacement
        names = self.loosen(step.limits, step.solution.displacement, displaced, step.start)
        if names:
            yield (
                f"{', '.join(names)}: slack, the motion was faster than the motor or exceeded the "
                "actuator's stroke; its displacement limits rest until the motor has caught up."
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
        return [self.names[int(i)] for i in np.flatnonzero((self.until > time) & ~was_slack)]
