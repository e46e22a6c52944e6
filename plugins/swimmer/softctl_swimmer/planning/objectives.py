"""Objectives of a swimmer's motion, as costs of its outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from typing_extensions import override

from softctl_swimmer.planning.motion_map import MotionMap

FISH_LENGTH = 0.86
"""Length of the fish [m]."""


class Goal(ABC):
    """`sofa_softctl.surrogate.OutputCost`: the negative progress."""

    rows: tuple[int, ...]
    """Rows of the outputs."""
    size: float
    """Factor of torque weights, so that plans do not depend on the body's size."""

    @abstractmethod
    def progress(self, y: np.ndarray) -> float:
        """Return the progress of a motion from its outputs, shape (K, m)."""

    def progress_of(self, at: MotionMap, a: np.ndarray) -> float:
        """Return the progress of a motion of coordinates a, shape (K, 6 + n)."""
        return self.progress(at.at(a).value[:, list(self.rows)])

    @override
    def value(self, y: np.ndarray) -> float:
        return -self.progress(y)

    @abstractmethod
    def gradient(self, y: np.ndarray) -> np.ndarray:
        """Return the gradient of the cost."""

    @abstractmethod
    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Return the Hessian of the cost."""


@dataclass(frozen=True)
class Progress(Goal):
    """Progress as the change of outputs along a direction."""

    rows: tuple[int, ...]
    """Rows of three outputs."""
    direction: tuple[float, float, float]
    """Direction, of unit length."""
    size: float = 1.0
    """Length of the body relative to the fish, for which torque weights were chosen [-]."""

    def progress(self, y: np.ndarray) -> float:
        """Return the progress of a motion, y of shape (K, 3), in the outputs' unit."""
        return float((y[-1] - y[0]) @ self.direction)

    @override
    def gradient(self, y: np.ndarray) -> np.ndarray:
        slope = np.zeros_like(y)
        slope[0], slope[-1] = self.direction, -np.array(self.direction)
        return slope

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Return zero: progress is linear."""
        return np.zeros((*y.shape, y.shape[1]))


@dataclass(frozen=True)
class Turn(Goal):
    """Progress as the angle that link 0 turns about z."""

    rows: tuple[int, ...] = (5,)
    """The Cayley coordinate c of z: tan of half the angle, twice."""
    size: float = 1.0
    """Factor 1: angles do not depend on the body's size."""

    def progress(self, y: np.ndarray) -> float:
        """Return the angle of a motion's turn, y of shape (K, 1) [rad], positive to the left."""
        first, last = 2.0 * np.arctan(0.5 * y[[0, -1], 0])
        return float(last - first)

    @override
    def gradient(self, y: np.ndarray) -> np.ndarray:
        slope = np.zeros_like(y)
        slope[[0, -1]] = np.array([[1.0], [-1.0]]) / (1.0 + 0.25 * y[[0, -1]] ** 2)
        return slope

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Return the convex part: the curvature of a last angle to the left."""
        curvature = np.zeros((*y.shape, 1))
        curvature[-1, 0, 0] = max(0.5 * y[-1, 0], 0.0) / (1.0 + 0.25 * y[-1, 0] ** 2) ** 2
        return curvature


def _size(at: MotionMap) -> float:
    return at.swimmer.length / FISH_LENGTH


OBJECTIVES: Mapping[str, Callable[[MotionMap], Goal]] = MappingProxyType(
    {
        "forward": lambda at: Progress(at.centre, (1.0, 0.0, 0.0), _size(at)),
        "backward": lambda at: Progress(at.centre, (-1.0, 0.0, 0.0), _size(at)),
        "sideways": lambda at: Progress(at.centre, (0.0, 1.0, 0.0), _size(at)),
        "turn": lambda _: Turn(),
        "nose": lambda at: Progress(at.nose, (1.0, 0.0, 0.0), _size(at)),
    }
)
"""Objectives by name: distance of the centre of mass [m] ahead, back or to the left; turn of link 0
to the left [rad]; and distance of the nose ahead [m]."""

UNITS: Mapping[str, str] = MappingProxyType(
    {name: "rad" if name == "turn" else "m" for name in OBJECTIVES}
)
"""Units of progress."""
