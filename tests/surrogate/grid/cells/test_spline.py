"""The cubic element: what it reproduces, its orders, its derivatives and its continuity."""

import itertools
import math

import numpy as np
import pytest

from sofa_softctl.surrogate.cells import spline


def corner_data(f, g, middle, half):
    """Values and gradients of f (m, d) -> (m, n), g -> (m, n, d), at the corners of one cell."""
    points = middle + half * spline.signs(len(middle))  # (2^d, d)
    return np.concatenate((f(points)[:, None, :], g(points).transpose(0, 2, 1)), axis=1)


def on_grid(f, g, x, h):
    """The splines of f on the grid of spacing h, at points x (m, d): value and gradient."""
    value, slope = [], []
    for point, cell in zip(x, np.floor(x / h), strict=True):
        answer = in_cell(f, g, point, (cell + 0.5) * h, h / 2)
        value.append(answer[0])
        slope.append(answer[1])
    return np.array(value), np.array(slope)


def in_cell(f, g, point, middle, half):
    data = corner_data(f, g, middle, half)
    xi = ((point - middle) / half)[None]
    value, slope = spline.evaluate(xi, np.full(len(middle), half), whole(len(middle)), data)
    return value[0], slope[0]


def whole(d, m=1):
    return np.tile(np.arange(1 << d), (m, 1))


def smooth(d):
    """sin(a . x) exp(b . x) and its gradient; one output."""
    a, b = np.array([1.3, 0.8, -0.9])[:d], np.array([0.3, -0.5, 0.4])[:d]

    def f(x):
        return (np.sin(x @ a) * np.exp(x @ b))[:, None]

    def g(x):
        by_a = np.cos(x @ a)[:, None] * a + np.sin(x @ a)[:, None] * b
        return (by_a * np.exp(x @ b)[:, None])[:, None, :]

    return f, g


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_every_cubic_is_reproduced(d):
    """All monomials of degree at most three, as outputs: values, gradients and curvatures."""
    powers = np.array([p for p in itertools.product(range(4), repeat=d) if sum(p) <= 3])
    assert len(powers) == math.comb(d + 3, 3)

    def f(x):
        return np.prod(x[:, None, :] ** powers, axis=2)

    def g(x):
        columns = []
        for i in range(d):
            lower = powers - np.eye(d, dtype=int)[i] * (powers[:, i : i + 1] > 0)
            columns.append(powers[:, i] * np.prod(x[:, None, :] ** lower, axis=2))
        return np.stack(columns, axis=2)

    rng = np.random.default_rng(d)
    middle, half = rng.uniform(-1, 1, d), rng.uniform(0.2, 0.6, d)
    xi = rng.uniform(-1, 1, (7, d))
    x = middle + half * xi
    data = corner_data(f, g, middle, half)
    value, slope = spline.evaluate(xi, half, whole(d, 7), data)
    np.testing.assert_allclose(value, f(x), rtol=0, atol=1e-13)  # numbers up to 4
    np.testing.assert_allclose(slope, g(x), rtol=0, atol=1e-12)  # and divided by half

    w = rng.normal(size=(7, len(powers)))
    step = 1e-5  # central differences of quadratics are exact but for rounding, 1e-16 / 1e-5
    expected = np.stack(
        [
            np.einsum("mn,mnd->md", w, g(x + step * e) - g(x - step * e)) / (2 * step)
            for e in np.eye(d)
        ],
        axis=2,
    )
    computed = spline.curvature(xi, half, whole(d, 7), data, w)
    np.testing.assert_allclose(computed, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_the_error_is_of_order_four_and_that_of_the_gradient_of_order_three(d):
    """The root mean square at 300 points, for h = 1/8 and 1/16."""
    f, g = smooth(d)
    x = np.random.default_rng(1).uniform(-1, 1, (300, d))
    errors = []
    for h in (1 / 8, 1 / 16):
        value, slope = on_grid(f, g, x, h)
        errors.append(
            (np.sqrt(np.mean((value - f(x)) ** 2)), np.sqrt(np.mean((slope - g(x)) ** 2)))
        )
    orders = np.log2(np.divide(*errors))
    assert orders[0] == pytest.approx(4.0, abs=0.15)
    assert orders[1] == pytest.approx(3.0, abs=0.2)


def points_on_faces(d, h, count=200):
    """Points on faces x_0 = k h, and the middles of the cells on both sides."""
    x = np.random.default_rng(2).uniform(-1, 1, (count, d))
    x[:, 0] = np.round(x[:, 0] / h) * h
    cell = np.floor(x / h)
    cell[:, 0] = np.round(x[:, 0] / h)
    right = (cell + 0.5) * h
    return x, right - h * np.eye(d)[0], right


@pytest.mark.parametrize("d", [2, 3])
def test_across_faces_the_value_is_continuous_and_the_slope_jumps_by_order_three(d):
    f, g = smooth(d)
    jumps = []
    for h in (1 / 8, 1 / 16):
        jump = []
        for x, left, right in zip(*points_on_faces(d, h), strict=True):
            a, b = in_cell(f, g, x, left, h / 2), in_cell(f, g, x, right, h / 2)
            assert a[0] == pytest.approx(b[0], abs=1e-13)
            np.testing.assert_allclose(a[1][:, 1:], b[1][:, 1:], rtol=0, atol=1e-12)  # along it
            jump.append(a[1][0, 0] - b[1][0, 0])
        jumps.append(np.sqrt(np.mean(np.square(jump))))
    assert np.log2(jumps[0] / jumps[1]) == pytest.approx(3.0, abs=0.2)


def weight_gradients(xi):
    return spline.kernels.weights(xi)[..., 1:]


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_each_function_is_one_at_its_own_corner_alone(d):
    at = spline.signs(d).astype(float)
    values, slopes = spline.weights(at), weight_gradients(at)  # at corner a, of corner c
    for a, c in itertools.product(range(1 << d), repeat=2):
        own = np.eye(1 + d) * (a == c)
        np.testing.assert_array_equal(values[a, c], own[0])
        np.testing.assert_array_equal(slopes[a, c], own[:, 1:])


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8])
def test_derivatives_of_the_weights_agree_with_finite_differences(d):
    """Central differences with step 1e-4: 1e-8 from the third derivative, 1e-12 from rounding."""
    xi = np.random.default_rng(3).uniform(-1, 1, (2, d))
    slopes, hessians = weight_gradients(xi), spline.weight_hessians(xi)
    np.testing.assert_array_equal(hessians, np.swapaxes(hessians, -1, -2))
    for i, e in enumerate(1e-4 * np.eye(d)):
        by_values = (spline.weights(xi + e) - spline.weights(xi - e)) / 2e-4
        np.testing.assert_allclose(slopes[..., i], by_values, rtol=0, atol=1e-7)
        by_slopes = (weight_gradients(xi + e) - weight_gradients(xi - e)) / 2e-4
        np.testing.assert_allclose(hessians[..., i], by_slopes, rtol=0, atol=1e-7)


