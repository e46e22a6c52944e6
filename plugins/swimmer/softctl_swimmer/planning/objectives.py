"""What a swimmer's motion is planned for: costs of its outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from typing_extensions import override

from softctl_swimmer.planning.motion_map import MotionMap

FISH = 0.86
"""Length of the fish [m]."""


class Goal(ABC):
    """`sofa_softctl.surrogate.OutputCost`: minus what is made large."""

    rows: tuple[int, ...]
    """The outputs."""
    size: float
    """What weights of torques are multiplied by, so that plans do not depend on the body's size."""

    @abstractmethod
    def of(self, y: np.ndarray) -> float:
        """Progress of a motion, from its outputs, shape (K, m)."""

    def made(self, at: MotionMap, a: np.ndarray) -> float:
        """Progress of a motion of coordinates a, shape (K, 6 + n)."""
        return self.of(at.at(a).value[:, list(self.rows)])

    @override
    def value(self, y: np.ndarray) -> float:
        return -self.of(y)

    @abstractmethod
    def gradient(self, y: np.ndarray) -> np.ndarray:
        """See `sofa_softctl.surrogate.OutputCost`."""

    @abstractmethod
    def hessian(self, y: np.ndarray) -> np.ndarray:
        """See `sofa_softctl.surrogate.OutputCost`."""


@dataclass(frozen=True)
class Progress(Goal):
    """Minus the change of outputs along a direction."""

    rows: tuple[int, ...]
    """The outputs, three."""
    direction: tuple[float, float, float]
    """Of unit length."""
    size: float = 1.0
    """Length of the body over that of the fish, for which weights of torques were chosen [-]."""

    def of(self, y: np.ndarray) -> float:
        """Progress of a motion, y of shape (K, 3), in the outputs' unit."""
        return float((y[-1] - y[0]) @ self.direction)

    @override
    def gradient(self, y: np.ndarray) -> np.ndarray:
        found = np.zeros_like(y)
        found[0], found[-1] = self.direction, -np.array(self.direction)
        return found

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Zero: progress is linear."""
        return np.zeros((*y.shape, y.shape[1]))


@dataclass(frozen=True)
class Turn(Goal):
    """Minus the angle that link 0 turns about z."""

    rows: tuple[int, ...] = (5,)
    """The Cayley coordinate c of z: tan of half the angle, twice."""
    size: float = 1.0
    """One: an angle has the same size on any body."""

    def of(self, y: np.ndarray) -> float:
        """Angle that a motion turns by, y of shape (K, 1) [rad]; positive: to the left."""
        first, last = 2.0 * np.arctan(0.5 * y[[0, -1], 0])
        return float(last - first)

    @override
    def gradient(self, y: np.ndarray) -> np.ndarray:
        found = np.zeros_like(y)
        found[[0, -1]] = np.array([[1.0], [-1.0]]) / (1.0 + 0.25 * y[[0, -1]] ** 2)
        return found

    def hessian(self, y: np.ndarray) -> np.ndarray:
        """Of the last angle where it is convex, to the left."""
        found = np.zeros((*y.shape, 1))
        found[-1, 0, 0] = max(0.5 * y[-1, 0], 0.0) / (1.0 + 0.25 * y[-1, 0] ** 2) ** 2
        return found


def _size(at: MotionMap) -> float:
    return at.swimmer.length / FISH


OBJECTIVES: Mapping[str, Callable[[MotionMap], Goal]] = MappingProxyType(
    {
        "forward": lambda at: Progress(at.centre, (1.0, 0.0, 0.0), _size(at)),
        "backward": lambda at: Progress(at.centre, (-1.0, 0.0, 0.0), _size(at)),
        "sideways": lambda at: Progress(at.centre, (0.0, 1.0, 0.0), _size(at)),
        "turn": lambda _: Turn(),
        "nose": lambda at: Progress(at.nose, (1.0, 0.0, 0.0), _size(at)),
    }
)
"""What is made large: the way of the centre of mass [m], ahead, back or to the left; the turn of
link 0 to the left [rad]; and the way of the nose ahead [m]."""

UNITS: Mapping[str, str] = MappingProxyType(
    {name: "rad" if name == "turn" else "m" for name in OBJECTIVES}
)
"""What progress is measured in."""
