"""Delays as parameters: closed forms, derivatives, and what is found."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.sensors import Delayed
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.parameter import Parameter

DELAY = Parameter("delay", 0.0, "s", lower=-0.1, upper=0.1)


def test_a_delay_of_whole_samples_shifts_them(models):
    one = models.lag()
    y, late = one.outputs(models.LAG_TRUTH), Delayed(one, DELAY)
    three = late.outputs(np.array([*models.LAG_TRUTH, 3 / 50]))
    np.testing.assert_allclose(three[3:], y[:-3], atol=1e-12)
    np.testing.assert_allclose(three[:3], y[0, 0], atol=1e-12)
    early = late.outputs(np.array([*models.LAG_TRUTH, -2 / 50]))
    np.testing.assert_allclose(early[:-2], y[2:], atol=1e-12)


def test_interpolation_is_of_third_order(models):
    """Keys' cubics: halving the step divides the error by 8; 0.3 for what edges and phase do."""

    def error(rate):
        time = np.arange(int(3 * rate)) / rate
        one = replace(models.swing(place=1.0), time=time, measured=np.zeros((len(time), 1)))
        rho = np.array([*models.SWING_TRUTH, 0.4 / rate])
        exact = replace(one, time=time - rho[-1]).outputs(rho[:-1])
        inner = slice(rate // 2, -2)
        return np.abs(Delayed(one, DELAY).outputs(rho) - exact)[inner].max()

    assert np.log2(error(50) / error(100)) == pytest.approx(3.0, abs=0.3)


def test_derivatives_are_those_of_the_outputs(models):
    """Central differences with 1e-6 of the value: 1e-10 of rounding is left."""
    late = Delayed(models.lag(1), DELAY)
    rho = np.array([0.35, 1.5, 0.013])
    weights = np.random.default_rng(0).standard_normal((201, 1))
    _, by_rho = late.sensitivities(rho)
    swept = late.pull_back(rho, lambda y: weights)
    for i in range(3):
        step = 1e-6 * np.eye(3)[i]
        slope = (late.outputs(rho + step) - late.outputs(rho - step)) / 2e-6
        np.testing.assert_allclose(by_rho[..., i], slope, atol=1e-8)
    np.testing.assert_allclose(swept.by_parameters, np.einsum("ty,tyr->r", weights, by_rho))
    np.testing.assert_array_equal(swept.outputs, late.outputs(rho))


def test_noise_of_inputs_goes_through_a_delay(models):
    late = Delayed(models.lag(1), DELAY)
    rho, weights = np.array([0.35, 1.5, 0.013]), np.zeros((201, 1))
    weights[90] = 1.0
    u = late.experiment.recording.inputs.copy()
    ends = []
    for side in (1.0, -1.0):
        u[80] += side
        recording = replace(late.experiment.recording, inputs=u.copy())
        moved = Delayed(replace(late.experiment, recording=recording), DELAY)
        ends.append(moved.outputs(rho)[90, 0])
        u[80] -= side
    by_inputs = late.pull_back(rho, lambda y: weights).by_inputs
    assert by_inputs[80, 0] == pytest.approx((ends[0] - ends[1]) / 2.0, rel=1e-9)


def test_a_delay_is_found_with_the_other_parameters(models):
    """Measured 37 ms late, which is 1.85 samples; without a delay, nothing fits."""
    one = models.lag()
    y = Delayed(one, DELAY).outputs(np.array([*models.LAG_TRUTH, 0.037]))
    late = replace(one, recording=replace(one.recording, outputs=y))
    found = estimate([Delayed(late, DELAY)])
    assert found.value("delay") == pytest.approx(0.037, abs=1e-8)
    assert found.value("tau") == pytest.approx(0.3, rel=1e-6)
    assert estimate([late]).cost > 1e3


def test_delays_need_even_times_and_a_name_of_their_own(models):
    one = models.swing(place=0.01)
    time = one.time.copy()
    time[5] += 1e-3
    with pytest.raises(IdentificationError, match="needs samples at even times"):
        Delayed(replace(one, time=time), DELAY)
    with pytest.raises(IdentificationError, match="has a parameter 'k' already"):
        Delayed(one, Parameter("k", 0.0))
