"""A recording of arm and loop, simulated: the paper's own is not public.

The model of identification is wrong here as it is for a real loop: the recorded one has twice the
links, friction, and steps of a millisecond, and its signals are noisy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from sofa_softctl.identification.loop import baxter
from sofa_softctl.identification.loop.model import arm_with_loop
from sofa_softctl.identification.loop.motion import DURATION, joint_angles
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Damper
from sofa_softctl.identification.mechanism.start import settle
from sofa_softctl.identification.mechanism.variational import free, simulate
from sofa_softctl.identification.recording import Recording

RATE = 100.0
"""Samples a second [Hz]."""
STIFFNESS = (4.4, 1.0)
"""kappa_theta, kappa_psi of the recorded loop, as if it had 12 links [N m / rad]."""
FRICTION = 0.02
"""Damping of its joints, as if it had 12 links [N m s / rad]."""
ANGLE_NOISE, TORQUE_NOISE = 0.003, 0.1
"""Standard deviations of what is recorded [rad], [N m]: the hand is then seen to some 5 mm."""
MOTORS = (900.0, 900.0, 500.0, 500.0, 150.0, 150.0, 100.0)
"""Proportional gains of the motors that move the arm [N m / rad]."""
BRAKES = (60.0, 60.0, 40.0, 40.0, 8.0, 8.0, 4.0)
"""Their differential gains [N m s / rad]."""


@dataclass(frozen=True)
class Noise:
    """Of a recording: standard deviations of white noise."""

    angle: float = ANGLE_NOISE
    """Of measured joint angles [rad]."""
    torque: float = TORQUE_NOISE
    """Of measured torques [N m]."""


def record(
    *,
    links: int = 24,
    stiffness: tuple[float, float] = STIFFNESS,
    friction: float = FRICTION,
    dt: float = 1e-3,
    duration: float = DURATION,
    noise: Noise | None = None,
    seed: int = 0,
    name: str = "simulated arm",
) -> Recording:
    """The motion that stretches, bends and twists the loop, as a robot would record it.

    Args:
        links: Of the recorded loop.
        stiffness: Its kappa_theta and kappa_psi, as if it had 12 links [N m / rad].
        friction: Damping of its joints, as if it had 12 links [N m s / rad].
        dt: Time step of the simulation, a whole part of the time between samples [s].
        duration: Recorded time [s].
        noise: Of the signals.
        seed: Of the noise.
        name: Of the recording.

    Returns:
        Inputs: seven torques [N m], seven joint angles [rad], at 100 Hz.
    """
    loop = arm_with_loop(links, stiffness=stiffness, damping=friction, parameters=())
    brakes = [Damper(joint, d) for joint, d in zip(baxter.JOINTS, BRAKES, strict=True)]
    robot = Mechanism(
        loop.joints, loop.bodies, loop.springs, [*loop.dampers, *brakes], loop.constraints
    )
    every, steps = round(1.0 / (RATE * dt)), round(duration / dt)
    nodes = np.arange(0, steps + 1, every) * dt
    wanted = CubicSpline(nodes, joint_angles(nodes))
    middles = (np.arange(steps) + 0.5) * dt
    held = settle(robot, np.zeros(0), _posture(robot, wanted(0.0)), baxter.JOINTS)
    gain_u = np.zeros((len(robot.coordinates), 7))
    gain_u[:7] = np.eye(7)
    drive = free(robot, steps)._replace(
        gain_u=gain_u,
        u=_weight(wanted(middles)) + BRAKES * wanted(middles, 1),
        fed=np.arange(7),
        gain=np.diag(MOTORS)[None],
        target=wanted(middles),
        rate=np.zeros((steps, 14)),
        delay=np.full(14, -1),
    )
    motion = simulate(robot, np.zeros(0), held.start, drive, dt)
    b = motion.q[:, :7]
    speed = np.gradient(b, dt, axis=0)[::every]
    b = b[::every]
    torque = _weight(wanted(nodes)) + MOTORS * (wanted(nodes) - b)
    torque += BRAKES * (wanted(nodes, 1) - speed)
    spread, rng = noise or Noise(), np.random.default_rng(seed)
    torque = torque + spread.torque * rng.standard_normal(torque.shape)
    seen = b + spread.angle * rng.standard_normal(b.shape)
    return Recording(name, nodes, np.hstack([torque, seen]), np.zeros((len(nodes), 0)))


def _weight(b: np.ndarray) -> np.ndarray:
    """Torques that hold the arm alone against gravity, shape (n, 7)."""
    arm = Mechanism(baxter.joints(), baxter.bodies())
    still = np.zeros(7)
    return np.array([-kernels.lagrangian(arm.tree, still[:0], q, still, False).q for q in b])


def _posture(robot: Mechanism, b: np.ndarray) -> np.ndarray:
    """The arm there, the loop round."""
    q = np.zeros(len(robot.coordinates))
    q[: len(b)] = b
    return q
