"""10-node tetrahedra: shape functions at the integration points, and faults of their nodes."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.mesh.checks import FLAT_VOLUME_RATIO, signed_volumes
from sofa_softctl.runtime.mesh.mesh import TETRAHEDRON_EDGES

QUADRATURE = np.full((4, 4), (5.0 - np.sqrt(5.0)) / 20.0) + np.eye(4) / np.sqrt(5.0)
"""Barycentric coordinates of the four points of a rule of degree 2, a point a row."""

MIDDLE_OFFSET_MAX = 0.25
"""Distance of a node from the middle of its edge up to which shape functions are sound, relative to
the edge [-]. At a quarter along the edge the Jacobian is zero at its end.

Source: Zienkiewicz and Taylor, The Finite Element Method, on mapped quadratic elements.
"""


def shape_derivatives() -> np.ndarray:
    """Return the derivatives of the shape functions by L_1, L_2, L_3 at QUADRATURE, (4, 10, 3).

    Nodes are the corners and the middles of TETRAHEDRON_EDGES: N_i = L_i (2 L_i - 1), 4 L_i L_j.
    """
    a, b = TETRAHEDRON_EDGES.T
    by_coordinate = np.zeros((4, 10, 4))
    corner, middle = np.arange(4), np.arange(4, 10)
    by_coordinate[:, corner, corner] = 4.0 * QUADRATURE - 1.0
    by_coordinate[:, middle, a] = 4.0 * QUADRATURE[:, b]
    by_coordinate[:, middle, b] = 4.0 * QUADRATURE[:, a]
    return by_coordinate[..., 1:] - by_coordinate[..., :1]  # L_0 = 1 - L_1 - L_2 - L_3


def quadratic_jacobians(x: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return dX / dL of 10-node tetrahedra at QUADRATURE, shape (m, 4, 3, 3).

    A sixth of the mean of its determinants is the volume.

    Args:
        x: Positions [length], shape (n, 3).
        nodes: Corners, then the middles of TETRAHEDRON_EDGES, shape (m, 10).
    """
    return np.einsum("eai,paj->epij", x[nodes], shape_derivatives())


def middle_offsets(x: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return the distance of middle nodes from the middle of their edge, over the edge, (m, 6).

    Args:
        x: Positions [length], shape (n, 3).
        nodes: See `quadratic_jacobians`.
    """
    a, b = (x[nodes[:, ends]] for ends in TETRAHEDRON_EDGES.T)
    offset = np.linalg.norm(x[nodes[:, 4:]] - 0.5 * (a + b), axis=2)
    length = np.linalg.norm(b - a, axis=2)
    return np.asarray(offset / np.where(length > 0.0, length, np.finfo(float).tiny))


def describe_far_middles(x: np.ndarray, nodes: np.ndarray) -> str:
    """Return a sentence on the nodes that are too far from the middle of their edge, or "".

    Args:
        x, nodes: See `middle_offsets`.
    """
    offsets = middle_offsets(x, nodes)
    is_far = offsets > MIDDLE_OFFSET_MAX
    if not is_far.any():
        return ""
    element, edge = np.argwhere(is_far)[0]
    a, b = nodes[element, TETRAHEDRON_EDGES[edge]]
    return (
        f"has {len(np.unique(nodes[:, 4:][is_far]))} nodes of 10-node tetrahedra that are more "
        f"than a quarter of the edge from its middle, first node {nodes[element, 4 + edge]} of "
        f"tetrahedron {element}, on the edge from node {a} to {b}: {offsets[element, edge]:.3g} "
        "times its length. Move it towards the middle, or take shorter edges where it is curved."
    )


def are_folded(x: np.ndarray, nodes: np.ndarray, jacobians: np.ndarray) -> np.ndarray:
    """Return True for flat elements, and those that are inside out at a point, shape (m,).

    Args:
        x: Positions [length], shape (n, 3).
        nodes: Nodes of 10-node tetrahedra or hexahedra, shape (m, 10) or (m, 8).
        jacobians: Determinants at their integration points, shape (m, p).
    """
    sign = _orientations(x, nodes, jacobians)[:, None]
    spans = np.ptp(x[nodes], axis=1).max(axis=1, keepdims=True)
    return np.asarray((jacobians * sign <= FLAT_VOLUME_RATIO * spans**3).any(axis=1))


def describe_folds(x: np.ndarray, nodes: np.ndarray, jacobians: np.ndarray, kind: str) -> str:
    """Return a sentence on elements that are folded or flat, or "".

    Args:
        x, nodes, jacobians: See `are_folded`.
        kind: Name of an element, such as "hexahedron".
    """
    is_folded = are_folded(x, nodes, jacobians)
    if not is_folded.any():
        return ""
    element = int(is_folded.argmax())
    sign = int(_orientations(x, nodes[[element]], jacobians[[element]])[0])
    point = int((jacobians[element] * sign).argmin())
    expected = {1: "positive", -1: "negative"}.get(sign, "other than 0")
    nodes_to_move = "the nodes in the middle of its edges" if nodes.shape[1] == 10 else "its nodes"
    center = np.round(x[nodes[element]].mean(axis=0), 6).tolist()
    return (
        f"has {int(is_folded.sum())} of {len(nodes)} elements that are folded or flat, first "
        f"{kind} {element} near {center}, of nodes {nodes[element].tolist()}: its Jacobian is "
        f"{jacobians[element, point]:g} at integration point {point}, where it must be {expected}. "
        f"Move {nodes_to_move}, or mesh again."
    )


def _orientations(x: np.ndarray, nodes: np.ndarray, jacobians: np.ndarray) -> np.ndarray:
    """Return the sign that the Jacobians of each element should have, 0 if it is flat, shape (m,).

    It is that of the volume: of a 10-node tetrahedron by its corners, whose order decides.
    """
    is_tetrahedron = nodes.shape[1] == 10
    volumes = signed_volumes(x, nodes[:, :4]) if is_tetrahedron else jacobians.sum(axis=1)
    return np.asarray(np.sign(volumes))
