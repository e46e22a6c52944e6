"""Lag of commands behind the scene's targets, due to limits, in an ongoing stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.bridge.config.robot import ActuatorConfig

LAG_FRACTION_MIN = 0.01
"""Fraction of an a's range above which a lag is reported [-]."""


class Lag:
    """Counts the periods in which a command was behind its target.

    Args:
        actuators: Actuators of the robot.
    """

    def __init__(self, actuators: Sequence[ActuatorConfig]) -> None:
        self._actuators = actuators
        self._range = np.array([a.position_max - a.position_min for a in actuators])
        self._periods = 0
        self._behind = np.zeros(len(actuators), int)
        self._worst = np.zeros(len(actuators))

    def add(self, target: np.ndarray, command: np.ndarray) -> None:
        """Count a period; target and command [actuators' units], shape (n,)."""
        behind = np.abs(target - command)
        self._periods += 1
        self._behind += behind > LAG_FRACTION_MIN * self._range
        np.maximum(self._worst, behind, out=self._worst)

    def notes(self) -> list[str]:
        """Return a sentence per a that could not follow."""
        return [
            f"'{a.name}' could not follow the scene within its rate and acceleration: it was "
            f"behind in {count / self._periods:.0%} of the time, by up to {worst:.3g} {a.unit}."
            for a, count, worst in zip(
                self._actuators, self._behind.tolist(), self._worst.tolist(), strict=True
            )
            if count
        ]
