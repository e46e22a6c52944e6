"""What noise of inputs leaves of a right model, and whether a wrong one is found behind it."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.effects.selection import with_effects
from sofa_softctl.identification.effects.sensors import Delayed
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.mechanism.parts import Damper
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.simulated_residuals import (
    empirical_p_value,
    energies,
    largest_part_p_value,
    simulate_residuals,
    total_energy,
    total_p_value,
)
from tests.support.chains import NOISE, chain


def recorded(problem, seed, noise):
    """A run of the chain, with noise of the torque and of the angles."""
    random, time = np.random.default_rng(seed), np.arange(0.0, 2.005, 0.01)
    torque = 0.2 * np.sin(5.0 * time)[:, None]
    run = Recording("run", time, torque, np.zeros((len(time), 2)))
    exact = problem.experiment(run).outputs(starts(problem.parameters))
    return replace(
        run,
        inputs=torque + noise * random.standard_normal(torque.shape),
        outputs=exact + NOISE * random.standard_normal(exact.shape),
    )


def report(model, run):
    """With exact inputs: their noise is in what is left."""
    one = model.experiment(run)
    return make_report("chain", estimate([one], exact_inputs=True), [one])


def levels(made):
    return [
        one.level for one in made.diagnostics if "deviations" in one.text or "Noise" in one.text
    ]


@pytest.mark.parametrize("seed", range(6))
def test_a_right_model_with_noisy_inputs_is_called_right(seed):
    """1 in 300 is called wrong; by noise of outputs alone all of them are."""
    problem = chain(torque_noise=0.1)
    made = report(problem, recorded(problem, seed, 0.1))
    assert levels(made) == ["good"]
    assert not any("too narrow" in one.text for one in made.diagnostics)
    assert made.draws == 24 and made.residuals[1].expected > 1.2
    assert "explains the residuals" in made.diagnostics[-1].text


@pytest.mark.soak
def test_what_parameters_fit_exactly_is_no_evidence_against_a_model():
    """A fitted offset leaves no mean: rounding and the search's tolerance remain of that band."""
    problem = chain(torque_noise=0.1)
    for seed in range(4):
        one = with_effects(problem, ["offset.a"]).experiment(recorded(problem, seed, 0.1))
        made = make_report("chain", estimate([one], exact_inputs=True), [one])
        assert levels(made) == ["good"]


def test_energies_below_a_millionth_count_as_that():
    draws = np.abs(np.random.default_rng(0).standard_normal((24, 3))) + 10.0
    draws[:, 0] = 1e-30
    here = np.array([1e-19, 10.5, 10.5])
    assert largest_part_p_value(here, draws) > 0.5
    assert largest_part_p_value(here + [1e-3, 0.0, 0.0], draws) < 1e-6


@pytest.mark.soak
def test_a_wrong_model_is_found_behind_the_noise_of_its_inputs():
    """Without damping; the noise of the torque leaves 1.2 deviations, the model 7."""
    problem = chain(torque_noise=0.03)
    rigid = replace(problem.mechanism, dampers=[Damper("a", 0.0), Damper("b", 0.0)])
    made = report(replace(problem, mechanism=rigid), recorded(problem, 0, 0.03))
    told = " ".join(one.text for one in made.diagnostics if one.level == "bad")
    assert "b is wrong" in told and "expected from noise 1." in told
    assert any("too narrow" in one.text for one in made.diagnostics)


def test_draws_leave_what_repeated_estimates_leave(models):
    """RMS of the draws' mean against 60 repetitions: 3 deviations of 0.05 / sqrt(60), and 24."""
    noisy = (replace(models.VOLTAGE, deviation=0.05),)
    left = []
    for seed in range(60):
        one = models.lag(seed, inputs=noisy)
        errors = 0.05 * np.random.default_rng(1000 + seed).standard_normal(one.measured.shape)
        left.append(estimate([one.with_input_errors(errors)]).fits[0].residuals.ravel())
    one = models.lag(0, inputs=noisy)
    drawn = total_energy(simulate_residuals(estimate([one]), [one]).fitted[0])
    rms = np.sqrt(np.mean(np.square(left)))
    assert rms > 1.15  # of outputs alone: 1
    assert np.sqrt(drawn.mean() / one.measured.size) == pytest.approx(rms, abs=0.05)


