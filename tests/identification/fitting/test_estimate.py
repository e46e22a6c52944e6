"""Estimates by maximum likelihood: recovery, failures, bounds, starts, noise, held-out data."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.effects.sensors import Delayed
from sofa_softctl.identification.fitting.estimate import estimate, start_at
from sofa_softctl.identification.fitting.gauss_newton import Termination, search
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.starts import spread_starts
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from sofa_softctl.identification.uncertainty.validation import validate


@dataclass(eq=False)
class Line(Experiment):
    """y = f(a) at one time, with f and f' given; counts what is asked of it."""

    f: object
    slope: object
    parameter: Parameter
    target: float = 0.0
    asked: list = field(default_factory=list)
    name: str = "line"
    inputs: tuple = ()
    channels: tuple = (Channel("y", "-"),)

    @property
    def parameters(self):
        return (self.parameter,)

    @property
    def time(self):
        return np.zeros(1)

    @property
    def measured(self):
        return np.array([[self.target]])

    def sensitivities(self, rho):
        self.asked.append(float(rho[0]))
        return np.array([[self.f(rho[0])]]), np.array([[[self.slope(rho[0])]]])

    def outputs(self, rho):
        return self.sensitivities(rho)[0]


def test_without_noise_parameters_are_found_to_the_last_digits(models):
    found = estimate([models.lag()])
    assert found.termination is Termination.CONVERGED
    assert found.rho == pytest.approx(models.LAG_TRUTH, rel=1e-9)
    assert found.cost < 1e-12 and found.evaluations < 20 and found.data == 201


def test_experiments_share_parameters_by_name(models):
    """A free swing shows ratios, one from under a load shows stiffness as well: all are found."""
    pair = [models.swing(place=0.01), models.swing(load=1.0)]
    found = estimate(pair)
    assert found.rho == pytest.approx(models.SWING_TRUTH, rel=1e-8)
    assert found.data == sum(len(one.time) for one in pair)


def test_parameters_that_only_one_experiment_has_keep_their_places(models):
    """The order of the parameters differs, and the first experiment lacks one of them."""
    given = (models.GHOST, models.GAIN, models.TAU)
    pair = [models.lag(), models.lag(parameters=(models.TAU, models.GAIN, models.GHOST))]
    found = estimate(pair, given)
    assert found.value("gain") == pytest.approx(2.0, rel=1e-8)
    assert found.values()["tau"] == pytest.approx(0.3, rel=1e-8)


def test_samples_that_are_missing_do_not_count(models):
    full = models.lag(1)
    y = full.recording.outputs.copy()
    y[::3] = np.nan
    holes = replace(full, recording=replace(full.recording, outputs=y))
    wrong = y.copy()
    wrong[::3] = 1e6
    assert estimate([holes]).data == 134
    assert estimate([holes]).rho == pytest.approx(models.LAG_TRUTH, rel=0.02)
    assert estimate([replace(full, recording=replace(full.recording, outputs=wrong))]).cost > 1e6


def test_a_parameter_that_no_datum_sees_is_named_and_stays(models):
    found = estimate([models.lag(1, parameters=(models.TAU, models.GAIN, models.GHOST))], starts=3)
    assert found.unobservable == ("ghost",) == found.held
    assert found.value("ghost") == models.GHOST.start
    assert all(one.rho[2] == models.GHOST.start for one in found.searches)


def test_an_unseen_parameter_with_a_prior_is_what_was_known(models):
    known = replace(models.GHOST, prior=Prior(4.0, 0.5))
    found = estimate([models.lag(1, parameters=(models.TAU, models.GAIN, known))])
    assert found.unobservable == ("ghost",) and found.held == ()
    assert found.value("ghost") == pytest.approx(4.0)


def test_a_derivative_that_vanishes_only_at_the_start_hides_nothing():
    """y = a^2 from a = 0, where dy/da = 0: the second look, beside it, sees a."""
    even = Line(lambda a: a**2, lambda a: 2 * a, Parameter("a", 0.0, lower=-2.0, upper=2.0), 1.0)
    assert estimate([even]).unobservable == ()


