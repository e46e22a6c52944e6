"""Ways past solids: their distance against many samples, and its gradient against differences."""

import numpy as np
import pytest

from sofa_softctl.surrogate.costs.obstacles import (
    Box,
    HalfSpace,
    Sphere,
    find_nearest_points,
    measure_segments,
)

SHAPES = [
    Sphere((0.1, 0.2, 0.0), 0.5),
    HalfSpace((0.0, 2.0, 1.0), 0.3),
    Box((-0.4, -0.3, -0.2), (0.3, 0.5, 0.6)),
]
WALL = Box((-9.0, -9.0, -0.1), (9.0, 9.0, 0.1))


def ways(count=300):
    rng = np.random.default_rng(5)
    return rng.uniform(-1.0, 1.0, (count, 3)), rng.uniform(-1.0, 1.0, (count, 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_nearest_point_of_a_way_is_that_of_many_samples(shape):
    """Samples are a thousandth of at most 3.5 apart, and distances change by no more than that."""
    start, end = ways()
    found = find_nearest_points(shape, start, end)
    samples = [shape.distance(start + s * (end - start))[0] for s in np.linspace(0.0, 1.0, 1001)]
    assert found.distance == pytest.approx(np.min(samples, axis=0), abs=2e-3)
    there = start + found.fraction[:, None] * (end - start)
    assert shape.distance(there)[0] == pytest.approx(found.distance, abs=1e-12)
    assert (found.distance < 0.0).any() and (found.distance > 0.0).any()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_distance_of_a_way_has_the_slope_of_its_differences(shape):
    """But for few ways at a change from one face or edge to another."""
    start, end = ways()
    found, h = measure_segments(shape, start, end), 1e-6
    for at, slope in ((0, found.by_start), (1, found.by_end)):
        for i in range(3):
            sides = []
            for step in (h, -h):
                moved = [start.copy(), end.copy()]
                moved[at][:, i] += step
                sides.append(measure_segments(shape, *moved).distance)
            wrong = np.abs((sides[0] - sides[1]) / (2 * h) - slope[:, i]) > 1e-4
            assert wrong.mean() < 0.02


def test_a_way_through_a_wall_is_inside_by_what_it_has_to_go_back():
    """From 0.5 before a wall of 0.2 to 0.3 behind: no point is deeper than 0.1, the way is 0.5."""
    start, end = np.array([[0.0, 0.0, 0.6]]), np.array([[0.2, 0.0, -0.4]])
    assert find_nearest_points(WALL, start, end).distance == pytest.approx([-0.1])
    found = measure_segments(WALL, start, end)
    assert found.distance == pytest.approx([-0.5])
    assert found.by_end == pytest.approx(np.array([[0.0, 0.0, 1.0]]))
    assert found.by_start == pytest.approx(np.zeros((1, 3)))


def test_a_way_across_an_edge_leaves_over_the_edge():
    """Across the edge at (1, 1) at 45 degrees, 0.1 / sqrt 2 inside."""
    box = Box((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    found = measure_segments(box, np.array([[1.4, 0.5, 0.0]]), np.array([[0.5, 1.4, 0.0]]))
    assert found.distance == pytest.approx([-0.1 / np.sqrt(2.0)])
    assert found.by_start == pytest.approx(np.array([[1.0, 1.0, 0.0]]) / np.sqrt(8.0))


def test_displaced_by_its_depth_a_way_is_free():
    """The definition: along the gradient by the depth, and it only touches."""
    start, end = ways()
    for shape in SHAPES:
        found = measure_segments(shape, start, end)
        out = -(found.by_start + found.by_end) * found.distance[:, None]
        moved = find_nearest_points(shape, start + out, end + out).distance
        inside = found.distance < -1e-3
        assert np.abs(moved[inside]).max() < 1e-9


def test_a_point_at_rest_has_the_distance_of_the_point():
    start, _ = ways(50)
    for shape in SHAPES:
        assert measure_segments(shape, start, start).distance == pytest.approx(
            shape.distance(start)[0]
        )
