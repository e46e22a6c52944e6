"""Splines over a box: exact for polynomials, of their order, smooth; what cannot be is refused."""

import numpy as np
import pytest

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.cells.uniform import Grid
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.grid.tensor_spline import TensorSpline


class Waves:
    """sin(k . u) of some k, with or without gradients; counts its evaluations."""

    k = np.array([[1.0, 0.5, 0.2], [-0.4, 1.2, 0.7]])

    def __init__(self, slopes=False):
        self.slopes, self.count = slopes, 0

    def __call__(self, u, near=None):
        self.count += 1
        slope = np.cos(self.k @ u)[:, None] * self.k
        return MapSample(np.sin(self.k @ u), slope if self.slopes else np.empty((2, 0)))

    def errors(self, spline, points):
        """Largest errors of values, gradients and second derivatives of w . y, w = (1, 2)."""
        turn = points @ self.k.T
        found = spline.at(points)
        w = np.array([1.0, 2.0])
        bent = -np.einsum("mn,n,ni,nj->mij", np.sin(turn), w, self.k, self.k)
        return (
            np.abs(found.value - np.sin(turn)).max(),
            np.abs(found.gradient - np.cos(turn)[:, :, None] * self.k).max(),
            np.abs(spline.curvature(points, np.tile(w, (len(points), 1))) - bent).max(),
        )


def random_points(n, d=3, reach=1.0, seed=0):
    return np.random.default_rng(seed).uniform(-reach, reach, (n, d))


@pytest.mark.parametrize("degree", [1, 3, 5, 7])
def test_polynomials_of_its_degree_are_exact(degree):
    """Of the degree in each input; 1e-12 is rounding, of 8^2 terms of size 1, with third
    differences over the spacing."""
    rng = np.random.default_rng(degree)
    c = rng.standard_normal((degree + 1, degree + 1))

    def exact(u, near=None):
        return MapSample(np.polynomial.polynomial.polyval2d(*u, c)[None], np.empty((1, 0)))

    spline = TensorSpline(exact, 0.25, lower=[-1.0, -1.0], upper=[1.0, 1.5], degree=degree)
    points = random_points(50, 2)
    expected = np.polynomial.polynomial.polyval2d(*points.T, c)
    assert spline.at(points).value[:, 0] == pytest.approx(expected, abs=1e-12)
    assert spline.counts.evaluations == 9 * 11
    assert spline.counts.queries == 50


@pytest.mark.soak(keep=1)
@pytest.mark.parametrize("degree", [3, 5, 7])
def test_errors_fall_with_their_order(degree):
    """By 2^(degree + 1) for values, one and two less for derivatives; a half of it at least, as
    the coarser spacing is not yet small."""
    waves = Waves()
    spline = TensorSpline(waves, 0.25, lower=-1.0 * np.ones(3), upper=np.ones(3), degree=degree)
    points = random_points(100)
    coarse = waves.errors(spline, points)
    spline.refine()
    fine = waves.errors(spline, points)
    for lost, (before, after) in enumerate(zip(coarse, fine, strict=True)):
        assert before / after > 0.5 * 2.0 ** (degree + 1 - lost) or after < 1e-10
    assert waves.count == 17**3  # the coarser corners are among them
    assert spline.counts.evaluations == 17**3


def test_the_estimate_is_not_below_the_error():
    """The difference from the next lower degree, of lower order: safe for a smooth map."""
    waves = Waves()
    spline = TensorSpline(waves, 0.5, lower=-np.ones(3), upper=np.ones(3), degree=3)
    points = random_points(100)
    error = np.abs(spline.at(points).value - np.sin(points @ waves.k.T)).max(axis=1)
    estimate = spline.error_estimate(points)
    assert (estimate.max() > error).all()
    assert estimate.max() < 1000.0 * error.max()
    linear = TensorSpline(waves, 0.5, lower=-np.ones(3), upper=np.ones(3), degree=1)
    assert np.isnan(linear.error_estimate(points)).all()


def test_derivatives_have_no_jumps():
    """Second ones, across corners, where those of a grid of cells jump."""
    waves = Waves(slopes=True)
    spline = TensorSpline(waves, 0.25, lower=-np.ones(3), upper=np.ones(3))
    cells = Grid(waves, [0.25] * 3)
    edge = np.array([[0.25, 0.1, -0.3]])
    jumps = []
    for each in (spline, cells):
        sides = [each.at(edge + (s, 0.0, 0.0)).gradient for s in (-1e-9, 1e-9)]
        jumps.append(np.abs(sides[0] - sides[1]).max())
    assert jumps[0] < 1e-8 < 1e-5 < jumps[1]


def test_there_is_no_answer_outside():
    spline = TensorSpline(Waves(), 0.25, lower=-np.ones(3), upper=np.ones(3))
    points = np.array([[1.0, 1.0, 1.0], [1.0 + 1e-6, 0.0, 0.0]])
    found = spline.at(points)
    assert np.isfinite(found.value[0]).all() and np.isnan(found.value[1]).all()
    assert np.isnan(found.gradient[1]).all()
    assert np.isnan(spline.curvature(points, np.ones((2, 2)))[1]).all()
    with pytest.raises(ValueError, match=r"points must have shape \(m, 3\)"):
        spline.at(np.zeros((2, 2)))


def test_a_store_keeps_values_and_its_samples_serve_maps_with_gradients_too(tmp_path):
    box = {"lower": -np.ones(3), "upper": np.ones(3), "degree": 3}
    first, second, third = Waves(), Waves(), Waves(slopes=True)
    points = random_points(5)
    with Store(tmp_path / "s.db", "waves") as store:
        one = TensorSpline(first, 0.5, store=store, **box).at(points)
        grid = TensorSpline(second, 0.5, store=store, **box)
        other = grid.at(points)
        assert (first.count, second.count, grid.counts.from_store) == (125, 0, 125)
        assert np.array_equal(one.value, other.value)
        cells = Grid(third, [0.5] * 3, store=store)
        cells.at(points)  # needs gradients, which samples lack: evaluated, and kept with them
        assert third.count > 0 and cells.counts.from_store == 0
        again = TensorSpline(Waves(), 0.5, store=store, **box)
        assert np.array_equal(again.at(points).value, one.value)
        assert again.counts.from_store == 125


def test_progress_is_shown_and_failures_are_named():
    def exact(u, near=None):
        if u[0] > 0.9:
            raise MapError("links touch.")
        return MapSample(u[:1], np.empty((1, 0)))

    said = []
    whole = TensorSpline(exact, 0.25, lower=[-1.0] * 2, upper=[0.75] * 2, degree=3)
    whole.cover(lambda *now: said.append(now))
    assert said == [(8 * k, 64) for k in range(1, 9)]
    spline = TensorSpline(exact, 0.25, lower=[-1.0] * 2, upper=[1.0] * 2, degree=3)
    with pytest.raises(
        MapError, match=r"needs all of its corners, but at \[ 1. -1.\]: links touch"
    ):
        spline.at(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spacing": 0.3}, "a multiple of the spacing"),
        ({"spacing": -0.25}, "spacing positive"),
        ({"upper": [1.0, np.nan, 1.0]}, "must be finite"),
        ({"degree": 4}, "degree odd"),
        ({"degree": 9}, "degree must be from 1 to 8"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, said):
    given = {"spacing": 0.25, "lower": [-1.0] * 3, "upper": [1.0] * 3} | change
    with pytest.raises(ValueError, match=said):
        TensorSpline(Waves(), given.pop("spacing"), **given)
