"""Contacts of a step as constraint rows, and friction without creep."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.graph.nodes import nodes_of, own_state


class FrictionWithoutCreep(SceneController):
    """Lets sticking contacts stick: their tangents see the free motion of the whole step.

    SOFA leaves out of a contact's tangents what happens while its gap is open in the free motion.
    A contact that only constraints close, such as an object in a gripper that cables pull shut, is
    open all the time in that sense; SOFA then never sees how far gravity pulls the object down in
    the step, and every step lets it sink by that much, however large mu is. With this controller
    in the scene the tangents hold all of the motion, W lambda + delta_free, as in the papers.
    Contacts that close by themselves, such as a body on the ground, notice it only in the step in
    which they close.

    `InverseController` sees contacts so by itself.

    Args:
        root: Root of the scene.
        name: Of the controller.
    """

    def __init__(self, *, root: Any, name: str = "friction") -> None:
        super().__init__(name=name, root=root)
        self.system: Any = None

    @pauses_on_error
    def onBuildConstraintSystemEndEvent(self, event: Any) -> None:
        """The rows are there, and not yet solved."""
        del event
        if self.system is None:
            self.keep(system=ComplianceSystem(self.root))
        for contact in contacts_of(self.system):
            self.system.set_delta_free(contact.rows[1:], contact.free_slide)


KINDS = ("UnilateralLagrangianConstraint", "AugmentedLagrangianConstraint")
"""Components that SOFA's collision response puts into the graph, one a pair of models."""

Nodes = tuple[int, ...]
"""Nodes of a state."""


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
    """Coefficient of friction of the response [-]; nan where it is unknown."""
    nodes: tuple[Nodes, Nodes]
    """The point or sphere that touches, of each body; empty where it is a line or triangle, whose
    nodes SOFA does not give."""
    identity: Hashable
    """What touches, the same from step to step: `nodes`, and where neither body has any, the two
    elements; None where SOFA does not give them."""


def may_touch(root: Any) -> bool:
    """Whether a scene can have contacts: it has a collision pipeline, or contacts by hand."""
    kinds = {entry.getClassName() for node in nodes_of(root) for entry in node.objects}
    return not kinds.isdisjoint((*KINDS, "CollisionPipeline", "DefaultPipeline"))


def contacts_of(system: ComplianceSystem) -> list[Contact]:
    """Contacts of the present step, in an order that does not depend on the backend.

    By bodies, then by the nodes that touch. What is equal in these keeps the order of its rows.
    Valid inside a step, from onBuildConstraintSystemEndEvent to onSolveConstraintSystemEndEvent.
    """
    found = []
    for owner, rows in system.owners():
        if owner.getClassName() in KINDS:
            read = _from_runtime if hasattr(owner, "near") else _from_rows
            found += read(owner, rows)
    return sorted(found, key=lambda contact: (contact.bodies, contact.nodes))


def _from_runtime(owner: Any, rows: np.ndarray) -> list[Contact]:
    """Contacts in the embedded runtime."""
    near, count = owner.near, owner.rows_each
    states = (model.state for model in owner.models)
    bodies: Any = tuple(body_path(state) for state in states)
    friction = float(owner.mu.value)
    first, second = (_own_nodes(model, near, side) for side, model in enumerate(owner.models))
    pairs = zip(first, second, owner.identity, strict=True)
    return [
        Contact(
            rows=rows[k * count : (k + 1) * count],
            normal=near.normal[k],
            bodies=bodies,
            point=near.point[k, 1],
            free_slide=owner.free_slide[k, : count - 1],
            friction=friction,
            nodes=(one, two),
            identity=(one, two) if one or two else (int(elements[0]), int(elements[1])),
        )
        for k, (one, two, elements) in enumerate(pairs)
    ]


def _from_rows(owner: Any, rows: np.ndarray) -> list[Contact]:
    """Contacts from the directions of the rows in SOFA."""
    first, second = (owner.findLink(name).getLinkedBase() for name in ("object1", "object2"))
    bodies = (body_path(first), body_path(second))
    H = _directions(second, rows)
    x = np.asarray(second.position.value)[:, :3]
    moved = _moved(second, H)
    H_first = H
    if first.getPathName() != second.getPathName():
        H_first = _directions(first, rows)
        moved += _moved(first, H_first)
    count = 3 if _has_friction(H) else 1
    nodes = _nodes_in(first, H_first[::count]), _nodes_in(second, H[::count])
    friction = _friction_of(owner) if count == 3 else 0.0
    found = []
    for k in range(0, len(rows), count):
        pushed = np.flatnonzero(H[k].any(axis=1))
        if first.getPathName() == second.getPathName():  # both sides are in H: take one of them
            pushed = pushed[-1:]
        push = H[k, pushed]  # (n, 3)
        share = np.linalg.norm(push, axis=1)
        normal = push.sum(axis=0)
        pair = nodes[0][k // count], nodes[1][k // count]
        found.append(
            Contact(
                rows=rows[k : k + count],
                normal=normal / np.linalg.norm(normal),
                bodies=bodies,
                point=share @ x[pushed] / share.sum(),
                free_slide=moved[k + 1 : k + count],
                friction=friction,
                nodes=pair,
                identity=pair if any(pair) else None,
            )
        )
    return found


def _own_nodes(model: Any, near: Any, side: int) -> list[Nodes]:
    """Of each contact in the embedded runtime, the point or sphere on one side."""
    if model.elements.shape[1] > 1:
        return [()] * len(near.element)
    return [(int(node),) for node in model.elements[near.element[:, side], 0]]


def _nodes_in(state: Any, H: np.ndarray) -> list[Nodes]:
    """The same in SOFA, from the directions of the contacts' normal rows on a state.

    Points and spheres are nodes of the state beside their collision model. For lines and triangles
    SOFA makes a state of contact points in a node below.
    """
    kinds = [entry.getClassName() for entry in state.getContext().objects]
    if not any(kind.endswith("CollisionModel") for kind in kinds):
        return [()] * len(H)
    return [tuple(map(int, np.flatnonzero(row.any(axis=1)))) for row in H]


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
