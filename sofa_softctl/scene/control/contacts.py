"""Contacts of a step as constraint rows, and friction without creep."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.system import ComplianceSystem
from sofa_softctl.scene.graph.nodes import nodes_of, own_state

CONTACTS_MAX = 64
"""Number of contacts per step in a recording; missing ones are zeros."""


class FrictionWithoutCreep(SceneController):
    """Prevents creep of sticking contacts: tangents get the free motion of the whole step.

    SOFA omits from a contact's tangents the free motion while its gap is open. A contact that only
    constraints close, such as an object in a gripper that cables pull shut, is open in the whole
    free motion; SOFA then never counts the object's fall in the step, so it sinks by that much in
    every step, however large mu is. With this controller in the scene the tangents contain all of
    the motion, W lambda + delta_free, as in the papers. For contacts that close in the free
    motion, such as a body on the ground, it only changes the step in which they close.

    `InverseController` always treats contacts this way.

    Args:
        root: Root of the scene.
        name: Name of the controller.
    """

    def __init__(self, *, root: Any, name: str = "friction") -> None:
        super().__init__(name=name, root=root)
        self.system: Any = None

    @pauses_on_error
    def onBuildConstraintSystemEndEvent(self, event: Any) -> None:
        """Set the free motion of the tangents, after the rows are built and before the solve."""
        del event
        if self.system is None:
            self.keep(system=ComplianceSystem(self.root))
        for contact in contacts_of(self.system):
            self.system.set_delta_free(contact.rows[1:], contact.free_slide)


KINDS = ("UnilateralLagrangianConstraint", "AugmentedLagrangianConstraint")
"""Components that SOFA's collision response adds to the graph, one per pair of models."""

Nodes = tuple[int, ...]
"""Nodes of a state."""


@dataclass(frozen=True)
class Contact:
    """One contact point between two bodies, or of a body with itself."""

    rows: np.ndarray
    """Constraint rows: the normal, and with friction two tangents, shape (1,) or (3,)."""
    normal: np.ndarray
    """Unit normal; a positive multiplier pushes the second body along it [-], shape (3,)."""
    bodies: tuple[str, str]
    """Paths of the nodes whose independent states touch."""
    point: np.ndarray
    """Contact point on the second body at the start of the step [length], shape (3,)."""
    free_slide: np.ndarray
    """Free motion along the tangents, of the second body against the first [length], shape (2,)
    with friction, (0,) without. SOFA's rows hold it only for the part of the step in which the
    contact is closed in the free motion; see `FrictionWithoutCreep`."""
    friction: float
    """Coefficient of friction of the response, or NaN if unknown [-]."""
    nodes: tuple[Nodes, Nodes]
    """Touching point or sphere of each body; empty for lines and triangles, whose nodes SOFA does
    not give."""
    identity: Hashable
    """Key that stays the same from step to step: `nodes`, or the two elements if neither body has
    nodes; None if SOFA does not give them."""


def may_touch(root: Any) -> bool:
    """Return True if a scene has a collision pipeline, or contact components."""
    kinds = {component.getClassName() for node in nodes_of(root) for component in node.objects}
    return not kinds.isdisjoint((*KINDS, "CollisionPipeline", "DefaultPipeline"))


def contacts_of(system: ComplianceSystem) -> list[Contact]:
    """Return the contacts of the present step, in an order independent of the backend.

    They are sorted by bodies, then by touching nodes, then by rows.
    Valid inside a step, from onBuildConstraintSystemEndEvent to onSolveConstraintSystemEndEvent.
    """
    contacts = []
    for owner, rows in system.owners():
        if owner.getClassName() in KINDS:
            read = _from_runtime if hasattr(owner, "near") else _from_rows
            contacts += read(owner, rows, system.body_paths)
    return sorted(contacts, key=lambda contact: (contact.bodies, contact.nodes))


def _from_runtime(owner: Any, rows: np.ndarray, paths: dict[Any, str]) -> list[Contact]:
    proximity, count = owner.near, owner.rows_each
    states = [model.state for model in owner.models]
    for state in states:
        if state not in paths:
            paths[state] = body_path(state)
    bodies: Any = tuple(paths[state] for state in states)
    friction = float(owner.mu.get())
    first, second = (_own_nodes(model, proximity, side) for side, model in enumerate(owner.models))
    pairs = zip(first, second, owner.identity, strict=True)
    return [
        Contact(
            rows=rows[k * count : (k + 1) * count],
            normal=proximity.normal[k],
            bodies=bodies,
            point=proximity.point[k, 1],
            free_slide=owner.free_slide[k, : count - 1],
            friction=friction,
            nodes=(first_nodes, second_nodes),
            identity=(first_nodes, second_nodes)
            if first_nodes or second_nodes
            else (int(elements[0]), int(elements[1])),
        )
        for k, (first_nodes, second_nodes, elements) in enumerate(pairs)
    ]


