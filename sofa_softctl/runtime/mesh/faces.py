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
    """The mesh with the missing quads, triangles and edges of its elements, as SOFA adds them.

    New ones follow those of the mesh, each once whatever its direction, in the order of the
    elements they belong to: quads of hexahedra, triangles of tetrahedra, edges of quads, edges
    of triangles. MeshGmshLoader does this unless `createSubelements` is given.
    """
    quads = _extended(mesh.quads, mesh.hexahedra, HEXAHEDRON_QUADS)
    triangles = _extended(mesh.triangles, mesh.tetrahedra, TETRAHEDRON_TRIANGLES)
    edges = _extended(mesh.edges, quads, QUAD_EDGES)
    edges = _extended(edges, triangles, TRIANGLE_EDGES)
    return replace(mesh, edges=edges, triangles=triangles, quads=quads)


def attached(mesh: Mesh) -> Mesh:
    """The mesh without points that belong to no element; the others keep their order."""
    every = [getattr(mesh, kind) for kind in ELEMENTS]
    used = np.unique(np.concatenate([elements.ravel() for elements in every]))
    number = np.zeros(len(mesh.positions), dtype=np.int64)
    number[used] = np.arange(len(used))
    moved = {kind: number[elements] for kind, elements in zip(ELEMENTS, every, strict=True)}
    return replace(mesh, positions=mesh.positions[used], **moved)


def _extended(
    present: np.ndarray, owners: np.ndarray, corners: tuple[tuple[int, ...], ...]
) -> np.ndarray:
    """The elements present, then the new ones among the parts of their owners."""
    parts = owners[:, np.array(corners)].reshape(-1, present.shape[1])
    every = np.sort(np.concatenate([present, parts]), axis=1)
    _, first = np.unique(every, axis=0, return_index=True)
    new = np.sort(first[first >= len(present)]) - len(present)
    return np.concatenate([present, parts[new]])


def vertex_normals(
    positions: np.ndarray, triangles: np.ndarray, quads: np.ndarray, *, by_angle: bool = False
) -> np.ndarray:
    """Sum of the unit normals of the faces around each vertex, at length 1, shape (n, 3).

    A face counts at each corner with the normal of its two sides there. Zero where there is no
    face, as in SOFA. By angle SOFA divides the normal at a quad's last corner by the length of that
    at the third; so does this function.

    Args:
        positions: Shape (n, 3).
        triangles: Shape (t, 3).
        quads: Shape (q, 4).
        by_angle: Weigh each by the angle between the two sides.
    """
    sums = np.zeros_like(positions)
    for faces in (triangles, quads):
        width = faces.shape[1]
        for k in range(width):
            here, after, before = (positions[faces[:, (k + step) % width]] for step in (0, 1, -1))
            ahead, back = after - here, before - here
            normal = np.cross(ahead, back)
            if not (by_angle and k == 3):
                length = np.linalg.norm(normal, axis=1, keepdims=True)
            normal /= np.where(length > 0.0, length, 1.0)
            if by_angle:
                cosine = np.einsum("fi,fi->f", unit_vectors(ahead), unit_vectors(back))
                normal *= np.arccos(np.clip(cosine, -1.0, 1.0))[:, None]
            np.add.at(sums, faces[:, k], normal)
    return unit_vectors(sums)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Vectors at length 1, shape (n, 3); zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: np.ndarray = vectors / np.where(lengths > 0.0, lengths, 1.0)
    return unit
