"""The region around a motion."""

import numpy as np
import pytest

from sofa_softctl.surrogate.sparse.tube import Tube

CORNER = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("point", "distance"),
    [
        ([1.0, -2.0], 2.0),
        ([-3.0, 4.0], 5.0),
        ([6.0, 8.0], 5.0),
        ([4.0, 1.0], 1.0),
        ([3.5, -1.2], 1.3),
        ([2.0, 1.5], 1.0),
    ],
    ids=["beside a way", "before the start", "behind the end", "beside another", "outside a corner",
         "inside a corner"],
)  # fmt: skip
def test_distances_are_those_of_the_line_through_the_points(point, distance):
    tube = Tube(CORNER, distance)
    assert tube.distance(np.array([point])) == pytest.approx([distance], rel=1e-12)
    assert tube.covers(np.array([point])) and not tube.covers(np.array([point]), 0.99)


def test_instants_at_rest_and_single_points_have_balls_around_them():
    points = np.array([[3.0, 4.0], [0.0, -1.0]])
    for motion in (np.zeros((1, 2)), np.zeros((3, 2))):
        assert Tube(motion, 1.0).distance(points) == pytest.approx([5.0, 1.0])


def test_drawn_points_are_inside_and_all_along_the_motion():
    tube = Tube(CORNER, 0.5)
    points = tube.draw(400, np.random.default_rng(0))
    assert tube.covers(points).all()
    away = tube.distance(points)
    assert away.max() > 0.45 and away.min() < 0.05
    share = (points[:, 1] > 2.0).mean()  # two sevenths of the length
    assert share == pytest.approx(2.0 / 7.0, abs=0.03)
