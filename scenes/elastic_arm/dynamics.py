"""Dynamics of the elastic arm: integration, energy, catching, and motor control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.library.ocp.formulas import rk4
from sofa_softctl.library.ocp.problem import Motion

from .problem import (
    MOTOR_FRICTION,
    MOTOR_INERTIA,
    TORQUE,
    inertia,
    soft_dynamics,
)

State = list[float]
"""State [q, dq, theta, dtheta], two each [rad], [rad/s]."""
Command = Callable[[float, State], Sequence[float]]
"""(time, state) -> torques of both motors for a substep [N m]."""


def advance_state(x: State, tau: Sequence[float], K: Sequence[float], m: float, h: float) -> State:
    """Return the state after a time h.

    Args:
        x: State.
        tau: Torques of the motors, constant meanwhile [N m], two.
        K: Stiffness of the springs [N m / rad], two.
        m: Mass of the object in the hand [kg].
        h: Time [s].

    Source: Marcucci et al., (1), and section 2 for the method, the same as in plans.
    """
    return rk4(lambda at, share: soft_dynamics(at, tau, K, m), x, h)


def energy(x: State, K: Sequence[float], m: float) -> float:
    """Return the kinetic energy of links, object and motors plus the energy of the springs [J]."""
    a, b, d = inertia(x[0:2], m)
    u, v = x[2:4]
    links = a * u * u + 2.0 * b * u * v + d * v * v
    motors = MOTOR_INERTIA * (x[6] ** 2 + x[7] ** 2)
    springs = sum(K[j] * (x[4 + j] - x[j]) ** 2 for j in range(2))
    return 0.5 * (links + motors + springs)


def catch_object(x: State, before: float, after: float) -> State:
    """Return the state after the hand, holding a mass `before`, catches a resting one: `after` in
    total.

    Inelastic: both then have one velocity. Springs transmit no impulse, so the motors keep theirs,
    and the links' momentum is conserved: M(q, after) dq+ = M(q, before) dq-.
    """
    a, b, d = inertia(x[0:2], before)
    momentum = (a * x[2] + b * x[3], b * x[2] + d * x[3])
    a, b, d = inertia(x[0:2], after)
    first, second = momentum
    determinant = a * d - b * b
    dq = [(d * first - b * second) / determinant, (a * second - b * first) / determinant]
    return [*x[0:2], *dq, *x[4:8]]


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference angles of the motors along a motion, theta_r(t), constant after its end.

    Between the instants of the plan: the cubic polynomial with its angles and speeds there.
    """

    start: float
    """Start of the motion [s]."""
    horizon: float
    """Duration [s]."""
    theta: np.ndarray
    """Angles [rad], shape (N + 1, 2)."""
    dtheta: np.ndarray
    """Speeds [rad/s], shape (N + 1, 2)."""

    @classmethod
    def from_motion(
        cls, motion: Motion, start: float, horizon: float, turn: float = 0.0
    ) -> Reference:
        """Return the reference of a planned motion; its q_1 = 0 is the robot's angle `turn`."""
        return cls(start, horizon, motion.x[:, 4:6] + [turn, 0.0], motion.x[:, 6:8])

    @property
    def end(self) -> float:
        """End of the motion [s]."""
        return self.start + self.horizon

    def at(self, time: float) -> tuple[list[float], list[float]]:
        """Return angles [rad] and speeds [rad/s]."""
        N = len(self.theta) - 1
        share = (time - self.start) / self.horizon * N
        if share >= N:
            return self.theta[-1].tolist(), [0.0, 0.0]
        k = max(int(share), 0)
        s, h = max(share, 0.0) - k, self.horizon / N
        a, b = self.theta[k].tolist(), self.theta[k + 1].tolist()
        u, v = self.dtheta[k].tolist(), self.dtheta[k + 1].tolist()
        angles, speeds = [], []
        for j in range(2):
            rise, out, into = b[j] - a[j], h * u[j], h * v[j]
            c2, c3 = 3.0 * rise - 2.0 * out - into, out + into - 2.0 * rise
            angles.append(a[j] + s * (out + s * (c2 + s * c3)))
            speeds.append((out + s * (2.0 * c2 + s * 3.0 * c3)) / h)
        return angles, speeds


@dataclass
class AngleControl:
    """A PID controller of each motor's angle, with the gains that put three poles at -bandwidth.

    Designed for the motor without spring, a disturbance that the integral compensates. I s^3 + (F +
    k_d) s^2 + k_p s + k_i = I (s + w)^3. Integration stops while a torque is at its limit.
    """

    reference: Reference
    """Reference of the angles."""
    step: float
    """Time between two calls [s]."""
    bandwidth: float = 40.0
    """Bandwidth w [1/s]."""
    limit: float = TORQUE
    """Limit of the torques [N m]."""
    integral: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Integral of the errors [rad s]."""

    def __call__(self, time: float, x: State) -> list[float]:
        """The torques for the next substep [N m]."""
        w = self.bandwidth
        k_p, k_i = 3.0 * w**2 * MOTOR_INERTIA, w**3 * MOTOR_INERTIA
        k_d = 3.0 * w * MOTOR_INERTIA - MOTOR_FRICTION
        angles, speeds = self.reference.at(time)
        tau = []
        for j in range(2):
            error = angles[j] - x[4 + j]
            total = self.integral[j] + self.step * error
            command = k_p * error + k_i * total + k_d * (speeds[j] - x[6 + j])
            if abs(command) <= self.limit:
                self.integral[j] = total
            tau.append(min(max(command, -self.limit), self.limit))
        return tau


@dataclass(frozen=True, eq=False)
class Torques:
    """Torques of a plan, each for its interval, and none after the last."""

    start: float
    """Start of the first [s]."""
    horizon: float
    """Duration of all [s]."""
    u: np.ndarray
    """Torques [N m], shape (N, 2)."""

    def __call__(self, time: float, x: State) -> list[float]:
        """The torques for the next substep [N m]."""
        # Substeps begin at sums of dt, by rounding perhaps before the interval's start.
        k = int((time - self.start) / self.horizon * len(self.u) + 1e-6)
        return self.u[k].tolist() if k < len(self.u) else [0.0, 0.0]