def test_exact_inputs_need_no_draws(models):
    one = models.lag(1)
    assert simulate_residuals(estimate([one]), [one]) is None


def test_without_draws_a_model_is_not_called_wrong(models):
    """The experiment lacks with_input_errors."""

    class Plain(models.Lag):
        with_input_errors = Experiment.with_input_errors

    noisy = (replace(models.VOLTAGE, deviation=0.2),)
    right = models.lag(1, inputs=noisy)
    errors = 0.2 * np.random.default_rng(5).standard_normal(right.measured.shape)
    one = Plain(right.with_input_errors(errors).recording, inputs=noisy)
    made = make_report("lag", estimate([one]), [one])
    assert "bad" not in [each.level for each in made.diagnostics]
    told = " ".join(each.text for each in made.diagnostics if each.level == "look")
    assert "larger residuals than noise of outputs explains" in told
    assert "not the model" in told and "no with_input_errors" in told and made.draws == 0


def test_late_experiments_have_other_inputs_if_what_they_delay_has(models):
    one = Delayed(models.lag(1), Parameter("late", 0.0, lower=-0.1, upper=0.1))
    errors = np.ones_like(one.measured)
    assert one.with_input_errors(errors).experiment.recording.inputs[0, 0] == pytest.approx(2.0)
    swings = Delayed(models.swing(1, place=0.01), one.delay)
    assert swings.with_input_errors(np.zeros((151, 0))) is None


def test_energies_of_draws_are_judged_no_less_strictly_than_they_should():
    """Of 20,000 chi squares of 1, 4 and 60 degrees beside 24 draws, one in 100 at most is rare."""
    random = np.random.default_rng(0)
    for freedom in (1, 4, 60):
        drawn = random.chisquare(freedom, (2000, 25))
        rare = sum(empirical_p_value(row[0], row[1:]) < 0.01 for row in drawn)
        assert rare <= 20 + 4 * np.sqrt(20)
    assert (
        empirical_p_value(0.0, np.zeros(24)) == 1.0 and empirical_p_value(1.0, np.zeros(24)) == 0.0
    )


def test_a_wave_beside_the_resonance_shows_in_its_band_only():
    """Slow noise of 3 deviations hides a fast wave of 1 in size, not in its octave."""
    random, n = np.random.default_rng(2), 400
    slow = np.cumsum(random.standard_normal((25, n)), axis=1) / 5.0
    noise = slow - slow.mean(axis=1, keepdims=True) + 0.1 * random.standard_normal((25, n))
    wave = noise[0] + np.sin(2.5 * np.arange(n))
    wave[50:60] = np.nan
    noise[:, 50:60] = np.nan
    here, right, *drawn = (energies(r) for r in (wave, *noise))
    assert (
        total_p_value(here, np.array(drawn)) > 0.01
        and largest_part_p_value(here, np.array(drawn)) < 1e-4
    )
    assert largest_part_p_value(right, np.array(drawn)) > 0.01


def test_energies_of_bands_and_of_windows_have_the_whole_energy():
    r = np.random.default_rng(0).standard_normal(1001)
    r[17:40] = np.nan
    parts = energies(r)
    assert parts[-10:].sum() == pytest.approx(np.nansum(r**2), rel=1e-12)
    assert parts[:-10].sum() == pytest.approx(np.nansum(r**2), rel=1e-12)
    assert total_energy(parts) == pytest.approx(np.nansum(r**2), rel=1e-12)


def test_what_is_computed_from_inputs_alone_has_no_noise_of_its_own(models):
    """Variances: with and without the 1 of the outputs; the same draws of the input."""

    class Computed(models.Lag):
        outputs_from_inputs = True

    one = models.lag(1, inputs=(replace(models.VOLTAGE, deviation=0.05),))
    found = estimate([one])
    with_own, without = (
        total_energy(simulate_residuals(found, [each]).fitted[0]).mean() / one.measured.size
        for each in (one, Computed(one.recording, inputs=one.inputs))
    )
    assert with_own - without == pytest.approx(1.0, abs=0.06)  # 4 deviations of 4,824 squares
