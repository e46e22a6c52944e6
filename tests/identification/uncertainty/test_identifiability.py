"""Intervals, directions, noise of inputs, residuals, and the next motion."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.parameter import Prior
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.experiment_design import rank
from sofa_softctl.identification.uncertainty.identifiability import (
    Direction,
    identifiability,
    information,
)
from sofa_softctl.identification.uncertainty.residual_analysis import (
    analyse_residuals,
    correlations,
    ljung_box,
)

REPETITIONS = 200


def test_intervals_hold_the_truth_as_often_as_they_say(models):
    """200 repetitions, 2 parameters: 95 % within four standard deviations, 1.5 points each."""
    inside = np.zeros(2)
    for seed in range(REPETITIONS):
        one = models.lag(seed, seconds=1.5)
        trust = identifiability(estimate([one], start_near(models)))
        inside += (trust.low <= models.LAG_TRUTH) & (models.LAG_TRUTH <= trust.high)
    assert inside / REPETITIONS == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / REPETITIONS))


def test_students_intervals_are_right_for_few_data(models):
    """6 samples, noise estimated: with t of 4 degrees of freedom, 2.78 in place of 1.96.

    Noise is small so that the model is linear; 95 % within four deviations of 1.5 points.
    """
    inside = np.zeros(2)
    for seed in range(REPETITIONS):
        one = models.lag(seed, seconds=0.1, noise=1e-5)
        trust = identifiability(estimate([one], start_near(models), estimate_noise=True))
        assert trust.distribution == "Student-t" and trust.freedom == 4
        inside += (trust.low <= models.LAG_TRUTH) & (models.LAG_TRUTH <= trust.high)
    assert inside / REPETITIONS == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / REPETITIONS))


def start_near(models):
    """Parameters that start where few steps are needed."""
    return (replace(models.TAU, start=0.31), replace(models.GAIN, start=1.9))


def test_the_covariance_of_a_straight_line_is_the_textbooks(models):
    """With tau fixed the model is linear in gain: its deviation is noise / |dx/dgain|."""
    one = models.lag(1)
    trust = identifiability(estimate([one], fixed=("tau",)))
    column = one.sensitivities(np.array([models.TAU.start, 1.0]))[1][:, 0, 1]
    assert trust.deviations[1] == pytest.approx(0.02 / np.linalg.norm(column))
    assert np.isnan(trust.deviations[0]) and np.isnan(trust.low[0])
    width = trust.high[1] - trust.low[1]
    assert width == pytest.approx(2 * 1.959964 * trust.deviations[1])
    assert trust.distribution == "normal"


def test_a_prior_adds_its_information(models):
    known = replace(models.GAIN, prior=Prior(2.0, 0.001))
    trust = identifiability(estimate([models.lag(1)], (models.TAU, known)))
    free = identifiability(estimate([models.lag(1)]))
    assert trust.deviations[1] < 0.001 < free.deviations[1]


def test_data_twice_as_long_know_as_two_recordings(models):
    pair = [models.lag(1), models.lag(2)]
    found = estimate(pair)
    parts = [information(estimate([one])) for one in pair]
    np.testing.assert_allclose(information(found), sum(parts), rtol=0.05)


def test_a_free_swing_does_not_show_stiffness_damping_and_mass_alone(models):
    """Scaling all three leaves the motion as it is: shares of 1 / sqrt(3) each."""
    found = estimate([models.swing(1, place=0.01)])
    trust = identifiability(found)
    worst = trust.directions[0]
    assert list(worst.parts.values()) == pytest.approx([3**-0.5] * 3, abs=1e-6)
    assert worst.sentence == "0.58 k + 0.58 c + 0.58 m is not identifiable from these data"
    assert trust.blind == (worst,)
    seen = identifiability(estimate([models.swing(1, load=1.0)]))
    assert seen.blind == () and (seen.deviations < 0.01 * models.SWING_TRUTH).all()


def test_a_direction_that_a_prior_determines_is_no_fault_of_the_data(models):
    """The free swing with its load known to 5 %: 0.58 k + 0.58 c + 0.58 m, to 5 % of each."""
    one = models.swing(1, place=0.01)
    k, c, m = one.parameters
    known = replace(m, prior=Prior(m.start, 0.05 * m.start))
    found = estimate([one], [k, c, known])
    worst = identifiability(found).directions[0]
    assert worst.by_priors and worst.with_priors == pytest.approx(0.05 * 3**0.5, rel=0.05)
    assert "by its prior, not by these data" in worst.sentence
    made = make_report("swing", found, [one])
    assert made.verdict.level != "bad" and "prior" not in made.verdict.text


def test_directions_are_named_with_signs_largest_first():
    at = Direction({"a": 0.02, "kappa_theta": 0.7, "kappa_psi": -0.71}, 0.3)
    assert at.name == "0.71 kappa_psi - 0.70 kappa_theta"
    assert at.sentence.endswith("is weakly identifiable from these data: known within 30 %")
    assert Direction({"a": 1.0}, 0.012).sentence == "1.00 a is known within 1.2 %"
    assert "is not identifiable" in Direction({"a": 1.0}, float("inf")).sentence


def test_what_nothing_sees_has_an_infinite_deviation_and_a_prior_makes_it_finite(models):
    """Known mass, within a gram: stiffness and damping are known as their ratios to it are."""
    one = models.swing(1, place=0.01)
    trust = identifiability(estimate([one]))
    assert np.isinf(trust.deviations).all() and np.isinf(trust.high).all()
    k, c, m = models.Swing.parameters
    weighed = replace(m, prior=Prior(0.4, 0.001))
    known = estimate([one], (k, c, weighed))
    assert known.rho == pytest.approx(models.SWING_TRUTH, rel=0.02)
    deviations = identifiability(known).deviations / known.rho
    assert deviations[[0, 2]] == pytest.approx(0.0025, rel=0.05)


def test_noise_of_inputs_is_carried_to_the_parameters(models):
    """Against estimates from 150 noisy inputs: deviations within four times 1 / sqrt(300)."""
    deviation, random = 0.05, np.random.default_rng(4)
    noisy = (replace(models.VOLTAGE, deviation=deviation),)
    clean = models.lag(inputs=noisy)
    found = estimate([clean])
    trust = identifiability(found, [clean])
    spread = []
    for _ in range(150):
        u = clean.recording.inputs + deviation * random.standard_normal(clean.measured.shape)
        one = replace(clean, recording=replace(clean.recording, inputs=u))
        spread.append(estimate([one], start_near(models)).rho)
    predicted = np.sqrt(np.diag(trust.input_covariance))
    assert np.std(spread, axis=0) == pytest.approx(predicted, rel=4 / np.sqrt(300))
    assert (trust.covariance - trust.output_covariance) == pytest.approx(trust.input_covariance)


def test_noise_that_enters_twice_is_counted_once_with_both_signs(models):
    """The sensor shows 0.4 u less: C J' W (G + 0.4) in full matrices, G by central differences."""
    noisy = (replace(models.VOLTAGE, deviation=0.05),)
    one = models.lag(inputs=noisy, fed_back=0.4)
    found = estimate([one])
    trust = identifiability(found, [one])

    def simulated(u):
        recording = replace(one.recording, inputs=u[:, None])
        return replace(one, recording=recording).outputs(found.rho)[:, 0]

    u = one.recording.inputs[:, 0]
    G = np.column_stack([(simulated(u + e) - simulated(u - e)) / 2.0 for e in np.eye(len(u))])
    J = found.fits[0].sensitivities[:, 0, :] / 0.02
    M = np.linalg.inv(J.T @ J) @ J.T @ (G + 0.4 * np.eye(len(u))) / 0.02
    assert trust.input_covariance == pytest.approx(0.05**2 * M @ M.T, rel=1e-8)
    exact = identifiability(found, [replace(one, inputs=(models.VOLTAGE,))])
    assert not exact.input_covariance.any()


