"""Forces against velocities."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.core.data.types import Bool, Derivs, Real


class VelocityDamping(ForceField):
    """f = -c v, with a coefficient c for each number of each velocity."""

    acts_on = ("Vec3", "Rigid3", "Vec1")
    damps = True

    def coefficients(self) -> np.ndarray:
        """Return c, shape (n, deriv_size)."""
        raise NotImplementedError

    def in_matrix(self) -> bool:
        """Return True if the damping is part of the step's matrix."""
        return True

    def init(self) -> None:
        """Check that the state is supported."""
        self.coefficients()

    @override
    def add_force(self, force: np.ndarray) -> None:
        force -= self.coefficients() * self.state.velocity.get()

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        if self.in_matrix():
            out += factor * self.coefficients() * v

    @override
    def pairs(self) -> Pairs:
        nodes = np.arange(self.state.block_count)
        return nodes, nodes

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        if self.in_matrix():
            c = self.coefficients().ravel()
            rows, axes = np.divmod(np.arange(len(c)), 3)
            values[slots[rows], axes, axes] += factor * c


class UniformVelocityDampingForceField(VelocityDamping):
    """f = -c v with one c for all; it is part of the step's matrix only if `implicit`."""

    dampingCoefficient = Real(0.1, "c.", unit="force*time/length", aliases=("damping",))
    implicit = Bool(False, "Let the step's matrix know of it, for large c.")

    @override
    def in_matrix(self) -> bool:
        return self.implicit.get()

    @override
    def coefficients(self) -> np.ndarray:
        return np.full((self.state.count, self.state.deriv_size), self.dampingCoefficient.get())


class DiagonalVelocityDampingForceField(VelocityDamping):
    """f = -c v with a c for each direction of each node; further nodes take the last one."""

    dampingCoefficient = Derivs(
        [], "c of each node and direction.", unit="force*time/length", per="node"
    )

    @override
    def coefficients(self) -> np.ndarray:
        values, count = self.dampingCoefficient.get(), self.state.count
        if not len(values):
            return np.zeros((count, self.state.deriv_size))
        return values[np.minimum(np.arange(count), len(values) - 1)]
