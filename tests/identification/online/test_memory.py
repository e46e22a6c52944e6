"""What a sliding window remembers of samples that left it."""

import numpy as np
import pytest

from sofa_softctl.identification.online.arrival_cost import ArrivalCost, LinearisedWindow
from sofa_softctl.identification.online.window import SlidingWindow


def window(length=1.0, half_life=2.0):
    """Of a line's slope and offset, without a sample."""
    return SlidingWindow(length, 0.0, (), half_life, ArrivalCost.none(2))


def rows_at(times):
    """Samples of y = 3 x + 2 at x = t, with noise 1: each has the information of (t, 1)."""
    J = np.stack([times, np.ones_like(times)], axis=1)
    F = np.einsum("ti,tj->tij", J, J)
    return LinearisedWindow(times, F, F @ [3.0, 2.0], np.ones(2))


def test_the_weight_of_a_sample_halves_with_each_half_life_after_it_left():
    """Windows begin at 1, 2 and 4 s: what left at 1 s counts 1/2^1.5, what left at 2 s a half. The
    covariance of a weighted sum has the squares of the weights."""
    seen, times = window(), np.arange(0.0, 5.0, 0.1) + 0.05
    for now in (2.0, 3.0, 5.0):
        seen.samples = [[time, 0.0] for time in times[(times > now - 3.0) & (times < now)]]
        known = rows_at(times[times < now])
        seen.rows = known if seen.left is None else known.since(seen.left)
        seen.slide(now)
        assert seen.left == pytest.approx(now - 1.0, abs=1e-6)
    weight = np.select([times < 1.0, times < 2.0, times < 4.0], [0.5**1.5, 0.5, 1.0])
    every = rows_at(times).information
    for found, factor in ((seen.memory.information, weight), (seen.memory.spread, weight**2)):
        np.testing.assert_allclose(found, np.einsum("t,tij->ij", factor, every), rtol=1e-6)
    np.testing.assert_allclose(seen.memory.b, seen.memory.information @ [3.0, 2.0])
    assert (seen.rows.time > 4.0).all() and len(seen.rows.time) == 10


def test_what_is_remembered_is_one_sample_with_the_same_best_fit_and_curvature():
    memory = rows_at(np.linspace(0.0, 1.0, 7)).cost_before(2.0)
    one = memory.experiment(())
    at = np.array([1.0, -4.0])
    outputs, slopes = one.sensitivities(at)
    np.testing.assert_allclose(slopes[0].T @ slopes[0], memory.information, rtol=1e-12)
    gradient = slopes[0].T @ (outputs - one.measured)[0]
    np.testing.assert_allclose(gradient, memory.information @ (at - [3.0, 2.0]), rtol=1e-9)
