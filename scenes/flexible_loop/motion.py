"""Motion that stretches, bends and twists the loop, as joint angles of the arm."""

from __future__ import annotations

import numpy as np

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism

from . import baxter
from .model import POSTURE

DURATION = 20.0
"""Duration of the motion [s]."""
STRETCH, PRESS, SIDE, FORTH, BEND, TWIST = 0.035, 0.07, 0.05, 0.01, 0.1, 0.4
"""Amplitudes of the hand: up, down, along the loop's plane and across it [m]; rotations about the
axes across the loop and along its height [rad]."""


def joint_angles(time: np.ndarray) -> np.ndarray:
    """Joint angles of the arm at given times [s], shape (n, 7) [rad].

    Raises:
        SimulationError: The arm cannot reach a pose of the hand.
    """
    arm = Mechanism(baxter.joints(), baxter.bodies())
    home, at_home = _pose(arm, POSTURE)
    q, angles = POSTURE.copy(), np.empty((len(time), 7))
    for k, t in enumerate(time):
        (side, forth, up), (bend, twist) = _moves(t)
        offset = at_home @ np.array([forth, side, -up])
        turned = at_home @ _rotation_about(0, bend) @ _rotation_about(2, twist)
        angles[k] = q = _reach(arm, q, home + offset, turned)
    return angles


def _moves(t: float) -> tuple[tuple[float, float, float], tuple[float, float]]:
    """Translation and rotation of the hand in its axes at home: stretch, then bend, then twist."""
    up = STRETCH * _bump(t, 0.0, 4.0) - PRESS * _bump(t, 3.0, 7.0)
    side = SIDE * (_bump(t, 6.0, 10.0) - _bump(t, 9.0, 13.0))
    forth = FORTH * (_bump(t, 8.0, 12.0) - _bump(t, 11.0, 15.0))
    bend = BEND * _bump(t, 7.0, 12.0)
    twist = TWIST * (_bump(t, 12.0, 16.5) - _bump(t, 15.5, DURATION))
    return (side, forth, up), (bend, twist)


def _bump(t: float, begin: float, end: float) -> float:
    """Return a bump from 0 to 1 and back, with continuous derivatives up to the third."""
    share = (t - begin) / (end - begin)
    return float(np.sin(np.pi * share) ** 4) if 0.0 < share < 1.0 else 0.0


def _reach(arm: Mechanism, q: np.ndarray, place: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Inverse kinematics from q; the redundant motion stays close to `POSTURE`."""
    for _ in range(100):
        x, R = _pose(arm, q)
        turn = 0.5 * np.cross(R, axes, axis=0).sum(axis=1)
        missed = np.concatenate([place - x, turn])
        J = _jacobian(arm, q)
        pinv = np.linalg.pinv(J)
        step = pinv @ missed + (np.eye(7) - pinv @ J) @ (POSTURE - q)
        if np.abs(step).max() < 1e-10:
            return q
        q = q + np.clip(step, -0.1, 0.1)
    raise SimulationError(
        f"The arm does not reach {place.tolist()} with this rotation of its hand."
    )


def _pose(arm: Mechanism, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Position and axes of the hand."""
    at = kernels.frames(arm.tree, np.zeros(0), q)
    return at.x[-1] + at.R[-1] @ np.array(baxter.HAND), at.R[-1]


def _jacobian(arm: Mechanism, q: np.ndarray) -> np.ndarray:
    """Velocity and angular velocity of the hand by the joints', shape (6, 7)."""
    at = kernels.frames(arm.tree, np.zeros(0), q)
    hand = at.x[-1] + at.R[-1] @ np.array(baxter.HAND)
    return np.vstack([(at.S[:, 3:] + np.cross(at.S[:, :3], hand)).T, at.S[:, :3].T])


def _rotation_about(axis: int, angle: float) -> np.ndarray:
    R = np.empty((3, 3))
    kernels.rotation(np.eye(3)[axis], angle, R)
    return R
