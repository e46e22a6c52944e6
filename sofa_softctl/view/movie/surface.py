"""Surfaces for display: of tetrahedral meshes, and of spheres."""

from __future__ import annotations

import numpy as np

FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
"""Corners of each face of a tetrahedron of positive volume, counterclockwise from outside."""


def surface_triangles(tetrahedra: np.ndarray, positions: np.ndarray | None = None) -> np.ndarray:
    """Return the faces of one tetrahedron only, counterclockwise seen from outside.

    Args:
        tetrahedra: Vertex numbers, shape (m, 4).
        positions: Vertices [length], shape (n, 3). Used to reorder tetrahedra of negative
            volume; without them, all volumes are taken as positive.

    Returns:
        Vertex numbers, shape (k, 3), in the order of the tetrahedra.

    Raises:
        ValueError: not four vertices per tetrahedron, or a vertex without a position.
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
    """Return the tetrahedra, with two corners exchanged if their volume is negative."""
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


def balls(centres: np.ndarray, radii: np.ndarray, rounds: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the surfaces of moving balls as one mesh.

    Args:
        centres: Centre of each ball in each frame [length], shape (n_frames, n, 3).
        radii: Radius of each ball [length], shape (n,).
        rounds: Number of subdivisions of an icosahedron's faces into four.

    Returns:
        Vertices in each frame, shape (n_frames, n m, 3), and triangles, shape (n k, 3).
    """
    ball, triangles = unit_ball(rounds)
    shells = radii[:, None, None] * ball  # (n, m, 3)
    points = (centres[:, :, None, :] + shells).reshape(len(centres), -1, 3)
    offsets = len(ball) * np.arange(len(radii))[:, None, None]
    return points, (triangles + offsets).reshape(-1, 3)


def unit_ball(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points on the unit sphere and outward triangles."""
    golden = (1.0 + 5.0**0.5) / 2.0
    corners = [(0.0, s, t * golden) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    points = np.array([np.roll(corner, shift) for shift in range(3) for corner in corners])
    points /= np.linalg.norm(points[0])
    edge = np.linalg.norm(points[:, None] - points[None], axis=2)
    is_edge = (edge > 0.0) & (edge < 1.2)
    triangles = [
        (a, b, c)
        for a in range(12)
        for b in range(a + 1, 12)
        for c in range(b + 1, 12)
        if is_edge[a, b] and is_edge[b, c] and is_edge[a, c]
    ]
    faces = np.array(triangles)
    inward = np.linalg.det(points[faces]) < 0.0
    faces[inward] = faces[inward][:, [0, 2, 1]]
    for _ in range(rounds):
        points, faces = _subdivide_faces(points, faces)
    return points, faces


def _subdivide_faces(points: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide each face into four, with new points on the unit sphere."""
    pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    edges, number = np.unique(pairs, axis=0, return_inverse=True)
    middle = points[edges].sum(axis=1)
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    ab, bc, ca = number.reshape(3, -1) + len(points)
    a, b, c = faces.T
    parts = [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    return np.concatenate([points, middle]), np.concatenate([np.stack(p, axis=1) for p in parts])
