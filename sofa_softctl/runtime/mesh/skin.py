"""Surface of a mesh: gaps, winding and enclosed volume."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.runtime.mesh.checks import signed_volumes, volumes
from sofa_softctl.runtime.mesh.faces import TETRAHEDRON_TRIANGLES, TRIANGLE_EDGES
from sofa_softctl.runtime.mesh.mesh import Mesh

OPPOSITE_CORNERS = (3, 2, 1, 0)
"""Corner of a tetrahedron opposite to each of its TETRAHEDRON_TRIANGLES."""


@dataclass(frozen=True, eq=False)
class Skin:
    """Triangles, and the faults of the surface that they form."""

    triangles: np.ndarray
    """Point indices, shape (k, 3)."""
    open_edges: int
    """Edges of one triangle only: a hole, or points that are not merged."""
    crowded_edges: int
    """Edges of three and more triangles: the surface branches, or bodies touch along a line."""
    twisted_edges: int
    """Edges whose two triangles are wound against each other."""
    volume: float
    """Enclosed volume [scene length^3], positive where triangles are wound outwards."""

    @property
    def is_closed(self) -> bool:
        """Return True if the surface bounds a body and is wound consistently."""
        return not (self.open_edges or self.crowded_edges or self.twisted_edges)


def skin_of(mesh: Mesh) -> Skin:
    """Return the faces of one tetrahedron only, wound outwards; without tetrahedra, the surface.

    Args:
        mesh: The mesh; each quad of a surface counts as two triangles.
    """
    if len(mesh.tetrahedra):
        return measure_skin(mesh.positions, _boundary(mesh))
    halves = np.concatenate([mesh.quads[:, [0, 1, 2]], mesh.quads[:, [0, 2, 3]]])
    return measure_skin(mesh.positions, np.concatenate([mesh.triangles, halves]))


def measure_skin(positions: np.ndarray, triangles: np.ndarray) -> Skin:
    """Return triangles of shape (k, 3) with the faults of their surface."""
    directed = triangles[:, np.array(TRIANGLE_EDGES)].reshape(-1, 2)
    _, edge, count = np.unique(rows_as_keys(directed), return_inverse=True, return_counts=True)
    rising = np.bincount(edge.ravel(), directed[:, 0] < directed[:, 1], minlength=len(count))
    a, b, c = np.moveaxis((positions - positions[:1])[triangles], 1, 0)  # (k, 3) each
    return Skin(
        triangles=triangles,
        open_edges=int((count == 1).sum()),
        crowded_edges=int((count > 2).sum()),
        twisted_edges=int(((count == 2) & (rising != 1)).sum()),
        volume=float(np.einsum("ki,ki->", a, np.cross(b, c)) / 6.0),
    )


def rows_as_keys(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row of point indices, the same for the same points, shape (k,).

    Numbers are ordered as the sorted rows are; they are many times faster to compare than rows.
    """
    ordered = np.sort(rows, axis=1)
    base = int(ordered.max(initial=0)) + 1
    if base ** rows.shape[1] >= 2**63:
        return np.unique(ordered, axis=0, return_inverse=True)[1].ravel()
    powers = base ** np.arange(rows.shape[1] - 1, -1, -1)
    return np.asarray(ordered.astype(np.int64, copy=False) @ powers)


def overlaps(mesh: Mesh) -> int:
    """Return the number of faces with both tetrahedra on one side, or with more than two."""
    faces, opposite = _faces(mesh.tetrahedra)
    keys = rows_as_keys(faces)
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    count = np.diff(starts, append=len(keys))
    first, second = order[starts[count == 2]], order[starts[count == 2] + 1]
    # A tetrahedron has the sign of its height above each of its faces.
    sign = np.repeat(volumes(mesh), 4)[first]
    across = np.column_stack([opposite[second], faces[first]])
    same_side = sign * signed_volumes(mesh.positions, across) > 0.0
    return int(same_side.sum() + (count > 2).sum())


def _boundary(mesh: Mesh) -> np.ndarray:
    rows = mesh.tetrahedra.copy()
    is_inverted = volumes(mesh) < 0.0
    rows[is_inverted] = rows[is_inverted][:, [1, 0, 2, 3]]
    faces, _ = _faces(rows)
    _, first, count = np.unique(rows_as_keys(faces), return_index=True, return_counts=True)
    return faces[np.sort(first[count == 1])]


def _faces(tetrahedra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the four faces of each tetrahedron (4k, 3), and the opposite points (4k,)."""
    faces = tetrahedra[:, np.array(TETRAHEDRON_TRIANGLES)].reshape(-1, 3)
    return faces, tetrahedra[:, OPPOSITE_CORNERS].ravel()
