"""Simulated robot: arm, motors, and a loop finer than its identified model, with friction."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.motors import Motors
from sofa_softctl.identification.mechanism.start import Start, settle

from . import baxter
from .model import arm_with_loop
from .motion import DURATION, joint_angles

LINKS = 24
"""Number of links of the simulated loop: twice the number of its model."""
STIFFNESS = (4.4, 1.0)
"""kappa_theta and kappa_psi of the loop, for 12 links [N m / rad]."""
FRICTION = 0.02
"""Damping of its joints, for 12 links [N m s / rad]."""
GAINS = (900.0, 900.0, 500.0, 500.0, 150.0, 150.0, 100.0)
"""Proportional gains of the motors that move the arm [N m / rad]."""
BRAKES = (60.0, 60.0, 40.0, 40.0, 8.0, 8.0, 4.0)
"""Differential gains of the motors [N m s / rad]."""
NODES = 0.05
"""Time between nodes of the cubic spline of the motion, exact to 1e-6 rad [s]."""


def arm_motors() -> Motors:
    """The motors of the arm, on the motion that stretches, bends and twists the loop."""
    arm = Mechanism(baxter.joints(), baxter.bodies())
    return Motors(arm, np.array(GAINS), np.array(BRAKES), _motion)


def robot(
    motors: Motors,
    *,
    links: int = LINKS,
    stiffness: tuple[float, float] = STIFFNESS,
    friction: float = FRICTION,
) -> Mechanism:
    """Arm, loop and motors' brakes, without parameters."""
    loop = arm_with_loop(links, stiffness=stiffness, damping=friction, parameters=())
    dampers = [*loop.dampers, *motors.brakes()]
    return Mechanism(loop.joints, loop.bodies, loop.springs, dampers, loop.constraints)


def at_rest(robot: Mechanism, motors: Motors) -> Start:
    """The arm at the start of its motion, the loop in equilibrium."""
    q = np.zeros(len(robot.coordinates))
    q[: len(motors.joints)] = motors.motion(np.zeros(1))[0][0]
    return settle(robot, np.zeros(0), q, motors.joints).start


@cache
def _path() -> CubicSpline:
    nodes = np.linspace(0.0, DURATION, round(DURATION / NODES) + 1)
    return CubicSpline(nodes, joint_angles(nodes))


def _motion(time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles and their rates; at rest after the end of the motion."""
    within = np.clip(time, 0.0, DURATION)
    return _path()(within), np.where((time <= DURATION)[:, None], _path()(within, 1), 0.0)
