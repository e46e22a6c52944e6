"""Faces and edges of elements, `createSubelements` of SOFA's loaders; their normals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sofa_softctl.runtime.mesh.mesh import ELEMENTS, Mesh

# Wound so that the normals point outwards, in the order in which SOFA lists them.
HEXAHEDRON_QUADS = (
    (0, 3, 2, 1),
    (4, 5, 6, 7),
    (0, 1, 5, 4),
    (1, 2, 6, 5),
    (2, 3, 7, 6),
    (3, 0, 4, 7),
)
TETRAHEDRON_TRIANGLES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
QUAD_EDGES = ((1, 2), (2, 3), (3, 0), (0, 1))
TRIANGLE_EDGES = ((1, 2), (2, 0), (0, 1))


def with_subelements(mesh: Mesh) -> Mesh:
    """Add the missing quads, triangles and edges of the elements, as SOFA adds them.

    New ones follow the present ones, each once in any direction, in the order of the elements
    they belong to: quads of hexahedra, triangles of tetrahedra, edges of quads, edges
    of triangles. MeshGmshLoader does this unless `createSubelements` is given.
    """
    quads = _add_parts(mesh.quads, mesh.hexahedra, HEXAHEDRON_QUADS)
    triangles = _add_parts(mesh.triangles, mesh.tetrahedra, TETRAHEDRON_TRIANGLES)
    edges = _add_parts(mesh.edges, quads, QUAD_EDGES)
    edges = _add_parts(edges, triangles, TRIANGLE_EDGES)
    return replace(mesh, edges=edges, triangles=triangles, quads=quads)


def without_free_points(mesh: Mesh) -> Mesh:
    """Return the mesh without points that belong to no element; the others keep their order."""
    groups = [getattr(mesh, kind) for kind in ELEMENTS]
    used = np.unique(np.concatenate([elements.ravel() for elements in groups]))
    number = np.zeros(len(mesh.positions), dtype=np.int64)
    number[used] = np.arange(len(used))
    numbered = {kind: number[elements] for kind, elements in zip(ELEMENTS, groups, strict=True)}
    return replace(mesh, positions=mesh.positions[used], **numbered)


def _add_parts(
    present: np.ndarray, owners: np.ndarray, corners: tuple[tuple[int, ...], ...]
) -> np.ndarray:
    """Return the elements present, then the new ones among the parts of their owners."""
    parts = owners[:, np.array(corners)].reshape(-1, present.shape[1])
    candidates = np.sort(np.concatenate([present, parts]), axis=1)
    _, first = np.unique(candidates, axis=0, return_index=True)
    new = np.sort(first[first >= len(present)]) - len(present)
    return np.concatenate([present, parts[new]])


def vertex_normals(
    positions: np.ndarray, triangles: np.ndarray, quads: np.ndarray, *, by_angle: bool = False
) -> np.ndarray:
    """Return the sum of the unit normals of the faces around each vertex at length 1, shape (n, 3).

    A face counts at each corner with the normal of its two sides there. Vertices without a face
    get zero, as in SOFA. By angle SOFA divides the normal at a quad's last corner by the length
    of the normal at the third; so does this function.

    Args:
        positions: Positions of the vertices, shape (n, 3).
        triangles: Vertices of the triangles, shape (t, 3).
        quads: Vertices of the quads, shape (q, 4).
        by_angle: Weigh each normal by the angle between the two sides.
    """
    sums = np.zeros_like(positions)
    for faces in (triangles, quads):
        width = faces.shape[1]
        for k in range(width):
            x, x_next, x_last = (positions[faces[:, (k + step) % width]] for step in (0, 1, -1))
            u, v = x_next - x, x_last - x
            normal = np.cross(u, v)
            if not (by_angle and k == 3):
                length = np.linalg.norm(normal, axis=1, keepdims=True)
            normal /= np.where(length > 0.0, length, 1.0)
            if by_angle:
                cosine = np.einsum("fi,fi->f", unit_vectors(u), unit_vectors(v))
                normal *= np.arccos(np.clip(cosine, -1.0, 1.0))[:, None]
            np.add.at(sums, faces[:, k], normal)
    return unit_vectors(sums)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors at length 1, shape (n, 3); zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.where(lengths > 0.0, lengths, 1.0)
    return unit
