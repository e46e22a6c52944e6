"""What a planner needs of a robot's dynamics: the balance of each step, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sofa_softctl.surrogate.grid.embedding import Embedding, Jet


class Steps(NamedTuple):
    """m steps, with the map at their instants."""

    a_next: np.ndarray
    """a+ of each step [-], shape (m, d)."""
    a_now: np.ndarray
    """a of each step [-], shape (m, d)."""
    u: np.ndarray
    """Inputs of each step [-], shape (m, n_u)."""
    ahead: Jet
    """The map at a+, m points."""
    now: Jet
    """The map at a."""
    before: Jet
    """The map at a-."""


@dataclass(frozen=True, eq=False)
class LinearisedDynamics:
    """Residuals of m steps with their derivatives."""

    residual: np.ndarray
    """r, shape (m, d)."""
    by_next: np.ndarray
    """dr / da+, shape (m, d, d); row: component of r."""
    by_now: np.ndarray
    """dr / da, shape (m, d, d)."""
    by_before: np.ndarray
    """dr / da-, shape (m, d, d)."""
    by_input: np.ndarray
    """dr / du, shape (m, d, n_u)."""
    mass: np.ndarray
    """Mass of the coordinates at a+ [mass length^2 for a without a unit], shape (m, d, d)."""


class Dynamics(Protocol):
    """A robot's steps r(a+, a, a-, u) = 0: d coordinates a of which m inputs u move some.

    Coordinates and inputs should be of the order of 1, as tensions over a force and angles are.
    """

    @property
    def embedding(self) -> Embedding:
        """The map of the coordinates, (d,), to the n outputs that costs and obstacles see."""
        ...

    @property
    def inputs(self) -> int:
        """m, the number of inputs."""
        ...

    @property
    def dt(self) -> float:
        """Time step [time]."""
        ...

    @property
    def unit(self) -> float:
        """Size of a residual that counts as 1."""
        ...

    def residual(self, steps: Steps) -> np.ndarray:
        """Residual of the steps, shape (number, d)."""
        ...

    def linearise(self, steps: Steps) -> LinearisedDynamics:
        """Residuals of the steps with their derivatives."""
        ...

    def rounding(self, ahead: Jet, now: Jet, before: Jet) -> np.ndarray:
        """Rounding error of the steps' residuals, shape (number,)."""
        ...

    def holding(self, a: np.ndarray) -> np.ndarray:
        """Inputs (m,) that hold the robot at coordinates a, (d,), as far as inputs can."""
        ...

    def at_rest(self, a: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Coordinates (number, d) at rest under each of the inputs, (number, m), from a, (d,)."""
        ...

    def on(self, embedding: Embedding) -> Dynamics:
        """The same with another map, such as a refined one."""
        ...
