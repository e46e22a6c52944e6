"""Effectors of inverse control: nodes of a state, or the centre of a body."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError

AXES = ("x", "y", "z")
TETRAHEDRON_ANGLE = np.radians(20.0)
"""Rotation of the tetrahedron about z [rad].

Many bodies are symmetric to the axes; without it a node in a plane of symmetry would be as near to
one corner as to another.
"""
_CORNERS = np.array(
    [
        (np.sqrt(2.0) * np.cos(angle), np.sqrt(2.0) * np.sin(angle), z)
        for angle, z in zip(
            TETRAHEDRON_ANGLE + np.radians([45.0, -45.0, 135.0, 225.0]), (1, -1, -1, 1), strict=True
        )
    ]
) / np.sqrt(3.0)
"""Directions of the corners of a regular tetrahedron."""
SCORE_TOLERANCE = 1e-9
"""Difference of two scores that rounding may make [-]: their size is about 1."""


def add_effector(node: Any, index: int = 0) -> list[Any]:
    """Make a node of a state an effector: a PositionConstraint with the force 0 for each axis.

    Args:
        node: Node with a MechanicalObject, to which the constraints are added.
        index: Node of the state.

    Returns:
        The three constraints, along x, y and z.
    """
    return [
        node.addObject(
            "PositionConstraint",
            name=f"effector_{axis}{index or ''}",
            indices=[index],
            useDirections=[int(axis == direction) for direction in AXES],
            valueType="force",
            value=[0.0],
        )
        for axis in AXES
    ]


def add_center_effector(node: Any, positions: np.ndarray) -> list[Any]:
    """Make the centre of a body an effector, with stock components.

    The centre is the mean of all nodes at rest, mapped from sixteen nodes: four parts of the body,
    each by four nodes around it, and the centre by the four parts. Two barycentric mappings do
    that, in children `parts` and `parts/centre` of `node`.

    Args:
        node: Node with the body's MechanicalObject.
        positions: Rest positions of its nodes [length], shape (n, 3).

    Returns:
        The three constraints of the centre, along x, y and z, as `add_effector` returns them.

    Raises:
        SceneError: the nodes do not fill a volume.
    """
    positions = np.asarray(positions, dtype=float)
    carriers, centres = _parts(positions)
    parts = _add_carried(node, "parts", positions, carriers, centres)
    mean = positions.mean(axis=0)
    return add_effector(_add_carried(parts, "centre", centres, np.arange(4)[None], mean[None]))


def _add_carried(
    node: Any, name: str, above: np.ndarray, tetrahedra: np.ndarray, points: np.ndarray
) -> Any:
    """Add a child with points, each mapped from a tetrahedron of nodes of the state above.

    The tetrahedra are in a separate node: a state with a single point would take its positions
    from a topology in the same node.
    """
    carriers = node.addChild(f"carriers_of_{name}")
    carriers.addObject(
        "MeshTopology", name="mesh", position=above.tolist(), tetrahedra=tetrahedra.tolist()
    )
    child = node.addChild(name)
    child.addObject("MechanicalObject", name="dofs", position=points.tolist())
    child.addObject("BarycentricMapping", input_topology=f"@../carriers_of_{name}/mesh")
    return child


def _parts(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return four parts of a body: nodes of each, (4, 4), and the mean of each, (4, 3).

    In symmetric bodies several nodes are equally far: the first of them is taken, regardless of
    rounding, so that every backend and processor takes the same ones.
    """
    nearest = _first_largest(_whiten(positions) @ _CORNERS.T)
    carriers = np.empty((4, 4), dtype=int)
    centres = np.empty((4, 3))
    for part in range(4):
        (nodes,) = np.nonzero(nearest == part)
        centres[part] = positions[nodes].mean(axis=0)
        carriers[part] = nodes[_extreme(positions[nodes])]
    _check(positions[carriers[:, 1:]] - positions[carriers[:, :1]])
    _check((centres[1:] - centres[0])[None])
    return carriers, centres


def _whiten(points: np.ndarray) -> np.ndarray:
    """Return points about their mean, scaled to unit variance along their principal axes.

    They are not rotated to the axes, which for two equal variances depend on rounding.
    """
    offsets = points - points.mean(axis=0)
    _, size, axes = np.linalg.svd(offsets, full_matrices=False)
    return offsets @ (axes.T / np.maximum(size, 1e-9 * size[0])) @ axes * np.sqrt(len(points))


def _first_largest(scores: np.ndarray) -> np.ndarray:
    """Return the index of the largest score of each row, the first one that is nearly as large."""
    largest = scores.max(axis=-1, keepdims=True)
    return np.argmax(scores >= largest - SCORE_TOLERANCE, axis=-1)


def _extreme(points: np.ndarray) -> np.ndarray:
    """Return four points that span a large volume, each far from the mean and earlier points."""
    offsets = _whiten(points)
    nodes = [int(_first_largest((offsets**2).sum(axis=1)))]
    remaining = offsets - offsets[nodes[0]]
    for _ in range(3):
        nodes.append(int(_first_largest((remaining**2).sum(axis=1))))
        direction = remaining[nodes[-1]] / max(np.linalg.norm(remaining[nodes[-1]]), 1e-300)
        remaining = remaining - np.outer(remaining @ direction, direction)
    return np.array(nodes)


def _check(edges: np.ndarray) -> None:
    """Raise SceneError unless each tetrahedron's three edges, shape (k, 3, 3), span a volume."""
    lengths = np.linalg.norm(edges, axis=2)
    if (np.abs(np.linalg.det(edges)) < 1e-6 * lengths.prod(axis=1)).any():
        raise SceneError("The nodes lie in a plane: the centre of a body needs a volume around it.")
