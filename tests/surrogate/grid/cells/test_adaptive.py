"""The adaptive grid: fewer evaluations for the same error, an estimate that can be trusted."""

import numpy as np
import pytest

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.cells.adaptive import AdaptiveGrid
from sofa_softctl.surrogate.cells.uniform import Grid, MapSample

CENTRE, WIDTH = np.array([0.37, 0.58]), 0.06


def bump(u, near=None):
    """A wave of length 4 and on it a Gaussian bump, 1 high and 0.06 wide."""
    away = (u - CENTRE) / WIDTH
    high, phase = np.exp(-0.5 * away @ away), 1.3 * u[0] + 0.8 * u[1]
    slope = np.cos(phase) * np.array([1.3, 0.8]) - high * away / WIDTH
    return MapSample(np.array([np.sin(phase) + high]), slope[None])


def flat(u, near=None):
    return MapSample(np.array([u @ u]), 2.0 * u[None])


def square(m, seed, low=0.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, (m, 2))


def errors(grid, points):
    return np.abs(grid.at(points).value[:, 0] - [bump(u).value[0] for u in points])


@pytest.mark.soak
def test_a_local_feature_takes_less_than_half_the_evaluations_of_a_uniform_grid():
    """Both grow at the same 4000 points; errors at 2000 others: the largest and the mean square."""
    x, held_out = square(4000, 3), square(2000, 4)
    uniform = Grid(bump, [0.25, 0.25])
    uniform.level = 4
    adaptive = AdaptiveGrid(bump, [0.25, 0.25], 1e-5, level=8)
    for grid in (uniform, adaptive):
        grid.at(x)
    evaluations = [grid.counts.evaluations for grid in (uniform, adaptive)]
    assert evaluations[1] <= 0.5 * evaluations[0]
    expected, found = errors(uniform, held_out), errors(adaptive, held_out)
    assert found.max() <= expected.max()
    assert np.sqrt(np.mean(found**2)) <= np.sqrt(np.mean(expected**2))
    assert adaptive.counts.evaluations <= 0.5 * uniform.counts.evaluations


@pytest.mark.soak
def test_errors_held_out_are_near_their_estimates_and_the_tolerance():
    """Nine of ten below their estimate; the largest at most four times the tolerance, as the bump
    is not resolved by the cells that find it."""
    grid = AdaptiveGrid(bump, [0.25, 0.25], 1e-5, level=8)
    grid.at(square(4000, 3))
    held_out = square(2000, 4)
    error = errors(grid, held_out)
    asked = grid.counts.evaluations
    estimate = grid.error_estimate(held_out)
    assert grid.counts.evaluations == asked
    assert estimate.max() <= 1e-5
    assert np.mean(error <= estimate) >= 0.9
    assert error.max() <= 4e-5


def test_leaves_are_small_at_the_feature_and_only_where_queries_are():
    grid = AdaptiveGrid(bump, [0.25, 0.25], 1e-4)
    grid.at(square(200, 1, low=0.8))
    assert max(grid.leaves) <= 1
    far = grid.counts.evaluations
    assert far <= 9
    assert np.isnan(grid.error_estimate([CENTRE])).all()
    grid.at([CENTRE])
    assert max(grid.leaves) >= 4
    assert grid.counts.evaluations > far


def test_what_cubics_reproduce_costs_the_corners_and_the_middle_of_a_cell():
    grid = AdaptiveGrid(flat, [0.5, 0.5], 1e-9)
    grid.at(square(50, 2, high=0.5))
    assert grid.counts.exact == {0: 4, 1: 1}
    assert grid.leaves == {0: 1}


def test_jumps_between_leaves_are_of_the_order_of_the_tolerance():
    """On both sides of all faces of level 5, at a hundredth of a millionth from them."""
    tolerance = 1e-4
    grid = AdaptiveGrid(bump, [0.25, 0.25], tolerance)
    x = square(3000, 6)
    x[:, 0] = np.clip(np.round(x[:, 0] * 128) / 128, 1 / 128, 127 / 128)
    beside = np.array([1e-8, 0.0])
    jump = grid.at(x + beside).value - grid.at(x - beside).value
    slope = max(np.abs(bump(u).gradient[0, 0]) for u in x)
    assert 2e-8 * slope < np.abs(jump).max() <= 4 * tolerance


