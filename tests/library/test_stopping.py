"""When libraries are complete: bounds of the share of tasks that they fail."""

import numpy as np
import pytest
from scipy.stats import binom

from sofa_softctl.library.building.stopping import PredictedInfeasible, Window, tasks_wanted


def test_without_failures_it_is_the_closed_form():
    """(1 - bound)^n = alpha; with no motion alpha is 0.05 (6 / pi^2)^2."""
    alpha = 0.05 * (6.0 / np.pi**2) ** 2
    assert Window(tasks=200).bound(0) == pytest.approx(1.0 - alpha ** (1.0 / 200.0))
    assert Window(tasks=200).bound(0, error_fraction=0.5) == pytest.approx(
        1.0 - (0.5 * alpha) ** (1.0 / 200.0)
    )
    assert Window().bound(0) == 1.0


def test_so_few_failures_are_as_improbable_as_the_bound_says():
    bound = Window(tasks=500, failures=3).bound(7)
    alpha = 0.05 * (6.0 / np.pi**2) ** 2 / 8**2 / 4**2
    assert binom.cdf(3, 500, bound) == pytest.approx(alpha)


@pytest.mark.parametrize("rate", [0.3, 0.01])
def test_the_number_of_tasks_wanted_is_the_least_that_bounds(rate):
    wanted = tasks_wanted(rate, motions=20)
    assert Window(tasks=wanted).bound(20) <= rate < Window(tasks=wanted - 1).bound(20)


def test_few_builds_end_while_more_than_the_rate_fails():
    """4,000 builds whose libraries fail 1.1 % of tasks whatever they learn, asked for 1 %: each
    window ends at the first failure. At most 5 % may end before 200 motions."""
    rng, wanted = np.random.default_rng(0), [tasks_wanted(0.01, k) for k in range(200)]
    ended = (rng.geometric(0.011, size=(4000, 200)) > wanted).any(axis=1).mean()
    assert 0.0 < ended <= 0.05


def test_tasks_that_were_presumed_to_have_no_motion_count_by_those_checked():
    """Of 1,000 tasks 80 were not solved. 20 were checked and had none: 1 - 0.025^(1/20) of the 80
    may have one."""
    share = 1.0 - 0.025 ** (1.0 / 20.0)
    assert PredictedInfeasible(unsolved=80, solved=20).bound(1000) == pytest.approx(0.08 * share)
    bound = PredictedInfeasible(unsolved=80, solved=20, wrong=2).bound(1000) / 0.08
    assert binom.cdf(2, 20, bound) == pytest.approx(0.025)
    assert PredictedInfeasible(unsolved=80).bound(1000) == 0.08
    assert PredictedInfeasible().bound(0) == 0.0