def test_a_prior_pulls_with_its_weight():
    """One datum 1 +- 1 and a prior 3 +- 0.5: the mean weighted with 1 and 4 is 2.6."""
    line = Line(lambda a: a, lambda a: 1.0, Parameter("a", 1.0, prior=Prior(3.0, 0.5)), 1.0)
    assert estimate([line]).rho == pytest.approx([2.6])


def test_bounds_hold_and_are_told(models):
    short = replace(models.TAU, start=0.2, upper=0.25)
    found = estimate([models.lag()], (short, models.GAIN))
    assert found.termination is Termination.AT_BOUND and found.at_bound == ("tau",)
    assert found.value("tau") == pytest.approx(0.25, abs=1e-6)


def test_fixed_parameters_stay(models):
    found = estimate([models.lag()], fixed=("tau",))
    assert found.value("tau") == models.TAU.start and found.value("gain") != models.GAIN.start
    assert estimate([models.lag()], fixed=("tau", "gain")).termination is Termination.FIXED
    with pytest.raises(
        IdentificationError, match="no parameter 'tou' to fix. There are: tau, gain"
    ):
        estimate([models.lag()], fixed=("tou",))


def test_a_step_into_parameters_that_fail_is_shortened():
    """From a = 1, Gauss-Newton on log a = -2 steps to -1, where the logarithm does not exist."""

    def logarithm(a):
        if a < 0.05:
            raise SimulationError("too small")
        return np.log(a)

    line = Line(logarithm, lambda a: 1.0 / a, Parameter("a", 1.0, lower=-5.0), -2.0)
    found = estimate([line])
    assert found.termination is Termination.CONVERGED
    assert found.rho == pytest.approx([np.exp(-2.0)])
    assert found.searches[0].rejected > 0 and found.searches[0].reason == "too small"


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_outputs_that_are_no_numbers_are_rejected_too(bad):
    """Also those whose squares overflow; pytest makes numpy's warnings errors."""
    line = Line(
        lambda a: np.log(a) if a > 0.05 else bad,
        lambda a: 1.0 / a if a != 0.0 else 0.0,
        Parameter("a", 1.0, lower=-5.0),
        -2.0,
    )
    assert estimate([line]).rho == pytest.approx([np.exp(-2.0)])


def test_a_fit_behind_parameters_that_fail_is_told_as_blocked():
    """y = a shall be 0, but nothing below 0.5 can be simulated: it ends beside that."""

    def wall(a):
        if a < 0.5:
            raise SimulationError("a wall")
        return a

    line = Line(wall, lambda a: 1.0, Parameter("a", 2.0), 0.0)
    found = estimate([line], evaluations_max=100)
    assert found.termination in (Termination.BLOCKED, Termination.EXHAUSTED)
    assert 0.5 <= found.rho[0] < 0.6 and not found.status.ok


def test_derivatives_that_are_wrong_end_as_stalled():
    """The sign of dy/da is wrong, so no step that it predicts helps."""
    line = Line(lambda a: a, lambda a: -1.0, Parameter("a", 2.0, lower=-9.0), 0.0)
    assert estimate([line]).termination is Termination.STALLED


def test_simulations_end_where_the_caller_says(models):
    found = estimate([models.swing(load=1.0)], evaluations_max=3)
    assert found.termination is Termination.EXHAUSTED and found.evaluations <= 5


def test_each_point_is_simulated_once(models):
    line = Line(lambda a: a**3, lambda a: 3 * a**2, Parameter("a", 2.0), 1.0)
    misfit = StackedResidual([line])
    found = search(misfit, np.array([2.0]), np.array([True]), evaluations_max=50)
    assert len(set(line.asked)) == len(line.asked) == found.evaluations


def test_a_start_that_fails_is_an_error_that_says_so(models):
    with pytest.raises(IdentificationError, match=r"simulated at the start \(tau = 0.01, .*too sh"):
        estimate([models.lag()], (replace(models.TAU, start=0.01), models.GAIN))


def test_other_starts_help_where_the_given_one_fails(models):
    found = estimate([models.lag()], (replace(models.TAU, start=0.015), models.GAIN), starts=6)
    assert found.rho == pytest.approx(models.LAG_TRUTH, rel=1e-6)
    assert any("cannot be simulated" in text for text in found.warnings)