def test_the_order_of_queries_does_not_change_the_answers():
    x = square(300, 7)
    first = AdaptiveGrid(bump, [0.25, 0.25], 1e-4)
    second = AdaptiveGrid(bump, [0.25, 0.25], 1e-4)
    value = first.at(x).value
    for part in np.split(np.arange(300)[::-1], 6):
        np.testing.assert_array_equal(second.at(x[part]).value, value[part])
    assert second.counts.exact == first.counts.exact


def test_gradients_and_curvatures_are_those_of_the_leaf():
    """Central differences; 1e-10 / step from rounding."""
    grid = AdaptiveGrid(bump, [0.25, 0.25], 1e-3)
    x = square(20, 8)
    found, curvature = grid.at(x), grid.curvature(x, np.ones((20, 1)))
    for i, e in enumerate(1e-6 * np.eye(2)):
        value = (grid.at(x + e).value - grid.at(x - e).value) / 2e-6
        np.testing.assert_allclose(found.gradient[..., i], value, atol=1e-7)
        slope = (grid.at(x + e).gradient - grid.at(x - e).gradient)[:, 0] / 2e-6
        np.testing.assert_allclose(curvature[..., i], slope, atol=1e-4)


def test_a_cell_with_a_failed_corner_is_split_and_only_what_is_near_falls_back():
    """The map has no answer at the corner (0, 0): cells around it are used down to 0.5 / 2^3."""

    def fails_at_zero(u, near):
        if not u.any():
            raise MapError("it folds at 0")
        return flat(u)

    grid = AdaptiveGrid(fails_at_zero, [0.5, 0.5], 1e-3, level=3)
    x = square(300, 9, high=0.5)
    found = grid.at(x)
    near = (x < 0.5 / 2**3).all(axis=1)
    assert 0 < near.sum() == grid.counts.fallbacks
    np.testing.assert_array_equal(found.exact, near)
    np.testing.assert_allclose(found.value[:, 0], (x**2).sum(axis=1), atol=1e-12)
    np.testing.assert_array_equal(np.isnan(grid.error_estimate(x)), near)
    assert grid.counts.failed == 1


def test_where_the_middle_of_a_cell_failed_only_what_is_near_falls_back():
    """At (1/4, 1/4): the cell cannot be judged, and no cell below it that touches it be used."""

    def fails_in_the_middle(u, near):
        if tuple(u) == (0.25, 0.25):
            raise MapError("it folds")
        return flat(u)

    grid = AdaptiveGrid(fails_in_the_middle, [0.5, 0.5], 1e-3, level=3)
    x = square(300, 11, high=0.5)
    near = (np.abs(x - 0.25) < 0.5 / 2**3).all(axis=1)
    np.testing.assert_array_equal(grid.at(x).exact, near)
    assert 0 < near.sum() < 100
    assert grid.counts.failed == 1


def test_only_the_error_of_the_given_outputs_counts():

    def wave(u, near=None):
        return MapSample(np.sin(3.0 * u[:1]), np.array([[3.0 * np.cos(3.0 * u[0]), 0.0]]))

    def both(u, near):
        a, b = bump(u), wave(u)
        return MapSample(np.append(a.value, b.value), np.vstack((a.gradient, b.gradient)))

    x = square(100, 10)
    grids = [
        AdaptiveGrid(*args, rows=rows)
        for args, rows in (
            ((both, [0.25, 0.25], 1e-5), [1]),
            ((wave, [0.25, 0.25], 1e-5), None),
            ((both, [0.25, 0.25], 1e-5), None),
        )
    ]
    for grid in grids:
        grid.at(x)
    one, alone, every = grids
    assert max(alone.leaves) >= 1
    assert one.leaves == alone.leaves
    np.testing.assert_array_equal(one.error_estimate(x), alone.error_estimate(x))
    assert max(every.leaves) > max(one.leaves)


def test_a_tolerance_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="tolerance must be positive. Got: 0.0"):
        AdaptiveGrid(bump, [0.25, 0.25], 0.0)
