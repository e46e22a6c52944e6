"""Numba kernels of a tree of joints: arrays in and out.

Screws are in world axes about the world's origin: a motion is (omega, v), a momentum (angular,
linear). Joints are numbered after their parents; those that do not move are lengths.
"""

from sofa_softctl.identification.mechanism.kernels.frames import frames, rotation
from sofa_softctl.identification.mechanism.kernels.lagrangian import energies, lagrangian
from sofa_softctl.identification.mechanism.kernels.linearization import linearise, pull, push
from sofa_softctl.identification.mechanism.kernels.rows import add_curvature, measure, readings
from sofa_softctl.identification.mechanism.kernels.steps import simulate

__all__ = [
    "add_curvature",
    "energies",
    "frames",
    "lagrangian",
    "linearise",
    "measure",
    "pull",
    "push",
    "readings",
    "rotation",
    "simulate",
]
