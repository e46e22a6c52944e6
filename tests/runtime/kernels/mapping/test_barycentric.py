import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from sofa_softctl.runtime.kernels.mapping.barycentric import locate

TETRAHEDRON = np.vstack([np.zeros(3), np.eye(3)])


def cloud(seed=0):
    """Random points and the tetrahedra of their convex hull, slivers left out."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1.0, 1.0, (20, 3))
    elements = Delaunay(x).simplices.astype(np.int64)
    volumes = np.abs(np.linalg.det(x[elements[:, 1:]] - x[elements[:, :1]]))
    return x, elements[volumes > 1e-2]


def sheet(seed=0):
    """Random points of a plane z = 2 and the triangles of their convex hull."""
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, (12, 3))
    x[:, 2] = 2.0
    return x, Delaunay(x[:, :2]).simplices.astype(np.int64)


def find(points, x, elements):
    """Element and the weights of all its vertices, as the mapping makes them."""
    points = np.ascontiguousarray(points, dtype=float)
    best, inner = np.empty(len(points), np.int64), np.zeros((len(points), 3))
    locate(points, np.ascontiguousarray(x), np.ascontiguousarray(elements), best, inner)
    inner = inner[:, : elements.shape[1] - 1]
    return best, np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)


def carried(field, best, weights, elements):
    """The field of the vertices (n, 3), at the points that `find` placed."""
    return np.einsum("pa,paj->pj", weights, field[elements[best]])


numbers = st.floats(-5.0, 5.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)


@settings(deadline=None, max_examples=100)
@given(st.lists(vectors, min_size=1, max_size=5), st.lists(vectors, min_size=4, max_size=4))
def test_affine_fields_are_carried_exactly(points, affine):
    """sum_a w_a (B x_a + c) = B p + c for points inside and outside (extrapolated).

    Weights reach |p| / height = 1e2 in the flattest element, and so does the rounding.
    """
    x, elements = cloud()
    points, (c, *B) = np.array(points), np.array(affine)
    best, weights = find(points, x, elements)
    assert carried(x @ B + c, best, weights, elements) == pytest.approx(points @ B + c, abs=1e-10)


def test_weights_are_those_of_the_vertices():
    """At a vertex its own weight is 1; at the centroid all are alike."""
    centroid = np.full((1, 3), 0.25)
    elements = np.array([[0, 1, 2, 3]])
    assert find(TETRAHEDRON, TETRAHEDRON, elements)[1] == pytest.approx(np.eye(4))
    assert find(centroid, TETRAHEDRON, elements)[1] == pytest.approx(np.full((1, 4), 0.25))


@pytest.mark.parametrize("corner", range(4))
def test_points_inside_get_an_element_that_contains_them(corner):
    """And their weights in it, also near a corner, where other centroids may be nearer."""
    x, elements = cloud()
    given = np.roll([0.85, 0.05, 0.04, 0.06], corner)
    best, weights = find(given @ x[elements], x, elements)
    assert best.tolist() == list(range(len(elements)))
    assert weights == pytest.approx(np.tile(given, (len(elements), 1)), abs=1e-12)


def rule(p, x, elements):
    """SOFA's rule: least d = max(-w), or, where that is positive, the squared distance to the
    centroid; strictly least, so that the first element wins a tie."""
    distances = []
    for element in elements:
        corners = x[element]
        inner = np.linalg.solve((corners[1:] - corners[0]).T, p - corners[0])
        d = max(*-inner, inner.sum() - 1.0)
        distances.append(d if d <= 0.0 else np.sum((p - corners.mean(axis=0)) ** 2))
    return int(np.argmin(distances))


@pytest.mark.parametrize("spread", [0.4, 3.0], ids=["mostly inside", "mostly outside"])
def test_the_element_is_the_deepest_or_the_one_of_nearest_centroid(spread):
    """Compared with the rule itself; random points have no ties."""
    x, elements = cloud()
    points = np.random.default_rng(1).uniform(-spread, spread, (200, 3))
    best, _ = find(points, x, elements)
    assert best.tolist() == [rule(p, x, elements) for p in points]


def test_of_overlapping_elements_the_deepest_carries():
    """A point in the middle of the big tetrahedron, near a face of a small one inside."""
    x = np.vstack([TETRAHEDRON * 4.0, TETRAHEDRON + 0.9])
    elements = np.array([[4, 5, 6, 7], [0, 1, 2, 3]])
    assert find([[1.0, 1.0, 1.0]], x, elements)[0].tolist() == [1]


def test_outside_the_nearest_centroid_counts_and_not_the_nearest_face():
    """A long element reaches close to the point, but its centroid is farther away."""
    x = np.vstack([TETRAHEDRON * [9.0, 1.0, 1.0], TETRAHEDRON + [9.0, 3.0, 0.0]])
    elements = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])
    assert find([[9.1, 0.1, 0.0]], x, elements)[0].tolist() == [1]


@pytest.mark.parametrize("swap", [False, True])
def test_on_a_shared_face_the_first_element_wins(swap):
    """Numbers that double precision holds exactly: both depths are 0, and neither is less."""
    x = np.vstack([TETRAHEDRON, [0.0, 0.0, -1.0]])
    elements = np.array([[0, 1, 2, 3], [0, 1, 2, 4]])
    if swap:
        elements = elements[::-1]
    assert find([[0.25, 0.25, 0.0]], x, elements)[0].tolist() == [0]


def test_on_vertices_and_edges_the_first_element_that_has_them_wins():
    """A grid of halves, whose depths double precision computes exactly: all that share a vertex
    or the middle of an edge have depth 0, and the first of them is taken.

    (Where rounding puts a point outside of all, SOFA's rule takes the nearest centroid.)
    """
    x, elements = [], []
    for corner in itertools.product((0.0, 0.5, 1.0), repeat=3):
        x.append(corner)
    for cell in itertools.product(range(2), repeat=3):
        for order in itertools.permutations([9, 3, 1]):
            elements.append(np.dot(cell, [9, 3, 1]) + np.cumsum([0, *order]))
    x, elements = np.array(x), np.array(elements)
    pairs = [(i, j) for e in elements for i in e for j in e]  # i = j: the vertex itself
    best, _ = find([(x[i] + x[j]) / 2.0 for i, j in pairs], x, elements)
    first = [next(k for k, e in enumerate(elements) if i in e and j in e) for i, j in pairs]
    assert best.tolist() == first


def test_orientation_of_the_elements_does_not_matter():
    """The weight of each vertex stays with it."""
    x, elements = cloud()
    points = np.random.default_rng(2).uniform(-2.0, 2.0, (50, 3))
    best, weights = find(points, x, elements)
    turned, weights_turned = find(points, x, elements[:, [0, 1, 3, 2]])
    assert turned.tolist() == best.tolist()
    assert weights_turned[:, [0, 1, 3, 2]] == pytest.approx(weights, abs=1e-12)


def test_a_point_farther_than_1e5_has_no_element():
    """SOFA starts the search with a squared distance of 1e10."""
    elements = np.array([[0, 1, 2, 3]])
    points = [[0.99e5, 0.0, 0.0], [1.01e5, 0.0, 0.0]]
    assert find(points, TETRAHEDRON, elements)[0].tolist() == [0, -1]


@settings(deadline=None, max_examples=50)
@given(st.lists(vectors, min_size=1, max_size=5))
def test_triangles_carry_the_projection_of_a_point(points):
    """sum_a w_a x_a is the point moved along the normal into the plane, inside and outside.

    The weights of a needle-like triangle reach 1e3, and the rounding with them.
    """
    x, elements = sheet()
    points = np.array(points)
    best, weights = find(points, x, elements)
    expected = np.column_stack([points[:, :2], np.full(len(points), 2.0)])
    assert carried(x, best, weights, elements) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("corner", range(3))
def test_triangles_that_contain_a_point_carry_it(corner):
    """Also near a corner, where other centroids may be nearer."""
    x, elements = sheet()
    given = np.roll([0.9, 0.04, 0.06], corner)
    best, weights = find(given @ x[elements], x, elements)
    assert best.tolist() == list(range(len(elements)))
    assert weights == pytest.approx(np.tile(given, (len(elements), 1)), abs=1e-12)


def test_a_triangle_contains_points_within_a_hundredth_of_its_normal():
    """|w3| <= 0.01 of ab x ac counts as inside; beyond that the nearest centroid decides.

    The points are over the large triangle, but nearer to the centroid of the small one.
    """
    x = np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [1, 1, 1], [2, 1, 1], [1, 2, 1]], float)
    elements = np.array([[0, 1, 2], [3, 4, 5]])
    normal = 81.0  # length of ab x ac of the large one
    points = [[1.0, 1.0, share * normal] for share in (-0.0101, -0.0099, 0.0099, 0.0101)]
    assert find(points, x, elements)[0].tolist() == [1, 0, 0, 1]
