"""The grid: what it evaluates, and that it then interpolates; failures, workers, store."""

import os
import re
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from sofa_softctl.errors import MapError, WorkerError
from sofa_softctl.surrogate.cells import spline
from sofa_softctl.surrogate.cells.uniform import Grid, MapSample, Neighbour
from sofa_softctl.surrogate.grid.store import Store

A = np.random.default_rng(0).normal(size=(5, 4))


def waves(u, near=None):
    """n = 5 outputs sin(A u), of any number of inputs up to 4."""
    phase = A[:, : len(u)] @ u
    return MapSample(np.sin(phase), np.cos(phase)[:, None] * A[:, : len(u)])


class Asked:
    """An exact map that remembers what it was asked, and has no answer where `fails` says."""

    def __init__(self, exact=waves, fails=lambda u: False):
        self.exact, self.fails = exact, fails
        self.points, self.near = [], []

    def __call__(self, u, near):
        self.points.append(tuple(u))
        self.near.append(near)
        if self.fails(u):
            raise MapError(f"it buckles at {u[0]:g}")
        return self.exact(u, near)


def queries(d, m=40, low=-1.0, high=1.0, seed=1):
    return np.random.default_rng(seed).uniform(low, high, (m, d))


def exact_at(points):
    samples = [waves(u) for u in points]
    return np.array([s.value for s in samples]), np.array([s.gradient for s in samples])


def corners_of(points, h):
    """Corners of all cells that hold the points."""
    d = points.shape[1]
    return {
        tuple(h * (cell + [(c >> i) & 1 for i in range(d)]))
        for cell in np.floor(points / h)
        for c in range(1 << d)
    }


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_each_corner_of_the_queried_cells_is_evaluated_once(d):
    asked = Asked()
    grid = Grid(asked, np.full(d, 0.5))
    x = queries(d)
    first = grid.at(x)
    assert len(asked.points) == len(set(asked.points))
    assert set(asked.points) == corners_of(x, 0.5)
    again = grid.at(x)
    np.testing.assert_array_equal(again.value, first.value)
    grid.curvature(x, np.ones((len(x), 5)))
    assert len(asked.points) == grid.counts.evaluations == grid.counts.exact[0]
    assert grid.counts.queries == 3 * len(x)
    assert not first.exact.any()


def test_a_whole_box_costs_its_corners_on_every_level():
    """Of [0, 1]^2 with spacing 1/4 at level 0: (4 2^r + 1)^2 corners on level r, less those of
    coarser levels."""
    grid = Grid(waves, [0.25, 0.25])
    box = np.stack(np.meshgrid(*2 * [(np.arange(16) + 0.5) / 16]), axis=-1).reshape(-1, 2)
    for level, expected in enumerate((5**2, 9**2 - 5**2, 17**2 - 9**2)):
        assert grid.level == level
        grid.at(box)
        assert grid.counts.exact[level] == expected
        grid.refine()
    assert grid.counts.evaluations == 17**2


def test_levels_share_corners_and_the_error_falls_by_16_and_8():
    """Orders four and three, at 40 points; 0.2 for what is not yet small."""
    asked = Asked()
    grid = Grid(asked, [0.25, 0.25])
    x = queries(2)
    value, gradient = exact_at(x)
    errors = []
    for _ in range(3):
        found = grid.at(x)
        errors.append((np.std(found.value - value), np.std(found.gradient - gradient)))
        grid.refine()
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, [[4.0, 3.0]] * 2, atol=0.2)
    assert len(asked.points) == len(set(asked.points))
    union = set.union(*(corners_of(x, 0.25 / 2**r) for r in range(3)))
    assert len(asked.points) == len(union)


def test_gradients_and_curvatures_are_derivatives_of_the_value():
    """Central differences with steps 1e-5 and 1e-4, within the cell: 1e-10 / step from rounding."""
    grid = Grid(waves, [0.5, 0.4, 0.3], origin=[0.1, 0.0, -0.1])
    x = np.array([[0.3, 0.1, 0.12], [-0.2, -0.3, 0.3]])
    w = np.random.default_rng(2).normal(size=(2, 5))
    gradient, curvature = grid.at(x).gradient, grid.curvature(x, w)
    for i, e in enumerate(np.eye(3)):
        change = (grid.at(x + 1e-5 * e).value - grid.at(x - 1e-5 * e).value) / 2e-5
        np.testing.assert_allclose(gradient[..., i], change, atol=1e-8)
        slopes = (grid.at(x + 1e-4 * e).gradient - grid.at(x - 1e-4 * e).gradient) / 2e-4
        np.testing.assert_allclose(curvature[..., i], np.einsum("mn,mnd->md", w, slopes), atol=1e-6)


