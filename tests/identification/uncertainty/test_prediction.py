"""Prediction bands: as wide as closed forms say, and alarms only where the model is wrong."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.report.interval_diagnostics import on_bands
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.coverage import coverage
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from sofa_softctl.identification.uncertainty.prediction import (
    _half_width_ratio,
    kept_samples,
    predictions,
)
from sofa_softctl.identification.uncertainty.validation import validate


def driven(models, seed, deviation, **given):
    """A lag whose recorded input has noise."""
    one = models.lag(seed, inputs=(replace(models.VOLTAGE, deviation=deviation),), **given)
    noise = deviation * np.random.default_rng(1000 + seed).standard_normal(one.measured.shape)
    return replace(one, recording=replace(one.recording, inputs=one.recording.inputs + noise))


def report_of(one, held_out):
    return make_report("lag", estimate([one]), [one], hold_out=held_out)


def test_the_band_is_that_of_linear_regression(models):
    """Half-width^2 = 1.96^2 (noise^2 + J C J'), with C the inverse of J' J / noise^2."""
    one, other = models.lag(1, seconds=0.5), models.lag(2)
    found = estimate([one])
    (fit,) = [each.fit for each in validate(found, [other])]
    (band,) = predictions(
        found, identifiability(found, [one]), [one], [other], [fit], None
    ).held_out
    J = found.fits[0].sensitivities[:, 0]
    C = np.linalg.inv(J.T @ J) * models.PLACE.deviation**2
    by_parameters = np.einsum("ti,ij,tj->t", fit.sensitivities[:, 0], C, fit.sensitivities[:, 0])
    expected = 1.959964 * np.sqrt(models.PLACE.deviation**2 + by_parameters)
    np.testing.assert_allclose(band.half_width[:, 0], expected, rtol=1e-5)
    assert expected.max() > 1.5 * expected.min()  # parameters matter here


def test_noise_of_inputs_is_in_the_band(models):
    """By the model's impulse response: (1 - a) gain a^k, settled after 1 s.

    24 draws, averaged over 1 / 50 of the time, whose samples are correlated: within 20 %.
    """
    one = driven(models, 1, 0.5, seconds=12.0)
    report = report_of(one, [driven(models, 2, 0.5, seconds=12.0)])
    (band,) = report.predictions.held_out
    a = np.exp(-0.02 / report.estimate.value("tau"))
    settled = ((1.0 - a) * report.estimate.value("gain") * 0.5) ** 2 / (1.0 - a**2)
    expected = 1.96 * np.sqrt(settled + models.PLACE.deviation**2)
    assert np.median(band.half_width[band.at > 50]) == pytest.approx(expected, rel=0.2)


def test_where_noisy_inputs_are_unknowns_the_noise_of_outputs_is_in_the_draws(models):
    """Their draws are of all noise; where inputs are taken as they are, of the inputs' alone."""
    one, other = models.lag(1, seconds=0.5), models.lag(2)
    loud = models.PLACE.deviation
    found = estimate([one])
    (fit,) = [each.fit for each in validate(found, [other])]
    trust = identifiability(found, [one])
    drawn = np.where(np.arange(2000) % 2, 1.0, -1.0)[:, None, None]
    effects = [
        loud * drawn * np.ones((1, len(kept_samples(len(f.time))), 1)) for f in (*found.fits, fit)
    ]

    def band(unknowns):
        made = replace(fit, unknowns=unknowns)
        return predictions(found, trust, [one], [other], [made], effects).held_out[0]

    apart, together = (band(unknowns).half_width ** 2 for unknowns in (0, 3))
    np.testing.assert_allclose(apart - together, (1.959964 * loud) ** 2, rtol=0.01)


@pytest.mark.parametrize("deviation", [0.0, 0.05], ids=["exact inputs", "noisy inputs"])
def test_right_models_raise_no_alarm_even_where_few_data_were_fitted(models, deviation):
    """8 estimates from 1 s each: at a level of 1e-3 one in 125 such tests would alarm.

    The RMS of 8 scores of deviation 1 is off by 0.25, here at most twice that.
    """
    scores = []
    for seed in range(8):
        one = driven(models, 2 * seed, deviation, seconds=1.0)
        report = report_of(one, [driven(models, 2 * seed + 1, deviation)])
        assert not on_bands(report)
        total = report.predictions.coverage
        scores.append((total.share - total.expected) / total.deviation)
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1.0, abs=0.5)


def test_too_few_samples_inside_are_reported_with_their_channel(models):
    other = models.lag(3, truth=np.array([0.33, 2.0]))
    report = report_of(models.lag(2), [other])
    (told,) = on_bands(report)
    assert told.level == "bad"
    assert told.text.startswith("Only ") and "95 % would be of a correct model" in told.text
    loud = models.lag(4, noise=1.6 * models.PLACE.deviation)
    (told,) = on_bands(report_of(models.lag(2), [loud]))
    assert told.level == "look"  # erf(1.96 / 1.6 / sqrt 2) = 78 % inside
    several = report_of(models.lag(2), [models.lag(5), loud])
    (told,) = on_bands(several)
    assert re.search(r"Only 8\d % .* \(\d\d % of lag: tip\)", told.text)


def test_too_many_samples_inside_are_reported(models):
    declared = (replace(models.PLACE, deviation=0.06),)
    report = report_of(models.lag(2, channels=declared), [models.lag(3, channels=declared)])
    (told,) = on_bands(report)
    assert told.level == "look" and "noise is smaller than declared" in told.text


def test_a_band_is_unknown_where_the_data_do_not_determine_the_prediction(models):
    """A free swing shows k / m; under a load the start is load / k."""
    one, other = models.swing(1, place=0.01), models.swing(2, load=0.5)
    found = estimate([one])
    fits = [each.fit for each in validate(found, [other])]
    made = predictions(found, identifiability(found, [one]), [one], [other], fits, None)
    assert np.isfinite(made.fitted[0].half_width).all()
    assert np.isinf(made.held_out[0].half_width).mean() > 0.9
    assert made.coverage.share > 0.9


def test_shares_of_independent_samples_are_binomial(models):
    """P(18 or fewer of 20 inside) = 0.264; the beta distribution is within 0.05 of it."""
    found = coverage(18, 20, np.full(10, 0.95))
    assert found.low == pytest.approx(0.264, abs=0.05)
    assert found.deviation == pytest.approx(np.sqrt(0.95 * 0.05 / 20 + 1e-4))
    assert coverage(0, 0, np.full(10, np.nan)).low == 1.0


def test_the_expansion_of_students_t_is_that_of_scipy():
    from scipy import stats

    for freedom in (8.0, 24.0, 1e6):
        exact = stats.t.ppf(0.975, freedom)
        assert _half_width_ratio(np.array(1.0 / freedom)) == pytest.approx(exact, rel=3e-3)


def test_a_band_takes_no_memory_that_grows_with_the_recording(models):
    """Curves are kept at 1000 samples, and blocks are of a fixed size: 20 MB are enough."""
    one = models.lag(1)
    found = estimate([one])
    trust = identifiability(found, [one])
    n = 400_000
    times = np.arange(n) / 50.0
    (fit,) = found.fits
    again = np.arange(n) % len(fit.time)
    long = replace(
        *(fit,),
        time=times,
        measured=fit.measured[again],
        outputs=fit.outputs[again],
        sensitivities=fit.sensitivities[again],
    )
    tracemalloc.start()
    made = predictions(found, trust, [one], [one], [long], None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    assert made.held_out[0].half_width.shape == (1000, 1) == (len(kept_samples(n)), 1)
    assert made.held_out[0].samples.tolist() == [n]
