"""Sparse polynomials: their derivatives, what they reproduce, and errors at left-out samples."""

import itertools

import numpy as np
import pytest

from sofa_softctl.surrogate.sparse.polynomials import Basis, Fit, Frame, best_fit, ordered_terms

D = 3


def points_of(count, seed=0, width=(1.0, 0.5, 0.1)):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, (count, D)) * width + [0.3, 0.2, 0.1]


def cubic(u):
    """Two polynomials of degree three: values and gradients at u (m, 3), shape (m, 4, 2)."""
    x, y, z = u.T
    value = np.stack((x**3 + x * y * z, 2.0 * y**2 * z - x + 1.0), axis=1)
    gradient = [[3 * x**2 + y * z, 0 * x - 1], [x * z, 4 * y * z], [x * y, 2 * y**2]]
    return np.concatenate((value[:, None], np.moveaxis(np.array(gradient), 2, 0)), axis=1)


def wavy(u):
    """Not a polynomial. Values and gradients, shape (m, 4, 1)."""
    w = np.array([1.0, 2.0, 0.5])
    return np.concatenate((np.sin(u @ w)[:, None], np.cos(u @ w)[:, None] * w), axis=1)[..., None]


def basis_of(count=30):
    frame = Frame.from_points(points_of(20))
    return Basis(frame, ordered_terms(frame.half, count))


def test_each_beginning_of_the_terms_has_all_divisors():
    terms = ordered_terms(np.array([1.0, 0.3, 0.1]), 60)
    assert len(set(map(tuple, terms.tolist()))) == 60
    seen = set()
    for term in map(tuple, terms.tolist()):
        for j, degree in enumerate(term):
            assert not degree or (*term[:j], degree - 1, *term[j + 1 :]) in seen
        seen.add(term)


def test_of_equal_widths_terms_are_those_of_total_degree():
    terms = ordered_terms(np.ones(D), 20)
    assert sorted(map(tuple, terms.tolist())) == sorted(
        term for term in itertools.product(range(4), repeat=D) if sum(term) <= 3
    )


def test_narrow_axes_have_lower_degrees():
    """An axis of a tenth of the width weighs twice."""
    highest = ordered_terms(np.array([1.0, 1.0, 0.1]), 200).max(axis=0)
    assert highest[2] == highest[0] // 2


def test_a_frame_holds_its_points_in_the_unit_box():
    points = points_of(40)
    t = Frame.from_points(points).coordinates(points)
    assert np.abs(t).max(axis=0) == pytest.approx(np.ones(D))
    assert Frame.from_points(points[:1]).coordinates(points[:1]) == pytest.approx(np.zeros((1, D)))


def test_derivatives_are_those_of_the_value():
    """Central differences with 1e-5; terms of degree 7 have third derivatives of 1e4."""
    basis, u = basis_of(), points_of(5, seed=1)
    w = np.random.default_rng(2).normal(size=(5, 30))
    slopes, bend = basis.gradients(u), basis.curvature(u, w)
    for j in range(D):
        h = 1e-5 * np.eye(D)[j]
        differences = (basis.values(u + h) - basis.values(u - h)) / 2e-5
        assert slopes[:, j] == pytest.approx(differences, abs=1e-5)
        twice = basis.gradients(u + h) - basis.gradients(u - h)
        assert bend[:, j] == pytest.approx(np.einsum("mjp,mp->mj", twice, w) / 2e-5, abs=1e-3)
    assert bend == pytest.approx(bend.transpose(0, 2, 1))


def test_polynomials_are_reproduced():
    """20 terms of degree 3 from 8 samples of 4 numbers; to rounding."""
    points = points_of(8)
    fit = Fit(Basis(Frame.from_points(points), ordered_terms(np.ones(D), 20)), points)
    C, fresh = fit.coefficients(cubic(points)), points_of(9, seed=3)
    assert fit.basis.values(fresh) @ C == pytest.approx(cubic(fresh)[:, 0], abs=1e-12)
    assert fit.basis.gradients(fresh) @ C == pytest.approx(cubic(fresh)[:, 1:], abs=1e-11)


def test_errors_at_left_out_samples_are_those_of_fits_without_them():
    points = points_of(16)
    basis = Basis(Frame.from_points(points), ordered_terms(np.ones(D), 20))
    fit = Fit(basis, points)
    found = fit.left_out(fit.right_sides(wavy(points)))
    for k in range(16):
        others = np.arange(16) != k
        without = Fit(basis, points[others]).coefficients(wavy(points[others]))
        error = wavy(points[[k]])[:, 0] - basis.values(points[[k]]) @ without
        assert found[k] == pytest.approx(error[0], rel=1e-6)
    assert np.abs(found).max() > 1e-6


def test_the_number_of_terms_is_chosen_by_left_out_samples():
    """The cubics have degree 3: 20 terms are exact, and more are not better."""
    points = points_of(40, width=(1.0, 1.0, 1.0))
    fit = best_fit(points, cubic(points))
    assert fit.left_out(fit.right_sides(cubic(points))) == pytest.approx(0.0, abs=1e-9)
    noise = cubic(points) + 0.1 * np.random.default_rng(0).normal(size=(40, 4, 2))
    assert len(best_fit(points, noise).basis.terms) < 0.5 * 4 * 40
