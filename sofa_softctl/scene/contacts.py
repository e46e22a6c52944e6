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
    free_slide: np.ndarray
    """Free motion along the tangents, of the second body against the first [length], shape (2,)
    with friction, (0,) without. SOFA's rows hold it only for the part of the step in which the
    contact is closed in the free motion; see `FrictionWithoutCreep`."""
    friction: float
    """Coefficient of friction of the response [-]; nan where the scene does not tell."""
    identity: tuple[int, int] | None
    """The two elements that touch, the same numbers from step to step; SOFA does not tell: None."""


def contacts_of(system: ComplianceSystem) -> list[Contact]:
    """Contacts of the present step, in the order of their rows.

    Valid inside a step, from onBuildConstraintSystemEndEvent to onSolveConstraintSystemEndEvent.
    """
    found = []
    for owner, rows in system.owners():
        if owner.getClassName() in KINDS:
            read = _from_runtime if hasattr(owner, "near") else _from_rows
            found += read(owner, rows)
    return found


def _from_runtime(owner: Any, rows: np.ndarray) -> list[Contact]:
    """What the embedded runtime knows of its contacts."""
    near, count = owner.near, owner.rows_each
    states = (model.state for model in owner.models)
    bodies: Any = tuple(body_path(state) for state in states)
    friction = float(owner.mu.value)
    return [
        Contact(
            rows=rows[k * count : (k + 1) * count],
            normal=near.normal[k],
            bodies=bodies,
            point=near.point[k, 1],
            free_slide=owner.free_slide[k, : count - 1],
            friction=friction,
            identity=(int(elements[0]), int(elements[1])),
        )
        for k, elements in enumerate(owner.identity)
    ]


def _from_rows(owner: Any, rows: np.ndarray) -> list[Contact]:
    """What the directions of the rows in SOFA tell."""
    first, second = (owner.findLink(name).getLinkedBase() for name in ("object1", "object2"))
    bodies = (body_path(first), body_path(second))
    H = _directions(second, rows)
    x = np.asarray(second.position.value)[:, :3]
    moved = _moved(second, H)
    if first.getPathName() != second.getPathName():
        moved += _moved(first, _directions(first, rows))
    count = 3 if _has_friction(H) else 1
    friction = _friction_of(owner) if count == 3 else 0.0
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
                free_slide=moved[k + 1 : k + count],
                friction=friction,
                identity=None,
            )
        )
    return found


def _directions(state: Any, rows: np.ndarray) -> np.ndarray:
    """Directions of rows on the nodes of a state up to the last that has any, (n, nodes, 3)."""
    H: np.ndarray = state.constraint.value[rows].toarray().reshape(len(rows), -1, 3)
    return H


def _moved(state: Any, H: np.ndarray) -> np.ndarray:
    """Free motion of a state along rows [length], shape (n,)."""
    move = np.asarray(state.free_position.value) - np.asarray(state.position.value)
    total: np.ndarray = np.einsum("rnc,nc->r", H, move[: H.shape[1], :3])
    return total


def _has_friction(H: np.ndarray) -> bool:
    """Whether rows come in threes: a normal and two tangents, orthonormal, on the same nodes."""
    if len(H) % 3:
        return False
    node = np.flatnonzero(H[0].any(axis=1))[0]
    frame = H[:3, node] / np.linalg.norm(H[0, node])  # (3, 3)
    return bool(np.allclose(frame @ frame.T, np.eye(3), atol=1e-6))


def _friction_of(owner: Any) -> float:
    """mu of the contact that made a constraint: SOFA puts it beside it under the same name."""
    for entry in owner.getContext().objects:
        if entry.getClassName() == "FrictionContact" and entry.getName() == owner.getName():
            return float(entry.mu.value)
    return float("nan")


def body_path(state: Any) -> str:
    """Path of the node whose independent state moves this one."""
    node = state.getContext()
    while own_state(node) is None or node.getMechanicalMapping() is not None:
        parents = list(node.parents)
        if not parents:
            break
        node = parents[0]
    path: str = node.getPathName()
    return path
