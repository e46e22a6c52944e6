"""Tetrahedra on grids of cells, split so that a mirrored grid has the mirrored split."""

import itertools

import numpy as np
from make import Mesh

SPLITS = (
    ((0, 1, 3, 5), (0, 3, 2, 6), (0, 5, 4, 6), (3, 6, 5, 7), (0, 3, 5, 6)),
    ((1, 0, 4, 2), (1, 2, 7, 3), (1, 7, 4, 5), (2, 4, 7, 6), (1, 4, 2, 7)),
)
"""Five tetrahedra of a cell, for cells of even and odd number: corners by the bits of i, j, k."""


def grid_tetrahedra(counts: tuple[int, int, int], *, closed: bool = False) -> np.ndarray:
    """Five tetrahedra for each cell of a grid.

    Args:
        counts: Nodes along i, j, k; node (i, j, k) has the number (i counts[1] + j) counts[2] + k.
        closed: Whether the last node along i is followed by the first.

    Returns:
        Node numbers, shape (m, 4).
    """
    n_i, n_j, n_k = counts
    tetrahedra = []
    cells = range(n_i if closed else n_i - 1), range(n_j - 1), range(n_k - 1)
    for i, j, k in itertools.product(*cells):
        corners = [
            (((i + a) % n_i) * n_j + j + b) * n_k + k + c
            for a, b, c in itertools.product((0, 1), repeat=3)
        ]
        for split in SPLITS[(i + j + k) % 2]:
            tetrahedra.append([corners[number] for number in split])
    return np.array(tetrahedra)


def orient(points: np.ndarray, tetrahedra: np.ndarray) -> Mesh:
    """The mesh with positive volumes."""
    a, b, c, d = (points[tetrahedra[:, k]] for k in range(4))
    negative = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0
    turned = np.where(negative[:, None], tetrahedra[:, [1, 0, 2, 3]], tetrahedra)
    return Mesh(points, turned)
