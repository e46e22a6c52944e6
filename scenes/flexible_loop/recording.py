"""Simulated recording of arm and loop: the paper's own is not public.

As for a real loop, the identified model is wrong: the simulated one has twice the links, friction
and steps of a millisecond, and its signals are noisy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.identification.mechanism.variational import simulate
from sofa_softctl.identification.model.recording import Recording

from .motion import DURATION
from .robot import (
    FRICTION,
    LINKS,
    STIFFNESS,
    arm_motors,
    at_rest,
    robot,
)

RATE = 100.0
"""Sample rate [Hz]."""
ANGLE_NOISE, TORQUE_NOISE = 0.003, 0.1
"""Standard deviations of recorded signals [rad], [N m]: some 5 mm at the hand."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the white noise of a recording."""

    angle: float = ANGLE_NOISE
    """Noise of measured joint angles [rad]."""
    torque: float = TORQUE_NOISE
    """Noise of measured torques [N m]."""


def record(
    *,
    links: int = LINKS,
    stiffness: tuple[float, float] = STIFFNESS,
    friction: float = FRICTION,
    dt: float = 1e-3,
    duration: float = DURATION,
    noise: Noise | None = None,
    seed: int = 0,
    name: str = "simulated arm",
) -> Recording:
    """A simulated recording of the motion that stretches, bends and twists the loop.

    Args:
        links: Links of the simulated loop.
        stiffness: kappa_theta and kappa_psi of the loop, for 12 links [N m / rad].
        friction: Damping of the loop's joints, for 12 links [N m s / rad].
        dt: Time step of the simulation, which divides the time between samples [s].
        duration: Recorded time [s].
        noise: Noise of the signals.
        seed: Seed of the noise.
        name: Name of the recording.

    Returns:
        Inputs: seven torques [N m], seven joint angles [rad], at 100 Hz.
    """
    motors = arm_motors()
    arm = robot(motors, links=links, stiffness=stiffness, friction=friction)
    interval, steps = round(1.0 / (RATE * dt)), round(duration / dt)
    time = np.arange(0, steps + 1, interval) * dt
    drive = motors.drive(arm, (np.arange(steps) + 0.5) * dt)
    q = simulate(arm, np.zeros(0), at_rest(arm, motors), drive, dt).q[:, : len(motors.joints)]
    b, speed = q[::interval], np.gradient(q, dt, axis=0)[::interval]
    torque, spread = motors.torque(time, b, speed), noise or Noise()
    rng = np.random.default_rng(seed)
    torque = torque + spread.torque * rng.standard_normal(torque.shape)
    noisy_angles = b + spread.angle * rng.standard_normal(b.shape)
    return Recording(name, time, np.hstack([torque, noisy_angles]), np.zeros((len(time), 0)))
