"""Contacts of a step in the inverse problem of QPInverseProblemSolver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sofa_softctl.qpcc.contacts import Contacts, Law, NormalSum
from sofa_softctl.runtime.behavior.constraint import ConstraintSystem
from sofa_softctl.runtime.components.constraint.contact import UnilateralLagrangianConstraint

SHARED = 2
"""Contacts from which on SoftRobots.Inverse bounds the sum of their forces."""


def rows_of_contacts(contacts: Sequence[UnilateralLagrangianConstraint]) -> np.ndarray:
    """Rows of all contacts, shape (n_r,)."""
    parts = [
        np.arange(entry.row_count) + entry._data["constraintIndex"].get() for entry in contacts
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=int)


def inverse_contacts(
    problem: ConstraintSystem,
    contacts: Sequence[UnilateralLagrangianConstraint],
    actuators: np.ndarray,
    effectors: np.ndarray,
    *,
    sliding: bool,
    energy: bool,
    bounds: tuple[float, float],
) -> Contacts:
    """The contacts as variables; forces are SOFA's multipliers.

    Args:
        problem: The constraint problem of the step.
        contacts: What touches in it.
        actuators: Rows of the actuators and equalities.
        effectors: Rows of the effectors.
        sliding: SOFA's `allowSliding`: whether contacts slide, on a round friction cone.
        energy: Whether the energy term covers the contacts' forces.
        bounds: Least and greatest sum of the normal multipliers.
    """
    rows = rows_of_contacts(contacts)
    counts = [entry.contact_count for entry in contacts]
    total = sum(counts)
    sums = []
    if total >= SHARED and (bounds[0] > 0.0 or bounds[1] < np.inf):
        sums.append(NormalSum("all contacts", np.arange(total), *bounds))
    W = problem.W
    return Contacts(
        W_ec=W[np.ix_(effectors, rows)],
        W_ac=W[np.ix_(actuators, rows)],
        W_cc=W[np.ix_(rows, rows)],
        delta_c_free=problem.delta_free[rows],
        friction=np.repeat([entry.mu.get() for entry in contacts], counts),
        identity=_identities(contacts),
        names=[
            name
            for entry, count in zip(contacts, counts, strict=True)
            for name in [entry.getName()] * count
        ],
        sums=sums,
        law=Law("coulomb") if sliding else Law("sticking"),
        energy=energy,
    )


def _identities(
    contacts: Sequence[UnilateralLagrangianConstraint],
) -> list[tuple[int, int, int]]:
    """Key of each contact: its elements, numbered where they touch twice."""
    seen: dict[tuple[int, int], int] = {}
    names = []
    for entry in contacts:
        for first, second in entry.identity.tolist():
            number = seen[first, second] = seen.get((first, second), -1) + 1
            names.append((first, second, number))
    return names