def test_several_starts_find_the_best_of_several_minima(models):
    """A swing seen for 3 s has a minimum at each frequency that counts another whole swing."""
    far = start_at(models.Swing.parameters, {"k": 8.0, "m": 1.5})
    one = estimate([models.swing(load=1.0)], far)
    many = estimate([models.swing(load=1.0)], far, starts=12, seed=1)
    assert one.cost > 1e3 and many.cost < 1e-6
    assert many.searches[0].cost <= min(each.cost for each in many.searches)
    assert len(many.searches) <= 12


def test_starts_are_a_latin_hypercube_the_same_for_the_same_seed():
    """Ten starts: one in each tenth of a decade up and down; between bounds; around a prior."""
    parameters = (
        Parameter("positive", 2.0),
        Parameter("bounded", 0.0, lower=-1.0, upper=1.0),
        Parameter("known", 1.0, lower=0.5, prior=Prior(1.0, 0.5)),
        Parameter("kept", 7.0),
    )
    free = np.array([True, True, True, False])
    points = np.array(spread_starts(parameters, free, 10, seed=3))
    tenths = np.floor(5.0 * np.log10(points[:, 0] / 0.2))
    np.testing.assert_array_equal(np.sort(tenths), np.arange(10))
    np.testing.assert_array_equal(np.sort(np.floor(5.0 * (points[:, 1] + 1.0))), np.arange(10))
    assert (points[:, 2] >= 0.5).all() and (points[:, 2] <= 2.5).all()
    np.testing.assert_array_equal(points[:, 3], 7.0)
    np.testing.assert_array_equal(points, spread_starts(parameters, free, 10, seed=3))


def test_noise_is_estimated_from_what_is_left(models):
    """201 samples with 0.02 mm, declared as 0.1: estimated within four times 0.02 / sqrt(402)."""
    loud = (replace(models.PLACE, deviation=0.1),)
    found = estimate([models.lag(5, channels=loud)], estimate_noise=True)
    (noise,) = found.fits[0].deviations
    assert noise == pytest.approx(0.02, abs=4 * 0.02 / np.sqrt(402))
    assert found.cost == pytest.approx(199.0, rel=0.01)
    assert found.noise_estimated
    (held_out,) = validate(found, [models.lag(9, channels=loud)])
    assert held_out.rms == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("bound", [0.0, 8.0])
def test_a_start_at_a_bound_is_one(bound):
    line = Line(lambda a: a, lambda a: 1.0, Parameter("a", bound, upper=8.0), 3.0)
    assert estimate([line]).rho == pytest.approx([3.0])


def test_too_few_data_are_refused(models):
    one = models.swing(load=1.0)
    y = np.full_like(one.measured, np.nan)
    y[:2] = one.measured[:2]
    with pytest.raises(IdentificationError, match="2 measured samples for 3 parameters"):
        estimate([replace(one, measured=y)])
    assert estimate([replace(one, measured=y)], fixed=("m", "c")).status.ok


def test_what_does_not_fit_together_is_refused(models):
    with pytest.raises(IdentificationError, match="give an experiment"):
        estimate([])
    other = models.lag(parameters=(replace(models.TAU, start=0.4), models.GAIN))
    with pytest.raises(IdentificationError, match="declares 'tau' as .*another experiment as"):
        estimate([models.lag(), other])
    with pytest.raises(IdentificationError, match="depends on 'gain', which is not among"):
        estimate([models.lag()], (models.TAU,))
    with pytest.raises(IdentificationError, match="the noise of 'tip' is 0 mm"):
        estimate([models.lag(channels=(replace(models.PLACE, deviation=0.0),))])


def test_starts_are_set_by_name(models):
    tau, gain = start_at((models.TAU, models.GAIN), {"gain": 4.0})
    assert (tau.start, gain.start) == (0.5, 4.0)
    with pytest.raises(IdentificationError, match="no parameter 'gian'. There are: tau, gain"):
        start_at((tau, gain), {"gian": 1.0})
    with pytest.raises(IdentificationError, match="outside its bounds"):
        start_at((tau, gain), {"tau": -1.0})


