"""Score tests of effects, beside fits, finite differences and draws of noise."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.causes.extended import with_effect, with_fixed
from sofa_softctl.identification.causes.refit import refit
from sofa_softctl.identification.causes.score import score
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting.estimate import estimate


def shown(one, added):
    """The experiment with something added to what was measured."""
    outputs = one.recording.outputs + added
    return replace(one, recording=replace(one.recording, outputs=outputs))


def scored(one, name, **given):
    found = estimate([one], **given)
    return found, score(with_effect(found, [one], name))


def test_every_signal_is_tested_for_gain_offset_and_delay(models):
    one = models.lag(1)
    names = [effect.name for effect in effects_of(one)]
    assert set(names) == {
        f"{what}.{of}" for what in ("gain", "offset", "delay") for of in ("tip", "drive")
    }


def test_the_predicted_size_and_decrease_are_those_of_a_fit(models):
    """An offset is linear; what is left are curvatures of tau and gain: a part in a thousand."""
    one = shown(models.lag(1), 0.03)
    found, test = scored(one, "offset.tip")
    fit = refit(with_effect(found, [one], "offset.tip"), test)
    assert test.change == pytest.approx(fit.change, rel=3e-3)
    assert test.deviation == pytest.approx(fit.deviation, rel=3e-3)
    assert test.decrease == pytest.approx(found.cost - fit.found.cost, rel=3e-3)
    assert fit.change == pytest.approx(0.03, abs=4.0 * fit.deviation)


def test_slopes_are_the_bias_that_an_effect_left_out_brings(models):
    one, size = models.lag(), 1e-4
    _, test = scored(one, "offset.tip")
    biased = estimate([shown(one, size)])
    assert biased.rho - models.LAG_TRUTH == pytest.approx(size * test.slopes, rel=1e-2)


def test_an_effect_that_a_parameter_has_as_well_is_collinear(models):
    _, test = scored(models.lag(1), "gain.tip")
    assert test.deviation == np.inf and test.p_value == 1.0
    assert test.slopes == pytest.approx([0.0, models.LAG_TRUTH[1]], abs=0.02)


def test_noise_explains_scores_of_models_that_are_right(models):
    """Mean square of 30 standardised scores: 1, with a standard deviation of 0.26."""
    for noisy, bound in ((0.0, 1.0), (0.3, 4.0)):
        inputs = (replace(models.VOLTAGE, deviation=noisy),)
        squares, without = [], []
        for seed in range(30):
            one = models.lag(seed, inputs=inputs)
            if noisy:
                errors = noisy * np.random.default_rng(1000 + seed).standard_normal((201, 1))
                one = replace(
                    one, recording=replace(one.recording, inputs=one.recording.inputs + errors)
                )
            _, test = scored(one, "offset.tip")
            squares.append((test.change / test.deviation) ** 2)
            without.append(test.decrease)
        assert np.mean(squares) == pytest.approx(1.0, abs=0.8)
        assert np.mean(without) >= 0.4 * bound  # what it is if the noise of inputs is left out


def test_a_fixed_parameter_is_tested_and_its_value_found(models):
    parameters = (models.TAU, replace(models.GAIN, start=1.9))
    one = models.lag(1)
    found = estimate([one], parameters, fixed=["gain"])
    extended = with_fixed(found, [one], "gain")
    test = score(extended)
    assert test.p_value < 1e-9
    fit = refit(extended, test)
    assert 1.9 + fit.change == pytest.approx(2.0, abs=4.0 * fit.deviation)


def test_a_bound_leaves_one_side_to_be_tested(models):
    one = shown(models.lag(1), 0.03)
    found = estimate([one])
    (effect,) = [each for each in effects_of(one) if each.name == "offset.tip"]
    assert effect.parameter.lower < 0.0
    extended = with_effect(found, [one], "offset.tip")
    parameters = (
        *extended.misfit.parameters[:-1],
        replace(effect.parameter, upper=1e-9, start=0.0),
    )
    extended.misfit.parameters = parameters
    assert score(replace(extended, rho=np.append(found.rho, 1e-9))).p_value > 0.99
