"""Edges, triangles and quads of elements, as SOFA lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sofa_softctl.runtime.helper.message import keeps_sofa_defects

EDGES_OF_TETRAHEDRON: list[tuple[int, ...]] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
FACES_OF_TETRAHEDRON = [(1, 2, 3), (0, 3, 2), (1, 3, 0), (0, 2, 1)]
"""SOFA's order; the normals point out of a tetrahedron of positive volume."""
EDGES_OF_TRIANGLE = [(1, 2), (2, 0), (0, 1)]
EDGES_OF_QUAD = [(1, 2), (2, 3), (3, 0), (0, 1)]
EDGES_OF_HEXAHEDRON = [
    (0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)
]  # fmt: skip
QUADS_OF_HEXAHEDRON = [
    (0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)
]  # fmt: skip


def unique_parts(elements: np.ndarray, parts: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return the distinct parts of the elements, in order of first appearance."""
    return first_of_each(elements[:, parts].reshape(-1, len(parts[0])))[0]


def first_of_each(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of (n, k), regardless of the order of numbers in a row.

    Returns:
        The first row of each kind, in order, shape (m, k), and the number of each kind, shape (m,).
    """
    _, first, counts = np.unique(
        np.sort(rows, axis=1), axis=0, return_index=True, return_counts=True
    )
    order = np.argsort(first)
    return rows[first[order]], counts[order]


def smallest_first(rows: np.ndarray) -> np.ndarray:
    """Rotate each row until its smallest number is first."""
    width = rows.shape[1]
    return np.take_along_axis(
        rows, (rows.argmin(axis=1)[:, None] + np.arange(width)) % width, axis=1
    )


def faces_of_tetrahedra(tetrahedra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct faces as in SOFA: of the first tetrahedron, smallest vertex first.

    Returns:
        Triangles (n, 3), and the number of tetrahedra of each (n,).
    """
    return first_of_each(smallest_first(tetrahedra[:, FACES_OF_TETRAHEDRON].reshape(-1, 3)))


def _listed_faces(tetrahedra: np.ndarray) -> np.ndarray:
    """Return the distinct faces (n, 3); SOFA repeats those that tetrahedra orient alike."""
    if not keeps_sofa_defects():
        return faces_of_tetrahedra(tetrahedra)[0]
    faces = smallest_first(tetrahedra[:, FACES_OF_TETRAHEDRON].reshape(-1, 3))
    _, first, kinds = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return faces[(faces == faces[first[kinds.ravel()]]).all(axis=1)]


def faces_of_hexahedra(hexahedra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct faces, quads (n, 4), and the number of hexahedra of each (n,)."""
    return first_of_each(smallest_first(hexahedra[:, QUADS_OF_HEXAHEDRON].reshape(-1, 4)))


def boundary_triangles(elements: np.ndarray) -> np.ndarray:
    """Return the faces of one element only, as SOFA lists them, shape (n, 3).

    Args:
        elements: Tetrahedra or hexahedra, whose faces are cut in two, shape (m, 4) or (m, 8).
    """
    if elements.shape[1] == 8:
        quads, counts = faces_of_hexahedra(elements)
        outer = quads[counts == 1]
        return np.concatenate([outer[:, [0, 1, 2]], outer[:, [0, 2, 3]]])
    triangles, counts = faces_of_tetrahedra(elements)
    return triangles[counts == 1]


def _sorted_edges(parts: Sequence[tuple[int, ...]]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda elements: np.sort(unique_parts(elements, parts), axis=1)


OWNERS: dict[str, list[dict[str, Callable[[np.ndarray], np.ndarray]]]] = {
    "quads": [{"hexahedra": lambda elements: faces_of_hexahedra(elements)[0]}],
    "triangles": [{"tetrahedra": _listed_faces}],
    "edges": [
        {
            "tetrahedra": _sorted_edges(EDGES_OF_TETRAHEDRON),
            "hexahedra": _sorted_edges(EDGES_OF_HEXAHEDRON),
        },
        {
            "triangles": lambda elements: unique_parts(elements, EDGES_OF_TRIANGLE),
            "quads": _sorted_edges(EDGES_OF_QUAD),
        },
    ],
}
"""SOFA's derivation of each kind, from the first group in which there are elements."""
