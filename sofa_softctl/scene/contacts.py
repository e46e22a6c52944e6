"""Contacts of a step: which rows, between which bodies, along which normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.channels import own_state
from sofa_softctl.scene.compliance import ComplianceSystem

KINDS = ("UnilateralLagrangianConstraint", "AugmentedLagrangianConstraint")
"""Components that SOFA's collision response puts into the graph, one a pair of models."""


@dataclass(frozen=True)
class Contact:
    """One contact point between two bodies, or of a body with itself."""

    rows: np.ndarray
    """Rows in the constraint system: the normal one, and with friction two tangents, (1,) or (3,).
    """
    normal: np.ndarray
    """Unit normal; a positive multiplier pushes the second body along it [-], shape (3,)."""
    bodies: tuple[str, str]
    """Paths of the nodes whose independent states touch."""
    point: np.ndarray
    """Where it touches the second body, start of the step [length], shape (3,)."""


def contacts_of(system: ComplianceSystem) -> list[Contact]:
    """Contacts of the present step, in the order of their rows.

    Valid inside a step, from onBuildConstraintSystemEndEvent to onSolveConstraintSystemEndEvent.
    """
    found = []
    for owner, rows in system.owners():
        if owner.getClassName() in KINDS:
            found += _contacts_between(owner, rows)
    return found


def _contacts_between(owner: Any, rows: np.ndarray) -> list[Contact]:
    first, second = (owner.findLink(name).getLinkedBase() for name in ("object1", "object2"))
    bodies = (_body(first), _body(second))
    H = second.constraint.value[rows].toarray().reshape(len(rows), -1, 3)  # (n, nodes, 3)
    x = np.asarray(second.position.value)[:, :3]
    count = 3 if _has_friction(H) else 1
    found = []
    for k in range(0, len(rows), count):
        nodes = np.flatnonzero(H[k].any(axis=1))
        if first.getPathName() == second.getPathName():  # both sides are in H: take one of them
            nodes = nodes[-1:]
        push = H[k, nodes]  # (n, 3)
        share = np.linalg.norm(push, axis=1)
        normal = push.sum(axis=0)
        found.append(
            Contact(
                rows=rows[k : k + count],
                normal=normal / np.linalg.norm(normal),
                bodies=bodies,
                point=share @ x[nodes] / share.sum(),
            )
        )
    return found


def _has_friction(H: np.ndarray) -> bool:
    """Whether rows come in threes: a normal and two tangents, orthonormal, on the same nodes."""
    if len(H) % 3:
        return False
    node = np.flatnonzero(H[0].any(axis=1))[0]
    frame = H[:3, node] / np.linalg.norm(H[0, node])  # (3, 3)
    return bool(np.allclose(frame @ frame.T, np.eye(3), atol=1e-6))


def _body(state: Any) -> str:
    """Path of the node whose independent state moves this one."""
    node = state.getContext()
    while own_state(node) is None or node.getMechanicalMapping() is not None:
        parents = list(node.parents)
        if not parents:
            break
        node = parents[0]
    path: str = node.getPathName()
    return path
