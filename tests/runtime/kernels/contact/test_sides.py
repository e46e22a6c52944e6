import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from sofa_softctl.runtime.kernels.contact.inside import depths
from sofa_softctl.runtime.kernels.contact.sides import crossings, heights, rims

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))  # number = 4 x + 2 y + z
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])
SHEET = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def every_pair(triangles, others):
    """All triangles with all others, shape (p, 2)."""
    return np.array(list(itertools.product(range(len(triangles)), range(len(others)))))


def signed(points, x, triangles):
    return heights(points, x, triangles, *rims(triangles), every_pair(triangles, points), 1e-9)


def test_heights_over_a_cube_are_negative_inside():
    """Distance to the nearest point of the cube's surface; the nearest is a face, an edge and a
    corner among these points."""
    points = np.random.default_rng(2).uniform(-1.0, 2.0, (500, 3))
    outside = np.linalg.norm(points - points.clip(0.0, 1.0), axis=1)
    inside = np.minimum(points, 1.0 - points).min(axis=1)
    expected = np.where(outside > 0.0, outside, -inside)
    beside = ((points < 0.0) | (points > 1.0)).sum(axis=1)
    assert {1, 2, 3} <= set(beside.tolist()) and (outside == 0.0).any()
    assert signed(points, CORNERS, CUBE) == pytest.approx(expected, abs=1e-12)


def test_signs_of_heights_over_a_spiky_ball_are_those_of_solid_angles():
    """Spikes and hollows: at many corners some triangles face the point and others do not."""
    random = np.random.default_rng(5)
    x = random.normal(size=(60, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    triangles = ConvexHull(x).simplices.astype(np.int64)
    a, b, c = (x[triangles[:, k]] for k in range(3))
    turned = np.einsum("ij,ij->i", np.cross(a, b), c) < 0.0
    triangles[turned] = triangles[turned][:, ::-1]
    x = x * random.uniform(0.3, 1.5, (60, 1))
    points = random.uniform(-1.5, 1.5, (4000, 3))
    inside = depths(points, x, triangles) > 0.0
    assert 100 < np.count_nonzero(inside) < 3000
    assert ((signed(points, x, triangles) < 0.0) == inside).all()


def test_points_beside_an_open_surface_have_no_height():
    """Above and below the sheet: z. Beyond its border: nan. On it, also on its border: 0."""
    points = np.array(
        [[0.5, 1.2, 0.3], [1.0, 1.0, -0.4], [3.0, 1.0, -0.1], [1.5, 0.2, 0.0], [2.0, 1.0, 0.0]]
    )
    found = signed(points, SHEET, HALVES)
    assert found == pytest.approx([0.3, -0.4, np.nan, 0.0, 0.0], nan_ok=True, abs=1e-12)


def test_a_point_without_triangles_near_has_no_height():
    found = heights(
        np.zeros((1, 3)), SHEET, HALVES, *rims(HALVES), np.empty((0, 2), np.int64), 1e-9
    )
    assert np.isnan(found).all()


def test_the_rim_of_two_triangles_is_all_but_their_diagonal():
    edges, corners = rims(HALVES)
    assert edges.tolist() == [[True, True, False], [False, True, True]]
    assert corners.all()
    assert not rims(CUBE)[0].any() and not rims(CUBE)[1].any()


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ([0.5, 1.5, 1.0], [0.5, 1.5, -1.0], 2),
        ([0.5, 1.5, -1.0], [0.5, 1.5, 1.0], 1),
        ([1.0, 1.0, 1.0], [1.0, 1.0, -1.0], 2),  # through the diagonal
        ([0.5, 1.5, 1.0], [0.5, 1.5, 0.5], 0),
        ([0.5, 1.5, 1.0], [0.5, 1.5, 0.0], 0),  # ends on it
        ([0.0, 0.5, 0.0], [2.0, 0.5, 0.0], 0),  # lies in it
        ([3.0, 1.0, 1.0], [3.0, 1.0, -1.0], 0),  # beside it
    ],
)
def test_an_edge_goes_through_a_sheet_or_not(start, end, expected):
    points, edges = np.array([start, end]), np.array([[0, 1]])
    found = crossings(points, edges, SHEET, HALVES, every_pair(HALVES, edges), 1e-9)
    assert found.max() == expected
