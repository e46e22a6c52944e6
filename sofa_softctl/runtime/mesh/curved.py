"""Meshes of 10-node tetrahedra: made from 4-node ones, and curved along a surface."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.runtime.mesh.mesh import TETRAHEDRON_EDGES, Mesh
from sofa_softctl.runtime.mesh.quadratic import (
    MIDDLE_OFFSET_MAX,
    describe_far_middles,
    describe_folds,
    middle_offsets,
    quadratic_jacobians,
)
from sofa_softctl.runtime.mesh.skin import skin_of
from sofa_softctl.runtime.mesh.split import quadratic_nodes, split, split_edges


@dataclass(frozen=True, eq=False)
class CurvedMesh:
    """10-node tetrahedra whose middle nodes on the skin follow a surface."""

    mesh: Mesh
    """Tetrahedra with their middles."""
    moved: int
    """Number of middle nodes on the surface now."""
    distant: int
    """Number of middle nodes that stay: an end of their edge does not lie on the surface."""
    refused: int
    """Number that stay: moved, they would fold an element, or be far from the middle."""
    offset_max: float
    """Greatest distance of a middle node from the middle of its edge, over the edge [-]."""


def quadratic_mesh(mesh: Mesh) -> Mesh:
    """Return the tetrahedra of a mesh with 10 nodes each, those of the mesh where it has them.

    Points keep their numbers; new ones are in the middle of edges.

    Args:
        mesh: Tetrahedra that `check_tetrahedra` has checked.

    Raises:
        MeshError: There are hexahedra, the tetrahedra are eighths of 10-node ones already, or
            middle nodes are far from the middle or fold an element.
    """
    if quadratic_nodes(mesh.tetrahedra) is not None:
        raise MeshError(
            f"The mesh is in eighths of {len(mesh.tetrahedra) // 8} 10-node tetrahedra already: "
            "use it with quadratic=True."
        )
    linear = Mesh(
        mesh.positions,
        tetrahedra=mesh.tetrahedra,
        hexahedra=mesh.hexahedra,
        middles=mesh.middles,
    )
    parts = split(linear)
    nodes = quadratic_nodes(parts.tetrahedra)
    assert nodes is not None
    x = parts.positions
    jacobians = np.linalg.det(quadratic_jacobians(x, nodes))
    folds = describe_folds(x, nodes, jacobians, "10-node tetrahedron")
    if problem := describe_far_middles(x, nodes) or folds:
        raise MeshError(f"The mesh {problem}")
    return replace(linear, positions=x, middles=nodes[:, 4:])


def curve(mesh: Mesh, surface: Mesh, *, tolerance: float, movable: np.ndarray) -> CurvedMesh:
    """Return a mesh with middle nodes on the skin moved to the nearest point of a surface.

    A node stays in place if an end of its edge is off the surface, and if it, or an element at it,
    becomes unsound: more than MIDDLE_OFFSET_MAX from the middle, a Jacobian that changes sign at
    an integration point, or an eighth that is turned inside out.

    Args:
        mesh: From `quadratic_mesh`.
        surface: Triangles, quads, or tetrahedra whose surface counts.
        tolerance: Distance of an edge's ends from the surface up to which they lie on it, over the
            length of the edge [-].
        movable: Numbers of the middle nodes that may move.

    Raises:
        MeshError: The surface has no triangle with an area.
    """
    node, ends = _skin_middles(mesh)
    is_movable = np.isin(node, movable)
    node, ends = node[is_movable], ends[is_movable]
    x = mesh.positions.copy()
    triangles = _triangles_with_area(surface)
    is_on = _are_on_surface(x, ends, surface.positions, triangles, tolerance)
    node = node[is_on]
    x[node] = _nearest_points(x[node], surface.positions, triangles)
    while (is_refused := _are_unsound(mesh, x)[node]).any():
        x[node[is_refused]] = mesh.positions[node[is_refused]]
        node = node[~is_refused]
    curved = replace(mesh, positions=x)
    offsets = middle_offsets(x, np.column_stack([mesh.tetrahedra, mesh.middles]))
    return CurvedMesh(
        mesh=curved,
        moved=len(node),
        distant=int((~is_on).sum()),
        refused=int(is_on.sum()) - len(node),
        offset_max=float(offsets.max()),
    )


def _skin_middles(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle nodes of edges on the skin, shape (k,), and the edges' ends, (k, 2)."""
    edges = split_edges(Mesh(mesh.positions, triangles=skin_of(mesh).triangles))
    ends = np.sort(mesh.tetrahedra[:, TETRAHEDRON_EDGES], axis=2).reshape(-1, 2)
    keys, first = np.unique(ends @ [len(mesh.positions), 1], return_index=True)
    place = np.searchsorted(keys, edges @ [len(mesh.positions), 1])
    return mesh.middles.ravel()[first[place]], edges


def _triangles_with_area(surface: Mesh) -> np.ndarray:
    triangles = skin_of(surface).triangles
    a, b, c = np.moveaxis(surface.positions[triangles], 1, 0)
    lengths = np.stack([np.linalg.norm(side, axis=1) for side in (b - a, c - b, a - c)])
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    has_area = areas > 1e-12 * lengths.max(axis=0, initial=0.0) ** 2
    if not has_area.any():
        raise MeshError("The surface has no triangles with an area: export it again.")
    return np.ascontiguousarray(triangles[has_area])


def _are_on_surface(
    x: np.ndarray, ends: np.ndarray, nodes: np.ndarray, triangles: np.ndarray, tolerance: float
) -> np.ndarray:
    corners, number = np.unique(ends, return_inverse=True)
    gap = np.linalg.norm(_nearest_points(x[corners], nodes, triangles) - x[corners], axis=1)
    length = np.linalg.norm(x[ends[:, 1]] - x[ends[:, 0]], axis=1)
    return np.asarray(gap[number.reshape(-1, 2)].max(axis=1, initial=0.0) <= tolerance * length)


def _nearest_points(points: np.ndarray, nodes: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    from sofa_softctl.runtime.kernels.contact.inside import nearest_points

    nearest: np.ndarray = nearest_points(np.ascontiguousarray(points), nodes, triangles)
    return nearest


def _are_unsound(mesh: Mesh, x: np.ndarray) -> np.ndarray:
    """Return True for the nodes of unsound elements, and for far middle nodes, shape (n,)."""
    nodes = np.column_stack([mesh.tetrahedra, mesh.middles])
    sign = np.sign(signed_volumes(mesh.positions, mesh.tetrahedra))[:, None]
    parts = signed_volumes(x, split(replace(mesh, positions=x)).tetrahedra).reshape(-1, 8)
    sizes = np.concatenate([np.linalg.det(quadratic_jacobians(x, nodes)), parts], axis=1)
    is_unsound = np.zeros(len(x), dtype=bool)
    is_unsound[nodes[(sizes * sign <= 0.0).any(axis=1)]] = True
    is_unsound[mesh.middles[middle_offsets(x, nodes) > MIDDLE_OFFSET_MAX]] = True
    return is_unsound