def _from_rows(owner: Any, rows: np.ndarray, paths: dict[Any, str]) -> list[Contact]:
    """Return the contacts in SOFA from the directions of the rows."""
    del paths  # SOFA's Python makes objects of states anew
    first, second = (owner.findLink(name).getLinkedBase() for name in ("object1", "object2"))
    bodies = (body_path(first), body_path(second))
    H = _directions(second, rows)
    x = np.asarray(second.position.value)[:, :3]
    slide = _free_motion(second, H)
    H_first = H
    if first.getPathName() != second.getPathName():
        H_first = _directions(first, rows)
        slide += _free_motion(first, H_first)
    count = 3 if _has_friction(H) else 1
    nodes = _nodes_in(first, H_first[::count]), _nodes_in(second, H[::count])
    friction = _friction_of(owner) if count == 3 else 0.0
    contacts = []
    for k in range(0, len(rows), count):
        pushed_nodes = np.flatnonzero(H[k].any(axis=1))
        if first.getPathName() == second.getPathName():  # both sides are in H: take one of them
            pushed_nodes = pushed_nodes[-1:]
        push = H[k, pushed_nodes]  # (n, 3)
        weights = np.linalg.norm(push, axis=1)
        normal = push.sum(axis=0)
        pair = nodes[0][k // count], nodes[1][k // count]
        contacts.append(
            Contact(
                rows=rows[k : k + count],
                normal=normal / np.linalg.norm(normal),
                bodies=bodies,
                point=weights @ x[pushed_nodes] / weights.sum(),
                free_slide=slide[k + 1 : k + count],
                friction=friction,
                nodes=pair,
                identity=pair if any(pair) else None,
            )
        )
    return contacts


def _own_nodes(model: Any, proximity: Any, side: int) -> list[Nodes]:
    """Return the point or sphere on one side of each contact in the embedded runtime."""
    if model.elements.shape[1] > 1:
        return [()] * len(proximity.element)
    return [(int(node),) for node in model.elements[proximity.element[:, side], 0]]


def _nodes_in(state: Any, H: np.ndarray) -> list[Nodes]:
    """Return the points or spheres in SOFA, from the contacts' normal rows on a state.

    Points and spheres are nodes of the state next to their collision model. For lines and
    triangles SOFA makes a state of contact points in a node below.
    """
    kinds = [component.getClassName() for component in state.getContext().objects]
    if not any(kind.endswith("CollisionModel") for kind in kinds):
        return [()] * len(H)
    return [tuple(map(int, np.flatnonzero(row.any(axis=1)))) for row in H]


def _directions(state: Any, rows: np.ndarray) -> np.ndarray:
    """Return the directions of rows on the first nodes of a state, shape (n, nodes, 3)."""
    H: np.ndarray = state.constraint.value[rows].toarray().reshape(len(rows), -1, 3)
    return H


def _free_motion(state: Any, H: np.ndarray) -> np.ndarray:
    """Return the free motion of a state along rows [length], shape (n,)."""
    move = np.asarray(state.free_position.value) - np.asarray(state.position.value)
    total: np.ndarray = np.einsum("rnc,nc->r", H, move[: H.shape[1], :3])
    return total


def _has_friction(H: np.ndarray) -> bool:
    """Return True if rows come in threes: a normal and two tangents, orthonormal, on one node."""
    if len(H) % 3:
        return False
    node = np.flatnonzero(H[0].any(axis=1))[0]
    frame = H[:3, node] / np.linalg.norm(H[0, node])  # (3, 3)
    return bool(np.allclose(frame @ frame.T, np.eye(3), atol=1e-6))


def _friction_of(owner: Any) -> float:
    """Return mu of a constraint's FrictionContact, which has the same name and node, or NaN."""
    for contact in owner.getContext().objects:
        if contact.getClassName() == "FrictionContact" and contact.getName() == owner.getName():
            return float(contact.mu.value)
    return float("nan")


def body_path(state: Any) -> str:
    """Return the path of the node whose independent state moves this one."""
    node = state.getContext()
    while own_state(node) is None or node.getMechanicalMapping() is not None:
        parents = list(node.parents)
        if not parents:
            break
        node = parents[0]
    path: str = node.getPathName()
    return path


def is_inside(body: str, path: str) -> bool:
    """Return True if a path is the body's own or inside its node."""
    return path == body or path.startswith(f"{body}/")
