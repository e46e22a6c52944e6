import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sofa_softctl.runtime.kernels.constraint.cable import cable_geometry
from sofa_softctl.testing import check_jacobian

positions = st.integers(2, 6).flatmap(
    lambda n: arrays(float, (n, 3), elements=st.integers(-100, 100).map(lambda i: i / 10.0))
)
PULL = np.array([1.0, -2.0, 12.5])


def geometry(x, indices, pull=PULL, has_pull_point=True):
    """Length and -dL/dx, the latter added up by node: (n, 3)."""
    indices = np.asarray(indices, dtype=np.int64)
    directions = np.full((len(indices), 3), 99.0)
    length = cable_geometry(x, indices, pull, has_pull_point, directions)
    rows = np.zeros_like(x)
    np.add.at(rows, indices, directions)
    return length, rows


def gaps(x, has_pull_point):
    """Distances between points that follow each other."""
    chain = np.vstack([PULL, x]) if has_pull_point else x
    return np.linalg.norm(np.diff(chain, axis=0), axis=1)


@settings(deadline=None, max_examples=100)
@given(positions, st.booleans())
def test_the_length_is_the_sum_of_the_distances(x, has_pull_point):
    """L = |P - p1| + sum |p_k - p_(k-1)|, the first term only with a pull point."""
    length, _ = geometry(x, range(len(x)), has_pull_point=has_pull_point)
    assert length == pytest.approx(gaps(x, has_pull_point).sum(), rel=1e-14)


@settings(deadline=None, max_examples=100)
@given(positions, st.booleans())
def test_the_row_is_the_negative_gradient_of_the_length(x, has_pull_point):
    """H = -dL/dx. The length bends over the smallest gap, 0.5 or more."""
    assume(gaps(x, has_pull_point).min() > 0.5)

    def of(x):
        return geometry(x, range(len(x)), has_pull_point=has_pull_point)

    check_jacobian(lambda x: of(x)[0], -of(x)[1], x, scale=0.5, tolerance=1e-8)


@settings(deadline=None, max_examples=50)
@given(positions)
def test_a_free_cable_pulls_on_nothing_outside(x):
    """Without a pull point tension has no resultant and no moment: sum H = 0, sum x cross H = 0.

    Rounding: at most 6 points at distances of 20.
    """
    _, rows = geometry(x, range(len(x)), has_pull_point=False)
    assert rows.sum(axis=0) == pytest.approx(0.0, abs=1e-14)
    assert np.cross(x, rows).sum(axis=0) == pytest.approx(0.0, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(positions)
def test_a_pulled_cables_resultant_points_to_the_pull_point(x):
    """All inner tensions cancel: sum H is the unit vector from the first point to P."""
    assume(np.linalg.norm(PULL - x[0]) > 0.1)
    _, rows = geometry(x, range(len(x)))
    expected = (PULL - x[0]) / np.linalg.norm(PULL - x[0])
    assert rows.sum(axis=0) == pytest.approx(expected, abs=1e-14)


def test_one_point_is_pulled_towards_the_pull_point():
    """3-4-5: the unit vector is (0.6, 0.8, 0)."""
    length, rows = geometry(np.zeros((1, 3)), [0], pull=np.array([3.0, 4.0, 0.0]))
    assert length == 5.0
    assert rows == pytest.approx(np.array([[0.6, 0.8, 0.0]]))


def test_two_points_without_a_pull_point_are_drawn_together():
    x = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    length, rows = geometry(x, [0, 1], has_pull_point=False)
    assert length == 2.0
    assert rows.tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]


def test_a_straight_cable_pulls_only_at_its_ends():
    """Inner guides feel nothing: u_k - u_(k+1) = 0."""
    x = np.array([[0.0, 0.0, z] for z in (3.0, 2.0, 1.0)])
    _, rows = geometry(x, [0, 1, 2], pull=np.array([0.0, 0.0, 4.0]))
    assert rows.tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_points_at_the_same_place_have_no_direction_between_them():
    """The gap of length 0 adds nothing, and no division by zero."""
    x = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    length, rows = geometry(x, [0, 1], pull=np.array([0.0, 0.0, 3.0]))
    assert length == 2.0
    assert rows.tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_a_point_listed_twice_feels_both_passes():
    """A loop 0 - 1 - 0: node 0 is drawn to node 1 twice, besides the pull point."""
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    length, rows = geometry(x, [0, 1, 0], pull=np.array([0.0, 0.0, 1.0]))
    assert length == 3.0
    assert rows.tolist() == [[2.0, 0.0, 1.0], [-2.0, 0.0, 0.0]]


def test_the_order_of_the_points_is_that_of_the_list():
    """Not that of their numbers."""
    x = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    assert geometry(x, [2, 0, 1], has_pull_point=False)[0] == 3.0
