"""Parametric bootstrap: refits of simulated data."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.bootstrap import bootstrap
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from sofa_softctl.view.pages.identification import page
from tests.support.chains import CHAIN, TORQUE_NOISE, chain, driven, one_torque


def driven_chain(torque_noise=0.0, seed=1):
    """A third of a second, which keeps refits short."""
    problem = chain(torque_noise)
    rng = np.random.default_rng(seed)
    run = driven(problem, rng, truth=CHAIN, torque=one_torque, duration=0.3)
    return problem.experiment(run)


def test_quantiles_of_a_linear_model_are_its_intervals(models):
    """Normal noise: half-widths of 200 refits agree within 4 of their sampling errors, 7 % each."""
    one = models.lag(1)
    found = estimate([one])
    trust, made = identifiability(found, [one]), bootstrap(found, [one], 200)
    ratio = (made.high - made.low) / (trust.high - trust.low)
    np.testing.assert_allclose(ratio, 1.0, atol=4.0 * made.sampling_error())
    assert (np.abs(made.bias) < 4.0 * made.bias_error).all()
    report = make_report("lag", found, [one], bootstrap=made)
    assert "200 refits of simulated data agree" in " ".join(one.text for one in report.diagnostics)
    assert report.to_dict()["bootstrap"]["refits"] == 200
    assert "of 200 refits" in page(report)


def test_refits_weigh_data_by_the_noise_that_was_estimated(models):
    """Declared a hundred times too large it would leave the gain to its prior, which is redrawn
    in each refit: intervals would be as wide as that."""
    loud = (replace(models.PLACE, deviation=100.0 * models.PLACE.deviation),)
    gain = replace(models.GAIN, prior=Prior(2.0, 0.1))
    one = models.lag(1, channels=loud, parameters=(models.TAU, gain))
    found = estimate([one], estimate_noise=True)
    trust, made = identifiability(found, [one]), bootstrap(found, [one], 60)
    ratio = (made.high - made.low) / (trust.high - trust.low)
    np.testing.assert_allclose(ratio, 1.0, atol=4.0 * made.sampling_error())


@dataclass(frozen=True, eq=False)
class Line(Experiment):
    """y = slope u; recorded u has noise, and is taken as exact."""

    u: np.ndarray
    measured: np.ndarray
    name: str = "line"
    parameters: tuple = (Parameter("slope", 1.0),)
    inputs: tuple = (Channel("u", "V", 0.4),)
    channels: tuple = (Channel("y", "mm", 0.05),)

    @property
    def time(self):
        return np.arange(len(self.u)) * 0.1

    def outputs(self, rho):
        return rho[0] * self.u

    def sensitivities(self, rho):
        return self.outputs(rho), self.u[:, :, None]

    def with_input_errors(self, errors):
        return replace(self, u=self.u + errors)


def test_noise_of_inputs_that_are_taken_as_exact_biases_refits():
    """Attenuation: errors s^2 added to inputs of variance v scale a slope by v / (v + s^2)."""
    u = np.sin(np.arange(200) * 0.1)[:, None]
    one = Line(u, 2.0 * u)
    found = estimate([one])
    made = bootstrap(found, [one], 200)
    v = float(np.mean(u**2))
    expected = 2.0 * v / (v + 0.4**2) - 2.0
    assert made.bias[0] == pytest.approx(expected, abs=4.0 * made.bias_error[0] + 2.0 / 200)
    told = make_report("line", found, [one], bootstrap=made)
    assert any("biased" in each.text and "too low" in each.text for each in told.diagnostics)


def test_errors_of_inputs_as_unknowns_leave_no_bias():
    """Three times the usual noise of the torque. Deviations of 20 refits: within 4 of 16 % each."""
    one = driven_chain(3.0 * TORQUE_NOISE)
    found = estimate([one])
    assert found.experiments[0].unknowns
    made, trust = bootstrap(found, [one], 20), identifiability(found, [one])
    assert not made.failed
    assert (np.abs(made.bias) < 4.0 * made.bias_error + 0.1 * trust.deviations).all()
    spread = made.found.std(axis=0, ddof=1) / trust.deviations
    np.testing.assert_allclose(spread, 1.0, atol=4.0 / np.sqrt(2.0 * 20.0))


@pytest.mark.soak
def test_worker_processes_give_the_same_refits():
    one = driven_chain(TORQUE_NOISE)
    found = estimate([one])
    counts = []
    alone = bootstrap(found, [one], 20, seed=3, progress=counts.append)
    with LocalExecutor(1) as executor:
        shared = bootstrap(found, [one], 20, seed=3, executor=executor)
    np.testing.assert_array_equal(alone.found, shared.found)
    assert counts == list(range(1, 21))
    assert not np.array_equal(alone.found, bootstrap(found, [one], 20, seed=4).found)


def test_priors_are_drawn_as_data_are(models):
    """With a prior as narrow as the data, refits spread by both: the interval of the posterior."""
    one = models.lag(1)
    free = estimate([one])
    deviation = float(identifiability(free, [one]).deviations[1])
    known = replace(models.GAIN, prior=Prior(free.value("gain"), deviation))
    found = estimate([one], (models.TAU, known))
    trust, made = identifiability(found, [one]), bootstrap(found, [one], 200)
    ratio = (made.high - made.low) / (trust.high - trust.low)
    np.testing.assert_allclose(ratio, 1.0, atol=4.0 * made.sampling_error())


class Square(Experiment):
    """y = k^2: linearised at a small k its interval is far too wide, and k has a bound at 0."""

    name, inputs = "square", ()
    parameters = (Parameter("k", 0.1),)
    channels = (Channel("y", "", 0.05),)
    time = np.arange(8.0)
    measured = np.full((8, 1), 0.01)

    def outputs(self, rho):
        return np.full((8, 1), rho[0] ** 2)

    def sensitivities(self, rho):
        return self.outputs(rho), np.full((8, 1, 1), 2.0 * rho[0])


def test_a_model_that_bends_within_its_interval_is_reported():
    one = Square()
    found = estimate([one])
    made = bootstrap(found, [one], 200)
    told = make_report("square", found, [one], bootstrap=made)
    text = " ".join(each.text for each in told.diagnostics if each.level == "look")
    assert "Linearised intervals of k are not those of" in text


def test_too_few_refits_and_inputs_that_cannot_be_disturbed_are_refused(models):
    one = models.lag(1)
    with pytest.raises(IdentificationError, match="Expected 20 or more"):
        bootstrap(estimate([one]), [one], 5)
    driven_square = Square()
    driven_square.inputs = (Channel("u", "V", 0.1),)
    with pytest.raises(IdentificationError, match="has no with_input_errors"):
        bootstrap(estimate([driven_square]), [driven_square], 20)
