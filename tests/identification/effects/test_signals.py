"""Gain, offset and delay of signals: closed forms, derivatives, composition, what is found."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting.estimate import estimate

NAMES = [f"{kind}.{name}" for name in ("tip", "drive") for kind in ("gain", "offset", "delay")]


def switched(one, *names):
    """An experiment with effects, in the order of the names."""
    for name in names:
        one = next(each for each in effects_of(one) if each.name == name).add_to(one)
    return one


def test_any_experiment_has_gain_offset_and_delay_of_each_signal(models):
    assert sorted(each.name for each in effects_of(models.lag())) == sorted(NAMES)
    free = {each.name for each in effects_of(models.swing())}
    assert free == {"gain.x", "offset.x", "delay.x"}  # it has no input
    units = {each.name: each.parameter.unit for each in effects_of(models.lag())}
    assert units["offset.tip"] == "mm" and units["offset.drive"] == "V"
    assert units["delay.drive"] == "s" and units["gain.drive"] == "-"


@pytest.mark.parametrize("name", NAMES)
def test_an_effect_of_size_0_changes_no_digit(models, name):
    one = models.lag(1)
    rho = np.array([0.35, 1.5])
    with_effect = switched(one, name)
    assert [each.name for each in with_effect.parameters] == ["tau", "gain", name]
    np.testing.assert_array_equal(with_effect.outputs(np.append(rho, 0.0)), one.outputs(rho))


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [
        ("gain.tip", 0.1, lambda one, rho: 1.1 * one.outputs(rho)),
        ("offset.tip", 0.1, lambda one, rho: one.outputs(rho) + 0.1),
        ("gain.drive", 0.1, lambda one, rho: one.outputs(rho * [1.0, 1.1])),
        ("offset.drive", 0.1, lambda one, rho: driven(one, one.recording.inputs + 0.1, rho)),
        ("delay.drive", 0.04, lambda one, rho: driven(one, late(one.recording.inputs), rho)),
    ],
)
def test_effects_have_closed_forms(models, name, size, expected):
    one, rho = models.lag(), np.array([0.35, 1.5])
    found = switched(one, name).outputs(np.append(rho, size))
    np.testing.assert_allclose(found, expected(one, rho), atol=1e-12)


def test_gains_of_inputs_that_change_much_have_exact_derivatives(models):
    """y = sin(300 u): a central difference alone is off by (300 STEP)^2 / 6 = 1.5e-4."""

    class Sensitive(models.Lag):
        def outputs(self, rho):
            return np.sin(300.0 * self.recording.inputs)

        def sensitivities(self, rho):
            return self.outputs(rho), np.zeros((len(self.time), 1, 2))

    one = models.lag()
    u = np.linspace(-1.0, 1.0, len(one.time))[:, None]
    gain = switched(Sensitive(replace(one.recording, inputs=u)), "gain.drive")
    found = gain.sensitivities(np.array([0.3, 2.0, 0.0]))[1][:, :, 2]
    np.testing.assert_allclose(found, 300.0 * u * np.cos(300.0 * u), atol=300.0 * 1e-8)


def driven(one, inputs, rho):
    return replace(one, recording=replace(one.recording, inputs=inputs)).outputs(rho)


def late(inputs):
    """Two samples of 50 Hz."""
    return np.concatenate([inputs[[0, 0]], inputs[:-2]])


@pytest.mark.parametrize("fed_back", [0.0, 0.7])
def test_derivatives_of_all_effects_together_are_those_of_the_outputs(models, fed_back):
    """Where measured outputs are computed from inputs, too. The lag is linear in its inputs.

    Third derivatives of the cubics by a delay are up to 6 / (20 ms)^3: differences with a step of
    1e-6 s leave 1.3e-7.
    """
    one = switched(models.lag(1, fed_back=fed_back), *NAMES)
    rho = np.array([0.35, 1.5, 0.1, 0.02, 0.013, -0.1, 0.05, -0.007])
    weights = np.random.default_rng(0).standard_normal((201, 1))
    y, by_rho = one.sensitivities(rho)
    swept = one.pull_back(rho, lambda y: weights)
    for i in range(len(rho)):
        step = 1e-6 * np.eye(len(rho))[i]
        slope = (one.outputs(rho + step) - one.outputs(rho - step)) / 2e-6
        np.testing.assert_allclose(by_rho[..., i], slope, atol=2e-7)
    in_all = np.einsum("ty,tyr->r", weights, by_rho)
    np.testing.assert_allclose(swept.by_parameters, in_all, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(swept.outputs, y)
    assert one.has_adjoint


@pytest.mark.parametrize("fed_back", [0.0, 0.7])
def test_noise_of_inputs_goes_through_effects(models, fed_back):
    """Residuals by one recorded sample, by central differences: they are linear in it."""
    one = switched(models.lag(1, fed_back=fed_back), *NAMES)
    rho = np.array([0.35, 1.5, 0.1, 0.02, 0.013, -0.1, 0.05, -0.007])
    weights = np.random.default_rng(0).standard_normal((201, 1))
    ends = []
    for side in (1.0, -1.0):
        errors = np.zeros((201, 1))
        errors[80] = side
        moved = one.with_input_errors(errors)
        ends.append(np.sum(weights * (moved.outputs(rho) - moved.measured)))
    swept = one.pull_back(rho, lambda y: weights).by_inputs - one.measured_by_inputs(weights)
    assert swept[80, 0] == pytest.approx(0.5 * (ends[0] - ends[1]), rel=1e-9)


def test_sensor_and_motor_errors_are_found_with_the_other_parameters(models):
    one = models.lag()
    names = ["offset.tip", "delay.tip", "offset.drive"]
    truth = np.array([*models.LAG_TRUTH, 0.3, 0.037, 0.2])
    y = switched(one, *names).outputs(truth)
    wrong = replace(one, recording=replace(one.recording, outputs=y))
    found = estimate([switched(wrong, *names)])
    np.testing.assert_allclose(found.rho, truth, rtol=1e-5)
    assert estimate([wrong]).cost > 1e3


def test_an_effect_that_an_experiment_cannot_have_is_refused(models):
    one = models.lag()
    offset, gain = (
        next(e for e in effects_of(one) if e.name == n) for n in ("offset.tip", NAMES[3])
    )
    with pytest.raises(IdentificationError, match="has a parameter 'offset.tip' already"):
        offset.add_to(offset.add_to(one))
    with pytest.raises(IdentificationError, match="no output 'tip'. Known: x"):
        offset.add_to(models.swing())
    with pytest.raises(IdentificationError, match="no input 'drive'"):
        gain.add_to(models.swing())
    time = one.time.copy()
    time[5] += 1e-3
    uneven = replace(one, recording=replace(one.recording, time=time))
    assert "delay.tip" not in {each.name for each in effects_of(uneven)}
