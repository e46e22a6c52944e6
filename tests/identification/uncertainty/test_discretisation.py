"""Error of the discretisation: refits of finer models, extrapolated."""

import json
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from scenes.flexible_loop.problem import LoopProblem
from scenes.flexible_loop.recording import Noise, record
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.sensors import Delayed
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, Refinement
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.discretisation import discretisation_budget
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from sofa_softctl.view.pages.identification import page
from tests.support.chains import CHAIN, chain, driven, one_torque

RATE = Parameter("rate", 1.0, "1/s")
OFFSET = Parameter("offset", 0.0, "mm", lower=-10.0)


@dataclass(frozen=True, eq=False)
class Decay(Experiment):
    """A straight line of slope rate (1 + error h^order): its error is exactly of that order."""

    measured: np.ndarray
    h: float
    order: int = 1
    error: float = 0.5
    name: str = "decay"
    parameters: tuple = (RATE, OFFSET)
    channels: tuple = (Channel("y", "mm", 0.01),)
    inputs: tuple = ()
    broken: bool = False

    @property
    def time(self):
        return np.linspace(0.0, 1.0, len(self.measured))

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        slope = self.time * (1.0 + self.error * self.h**self.order)
        by_rho = np.stack([slope, np.ones_like(slope)], axis=-1)[:, None, :]
        return by_rho @ rho, by_rho

    def refinements(self):
        return (
            Refinement("h", "grid", "with half the grid", partial(self.finer), order=self.order),
        )

    def finer(self):
        if self.broken:
            raise IdentificationError("The grid cannot be refined. Give a finer one.")
        return replace(self, h=0.5 * self.h)


def decay(h=0.1, order=1, rate=2.0, seed=0, **others):
    """Data of the limit h = 0."""
    time = np.linspace(0.0, 1.0, 50)
    noise = 0.01 * np.random.default_rng(seed).standard_normal((50, 1))
    return Decay(rate * time[:, None] + noise, h, order, **others)


@pytest.mark.parametrize("order", [1, 2])
def test_the_extrapolated_change_is_the_whole_error_where_it_is_of_that_order(order):
    """rate (1 + error h^p) is what data determine; Richardson leaves terms of h^2p."""
    one = decay(order=order)
    found = estimate([one])
    budget = discretisation_budget(found, [one])
    exact = estimate([replace(one, h=0.0)])
    (shift,) = budget.shifts
    assert shift.converged
    np.testing.assert_allclose(
        shift.rho, estimate([replace(one, h=0.05)]).rho, rtol=1e-6, atol=1e-8
    )
    whole = exact.value("rate") - found.value("rate")
    assert shift.limit[0] == pytest.approx(whole, rel=2.0 * 0.5 * 0.1**order)


def test_widened_intervals_reach_from_noise_alone_to_the_whole_error():
    one = decay()
    found = estimate([one])
    trust, budget = identifiability(found, [one]), discretisation_budget(found, [one])
    low, high = budget.widened(trust)
    (shift,) = budget.shifts
    assert shift.limit[0] > 0.0  # the model's slope is too large
    np.testing.assert_allclose(low[0], trust.low[0])
    np.testing.assert_allclose(high[0], trust.high[0] + shift.limit[0])
    assert not trust.low[0] <= 2.0 <= trust.high[0]
    assert low[0] <= 2.0 <= high[0]


def test_a_parameter_that_belongs_to_its_grid_is_named_in_the_first_line():
    one = decay()
    found = estimate([one])
    budget = discretisation_budget(found, [one])
    report = make_report("decay", found, [one], discretisation=budget)
    told = "rate belongs to this grid: with half the grid it would be 2.4 % higher ("
    assert told in report.verdict.text
    assert "times the half-width of its interval); extrapolated, the whole error is 4.9 %" in (
        report.verdict.text
    )
    values = json.loads(json.dumps(report.to_dict(), allow_nan=False))["discretisation"]
    assert values["intervals"]["rate"]["high"] > 2.0
    first = values["refinements"][0]
    assert first["parameters"]["rate"]["change_in_half_widths"] > 1.0
    assert "with half the grid" in page(report)


