"""Effectors of inverse control: nodes of a state, or the centre of a body."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError

AXES = ("x", "y", "z")
TURN = np.radians(20.0)
"""Angle by which the tetrahedron is turned about z [rad].

Many bodies are symmetric to the axes; without it a node in a plane of symmetry would be as near to
one corner as to another.
"""
_CORNERS = np.array(
    [
        (np.sqrt(2.0) * np.cos(angle), np.sqrt(2.0) * np.sin(angle), z)
        for angle, z in zip(
            TURN + np.radians([45.0, -45.0, 135.0, 225.0]), (1, -1, -1, 1), strict=True
        )
    ]
) / np.sqrt(3.0)
"""Directions of the corners of a regular tetrahedron."""
TIE = 1e-9
"""Difference of two scores [1] that rounding may make: their size is about 1."""


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
            useDirections=[int(axis == other) for other in AXES],
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
    """A child with points, each mapped from a tetrahedron of nodes of the state above.

    The tetrahedra stand in a node beside it, as a state with a single point takes its positions
    from a topology of its own node.
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
    """Four parts of a body: nodes of each, (4, 4), and the mean of each, (4, 3).

    Bodies are symmetric, so many nodes are equally far: the first of them is taken, whatever
    rounding says, so that every backend and processor takes the same ones.
    """
    nearest = _first_largest(_whitened(positions) @ _CORNERS.T)
    carriers = np.empty((4, 4), dtype=int)
    centres = np.empty((4, 3))
    for part in range(4):
        (nodes,) = np.nonzero(nearest == part)
        centres[part] = positions[nodes].mean(axis=0)
        carriers[part] = nodes[_extreme(positions[nodes])]
    _check(positions[carriers[:, 1:]] - positions[carriers[:, :1]])
    _check((centres[1:] - centres[0])[None])
    return carriers, centres


def _whitened(points: np.ndarray) -> np.ndarray:
    """Points about their mean, scaled to unit variance along their principal axes.

    The axes themselves stay: which ones two equal variances have depends on rounding.
    """
    offsets = points - points.mean(axis=0)
    _, size, axes = np.linalg.svd(offsets, full_matrices=False)
    return offsets @ (axes.T / np.maximum(size, 1e-9 * size[0])) @ axes * np.sqrt(len(points))


def _first_largest(scores: np.ndarray) -> np.ndarray:
    """Return the index of the largest score of each row, the first one that is nearly as large."""
    largest = scores.max(axis=-1, keepdims=True)
    return np.argmax(scores >= largest - TIE, axis=-1)


def _extreme(points: np.ndarray) -> np.ndarray:
    """Four points that span a large volume: each the furthest from the mean and those before."""
    offsets = _whitened(points)
    nodes = [int(_first_largest((offsets**2).sum(axis=1)))]
    rest = offsets - offsets[nodes[0]]
    for _ in range(3):
        nodes.append(int(_first_largest((rest**2).sum(axis=1))))
        direction = rest[nodes[-1]] / max(np.linalg.norm(rest[nodes[-1]]), 1e-300)
        rest = rest - np.outer(rest @ direction, direction)
    return np.array(nodes)


def _check(edges: np.ndarray) -> None:
    """SceneError unless the three edges of each tetrahedron, shape (k, 3, 3), span a volume."""
    lengths = np.linalg.norm(edges, axis=2)
    if (np.abs(np.linalg.det(edges)) < 1e-6 * lengths.prod(axis=1)).any():
        raise SceneError("The nodes lie in a plane: the centre of a body needs a volume around it.")