def test_noise_alone_is_explained_by_noise(models):
    """Each test fails once in a thousand times; none of these twenty does."""
    for seed in range(20):
        (fit,) = estimate([models.lag(seed)], start_near(models)).fits
        (one,) = analyse_residuals(fit)
        assert one.right and "noise explains the residuals" in one.sentence
        assert one.rms_unit == pytest.approx(0.02 * one.rms)


def test_a_wrong_model_is_found_out_with_channel_and_time(models):
    """The sensor slips by 0.1 mm, five deviations, from 2.4 to 2.8 s: the window of that time."""
    one = models.lag(1)
    y = one.recording.outputs.copy()
    y[120:140] -= 0.1
    (fit,) = estimate([replace(one, recording=replace(one.recording, outputs=y))]).fits
    (told,) = analyse_residuals(fit)
    assert not told.right and told.autocorrelation > 0.5
    assert np.nanargmax(told.windows) == 6
    assert "tip is wrong" in told.sentence and "most from 2.4 to 2.8 s" in told.sentence


def test_correlated_residuals_are_told_though_they_are_small():
    random = np.random.default_rng(0)
    white = random.standard_normal(400)
    slow = np.convolve(white, np.full(8, 1.0 / 8.0), mode="same")
    assert ljung_box(white) > 0.01 and ljung_box(slow) < 1e-10
    assert ljung_box(white[:4]) == 1.0
    white[::3] = np.nan
    assert ljung_box(white) > 0.01


