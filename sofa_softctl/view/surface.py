"""The outer surface of a mesh of tetrahedra."""

from __future__ import annotations

import numpy as np

FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
"""Corners of each face of a tetrahedron of positive volume, counterclockwise from outside."""


def surface_triangles(tetrahedra: np.ndarray, positions: np.ndarray | None = None) -> np.ndarray:
    """Faces that belong to one tetrahedron only, counterclockwise seen from outside.

    Args:
        tetrahedra: Vertex numbers, shape (m, 4).
        positions: Vertices [length], shape (n, 3). Tetrahedra of negative volume are turned with
            them; without them every volume is taken to be positive.

    Returns:
        Vertex numbers, shape (k, 3), in the order of the tetrahedra.

    Raises:
        ValueError: not four vertices a tetrahedron, or a vertex that has no position.
    """
    tetrahedra = np.asarray(tetrahedra)
    if tetrahedra.ndim != 2 or tetrahedra.shape[1] != 4:
        raise ValueError(f"Tetrahedra must have shape (m, 4). Got: {tetrahedra.shape}.")
    if positions is not None:
        tetrahedra = _with_positive_volume(tetrahedra, np.asarray(positions))
    faces = tetrahedra[:, FACES].reshape(-1, 3)  # (4 m, 3)
    if not len(faces):
        return faces
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return faces[np.sort(first[count == 1])]


def _with_positive_volume(tetrahedra: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """The same tetrahedra; those of negative volume with two corners exchanged."""
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"Positions must have shape (n, 3). Got: {positions.shape}.")
    if tetrahedra.size and not 0 <= tetrahedra.min() <= tetrahedra.max() < len(positions):
        raise ValueError(
            f"Tetrahedra name vertices {tetrahedra.min()} to {tetrahedra.max()}, "
            f"but there are {len(positions)} positions."
        )
    origin, a, b, c = (positions[tetrahedra[:, i]] for i in range(4))  # (m, 3) each
    volume = np.einsum("ij,ij->i", np.cross(a - origin, b - origin), c - origin)  # (m,), times 6
    return np.where((volume < 0.0)[:, None], tetrahedra[:, [0, 2, 1, 3]], tetrahedra)
