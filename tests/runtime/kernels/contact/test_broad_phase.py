import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.runtime.kernels.contact.broad_phase import candidate_pairs, element_boxes


def boxes(corners, sizes):
    """Boxes (m, 6) from lower corners and sizes (m, 3)."""
    corners = np.array(corners, float).reshape(-1, 3)
    return np.hstack([corners, corners + np.array(sizes, float).reshape(-1, 3)])


def all_pairs(first, second):
    """The pairs that overlap, touching included, each tested with each."""
    below = (first[:, None, :3] <= second[None, :, 3:]).all(axis=2)
    above = (second[None, :, :3] <= first[:, None, 3:]).all(axis=2)
    return np.argwhere(below & above)


whole = st.integers(-4, 4)
some_boxes = st.lists(
    st.tuples(st.tuples(whole, whole, whole), st.tuples(*[st.integers(0, 3)] * 3)), max_size=25
)


@settings(max_examples=300, deadline=None)
@given(some_boxes, some_boxes)
def test_no_pair_is_missed_or_made_up(first, second):
    """Against each with each, order included. Whole numbers make boxes without volume, boxes that
    only touch and equal ones frequent."""
    one, two = (boxes([c for c, _ in s], [e for _, e in s]) for s in (first, second))
    assert candidate_pairs(one, two).tolist() == all_pairs(one, two).tolist()


def test_more_pairs_than_the_first_guess():
    """300 equal boxes against 200: 60000 pairs, none lost while the list grows."""
    one, two = boxes(np.zeros((300, 3)), np.ones((300, 3))), boxes(np.ones((200, 3)), np.ones(600))
    pairs = candidate_pairs(one, two)
    assert len(np.unique(pairs, axis=0)) == len(pairs) == 60000


@pytest.mark.parametrize("counts", [(0, 3), (3, 0), (0, 0)])
def test_nothing_meets_nothing(counts):
    one, two = (boxes(np.zeros((n, 3)), np.ones((n, 3))) for n in counts)
    assert candidate_pairs(one, two).shape == (0, 2)


def test_boxes_hold_their_elements_and_a_margin():
    """Lowest and highest coordinate of the nodes, widened by each element's own margin."""
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (12, 3))
    elements = np.random.default_rng(1).integers(0, 12, (20, 3))
    margin = np.linspace(0.0, 1.0, 20)
    found = element_boxes(x, elements, margin)
    assert np.array_equal(found[:, :3], x[elements].min(axis=1) - margin[:, None])
    assert np.array_equal(found[:, 3:], x[elements].max(axis=1) + margin[:, None])


def test_a_box_that_is_nan_hides_no_other_pair():
    """A body that diverges is reported after the step, whose other contacts are still found."""
    rng = np.random.default_rng(2)
    one, two = (boxes(rng.uniform(0.0, 4.0, (60, 3)), np.ones((60, 3))) for _ in range(2))
    one[7] = np.nan
    kept = all_pairs(one, two)
    pairs = candidate_pairs(one, two)
    assert [pair for pair in pairs.tolist() if pair[0] != 7] == kept.tolist()


def test_a_negative_distance_turns_no_box_inside_out():
    """A negative alarmDistance leaves the boxes as they are, as SOFA's records show."""
    one, two = boxes([[0, 0, 0]], [[2, 2, 2]]), boxes([[1, 1, 1]], [[4, 4, 4]])
    assert candidate_pairs(one, two, -4.0).tolist() == [[0, 0]]
