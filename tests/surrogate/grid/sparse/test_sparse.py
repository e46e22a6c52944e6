"""Sparse grids: as exact as they say, near a motion only, and with few samples."""

import numpy as np
import pytest

from sofa_softctl.errors import MapError
from sofa_softctl.surrogate.grid.evaluation import MapSample
from sofa_softctl.surrogate.grid.store import Store
from sofa_softctl.surrogate.sparse.sparse import SparseGrid

D, WIDTH = 6, 0.05


class Smooth:
    """Analytic outputs of random directions: waves, a pole outside and a bell; counts its calls."""

    def __init__(self, seed=0, d=D):
        self.w = np.random.default_rng(seed).uniform(-1.0, 1.0, (6, d))
        self.points = []

    def __call__(self, u, near=None):
        self.points.append(u)
        y = self.w @ u
        value = np.stack((np.sin(2 * y[:2]), 1 / (4 + y[2:4]), np.exp(-(y[4:] ** 2)))).ravel()
        slope = (2 * np.cos(2 * y[:2]), -1 / (4 + y[2:4]) ** 2, -2 * y[4:] * np.exp(-(y[4:] ** 2)))
        return MapSample(value, np.stack(slope).ravel()[:, None] * self.w)


def motion_of(seed=0, d=D, count=80):
    """A loop with an extent of about 0.4."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.0, 2.0 * np.pi, count)[:, None]
    amplitude, phase = rng.uniform(0.05, 0.2, d), rng.uniform(0.0, 6.0, d)
    return 0.2 + amplitude * np.sin(angle + phase)


def grid_of(exact=None, **given):
    return SparseGrid(exact or Smooth(), np.full(D, 0.5), **given)


def fresh(motion, count=50, seed=9, width=WIDTH):
    """Random points in the tube, all at its surface."""
    rng = np.random.default_rng(seed)
    way = rng.normal(size=(count, D))
    way *= 0.99 * width / np.linalg.norm(way, axis=1)[:, None]
    return motion[rng.integers(len(motion), size=count)] + way


def errors(grid, exact, points):
    found = grid.at(points)
    true = [exact(u) for u in points]
    return np.abs(found.value - [each.value for each in true]).max(axis=1)


@pytest.mark.soak
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_the_estimate_is_above_the_error_at_nine_of_ten_fresh_points(tolerance):
    """On ten maps and motions that nothing was tuned on; points are where it is worst."""
    above, total = 0, 0
    for seed in range(10, 20):
        exact, motion = Smooth(seed), motion_of(seed)
        grid = grid_of(exact)
        assert grid.cover(motion, WIDTH, tolerance) <= tolerance
        points = fresh(motion)
        above += int((errors(grid, exact, points) > grid.error_estimate(points)).sum())
        total += len(points)
    assert above <= 0.1 * total


def test_few_samples_take_the_place_of_the_corners_of_cells():
    """A cell of six inputs has 64 corners."""
    grid = grid_of()
    grid.cover(motion_of(), WIDTH, 1e-4)
    assert grid.counts.evaluations < 64


def test_gradient_and_curvature_are_derivatives_of_the_value():
    """Central differences with 1e-5 within the tube; analytic, so to their own error."""
    grid, motion = grid_of(), motion_of()
    grid.cover(motion, WIDTH, 1e-4)
    points, w = motion[::20], np.random.default_rng(1).normal(size=(4, 6))
    slope = grid.at(points).gradient
    _, places = grid.places(points)
    bend = grid.second_derivative_product(places, grid.corners.data, w)
    for j in range(D):
        h = 1e-5 * np.eye(D)[j]
        ahead, back = grid.at(points + h), grid.at(points - h)
        assert slope[..., j] == pytest.approx((ahead.value - back.value) / 2e-5, abs=1e-8)
        twice = (ahead.gradient - back.gradient) / 2e-5
        assert bend[:, j] == pytest.approx(np.einsum("mnj,mn->mj", twice, w), abs=1e-6)


def test_there_is_no_answer_outside_the_tube():
    grid, motion = grid_of(), motion_of()
    with pytest.raises(MapError, match=r"covers no motion yet: see SparseGrid\.cover"):
        grid.at(motion)
    grid.cover(motion, WIDTH, 1e-3)
    far = motion[:2] + [[0.0] * D, [1.0] + [0.0] * (D - 1)]
    assert np.isfinite(grid.at(far).value).all(axis=1).tolist() == [True, False]
    assert np.isfinite(grid.error_estimate(far)).tolist() == [True, False]


def test_samples_of_one_motion_serve_the_next():
    exact = Smooth()
    grid, alone = grid_of(exact), grid_of()
    grid.cover(motion_of(), WIDTH, 1e-5)
    before = grid.counts.evaluations
    grid.cover(motion_of() + 0.01, WIDTH, 1e-5)
    alone.cover(motion_of() + 0.01, WIDTH, 1e-5)
    assert grid.counts.evaluations - before < 0.6 * alone.counts.evaluations
    assert errors(grid, exact, motion_of() + 0.01).max() <= grid.error


def test_the_same_motion_again_takes_nothing():
    grid = grid_of()
    grid.cover(motion_of(), WIDTH, 1e-4)
    before = grid.counts.evaluations
    grid.cover(motion_of(), WIDTH, 1e-4)
    assert grid.counts.evaluations == before


@pytest.mark.soak
def test_a_store_keeps_samples_for_this_motion_and_others(tmp_path):
    with Store(tmp_path / "kept", "smooth") as store:
        grid_of(store=store).cover(motion_of(), WIDTH, 1e-5)
        first = len(store)
        again = grid_of(store=store)
        again.cover(motion_of(), WIDTH, 1e-5)
        assert again.counts.evaluations == 0 and again.counts.from_store == first
        other = grid_of(store=store)
        other.cover(motion_of() + 0.01, WIDTH, 1e-5)
        assert other.counts.from_store > 0.4 * first
        assert len(store) == first + other.counts.evaluations


def test_points_beside_a_failure_have_no_answer_and_the_others_do():
    """The map has no solution beyond a plane that cuts the motion."""
    smooth, motion = Smooth(), motion_of()
    border = np.median(motion[:, 0])

    def broken(u, near=None):
        if u[0] > border:
            raise MapError("The robot buckles.")
        return smooth(u)

    grid = grid_of(broken)
    grid.cover(motion, WIDTH, 1e-4)
    assert {why for _, why in grid.failures} == {"The robot buckles."}
    usable = np.isfinite(grid.at(motion).value).all(axis=1)
    good, bad = motion[:, 0] < border - WIDTH, motion[:, 0] > border + WIDTH
    assert usable[good].mean() > 0.9 and usable[bad].mean() < 0.1
    assert errors(grid, smooth, motion[good & usable]).max() < 1e-3


def test_without_solutions_it_says_so():
    def broken(u, near=None):
        raise MapError("The robot buckles.")

    told = r"Of 18 samples .* only 0 are in one stable shape.* Lower u_max.* The robot buckles\."
    with pytest.raises(MapError, match=told):
        grid_of(broken).cover(motion_of(), WIDTH, 1e-4)


def test_it_stays_on_the_branch_of_the_motions_start():
    """Two solutions; solving from afar finds either, from a neighbour the neighbour's."""
    smooth, motion, calls = Smooth(), motion_of(), set()

    def folded(u, near=None):
        found = smooth(u)
        upper = near is not None and near.sample.value[0] > 5.0
        if u.tobytes() not in calls and len(calls) % 7 == 3:
            upper = not upper  # Newton's method jumped
        calls.add(u.tobytes())
        return MapSample(found.value + 10.0 * upper, found.gradient)

    grid = grid_of(folded)
    grid.cover(motion, WIDTH, 1e-3)
    value = grid.at(motion).value
    jumps = value - [smooth(u).value for u in motion]
    assert np.abs(jumps - jumps[0]).max() < 1e-2
    assert grid.counts.branching > 0


def test_where_samples_do_not_suffice_the_estimate_says_so():
    """A kink: no polynomial has it."""

    def kinked(u, near=None):
        return MapSample(np.array([abs(u[0] - 0.2)]), np.sign(u[0] - 0.2) * np.eye(D)[:1])

    grid = grid_of(kinked)
    assert grid.cover(motion_of(), WIDTH, 1e-9, most=40) > 1e-4
    assert grid.counts.evaluations <= 50  # some are just outside the tube