def test_progress_tells_each_simulation(models):
    told = []
    found = estimate([models.lag()], starts=2, progress=lambda *values: told.append(values))
    assert {start for start, _, _ in told} == {0, 1}
    assert len(told) == sum(one.evaluations for one in found.searches)
    costs = [cost for start, _, cost in told if start == 0]
    assert costs[-1] < 1e-6 * costs[0]


def test_held_out_data_are_met_within_their_noise_when_the_model_is_right(models):
    """201 residuals of deviation 1: their RMS is 1 within four times 1 / sqrt(402)."""
    found = estimate([models.lag(1)])
    (held_out,) = validate(found, [models.lag(9)])
    assert held_out.rms == pytest.approx(1.0, abs=4 / np.sqrt(402))
    assert held_out.rms_start > 10.0
    (other,) = validate(found, [models.lag(9, truth=np.array([0.4, 2.0]))])
    assert other.rms > 5.0
    assert validate(found, []) == ()


def test_arrays_of_another_shape_are_told_with_the_one_expected(models):
    one = models.lag(1)
    y, by_rho = one.sensitivities(models.LAG_TRUTH)
    for found, message in [
        ((y[:, 0], by_rho), r"lag: expected outputs of shape .* = \(201, 1\). Got: \(201,\)"),
        ((y, by_rho[..., :1]), r"derivatives of the outputs .*\(201, 1, 2\). Got: \(201, 1, 1\)"),
        (y, r"sensitivities must return two arrays.* Got: ndarray"),
    ]:
        object.__setattr__(one, "sensitivities", lambda rho, found=found: found)
        with pytest.raises(IdentificationError, match=message):
            estimate([one])
    short = models.swing()
    object.__setattr__(short, "measured", short.measured[:-1])
    with pytest.raises(IdentificationError, match=r"swing: expected measured .* Got: \(150, 1\)"):
        estimate([short])


def test_two_parameters_of_one_name_are_an_error(models):
    twice = (models.TAU, replace(models.TAU, start=0.7))
    with pytest.raises(IdentificationError, match="lag has two parameters 'tau'"):
        estimate([models.lag(1, parameters=twice)])
    with pytest.raises(IdentificationError, match="has two parameters 'tau'"):
        estimate([models.lag(1)], (*twice, models.GAIN))
    with pytest.raises(IdentificationError, match="There are two parameters 'tau'"):
        Mechanism(joints=(), parameters=twice)


@pytest.mark.parametrize("wrapped", [False, True])
def test_without_an_adjoint_noise_of_inputs_is_left_out(models, wrapped):
    class Forward(models.Lag):
        pull_back = Experiment.pull_back

    noisy = Forward(models.lag(1).recording, inputs=(replace(models.VOLTAGE, deviation=0.1),))
    one = Delayed(noisy, Parameter("delay", 0.0, "s", lower=-0.1)) if wrapped else noisy
    found = estimate([one])
    text = "noise of the inputs of lag is left out of the intervals, as it has no pull_back"
    assert found.warnings == (text,)
    assert not identifiability(found, [one]).input_covariance.any()


def test_an_estimate_prints_in_a_line(models):
    found = estimate([models.lag(1, parameters=(models.TAU, models.GAIN, models.GHOST))])
    assert str(found) == (
        "Estimate(tau = 0.29925 ± 0.00074 s, gain = 1.998 ± 0.0035 mm/V, ghost = 3 kg (kept); "
        "CONVERGED, 201 data, cost 174.2)"
    )


def test_doubts_are_told_before_the_search(models):
    one, told = models.lag(1), []
    wrong = replace(one, recording=replace(one.recording, outputs=1e3 * one.recording.outputs))
    found = estimate([wrong], warn=told.append, progress=lambda *at: told.append(at))
    assert (told[0],) == found.warnings and "'tip' varies by" in told[0]
    assert len(told) > 1


def test_why_a_start_fails_is_a_sentence():
    def fails(a):
        raise SimulationError("too short")

    with pytest.raises(IdentificationError, match="too short. Give another start"):
        estimate([Line(fails, fails, Parameter("a", 1.0))])
