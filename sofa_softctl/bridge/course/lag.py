"""How far limits kept commands behind what the scene asked for, in an ongoing stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig

NOTED = 0.01
"""Share of an actuator's range from which it is said [-]."""


class Lag:
    """Counts the periods in which a command was behind its target.

    Args:
        actuators: Of the robot.
    """

    def __init__(self, actuators: Sequence[ActuatorConfig]) -> None:
        self._actuators = actuators
        self._range = np.array([one.position_max - one.position_min for one in actuators])
        self._periods = 0
        self._behind = np.zeros(len(actuators), int)
        self._worst = np.zeros(len(actuators))

    def add(self, target: np.ndarray, command: np.ndarray) -> None:
        """One period; target and command [actuators' units], shape (n,)."""
        behind = np.abs(target - command)
        self._periods += 1
        self._behind += behind > NOTED * self._range
        np.maximum(self._worst, behind, out=self._worst)

    def notes(self) -> list[str]:
        """Actuators that could not follow, in sentences."""
        return [
            f"'{one.name}' could not follow the scene within its rate and acceleration: it was "
            f"behind in {count / self._periods:.0%} of the time, by up to {worst:.3g} {one.unit}."
            for one, count, worst in zip(
                self._actuators, self._behind.tolist(), self._worst.tolist(), strict=True
            )
            if count
        ]
