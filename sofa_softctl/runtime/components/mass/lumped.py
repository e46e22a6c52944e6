"""Base class of masses without coupling between nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.mechanics import Mass, Pairs
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.cholesky.block_matrix import add_diagonal


class LumpedMass(Mass):
    """A diagonal mass matrix."""

    masses: np.ndarray
    """Mass of each node, shape (n, 1)."""
    moments: np.ndarray
    """Moment of inertia of each rigid body about its centre, in world axes, shape (n, 3, 3)."""

    @override
    def snapshot(self) -> dict[str, Any]:
        names = ("masses", "moments", "_amount")  # never written in place after init
        return {name: vars(self)[name] for name in names if name in vars(self)}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        vars(self).update(snapshot)

    @override
    def add_gravity(self, force: np.ndarray, gravity: np.ndarray) -> None:
        force += self.masses * self.state.kind.linear(gravity)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        if v.shape[1] == 6:
            out[:, :3] += (factor * self.masses) * v[:, :3]
            out[:, 3:] += factor * np.einsum("nij,nj->ni", self.moments, v[:, 3:])
        else:
            out += (factor * self.masses) * v

    def check_differentiable(self) -> None:
        """Check that the derivative of a time step is known with it: M is constant."""

    @override
    def scale(self, factor: float) -> None:
        self.masses = self.masses * factor
        if "moments" in vars(self):
            self.moments = self.moments * factor

    @override
    def pairs(self) -> Pairs:
        nodes = np.arange(self.state.block_count)
        return nodes, nodes

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        kind = self.state.kind.name
        if kind == "Vec1":  # three joints share a row
            diagonal = factor * self.masses[:, 0]
            rows, axes = np.divmod(np.arange(len(diagonal)), 3)
            values[slots[rows], axes, axes] += diagonal
            return
        if kind == "Rigid3":
            values[slots[1::2]] += factor * self.moments
            slots = np.ascontiguousarray(slots[::2])
        add_diagonal(values, slots, self.masses, factor)


def given_by(mass: Mass, *names: str) -> str:
    """Return the first of these Data that the scene gives, which counts, or the first of all."""
    used = [name for name in names if name in mass._data and mass._data[name].isSet()]
    if len(used) > 1:
        problem = mass.fault(f"has both '{used[0]}' and '{used[1]}': only '{used[0]}' counts.")
        complain(mass, problem, " Leave one of them out.")
    return used[0] if used else names[0]


def overruled_fault(mass: Mass, data: Data, value: Any) -> SceneError:
    """Return the fault that one of two Data of a mass is set, but the other one counts."""
    location = describe(data.where)
    return SceneError(
        f"{location}: '{data.getName()}' of {mass.describe()} was set to {value}, but is "
        f"{data.get()} again: the scene gave the mass by another Data. Set that one."
    )
