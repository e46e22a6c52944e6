"""Signals that stick with noise are named with the time; robots at rest are left alone."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.causes.sticking import sticking_signals
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.report.make import make_report

NOISE, TIME = 0.02, np.linspace(0.0, 4.0, 161)
AXES = np.array([[1.0, 0.4, 0.1], [0.5, -0.3, 0.2]])
"""Motion of each marker along x, y and z."""


class Markers(Experiment):
    """Two markers that swing with a common frequency and size, then rest from t = 3 s on."""

    name, inputs = "markers", ()
    parameters = (Parameter("size", 1.5), Parameter("w", 1.9, "1/s", upper=4.0))
    channels = tuple(Channel(f"{n}.{axis}", "mm", NOISE) for n in ("tip", "side") for axis in "xyz")
    time = TIME

    def __init__(self, recording):
        self.recording = recording

    @property
    def measured(self):
        return self.recording.outputs

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        t = np.minimum(self.time, 3.0)
        size, w = rho
        directions = AXES.ravel()
        y = np.outer(size * np.sin(w * t), directions)
        by_size, by_w = np.sin(w * t), size * t * np.cos(w * t)
        return y, np.stack([np.outer(by_size, directions), np.outer(by_w, directions)], axis=2)

    def with_recording(self, change):
        return Markers(change(self.recording))


def recorded(seed, sticks=(), noise=NOISE):
    """Markers whose columns keep their value, but not their noise, from one sample to another."""
    y = Markers(None).outputs([1.0, 2.0])
    for columns, first, end in sticks:
        y[first:end, columns] = y[first, columns]
    y += noise * np.random.default_rng(seed).standard_normal(y.shape)
    return Markers(Recording("run", TIME, np.zeros((len(TIME), 0)), y))


@pytest.mark.parametrize(("first", "end", "when"), [(60, 161, "s on, at"), (30, 75, " to 1.8")])
def test_a_marker_that_sticks_is_named_with_the_time(first, end, when):
    experiment = recorded(1, [(slice(0, 3), first, end)])
    report = make_report("markers", estimate([experiment]), [experiment])
    cause = report.causes.first
    assert cause.name == "stuck.tip" and cause.explains_residuals
    begin = float(report.verdict.text.partition("t = ")[2].split()[0])
    assert begin == pytest.approx(TIME[first], abs=0.1)
    assert "Not to be trusted: Marker tip sticks from t = " in report.verdict.text
    assert when in report.verdict.text
    assert "mm with noise, which explains it: leave these cells empty." in report.verdict.text
    assert report.estimate.value("w") + cause.shifts["w"] == pytest.approx(2.0, abs=0.01)
    assert not any(score.name in report.causes.untested for score in report.causes.scores)


def test_markers_that_do_not_stick_are_left_alone():
    """They rest for a second, as the model does, in 20 recordings; nor with a column that was not
    measured, nor with twice the noise."""
    for seed in range(20):
        experiment = recorded(100 + seed)
        experiment.recording.outputs[:, seed % 6] = np.nan
        assert sticking_signals(estimate([experiment]), [experiment]) == []
    noisy = recorded(1, noise=2.0 * NOISE)
    report = make_report("markers", estimate([noisy]), [noisy])
    assert not any(cause.name.startswith("stuck") for cause in report.causes.found)


def test_a_single_channel_and_missing_samples(models):
    """A sensor of its own is named by its channel; cells that are empty already do not count."""
    lag = models.lag(1)
    outputs = lag.recording.outputs.copy()
    noise = lag.channels[0].deviation * np.random.default_rng(0).standard_normal((101, 1))
    outputs[100:] = outputs[100] + noise
    outputs[20:30] = np.nan

    class Lag(models.Lag):
        def with_recording(self, change):
            return replace(self, recording=change(self.recording))

    experiment = Lag(replace(lag.recording, outputs=outputs))
    report = make_report("lag", estimate([experiment]), [experiment])
    assert report.causes.first.name == "stuck.tip"
    assert " Tip sticks from t = " in report.verdict.text
