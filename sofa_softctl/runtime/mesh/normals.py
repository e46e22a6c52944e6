"""Normals of vertices."""

from __future__ import annotations

import numpy as np


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