def test_a_model_is_wrong_also_where_residuals_are_small_but_hang_together(models):
    """Half a deviation of a slow wave beside little noise: 0.4 deviations in all."""
    (fit,) = estimate([models.lag()]).fits
    noise = 0.002 * np.random.default_rng(0).standard_normal(201)
    wave = 0.01 * np.sin(2.0 * fit.time) + noise
    (told,) = analyse_residuals(replace(fit, measured=fit.outputs + wave[:, None]))
    assert told.rms < 0.5 and not told.right
    assert "is correlated, though as small as noise" in told.sentence


def test_whiteness_fails_as_often_as_it_says():
    """Of 400 white series, 5 % have p < 0.05: 20 within four times sqrt(400 0.05 0.95) = 17."""
    random = np.random.default_rng(1)
    few = sum(ljung_box(random.standard_normal(150)) < 0.05 for _ in range(400))
    assert 3 <= few <= 37


def test_correlations_leave_missing_pairs_out():
    r = np.array([1.0, -1.0, np.nan, 1.0, -1.0, 1.0, -1.0])
    assert correlations(r, 2)[0] == pytest.approx(-1.0)
    assert correlations(r, 2)[1] == pytest.approx((-1.0 + 1.0 + 1.0) / 3.0)
    assert correlations(np.zeros(5), 2) == [0.0, 0.0]


def test_a_channel_that_was_not_measured_is_said_to_be_so(models):
    pair = models.swing(1, load=1.0)
    (fit,) = estimate([pair]).fits
    (told,) = analyse_residuals(replace(fit, measured=np.full_like(fit.measured, np.nan)))
    assert told.count == 0 and told.sentence == "x was not measured."


def test_the_motion_that_shows_what_is_unknown_comes_first(models):
    """Free swings show no stiffness; a release from under a load does, a larger swing does not."""
    found = estimate([models.swing(1, place=0.01)])
    swings = [models.swing(place=0.05, name="place"), models.swing(load=1.0, name="load")]
    first, second = rank(found, swings)
    assert (first.name, second.name) == ("load", "place") and first.gain > second.gain > 0.0
    assert first.half_widths["k"] < 0.02 * found.value("k") < second.half_widths["k"]
    assert first.half_widths_now["k"] > found.value("k")


def test_the_gain_is_half_the_log_of_how_information_grows(models):
    """The same motion again doubles the information: log 2 for two parameters, but for the prior.

    The wide prior of ten times the size takes less than 1e-5 of that.
    """
    found = estimate([models.lag(1)])
    (again,) = rank(found, [models.lag(3)])
    assert again.gain == pytest.approx(np.log(2.0), abs=1e-5)
    for name in found.names:
        ratio = again.half_widths_now[name] / again.half_widths[name]
        assert ratio == pytest.approx(np.sqrt(2.0), abs=1e-5)


def test_a_motion_shows_parameters_that_were_not_seen_so_far(models):
    """Fixed parameters do not count, unseen ones do; a motion that fails comes last."""
    three = (models.TAU, models.GAIN, models.GHOST)
    found = estimate([models.lag(1, parameters=three)], fixed=("tau",))
    fails = replace(models.lag(2), parameters=(models.GAIN, models.TAU))  # tau = gain: it simulates

    class Fails(models.Lag):
        def sensitivities(self, rho):
            raise models.SimulationError("it fell over")

    wrong = Fails(models.lag(2).recording)
    first, *_, last = rank(found, [wrong, fails, models.lag(1, parameters=three)])
    assert list(first.half_widths) == ["gain", "ghost"]
    assert last.gain == -np.inf and last.reason == "it fell over"
