"""Points of cables and effectors outside the mesh that carries them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.scene.body import body_size
from sofa_softctl.scene.channels import nodes_of, own_state
from sofa_softctl.scene.plausibility.warning import StartWarning, at, point

FAR = 5.0
"""A pull point further from its cable than so many sizes of the body is warned of."""


def point_warnings(root: Any) -> list[StartWarning]:
    """Points further than an element outside their mesh, and pull points far from the body."""
    found = []
    edges: dict[str, np.ndarray] = {}
    for node in nodes_of(root):
        state = own_state(node)
        users = [e for e in node.objects if e.getClassName().startswith(("Cable", "Position"))]
        if state is None or not users or not len(state.position.value):
            continue
        x = np.asarray(state.position.value, dtype=float)[:, :3]
        mapping = node.getMechanicalMapping()
        if mapping is not None and mapping.getClassName() == "BarycentricMapping":
            found += _outside(users[0], x, mapping, edges)
        found += [one for user in users for one in _pulled_from_afar(user, x)]
    return found


def _outside(
    user: Any, x: np.ndarray, mapping: Any, edges_of: dict[str, np.ndarray]
) -> list[StartWarning]:
    """Args: the user of the points x (p, 3), their mapping, and the edges of meshes seen so far."""
    mesh = _mesh_above(mapping)
    if mesh is None:
        return []
    name, nodes, elements = mesh
    if name not in edges_of:
        edges_of[name] = _longest_edges(nodes, elements)
    apart = np.linalg.norm(x[:, None] - nodes, axis=2)  # (p, n)
    nearest = apart.argmin(axis=1)
    distance, edge = apart.min(axis=1), edges_of[name][nearest]
    # Within an element, no point is further than an edge from the nearest node.
    far = np.flatnonzero((distance > edge) & (edge > 0.0))
    if not len(far):
        return []
    worst = int(far[np.argmax(distance[far])])
    return [
        StartWarning(
            user,
            f"{at(user)}: its point {worst} at {point(x[worst])} is {distance[worst]:.3g} from "
            f"the nearest node of the mesh of '{name}', more than an element ({edge[worst]:.3g}); "
            f"the mesh reaches from {point(nodes.min(axis=0))} to {point(nodes.max(axis=0))}. "
            f"{len(far)} of {len(x)} points are that far out. Correct 'position' of its "
            "MechanicalObject, or the units of one of them.",
        )
    ]


def _mesh_above(mapping: Any) -> tuple[str, np.ndarray, np.ndarray] | None:
    """Path, nodes (n, 3) and elements (m, k) of the mesh that carries a mapping; None: none."""
    link = mapping.findLink("input_topology")
    linked = link.getLinkedBase() if link is not None else None
    parents = list(mapping.getContext().parents)
    if linked is None and not parents:
        return None
    entries = [linked] if linked is not None else list(parents[0].objects)
    for entry in entries:
        for cells in ("tetrahedra", "hexahedra"):
            data = entry.findData(cells)
            if data is None or not len(data.value):
                continue
            node = entry.getContext()
            holder = own_state(node) or entry
            nodes = np.asarray(holder.position.value, dtype=float)[:, :3]
            elements = np.asarray(data.value, dtype=int)
            if len(nodes) and elements.max() < len(nodes):
                return node.getPathName(), nodes, elements
    return None


def _longest_edges(nodes: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Longest edge of the elements at each node [length], shape (n,)."""
    corners = nodes[elements]
    longest = np.zeros(len(elements))
    for i in range(corners.shape[1]):
        for j in range(i):
            longest = np.maximum(longest, ((corners[:, i] - corners[:, j]) ** 2).sum(axis=1))
    found = np.zeros(len(nodes))
    np.maximum.at(found, elements, np.sqrt(longest)[:, None])
    return found


def _pulled_from_afar(user: Any, x: np.ndarray) -> list[StartWarning]:
    has = user.findData("hasPullPoint")
    if has is None or not has.value:
        return []
    pull = np.ravel(user.pullPoint.value)
    size, distance = body_size(user.getContext()), float(np.linalg.norm(pull - x[0]))
    if not distance > FAR * size > 0.0:
        return []
    return [
        StartWarning(
            user,
            f"{at(user)}: its pullPoint {point(pull)} is {distance:.4g} from the cable's first "
            f"point, and the body is {size:.4g} long. Is it in other units?",
        )
    ]