def test_a_selection_of_outputs_has_the_same_numbers():
    """With more outputs than are summed at a time."""
    rng = np.random.default_rng(4)
    d, n, m = 3, 1100, 5
    data = rng.normal(size=(8, 1 + d, n))
    xi, half = rng.uniform(-1, 1, (m, d)), rng.uniform(0.1, 1, (m, d))
    value, slope = spline.evaluate(xi, half, whole(d, m), data)
    rows = np.array([1099, 0, 512, 511])
    some = spline.evaluate(xi, half, whole(d, m), data, rows=rows)
    np.testing.assert_allclose(some[0], value[:, rows], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(some[1], slope[:, rows], rtol=1e-12, atol=1e-12)
    alone, none = spline.evaluate(xi, half, whole(d, m), data, gradient=False)
    np.testing.assert_array_equal(alone, value)
    assert none.shape == (0, n, d)
    w = np.zeros((m, n))
    w[:, rows] = rng.normal(size=(m, 4))
    np.testing.assert_allclose(
        spline.curvature(xi, half, whole(d, m), data, w[:, rows], rows=rows),
        spline.curvature(xi, half, whole(d, m), data, w),
        rtol=1e-9,
        atol=1e-9,
    )
    weighted = np.einsum("mn,cjn->mcj", w, data)
    weighted[..., 1:] *= half[:, None, :]
    by_hand = np.einsum("mcj,mcjkl->mkl", weighted, spline.weight_hessians(xi))
    by_hand /= half[:, :, None] * half[:, None, :]
    computed = spline.curvature(xi, half, whole(d, m), data, w)
    np.testing.assert_allclose(computed, by_hand, rtol=1e-9, atol=1e-9)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="Splines are for 1 to 8 inputs. Got: 9"):
        spline.signs(9)
    with pytest.raises(
        ValueError, match=r"w must have shape \(1, 2\), points x outputs. Got: \(1, 3\)"
    ):
        spline.curvature(
            np.zeros((1, 1)), np.ones(1), whole(1), np.zeros((2, 2, 2)), np.zeros((1, 3))
        )