def test_places_in_cells_are_what_the_spline_needs():
    grid = Grid(waves, [0.5, 0.4, 0.3], upper=1.0)
    x = queries(3, high=1.2)
    found = grid.at(x)
    inside, places = grid.places(x)
    np.testing.assert_array_equal(inside, (x <= 1.0).all(axis=1))
    value, gradient = spline.evaluate(*places, grid.corners.data)
    np.testing.assert_array_equal(value, found.value[inside])
    np.testing.assert_array_equal(gradient, found.gradient[inside])


def test_a_selection_of_outputs_has_the_same_numbers():
    grid = Grid(waves, 2 * [0.5], upper=0.9)
    x = queries(2, high=1.2)  # some beyond the bound
    everything = grid.at(x)
    some = grid.at(x, rows=[4, 1])
    np.testing.assert_allclose(some.value, everything.value[:, [4, 1]], rtol=1e-12)
    np.testing.assert_allclose(some.gradient, everything.gradient[:, [4, 1]], rtol=1e-12)
    values = grid.at(x, gradient=False)
    np.testing.assert_array_equal(values.value, everything.value)
    assert values.gradient.shape == (0, 5, 2)
    w = np.zeros((len(x), 5))
    w[:, [4, 1]] = 1.0
    np.testing.assert_allclose(
        grid.curvature(x, w[:, [4, 1]], rows=[4, 1]), grid.curvature(x, w), rtol=1e-9, atol=1e-12
    )


def test_corners_go_on_from_the_nearest_known_one():
    """The first from nothing, nearest to zero; each other from a corner that is next to it."""
    asked, h = Asked(), np.array([0.5, 0.1])
    grid = Grid(asked, h)
    x = np.array([[-0.7, -0.03], [0.2, 0.33]])
    grid.at(x)
    grid.at([[0.2, 0.05]])
    assert asked.near[0] is None
    assert asked.points[0] == min(corners_of(x, h), key=lambda u: np.linalg.norm(u / h))
    for k, (u, near) in enumerate(zip(asked.points, asked.near, strict=True)):
        if k == 0:
            continue
        distances = np.linalg.norm((np.array(asked.points[:k]) - u) / h, axis=1)
        assert isinstance(near, Neighbour)
        assert np.linalg.norm((near.u - u) / h) == pytest.approx(distances.min())
        np.testing.assert_array_equal(near.sample.value, waves(near.u).value)
        np.testing.assert_array_equal(near.sample.gradient, waves(near.u).gradient)


