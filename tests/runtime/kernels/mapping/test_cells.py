import itertools
from collections import defaultdict

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.mapping.barycentric import nearest_in_cells


def rule(point, x, elements, side):
    """SOFA's rule, with its table of cells; the first element wins a tie."""
    table = defaultdict(list)
    for e, element in enumerate(elements):
        ends = np.floor([x[element].min(axis=0) / side, x[element].max(axis=0) / side]).astype(int)
        for cell in itertools.product(*(range(a, b + 1) for a, b in ends.T.tolist())):
            table[cell].append(e)
    cell = np.floor(point / side).astype(int).tolist()
    nearest, least = None, np.inf
    for step in [(0, 0, 0), *itertools.product((-1, 0, 1), repeat=3)]:
        for e in table[tuple(i + j for i, j in zip(cell, step, strict=True))]:
            square = np.sum((point - x[elements[e]].mean(axis=0)) ** 2)
            if square < least:
                nearest, least = e, square
        if nearest is None or (step == (0, 0, 0) and least <= side / 2.0):
            return nearest
    return nearest


@pytest.mark.parametrize("size", [0.2, 5.0])
def test_the_nearest_of_the_cell_is_taken_and_of_the_cells_around_it_where_that_is_far(size):
    """Long and short tetrahedra; in a mesh of size 5 squares exceed half of a side."""
    random = np.random.default_rng(4)
    x = (random.uniform(0, 1, (30, 1, 3)) + random.uniform(0, 0.3, (30, 4, 3))).reshape(-1, 3)
    x[::4, 2] += 0.7
    x *= size
    elements = np.arange(120).reshape(30, 4)
    edges = elements[:, :2]
    side = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1).mean()
    points = size * random.uniform(-0.3, 1.6, (60, 3))
    outside = np.arange(60) % 10 > 0
    expected = {k: rule(points[k], x, elements, side) for k in np.flatnonzero(outside)}
    assert dict(nearest_in_cells(points, outside, x, elements, edges)) == {
        k: e for k, e in expected.items() if e is not None
    }
    assert None in expected.values()
