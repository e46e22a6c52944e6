"""Right arm of Rethink Robotics' Baxter: seven joints with series elastic actuators.

Dimensions, masses, inertias and joint damping are the maker's public figures (the robot's URDF,
BSD licence, see NOTICE). Axes and origin of the world: the mount of the arm on the torso.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint

JOINTS = ("s0", "s1", "e0", "e1", "w0", "w1", "w2")
"""Joints from the shoulder to the wrist."""
HAND = (0.0, 0.0, 0.13855)
"""Point between the fingers in the axes of w2 [m]."""
DAMPING = 0.7
"""Damping of each joint [N m s / rad]."""
EFFORT = (50.0, 100.0, 50.0, 50.0, 15.0, 15.0, 15.0)
"""Largest torque of each motor [N m]."""

_RIGHT = np.pi / 2.0
_PLACES = (
    ((0.055695, 0.0, 0.011038), (0.0, 0.0, 0.0)),
    ((0.069, 0.0, 0.27035), (-_RIGHT, 0.0, 0.0)),
    ((0.102, 0.0, 0.0), (_RIGHT, 0.0, _RIGHT)),
    ((0.069, 0.0, 0.26242), (-_RIGHT, -_RIGHT, 0.0)),
    ((0.10359, 0.0, 0.0), (_RIGHT, 0.0, _RIGHT)),
    ((0.01, 0.0, 0.2707), (-_RIGHT, -_RIGHT, 0.0)),
    ((0.115975, 0.0, 0.0), (_RIGHT, 0.0, _RIGHT)),
)
"""Each joint in the frame of the previous one: origin [m]; roll, pitch and yaw [rad]."""
_MASSES = (
    (5.70044, (0.01783, 0.00086, 0.19127)),
    (3.22698, (0.06845, 0.00269, -0.00529)),
    (4.31272, (-0.00276, 0.00132, 0.18086)),
    (2.07206, (0.02611, 0.00159, -0.01117)),
    (2.24665, (-0.00168, 0.0046, 0.13952)),
    (1.60979, (0.06041, 0.00697, 0.006)),
    (0.35093, (0.00198, 0.00125, 0.01855)),
    (0.19125, (0.01093, 0.00042, 0.09823)),
)
"""Each link, and the hand, which w2 carries as well: mass [kg], centre [m]."""
_INERTIAS = (
    (0.04709102262, 0.03766976455, 0.03595988478, 0.00012787556, 0.00614870039, 0.00078086899),
    (0.01175209419, 0.0278859752, 0.02078749298, -0.00030096398, 0.00207675762, -0.00018821993),
    (0.02661733557, 0.02844355207, 0.01248008322, 0.00029270634, 0.00392189887, 0.0010838933),
    (0.00711582686, 0.01318227876, 0.00926852064, 0.00036036173, 0.0007459496, -0.00019663418),
    (0.01667742825, 0.01675457264, 0.0037463115, 0.00018403705, 0.00018657629, -0.00064732352),
    (0.00387607152, 0.00700537914, 0.0055275524, -0.00044384784, -0.00021115038, 0.00015348067),
    (0.00025289155, 0.0002688601, 0.0003074118, 0.00000575311, -0.00000159345, -0.00000519818),
    (0.00017588, 0.00021166377, 0.00023745397, 0.00000147073, 0.0000243633, 0.00000172689),
)
"""Inertias about those centres: xx, yy, zz, xy, xz, yz [kg m^2]."""


def joints() -> list[Joint]:
    """The seven joints, each about its z axis."""
    parents = ("", *JOINTS[:-1])
    return [
        Joint(name, parent, moved=moved, turned=_rotation(*angles))
        for name, parent, (moved, angles) in zip(JOINTS, parents, _PLACES, strict=True)
    ]


def bodies() -> list[Body]:
    """Bodies of the links and the hand."""
    carriers = (*JOINTS, JOINTS[-1])
    rows = zip(carriers, _MASSES, _INERTIAS, strict=True)
    return [Body(name, m, center, _matrix(*inertia) / m) for name, (m, center), inertia in rows]


def dampers() -> list[Damper]:
    """Dampers of the joints."""
    return [Damper(name, DAMPING) for name in JOINTS]


def _matrix(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> np.ndarray:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rotation about fixed x, then y, then z."""
    (a, b, c), (s, t, u) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    x = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    y = np.array([[b, 0, t], [0, 1, 0], [-t, 0, b]])
    z = np.array([[c, -u, 0], [u, c, 0], [0, 0, 1]])
    return z @ y @ x
