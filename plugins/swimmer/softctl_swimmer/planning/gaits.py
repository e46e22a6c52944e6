"""Gaits: motions with given joint angles, and the torques that make them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.surrogate import Jet, LinearisedDynamics, Steps
from softctl_swimmer.planning.motion_map import BASE, HINGES, MassMap
from softctl_swimmer.planning.swimming import SwimmingDynamics

MOMENTUM_TOLERANCE = 1e-11
"""Largest lack of momentum of a step, as a displacement [m] and [rad]."""
ITERATION_COUNT_MAX = 30
"""Largest number of Newton iterations of a step."""


@dataclass(frozen=True, eq=False)
class Gait:
    """A motion in balance from rest, K instants."""

    a: np.ndarray
    """Coordinates, shape (K, 6 + n)."""
    u: np.ndarray
    """Torques over `SwimmingDynamics.torque` [-], shape (K - 1, n)."""


def wave(
    time: np.ndarray,
    *,
    amplitude: np.ndarray,
    phase: np.ndarray,
    frequency: float,
    middle: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return joint angles of a sine wave that begins at rest, straight, within its first period.

    Args:
        time: Instants, starting at 0 [s], shape (K,).
        amplitude: Amplitude of each hinge [rad], shape (n,).
        phase: Phase of each hinge [rad]; for a wave from head to tail it increases.
        frequency: Frequency [Hz].
        middle: Angle about which each hinge swings [rad].

    Returns:
        Angles [rad], shape (K, n).
    """
    s = np.clip(time * frequency, 0.0, 1.0)[:, None]
    begin = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)  # at rest at both ends, twice differentiable
    swing = np.sin(2.0 * np.pi * frequency * time[:, None] - np.asarray(phase))
    angles: np.ndarray = begin * (np.asarray(middle) + np.asarray(amplitude) * swing)
    return angles


def follow_angles(dynamics: SwimmingDynamics, angles: np.ndarray) -> Gait:
    """Compute the motion of a swimmer with prescribed hinge angles, from rest, and its torques.

    Link 0 moves so that momentum of body and fluid stays zero; the torques are the residuals of the
    hinges' equations.

    Args:
        dynamics: The swimmer.
        angles: Angles at each instant [rad], shape (K, n).

    Raises:
        SceneError: Angles are outside the map of the mass matrix; the motion of link 0 was not
            found: a smaller time step may help.
    """
    at = dynamics.embedding
    dynamics = dynamics.on(replace(at, masses=_CachedMasses(at.masses)))
    K = len(angles)
    a = np.hstack((np.zeros((K, 6)), angles))
    is_known = np.isfinite(dynamics.embedding.at(a).value).all(axis=1)
    if not is_known.all():
        k = int(is_known.argmin())
        raise SceneError(
            f"The mass matrix is not known at instant {k}, at the angles {angles[k]} rad: stay "
            "within the box of its spline."
        )
    zero_torques = np.zeros((K - 1, dynamics.inputs))
    for _ in range(ITERATION_COUNT_MAX):
        jet = dynamics.embedding.at(np.vstack((a[:1], a)))
        steps = Steps(a[1:], a[:-1], zero_torques, jet[2:], jet[1:-1], jet[:-2])
        at = dynamics.linearise(steps)
        if np.abs(at.residual[:, BASE]).max() <= MOMENTUM_TOLERANCE:
            return Gait(a, at.residual[:, HINGES])
        a[1:, BASE] -= _forward(at)
        if not np.isfinite(a).all():
            break
    raise SceneError(
        f"No motion of link 0 keeps the momentum in the {K - 1} steps of the gait, of "
        f"{dynamics.dt} s each: after {ITERATION_COUNT_MAX} iterations the lack is "
        f"{np.abs(at.residual[:, BASE]).max():.1e}. Take a smaller time step, or a slower gait."
    )


def _forward(at: LinearisedDynamics) -> np.ndarray:
    """Return changes of link 0 that cancel the base's residuals, step after step, (K - 1, 6)."""
    blocks = (at.by_next, at.by_now, at.by_before)
    by_next, by_now, by_before = (slopes[:, BASE, BASE] for slopes in blocks)
    change = np.zeros((2 + len(at.residual), 6))  # two instants at rest before
    for k, lack in enumerate(at.residual[:, BASE]):
        right = lack - by_now[k] @ change[k + 1] - by_before[k] @ change[k]
        change[k + 2] = np.linalg.solve(by_next[k], right)
    return change[2:]


class _CachedMasses:
    """A map that evaluates the mass matrix once at each pose, without curvature."""

    def __init__(self, masses: MassMap) -> None:
        self.masses = masses
        self.cache: dict[bytes, list[np.ndarray]] = {}

    @override
    def at(self, points: np.ndarray) -> Jet:
        new = [point for point in points if point.tobytes() not in self.cache]
        if new:
            jet = self.masses.at(np.array(new))
            for point, *arrays in zip(new, jet.value, jet.gradient, strict=True):
                self.cache[point.tobytes()] = arrays
        pairs = [self.cache[point.tobytes()] for point in points]
        return Jet(*(np.array(arrays) for arrays in zip(*pairs, strict=True)))

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return zero: no curvature is needed."""
        del weights
        return np.zeros((*points.shape, points.shape[1]))
