"""Motors that lead joints along a motion, each by a spring and a brake in its control loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.arrays import Drive
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Damper
from sofa_softctl.identification.mechanism.variational import free

Motion = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Times (n,) [s] -> angles that are wanted [rad], and their rates [rad/s], both (n, m)."""


@dataclass(frozen=True, eq=False)
class Motors:
    """Proportional-differential control that also carries the weight of the arm alone.

    torque = weight(wanted) + gain (wanted - b) + brake (d wanted/dt - db/dt)
    """

    arm: Mechanism
    """Joints with motors, m of them, and what they carry when the hand is empty."""
    gain: np.ndarray
    """[N m / rad], shape (m,)."""
    brake: np.ndarray
    """[N m s / rad], shape (m,)."""
    motion: Motion
    """Where the joints are to be."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Those with motors."""
        return self.arm.coordinates

    def brakes(self) -> list[Damper]:
        """The part of the control that a robot with these motors has among its dampers."""
        return [Damper(*pair) for pair in zip(self.joints, self.brake.tolist(), strict=True)]

    def drive(self, robot: Mechanism, middles: np.ndarray) -> Drive:
        """What acts on a robot that has the `brakes` in steps with these middles [s]."""
        wanted, rate = self.motion(middles)
        at = np.array([robot.coordinate(name) for name in self.joints])
        m = len(at)
        gain_u = np.zeros((len(robot.coordinates), m))
        gain_u[at, np.arange(m)] = 1.0
        return free(robot, len(middles))._replace(
            gain_u=gain_u,
            u=self.weight(wanted) + self.brake * rate,
            fed=at,
            gain=np.diag(self.gain)[None],
            target=np.ascontiguousarray(wanted),
            rate=np.zeros((len(middles), 2 * m)),
            delay=np.full(2 * m, -1),
        )

    def torque(self, time: np.ndarray, b: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """What the motors give at these times, their joints at b and turning so fast, (n, m)."""
        wanted, rate = self.motion(time)
        return self.weight(wanted) + self.gain * (wanted - b) + self.brake * (rate - speed)

    def weight(self, b: np.ndarray) -> np.ndarray:
        """Torques that hold the arm alone against gravity, shape (n, m)."""
        tree, still = self.arm.tree, np.zeros(len(self.joints))
        return np.array([-kernels.lagrangian(tree, still[:0], q, still, False).q for q in b])
