"""Motors with proportional-differential control along a motion, and gravity compensation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.kernels.arrays import Drive
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Damper
from sofa_softctl.identification.mechanism.variational import free

Motion = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Times (n,) [s] -> desired angles [rad], and their rates [rad/s], both (n, m)."""


@dataclass(frozen=True, eq=False)
class Motors:
    """Proportional-differential control with gravity compensation of the arm without load.

    torque = weight(wanted) + gain (wanted - b) + brake (d wanted/dt - db/dt)
    """

    arm: Mechanism
    """The m joints with motors, and their bodies, with an empty hand."""
    gain: np.ndarray
    """Proportional gains [N m / rad], shape (m,)."""
    brake: np.ndarray
    """Differential gains [N m s / rad], shape (m,)."""
    motion: Motion
    """Desired motion of the joints."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints with motors."""
        return self.arm.coordinates

    def brakes(self) -> list[Damper]:
        """Return the differential gains as dampers, for the robot's mechanism."""
        return [Damper(*pair) for pair in zip(self.joints, self.brake.tolist(), strict=True)]

    def drive(self, robot: Mechanism, middles: np.ndarray) -> Drive:
        """Return the forces on a robot with `brakes`, in steps with these midpoints [s]."""
        desired, rate = self.motion(middles)
        at = np.array([robot.coordinate(name) for name in self.joints])
        m = len(at)
        gain_u = np.zeros((len(robot.coordinates), m))
        gain_u[at, np.arange(m)] = 1.0
        return free(robot, len(middles))._replace(
            gain_u=gain_u,
            u=self.weight(desired) + self.brake * rate,
            fed=at,
            gain=np.diag(self.gain)[None],
            target=np.ascontiguousarray(desired),
        )

    def torque(self, time: np.ndarray, b: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the torques at times, joint angles b and joint velocities, shape (n, m)."""
        desired, rate = self.motion(time)
        return self.weight(desired) + self.gain * (desired - b) + self.brake * (rate - speed)

    def weight(self, b: np.ndarray) -> np.ndarray:
        """Return torques that compensate gravity of the arm without load, shape (n, m)."""
        tree, still = self.arm.tree, np.zeros(len(self.joints))
        return np.array([-kernels.lagrangian(tree, still[:0], q, still, False).q for q in b])
