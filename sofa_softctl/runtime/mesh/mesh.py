"""Mesh: points and elements, in the order of the file."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from sofa_softctl.runtime.mesh.rotation import rotation_zyx

ELEMENTS = {"edges": 2, "triangles": 3, "quads": 4, "tetrahedra": 4, "hexahedra": 8}
"""Number of vertices of each kind of element, by SOFA's names."""
TETRAHEDRON_EDGES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
"""Edges of a tetrahedron; their middles count as its corners 4 to 9."""
WIDTHS = {"positions": 3, **ELEMENTS, "middles": len(TETRAHEDRON_EDGES)}
"""Number of columns of each array."""


def _no_elements(size: int) -> np.ndarray:
    return np.empty((0, size), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points and elements; the arrays are read-only."""

    positions: np.ndarray
    """Coordinates of the points [scene length], shape (n, 3)."""
    edges: np.ndarray = field(default_factory=lambda: _no_elements(2))
    """Point indices of each edge, shape (k, 2)."""
    triangles: np.ndarray = field(default_factory=lambda: _no_elements(3))
    """Point indices of each triangle, wound as in the file, shape (k, 3)."""
    quads: np.ndarray = field(default_factory=lambda: _no_elements(4))
    """Point indices of each quad, shape (k, 4)."""
    tetrahedra: np.ndarray = field(default_factory=lambda: _no_elements(4))
    """Point indices of each tetrahedron, shape (k, 4)."""
    hexahedra: np.ndarray = field(default_factory=lambda: _no_elements(8))
    """Point indices of each hexahedron in VTK's order, shape (k, 8)."""
    middles: np.ndarray = field(default_factory=lambda: _no_elements(6))
    """Points in the middle of TETRAHEDRON_EDGES of each tetrahedron, -1 for one of 4 nodes, shape
    (k, 6); no rows if all have 4 nodes."""

    def __post_init__(self) -> None:
        for item in fields(self):
            size = WIDTHS[item.name]
            dtype = np.float64 if item.name == "positions" else np.int64
            array = np.array(getattr(self, item.name), dtype=dtype, order="C")
            if array.size == 0:
                array = array.reshape(0, size)
            if array.ndim != 2 or array.shape[1] != size:
                raise ValueError(
                    f"{item.name} of a mesh must have shape (k, {size}). Got: {array.shape}"
                )
            array.setflags(write=False)
            object.__setattr__(self, item.name, array)

    def __repr__(self) -> str:
        counts = (f"{len(getattr(self, item.name))} {item.name}" for item in fields(self))
        return f"Mesh({', '.join(count for count in counts if not count.startswith('0 '))})"

    def transformed(
        self,
        scale3d: tuple[float, float, float] | np.ndarray = (1.0, 1.0, 1.0),
        rotation_degrees: tuple[float, float, float] | np.ndarray = (0.0, 0.0, 0.0),
        translation: tuple[float, float, float] | np.ndarray = (0.0, 0.0, 0.0),
    ) -> Mesh:
        """Return the mesh scaled, then rotated, then translated.

        Args:
            scale3d: Factor along each axis.
            rotation_degrees: Angles about x, y and z [degrees]; the rotation is Rz Ry Rx.
            translation: Displacement [scene length].

        Returns:
            A mesh with x' = Rz Ry Rx diag(scale3d) x + translation. A mirroring scale leaves the
            winding as it is.
        """
        matrix = rotation_zyx(rotation_degrees) * np.asarray(scale3d, dtype=np.float64)
        return self.mapped(matrix, np.asarray(translation, dtype=np.float64))

    def mapped(self, matrix: np.ndarray, translation: np.ndarray) -> Mesh:
        """Return the mesh with x' = matrix x + translation, shapes (3, 3) and (3,)."""
        return replace(self, positions=times(matrix, self.positions) + translation)


def times(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the matrix (3, 3) times each point (..., 3), summed in the order of SOFA."""
    x, y, z = points[..., :1], points[..., 1:2], points[..., 2:]
    product: np.ndarray = x * matrix[:, 0] + y * matrix[:, 1] + z * matrix[:, 2]
    return product
