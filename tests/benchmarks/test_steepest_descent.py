"""The paper's steepest descent: its cost, Armijo's rule, positivity, and where it ends."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.loop.steepest_descent import descend
from scenes.flexible_loop.problem import LoopProblem
from scenes.flexible_loop.recording import STIFFNESS, Noise, record
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.fitting.gauss_newton import Termination
from sofa_softctl.identification.model.experiment import Experiment
from tests.support.perfect import perfect


def cost_of(experiment, rho, terminal=True):
    """sum_k e_k' e_k + e_kf' e_kf."""
    squares = np.nansum((experiment.outputs(rho) - experiment.measured) ** 2, axis=1)
    return squares.sum() + terminal * squares[-1]


def test_it_comes_to_the_least_squares_without_weights(models):
    """One channel has one weight. Curvatures are 50 and more: a gradient of 1e-5 leaves 2e-7."""
    one = models.lag(1)
    found = descend([one], terminal=False, gradient_norm=1e-5, relative_slope=0.0)
    assert found.termination is Termination.CONVERGED
    assert found.rho == pytest.approx(estimate([one]).rho, abs=2e-7)


def test_the_cost_counts_the_last_sample_twice(models):
    one = models.lag(1)
    found = descend([one], most=2)
    for at in found.iterates:
        assert at.cost == pytest.approx(cost_of(one, at.rho), rel=1e-12)
    assert found.termination is Termination.EXHAUSTED and found.iterations == 2


def test_the_gradient_is_that_of_the_cost(models):
    """Central differences with a relative step of 1e-6: 1e-12 and rounding of 1e-10 are left."""
    y = models.lag(1).recording.outputs.copy()
    y[50:80] = np.nan
    one = models.lag(1)
    one = replace(one, recording=replace(one.recording, outputs=y))
    at = descend([one], most=1).iterates[0]
    for i, h in enumerate(1e-6 * at.rho):
        step = h * np.eye(2)[i]
        slope = (cost_of(one, at.rho + step) - cost_of(one, at.rho - step)) / (2.0 * h)
        assert at.gradient[i] == pytest.approx(slope, rel=1e-7)


def test_every_step_obeys_armijo_and_is_the_longest_that_does(models):
    one = models.lag(1)
    path = descend([one], alpha=0.4, beta=0.4, first_step=1.0, most=20).iterates
    for before, after in zip(path, path[1:], strict=False):
        slope = before.gradient @ before.gradient
        assert after.cost <= before.cost - 0.4 * after.step * slope
        np.testing.assert_allclose(after.rho, before.rho - after.step * before.gradient)
        power = np.log(after.step) / np.log(0.4)
        assert power == pytest.approx(round(power), abs=1e-9)
        if after.step < 1.0:
            longer = before.rho - after.step / 0.4 * before.gradient
            allowed = (longer > 0.0).all() and longer[0] > models.SHORTEST
            assert not allowed or cost_of(one, longer) > before.cost - after.step * slope


def test_its_step_scales_itself(models):
    """A load of a thousandth moves a thousandth: a millionth of the cost, and the same path."""
    paths = [descend([models.swing(load=load)], gradient_norm=0.0, most=12) for load in (0.2, 2e-4)]
    large, small = ([at.rho for at in path.iterates] for path in paths)
    assert paths[1].iterates[0].cost == pytest.approx(1e-6 * paths[0].iterates[0].cost)
    np.testing.assert_allclose(small, large, rtol=1e-6)


def test_it_ends_where_the_cost_is_flat(models):
    """No sensible change of a parameter would change the cost by a thousandth."""
    found = descend([models.lag(1)], gradient_norm=0.0)
    last = found.iterates[-1]
    change = last.gradient * [one.scale for one in found.parameters] / last.cost
    assert found.termination is Termination.CONVERGED
    assert last.relative_slope == pytest.approx(np.abs(change).max()) and last.relative_slope < 1e-3
    norm = found.iterates[3].gradient_norm
    assert found.until(norm) <= 3 and found.until(0.0) is None


def test_parameters_stay_positive_and_failures_shorten_the_step(models):
    """The first full steps lead to negative and to too short time constants."""
    start = (replace(models.TAU, start=0.03), models.GAIN)
    found = descend([models.lag()], start, gradient_norm=1e-6, most=500)
    assert all((at.rho > 0.0).all() for at in found.iterates)
    assert found.termination is Termination.CONVERGED
    assert found.rho == pytest.approx(models.LAG_TRUTH, rel=1e-5)
    with pytest.raises(IdentificationError, match="cannot be simulated at the start: lag: tau"):
        descend([models.lag()], (replace(models.TAU, start=0.01), models.GAIN))


def test_parameters_stay_positive_where_negative_ones_would_fit(models):
    """The gain that made the data is -1: no iterate is there, though it can be simulated."""
    found = descend([models.lag(truth=np.array([0.3, -1.0]))], most=30)
    assert all(at.rho[1] > 0.0 for at in found.iterates)
    assert found.rho[1] < 0.1


def test_chosen_channels_count_and_others_do_not(models):
    one = models.lag(1)
    assert descend([one], channels=["tip"], most=1).iterates[0].cost > 1.0
    assert descend([one], channels=[], most=1).iterates[0].cost == 0.0
    with pytest.raises(IdentificationError, match="lag has no output 'top'. It has: tip"):
        descend([one], channels=["top"])


def test_costs_of_several_experiments_add_up(models):
    one, two = models.lag(1), models.lag(2)
    alone = [descend([each], most=1).iterates[0] for each in (one, two)]
    both = descend([one, two], most=1).iterates[0]
    assert both.cost == pytest.approx(alone[0].cost + alone[1].cost)
    np.testing.assert_allclose(both.gradient, alone[0].gradient + alone[1].gradient)
    assert len(both.outputs) == 2 and both.outputs[0].shape == one.measured.shape


def test_simulations_are_counted_and_progress_told(models):
    told = []
    found = descend([models.lag(1)], most=5, progress=lambda *values: told.append(values))
    assert found.gradients == len(found.iterates) == len(told) == 6
    assert found.simulations >= 5
    assert [cost for _, cost, _ in told] == [at.cost for at in found.iterates]


def test_a_line_search_without_end_gives_up(models):
    """The gradient points uphill: no step helps."""

    class Uphill(models.Lag):
        def pull_back(self, rho, gradient):
            swept = super().pull_back(rho, gradient)
            return replace(swept, by_parameters=-swept.by_parameters)

    assert descend([Uphill(models.lag().recording)]).termination is Termination.STALLED


def test_an_experiment_without_an_adjoint_is_refused(models):
    class Forward(models.Lag):
        pull_back = Experiment.pull_back

    one = Forward(models.lag(1).recording)
    with pytest.raises(
        IdentificationError, match="lag: expected a method pull_back.*it has no pul"
    ):
        descend([one])


@pytest.mark.study
def test_the_loop_goes_there_as_well():
    """Twelve links at 5 ms, without noise, from 6 to 12 s: the loop is pushed aside and bent."""
    whole = record(links=12, dt=5e-3, duration=12.0, noise=Noise(0.0, 0.0))
    part = slice(600, None)
    end = replace(
        whole, time=whole.time[part], inputs=whole.inputs[part], outputs=whole.outputs[part]
    )
    problem = LoopProblem()
    exact = perfect(problem, np.array(STIFFNESS), end)
    descent = descend([problem.experiment(exact)], gradient_norm=3e-4)
    costs = [each.cost for each in descent.iterates]
    assert all(after < before for before, after in zip(costs, costs[1:], strict=False))
    assert descent.iterates[-1].gradient_norm < 3e-4
    assert costs[-1] < 0.5 * costs[0]