@pytest.mark.soak
@pytest.mark.parametrize("Executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_parallel_evaluation_gives_the_same_to_the_bit(Executor):
    x = queries(3)
    alone = Grid(waves, 3 * [0.5])
    context = {"mp_context": get_context("spawn")} if Executor is ProcessPoolExecutor else {}
    with Executor(2, **context) as executor:
        together = Grid(waves, 3 * [0.5], executor=executor)
        found = together.at(x)
    expected = alone.at(x)
    np.testing.assert_array_equal(found.value, expected.value)
    np.testing.assert_array_equal(found.gradient, expected.gradient)
    assert together.counts == alone.counts


def killed_at_one(u, near):
    if u[0] == 1.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return waves(u, near)


@pytest.mark.soak
def test_a_killed_worker_is_told_and_loses_no_corner(tmp_path):
    with Store(tmp_path / "samples.db", "waves") as store:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
            grid = Grid(killed_at_one, [0.5], store=store, executor=executor)
            grid.at([[0.2]])
            with pytest.raises(WorkerError, match="A worker process ended.*go on with a new"):
                grid.at([[0.7], [-0.4]])  # 1.0 is among their corners
        kept = grid.counts.evaluations
        assert kept == len(store) >= 2
        again = Grid(waves, [0.5], store=store)
        again.at([[0.2], [0.7], [-0.4]])
        assert again.counts.from_store == kept
        assert again.counts.evaluations == 4 - kept  # of -0.5, 0, 0.5 and 1


def test_a_failed_corner_is_tried_once_and_its_cells_are_answered_by_the_map():
    asked = Asked(fails=lambda u: u[0] == 1.0)
    grid = Grid(asked, [0.5, 0.5])
    x = np.array([[0.2, 0.2], [0.7, 0.2], [1.3, 0.3], [0.7, 0.3]])
    found = grid.at(x)
    assert found.exact.tolist() == [False, True, True, True]
    value, gradient = exact_at(x)
    np.testing.assert_array_equal(found.value[1:], value[1:])
    np.testing.assert_array_equal(found.gradient[1:], gradient[1:])
    assert (grid.counts.fallbacks, grid.counts.refused, grid.counts.failed) == (3, 2, 2)
    assert sorted((*u, why) for u, why in grid.failures) == [
        (1.0, 0.0, "it buckles at 1"),
        (1.0, 0.5, "it buckles at 1"),
    ]
    grid.at(x)
    assert asked.points.count((1.0, 0.0)) == 1
    assert grid.counts.fallbacks == 6
    curvature = grid.curvature(x, np.ones((4, 5)))
    assert np.isfinite(curvature[0]).all()
    assert np.isnan(curvature[1:]).all()
    with pytest.raises(MapError, match="it buckles at 1"):
        grid.at([[1.0, 0.1]])


def test_no_further_corners_are_evaluated_for_a_cell_that_is_refused_already():
    asked = Asked(fails=lambda u: tuple(u) == (0.5, 0.5))
    grid = Grid(asked, [0.5, 0.5])
    grid.at([[0.2, 0.2]])
    assert len(asked.points) == 4 + 1
    grid.at([[0.7, 0.7]])  # shares the failed corner
    assert len(asked.points) == 4 + 2


def test_numbers_that_are_not_finite_are_no_answer():
    def bad(u, near):
        sample = waves(u)
        return MapSample(sample.value, sample.gradient * (np.nan if u[0] == 0.5 else 1.0))

    grid = Grid(bad, [0.5])
    assert grid.at([[0.2]]).exact.all()
    assert [why for _, why in grid.failures] == [
        "The exact map has no answer at u = [0.5]: it gave NaN or infinity."
    ]


def test_outside_the_bounds_the_map_itself_is_asked():
    grid = Grid(waves, [0.5, 0.5], lower=[0.0, 0.0], upper=[1.0, 0.9])
    x = np.array([[-0.1, 0.2], [0.2, 0.95], [0.2, 0.2]])
    found = grid.at(x)
    assert found.exact.tolist() == [True, True, False]
    np.testing.assert_array_equal(found.value[:2], exact_at(x)[0][:2])


@pytest.mark.parametrize(
    ("h", "a", "b"),
    [(0.1, 0.3, 0.7), (0.1, -0.7, 3 * 0.1), (0.3, 0.0, 0.9), (1 / 7, -3 / 7, 3 / 7)],
)
def test_points_on_the_bounds_need_no_corners_beyond_them(h, a, b):
    """Also where a / h is not whole to the last digit; a rounding error beyond is inside."""
    assert [0.3 / 0.1, 3 * 0.1 / 0.1] == [2.9999999999999996, 3.0000000000000004]
    asked = Asked(fails=lambda u: (u > b + 1e-12).any() or (u < a - 1e-12).any())
    grid = Grid(asked, [h, h], lower=a, upper=b)
    x = np.array([[a, a], [b, b], [a, b], [b + 1e-12, a - 1e-12]])
    for _ in range(3):
        assert not grid.at(x).exact.any()
        np.testing.assert_allclose(grid.at(x).value, exact_at(x)[0], atol=1e-11)
        grid.refine()
    assert grid.counts.failed == 0


def test_a_second_grid_takes_everything_from_the_store(tmp_path):
    x = queries(3, m=10)
    bad = 0.5 * np.floor(x[0] / 0.5)

    def fails(u):
        return np.array_equal(u, bad)

    with Store(tmp_path / "samples.db", "waves") as store:
        first = Grid(Asked(fails=fails), 3 * [0.5], store=store)
        first.at(x)
        first.refine()
        first.at(x)
        info = store.info()
        assert (info.samples, info.failed) == (
            {0: first.counts.exact[0] - 1, 1: first.counts.exact[1]},
            1,
        )
    asked = Asked(fails=lambda u: True)
    with Store(tmp_path / "samples.db", "waves") as store:
        second = Grid(asked, 3 * [0.25], store=store)  # another spacing: level 1 of the first
        inside = ~first.at(x).exact
        np.testing.assert_array_equal(second.at(x[inside]).value, first.at(x[inside]).value)
    assert asked.points == []
    assert second.counts.from_store > 0


def test_a_full_store_ends_nothing_and_takes_what_waits_when_it_can(tmp_path):
    """SQLite's own limit of pages stands for the disk: the error is the same."""
    with Store(tmp_path / "samples.db", "waves") as store:
        pages = store._file.row("PRAGMA page_count")[0]
        store._file.execute(f"PRAGMA max_page_count = {pages}")
        asked = Asked(lambda u, near: MapSample(np.ones(5000), np.zeros((5000, 1))))
        grid = Grid(asked, [0.5], store=store)
        found = grid.at([[0.2]])
        kept = grid.corners.store
        assert "the disk is full. Free some space and continue" in kept.fault
        assert (kept.unsaved_count, len(store)) == (2, 0)
        store._file.execute("PRAGMA max_page_count = 100000")  # space was freed
        grid.at([[0.7]])
        assert (kept.unsaved_count, kept.fault, len(store)) == (0, "", 3)
        assert len(asked.points) == 3
        np.testing.assert_array_equal(grid.at([[0.2]]).value, found.value)
    again = Grid(Asked(fails=lambda u: True), [0.5], store=Store(tmp_path / "samples.db", "waves"))
    np.testing.assert_array_equal(again.at([[0.2]]).value, found.value)
    again.corners.store.store.close()


def test_a_store_that_cannot_be_read_any_more_is_done_without(tmp_path):
    with Store(tmp_path / "samples.db", "waves") as store:
        Grid(waves, [0.5], store=store).at([[0.2]])
        store._file.execute("ALTER TABLE samples RENAME TO gone")  # by whatever damage
        asked = Asked(waves)
        grid = Grid(asked, [0.5], store=store)
        grid.at([[0.2]])
        assert len(asked.points) == 2
        assert "cannot be used (no such table: samples)" in grid.corners.store.fault
        assert grid.corners.store.unsaved_count == 2


def test_a_damaged_corner_is_solved_again(tmp_path):
    with Store(tmp_path / "samples.db", "waves") as store:
        found = Grid(waves, [0.5], store=store).at([[0.2]])
        store._file.execute("UPDATE samples SET value = randomblob(length(value)) WHERE rowid = 1")
        asked = Asked(waves)
        grid = Grid(asked, [0.5], store=store)
        np.testing.assert_allclose(grid.at([[0.2]]).value, found.value, rtol=1e-12)
        assert len(asked.points) == grid.corners.store.damaged_count == 1
        assert grid.counts.from_store == 1


def test_the_estimate_is_near_the_error_and_above_the_most_of_it():
    """At 300 points held out: the largest error is within a factor of two of the largest estimate,
    95 % of the points are below 1.5 times their estimate."""
    grid = Grid(waves, [0.5, 0.5])
    x = queries(2, m=300, seed=5)
    assert np.isnan(grid.error_estimate(x)).all()
    for level in (1, 2):
        grid.at(x)
        grid.refine()
        asked = grid.counts.evaluations
        assert np.isnan(grid.error_estimate(x)).sum() >= 250  # its corners were not yet asked
        assert grid.counts.evaluations == asked
        found = grid.at(x)
        error = np.abs(found.value - exact_at(x)[0]).max(axis=1)
        estimate = grid.error_estimate(x)
        assert grid.level == level
        assert 0.5 <= estimate.max() / error.max() <= 2.0
        assert np.mean(error <= 1.5 * estimate) >= 0.95
        np.testing.assert_array_less(grid.error_estimate(x, rows=[0]), estimate + 1e-15)


@pytest.mark.parametrize("h", [0.25, 0.5, 0.7])
def test_without_a_coarser_level_the_estimate_is_above_the_error(h):
    """At 400 points held out; too large by a factor of 20 at most, as it is of order three."""
    grid = Grid(waves, [h, h])
    x = queries(2, m=400, seed=5)
    error = np.abs(grid.at(x).value - exact_at(x)[0]).max(axis=1)
    estimate = grid.error_estimate(x)
    assert np.mean(error <= estimate) >= 0.99
    assert estimate.max() <= 20.0 * error.max()
    np.testing.assert_array_less(grid.error_estimate(x, rows=[0]), estimate + 1e-15)


def test_beside_a_refused_parent_there_is_an_estimate():
    """A corner of level 0 fails; cells of level 1 that do not have it are used, and estimated."""
    grid = Grid(Asked(fails=lambda u: (u == 0.5).all()), [0.5, 0.5])
    grid.refine()
    x = np.array([[0.1, 0.1], [0.4, 0.4]])
    assert grid.at(x[:1]).exact.tolist() == [False]
    estimate = grid.error_estimate(x)
    assert np.isfinite(estimate[0]) and np.isnan(estimate[1])
    error = np.abs(grid.at(x[:1]).value - exact_at(x[:1])[0]).max()
    assert error <= estimate[0] <= 100.0 * error


def test_bad_arguments_are_refused():
    for arguments, message in [
        (([0.5, 0.0],), "spacing must be positive. Got: [0.5 0. ]"),
        ((9 * [0.5],), "must have shape (d,), d from 1 to 8. Got: (9,)"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            Grid(waves, *arguments)
    with pytest.raises(ValueError, match="lower must be below upper"):
        Grid(waves, 0.5, lower=[0.0, 1.0], upper=1.0)
    grid = Grid(waves, 2 * [0.5])
    with pytest.raises(ValueError, match=r"points must have shape \(m, 2\). Got: \(2,\)"):
        grid.at([0.0, 0.0])
    with pytest.raises(ValueError, match="points must be finite"):
        grid.at([[np.nan, 0.0]])
    wrong = Grid(lambda u, near: MapSample(np.zeros(3), np.zeros((2, 3))), 2 * [0.5])
    with pytest.raises(ValueError, match=r"gradient of shape \(3, 2\). Got: \(3,\) and \(2, 3\)"):
        wrong.at([[0.1, 0.1]])