def test_an_error_below_the_noise_is_called_small_and_what_fails_is_named():
    one = decay(h=1e-4)
    found = estimate([one])
    budget = discretisation_budget(found, [one])
    report = make_report("decay", found, [one], discretisation=budget)
    good = [each.text for each in report.diagnostics if each.level == "good"]
    assert any(text.startswith("The grid hardly moves parameters") for text in good)
    assert "belongs" not in report.verdict.text
    broken = [replace(one, broken=True)]
    left = discretisation_budget(estimate(broken), broken)
    assert left.shifts == () and left.left_out == (
        "The error by the grid was not estimated. The grid cannot be refined. Give a finer one.",
    )


def test_what_takes_long_is_left_out_unless_asked_for(monkeypatch):
    one = decay()
    found = replace(estimate([one]), seconds=0.0)
    slow = replace(one.refinements()[0], cost=1e9)
    monkeypatch.setattr(Decay, "refinements", lambda self: (replace(slow, make=one.finer),))
    left = discretisation_budget(found, [one])
    assert left.shifts == () and "--budget does it all the same" in left.left_out[0]
    assert len(discretisation_budget(found, [one], limit=False).shifts) == 1


def test_searches_that_did_not_end_have_no_budget():
    one = chain().experiment(fine_data())
    (why,) = discretisation_budget(estimate([one], evaluations_max=1), [one]).left_out
    assert "did not converge" in why


def fine_data(dt=0.00125, seed=0):
    """The chain of the coverage study, simulated with short steps."""
    rng = np.random.default_rng(seed)
    return driven(replace(chain(), dt=dt), rng, truth=CHAIN, torque=one_torque, duration=2.0)


def test_half_the_time_step_tells_the_whole_error_of_a_mechanism():
    """Second order: 4/3 of the change is the error, up to terms of h^4, some % at 40 ms."""
    one = replace(chain(), dt=0.04).experiment(fine_data())
    found = estimate([one])
    trust, budget = identifiability(found, [one]), discretisation_budget(found, [one])
    (shift,) = budget.shifts
    assert shift.refinement.text == "with a time step of 20 instead of 40 ms"
    fine = estimate([chain_at(0.00125).experiment(fine_data())])
    np.testing.assert_allclose(
        shift.limit[0], fine.value("stiffness") - found.value("stiffness"), rtol=0.05
    )
    low, high = budget.widened(trust)
    assert not trust.low[0] <= CHAIN["stiffness"] <= trust.high[0]
    assert low[0] <= CHAIN["stiffness"] <= high[0]


def chain_at(dt):
    return replace(chain(), dt=dt)


def test_a_delayed_experiment_is_refined_with_its_delay():
    delay = Parameter("delay", 0.0, "s", lower=-0.1, upper=0.1)
    one = Delayed(replace(chain(), dt=0.04).experiment(fine_data()), delay)
    (refinement,) = one.refinements()
    finer = refinement.make()
    assert finer.delay is delay and finer.experiment.problem.dt == 0.02


def test_a_loop_is_refined_in_steps_and_in_links_with_the_same_parameters():
    """Gains vary by step: they are held over both halves."""
    run = record(links=6, friction=0.0, noise=Noise(), duration=0.3)
    one = LoopProblem(6).experiment(run)
    halved, linked = (each.make() for each in one.refinements())
    assert len(halved.problem.feedback.gain) == halved.steps == 2 * one.steps
    assert linked.problem.name == "loop of 12 links"
    rho = np.array([4.4, 1.0])
    np.testing.assert_allclose(halved.outputs(rho), one.outputs(rho), atol=2e-4)
    wrong = replace(one.problem, finer={"links": chain()})
    with pytest.raises(IdentificationError, match="Expected those of the model itself"):
        type(one)(wrong, fine_data()).refinements()[1].make()
