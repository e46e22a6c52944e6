"""Interface of a robot's dynamics for planning: residuals of steps, with derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sofa_softctl.surrogate.grid.embedding import Embedding, Jet


class Steps(NamedTuple):
    """Data of m steps, with the map at their instants."""

    a_next: np.ndarray
    """Coordinates a+ after each step [-], shape (m, d)."""
    a_now: np.ndarray
    """Coordinates a before each step [-], shape (m, d)."""
    u: np.ndarray
    """Inputs of each step [-], shape (m, n_u)."""
    ahead: Jet
    """Map at a+, m points."""
    now: Jet
    """Map at a."""
    before: Jet
    """Map at a-."""


@dataclass(frozen=True, eq=False)
class LinearisedDynamics:
    """Residuals of m steps with their derivatives."""

    residual: np.ndarray
    """Residuals r, shape (m, d)."""
    by_next: np.ndarray
    """Derivative dr / da+, shape (m, d, d); rows are components of r."""
    by_now: np.ndarray
    """Derivative dr / da, shape (m, d, d)."""
    by_before: np.ndarray
    """Derivative dr / da-, shape (m, d, d)."""
    by_input: np.ndarray
    """Derivative dr / du, shape (m, d, n_u)."""
    mass: np.ndarray
    """Mass of the coordinates at a+ [mass length^2 for a without a unit], shape (m, d, d)."""


class Dynamics(Protocol):
    """Steps r(a+, a, a-, u) = 0 of a robot with d coordinates a and m inputs u.

    Coordinates and inputs should be of the order of 1, as tensions over a force and angles are.
    """

    @property
    def embedding(self) -> Embedding:
        """Map from the d coordinates to the n outputs that costs and obstacles use."""
        ...

    @property
    def inputs(self) -> int:
        """Number m of inputs."""
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
        """Return the residuals of the steps, shape (number, d)."""
        ...

    def linearise(self, steps: Steps) -> LinearisedDynamics:
        """Return the residuals of the steps with their derivatives."""
        ...

    def rounding(self, ahead: Jet, now: Jet, before: Jet) -> np.ndarray:
        """Estimate the rounding error of residuals, shape (number,)."""
        ...

    def holding(self, a: np.ndarray) -> np.ndarray:
        """Return the inputs (m,) that hold the robot at coordinates a (d,), as far as possible."""
        ...

    def at_rest(self, a: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the coordinates at rest (number, d) under inputs (number, m), from a (d,)."""
        ...

    def on(self, embedding: Embedding) -> Dynamics:
        """Return the same dynamics on another map, such as a refined one."""
        ...
