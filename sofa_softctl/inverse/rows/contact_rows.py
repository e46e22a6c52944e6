"""Contacts of a step as variables of the inverse problem, and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.inverse.rows.grasp import Grasp
from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.scene.control.contacts import Contact, contacts_of
from sofa_softctl.scene.control.system import ComplianceSystem


class ContactRows:
    """The contacts of one step.

    Args:
        system: The scene's constraint system, inside a step.
        grasps: Objects whose summed normal force is bounded.
    """

    def __init__(self, system: ComplianceSystem, grasps: Sequence[Grasp]) -> None:
        self.system = system
        self.grasps = grasps
        self.contacts = contacts_of(system)
        self.rows = _join_rows([contact.rows for contact in self.contacts])
        counts = [len(contact.rows) for contact in self.contacts]
        self.starts = np.cumsum([0, *counts])
        self.friction = np.array([_friction(contact) for contact in self.contacts])

    def __len__(self) -> int:
        return len(self.contacts)

    def problem(
        self, actuators: np.ndarray, effectors: np.ndarray, factor: float, law: Law
    ) -> Contacts:
        """Return the contacts of the inverse problem.

        Args:
            actuators: Rows of the actuators.
            effectors: Rows of the effectors.
            factor: Multiplier of one unit of force.
            law: Contact law.
        """
        rows = np.concatenate([actuators, effectors, self.rows])
        scale = np.full(len(self.rows), factor)
        W = self.system.compliance(rows, self.rows, scale)
        n_a, n_e = len(actuators), len(effectors)
        delta_free = self.system.delta_free(self.rows)
        for contact, start in zip(self.contacts, self.starts, strict=False):
            delta_free[start + 1 : start + len(contact.rows)] = contact.free_slide
        return Contacts(
            W_ec=W[n_a : n_a + n_e],
            W_ac=W[:n_a],
            W_cc=W[n_a + n_e :],
            delta_c_free=delta_free,
            friction=self.friction,
            identity=_identities(self.contacts),
            names=[f"{a} on {b}" for a, b in (contact.bodies for contact in self.contacts)],
            pairs=[contact.bodies for contact in self.contacts],
            sums=self._sums(),
            law=law,
        )

    def _sums(self) -> tuple[NormalSum, ...]:
        sums = []
        for grasp in self.grasps:
            indices = self.on_object(grasp)
            if len(indices) and (grasp.minimum > 0.0 or np.isfinite(grasp.maximum)):
                sums.append(NormalSum(grasp.body, indices, grasp.minimum, grasp.maximum))
        return tuple(sums)

    def on_object(self, grasp: Grasp) -> np.ndarray:
        """Return the indices of the contacts on an object."""
        return np.flatnonzero([grasp.holds(contact.bodies) for contact in self.contacts])

    def apply(self, force: np.ndarray, factor: float) -> None:
        """Set the forces that the correction applies on the rows."""
        self.system.set_effort(self.rows, force, np.full(len(self.rows), factor))

    def as_vectors(self, values: np.ndarray) -> np.ndarray:
        """Return values of the rows, such as forces, as a vector per contact, shape (n_c, 3)."""
        normals = np.array([contact.normal for contact in self.contacts]).reshape(-1, 3)
        return sum_rows(normals, self.starts, values)

    def normal_part(self, values: np.ndarray) -> np.ndarray:
        """Values of the normal rows, shape (n_c,)."""
        return values[self.starts[:-1]]

    def tangential_size(self, values: np.ndarray) -> np.ndarray:
        """Size of the tangential part of each contact's values, shape (n_c,)."""
        if not len(self):
            return np.empty(0)
        squares = np.add.reduceat(values**2, self.starts[:-1])
        return np.sqrt(np.maximum(squares - self.normal_part(values) ** 2, 0.0))


@njit
def sum_rows(normals: np.ndarray, starts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values of each contact's rows along its normal and SOFA's tangents, (n_c, 3).

    Args:
        normals: Normal of each contact, shape (n_c, 3).
        starts: First row of each contact, and the number of rows, shape (n_c + 1,).
        values: Values of the rows, shape (n_r,).
    """
    vectors = np.empty(normals.shape)
    for c in range(len(normals)):
        n, k = normals[c], starts[c]
        vectors[c] = values[k] * n
        if starts[c + 1] - k == 3:
            tangent = np.array([n[1] * n[1] - n[2] * n[0], n[2] * n[2] - n[0] * n[1],
                                n[0] * n[0] - n[1] * n[2]])  # fmt: skip
            tangent /= np.sqrt((tangent * tangent).sum())
            for i in range(3):
                j, l = (i + 1) % 3, (i + 2) % 3
                first = n[l] * tangent[j] - n[j] * tangent[l]
                vectors[c, i] += values[k + 1] * first + values[k + 2] * tangent[i]
    return vectors


def _join_rows(rows: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype=int), *rows])


def _friction(contact: Contact) -> float:
    """Return mu of a contact, or SOFA's default 0.8 if it is not available."""
    if len(contact.rows) == 1:
        return 0.0
    return contact.friction if np.isfinite(contact.friction) else 0.8


def _identities(contacts: Sequence[Contact]) -> list[Hashable]:
    """Return a key of each contact that is the same over steps."""
    counts: dict[Hashable, int] = {}
    keys: list[Hashable] = []
    for contact in contacts:
        elements = contact.identity
        number = counts[elements] = counts.get(elements, -1) + 1  # two triangles can touch twice
        keys.append((elements, number))
    return keys
