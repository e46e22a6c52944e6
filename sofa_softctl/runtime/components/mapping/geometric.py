"""Geometric stiffness of rigid mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs

if TYPE_CHECKING:
    from sofa_softctl.runtime.components.mapping.rigid import RigidMapping


class GeometricStiffness(ForceField):
    """K = -d(J^T f)/dx of a RigidMapping for constant forces f on its nodes.

    A force f at the arm r from the centre has the moment r x f, which changes with the turn w by
    (w x r) x f = [f] [r] w, [.] the matrix of the cross product. The sum over a body's nodes is
    made symmetric and freed of what would make K indefinite, as SOFA's 'Stabilized'. The forces
    are those of the last `update`, with the multipliers of the last step.

    Departure from SOFA: its right-hand side takes another stiffness, from what damping and
    stiffness add to the forces.
    """

    def __init__(self, mapping: RigidMapping) -> None:
        super().__init__()
        self.mapping = mapping
        self.state = mapping.parent
        self.blocks = np.zeros((self.state.count, 3, 3))

    def update(self, lambda_factor: float) -> None:
        """Take over the present forces; lambda_factor is a force by its multiplier."""
        child, body = self.mapping.child, self.mapping.body
        force = child._data["force"].get()[:, :3] + lambda_factor * child.lam[:, :3]
        arm = self.mapping.arm
        turned = np.einsum("ni,nj->nij", arm, force)  # [f] [r] = r f^T - (f . r) 1
        turned -= np.einsum("ni,ni->n", force, arm)[:, None, None] * np.eye(3)
        blocks = np.zeros_like(self.blocks)
        np.add.at(blocks, body, turned)
        values, axes = np.linalg.eigh((blocks + blocks.transpose(0, 2, 1)) / 2.0)
        self.blocks = np.einsum("nij,nj,nkj->nik", axes, np.maximum(-values, 0.0), axes)

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField: the mapping itself passes the forces on."""

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution."""
        out[:, 3:] += factor * np.einsum("nij,nj->ni", self.blocks, v[:, 3:])

    def pairs(self) -> Pairs:
        """See Contribution."""
        turns = 2 * np.arange(self.state.count) + 1
        return turns, turns

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution."""
        values[slots] += factor * self.blocks
