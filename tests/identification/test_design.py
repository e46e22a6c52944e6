"""Designed motions: within limits, as informative as forecast, better than random ones."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.design.design import design_motion
from sofa_softctl.identification.design.limits import input_limits
from sofa_softctl.identification.design.motion_file import motion_text
from sofa_softctl.identification.design.motions import FAMILIES, limit_inputs
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.identifiability import identifiability


@pytest.fixture(scope="module")
def first(models):
    """An estimate from one recording, and a motion designed from it."""
    problem, one = models.LagProblem(), models.lag(2)
    found = estimate([one])
    return (
        problem,
        one,
        found,
        design_motion(problem, found, [one], [one.recording], evaluations=60),
    )


def test_the_recorded_design_shrinks_intervals_as_forecast(models, first):
    """Within 5 %.

    The forecast is linearised at the estimate, which is off by 0.5 % of the truth at most (its
    interval), and the information is of second order in both parameters.
    """
    problem, one, found, best = first
    truth = models.Lag(Recording("", best.time, best.inputs, np.zeros((len(best.time), 1))))
    noise = models.PLACE.deviation * np.random.default_rng(9).standard_normal(truth.measured.shape)
    measured = truth.outputs(models.LAG_TRUTH) + noise
    second = problem.experiment(Recording("second", best.time, best.inputs, measured))
    refitted = identifiability(estimate([one, second]))
    half = dict(zip(refitted.names, 0.5 * (refitted.high - refitted.low), strict=True))
    for name, forecast in best.candidate.half_widths.items():
        assert forecast == pytest.approx(half[name], rel=0.05)
        assert forecast < 0.75 * best.candidate.half_widths_now[name]


def test_the_design_is_better_than_random_motions_and_than_the_recorded_one(first):
    problem, one, found, best = first
    others = design_motion(problem, found, [one], [one.recording], evaluations=10, seed=7).gains
    assert best.candidate.gain > np.median(best.gains)
    assert best.candidate.gain > np.median(others) + 0.2
    assert best.candidate.gain > best.again.gain


def test_the_same_seed_gives_the_same_motion_and_progress_is_reported(first):
    problem, one, found, _ = first
    told = []
    twice = [
        design_motion(
            *(problem, found, [one], [one.recording]),
            evaluations=12,
            seed=3,
            progress=lambda *state: told.append(state),
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(twice[0].inputs, twice[1].inputs)
    assert [state[:2] for state in told[:12]] == [(k, 12) for k in range(1, 13)]


def test_inputs_and_outputs_stay_within_what_was_recorded(first):
    _, one, _, best = first
    u, y = one.recording.inputs, one.recording.outputs
    assert u.min() <= best.inputs.min() and best.inputs.max() <= u.max()
    steps = np.abs(np.diff(u, axis=0)).max()
    assert np.abs(np.diff(best.inputs, axis=0)).max() <= steps + 1e-12
    room = 0.1 * np.ptp(y)
    assert y.min() - room <= best.outputs.min() and best.outputs.max() <= y.max() + room


@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: one.name)
def test_all_motions_keep_range_and_rate_and_begin_as_recordings_do(models, family):
    time = np.arange(101) / 50.0
    slow = Recording("slow", time, 2.0 + np.sin(time)[:, None], np.zeros((101, 1)))
    (limit,) = input_limits(models.LagProblem(), [slow])
    assert limit.rate == pytest.approx(1.0, rel=1e-3)  # of the sine, at its start
    random = np.random.default_rng(0)
    for _ in range(20):
        u = limit_inputs(family.motion(random.uniform(size=family.size(1)), time, 1), time, [limit])
        assert u[0, 0] == limit.begin == 2.0
        assert 2.0 <= u.min() and u.max() <= 3.0
        assert np.abs(np.diff(u[:, 0])).max() <= limit.rate / 50.0 + 1e-12


def test_noise_of_an_input_widens_neither_its_range_nor_its_rate(models):
    """Recorded: between 0 and 1 with at most 1 per second; noise alone would give 0.3 and 20."""
    problem = models.LagProblem(inputs=(Channel("drive", "V", 0.1),))
    time = np.arange(1001) / 50.0
    for seed in range(10):
        noise = 0.1 * np.random.default_rng(seed).standard_normal(1001)
        u = 0.5 - 0.5 * np.cos(2.0 * time) + noise
        one = Recording("noisy", time, u[:, None], np.zeros((1001, 1)))
        (limit,) = input_limits(problem, [one])
        assert -0.05 < limit.low < limit.high < 1.05
        assert 0.5 < limit.rate < 1.1


def test_a_range_replaces_the_recorded_one_only_if_given_and_the_file_says_so(models, first):
    problem, one, found, best = first
    wide = design_motion(
        *(problem, found, [one], [one.recording]), evaluations=10, amplitudes={"drive": (-3.0, 3.0)}
    )
    assert np.abs(wide.inputs).max() > 1.0 >= np.abs(best.inputs).max()
    assert "-3 to 3 V, the range that was asked for" in motion_text(problem, wide, {})
    assert "-1 to 1 V, the range of the recordings" in motion_text(problem, best, {})
    with pytest.raises(IdentificationError, match="no input 'drve'.*'drive'"):
        input_limits(problem, [one.recording], {"drve": (0.0, 1.0)})
    with pytest.raises(IdentificationError, match="its lower end first"):
        input_limits(problem, [one.recording], {"drive": (1.0, -1.0)})
    narrow = replace(problem, inputs=(replace(models.VOLTAGE, largest=2.0),))
    with pytest.raises(IdentificationError, match="beyond 2 V"):
        input_limits(narrow, [one.recording], {"drive": (-3.0, 1.0)})


def test_the_file_can_be_read_as_a_motion_and_has_the_forecast(first, tmp_path):
    problem, _, _, best = first
    (tmp_path / "motion.csv").write_text(motion_text(problem, best, {"tau": "s"}))
    read = read_recording(tmp_path / "motion.csv", problem, planned=True)
    np.testing.assert_allclose(read.inputs, best.inputs, rtol=1e-8)
    assert np.isnan(read.outputs).all()
    text = (tmp_path / "motion.csv").read_text()
    assert f"interval of tau: +- {best.candidate.half_widths['tau']:.3g} s, now +- " in text


def test_inputs_that_cannot_be_commanded_are_kept_and_one_is_needed(models, first):
    problem, one, found, _ = first

    class Uncommanded(models.LagProblem):
        commanded = ()

    with pytest.raises(IdentificationError, match="none can be commanded by itself"):
        design_motion(Uncommanded(), found, [one], [one.recording])
    still = replace(one.recording, inputs=0.0 * one.recording.inputs + 1.0)
    with pytest.raises(IdentificationError, match="the recorded ones are constant"):
        design_motion(problem, found, [one], [still])


def test_motions_whose_predicted_outputs_leave_the_measured_range_are_refused(models, first):
    """As if the robot had moved half as far, and not at all."""
    problem, one, found, _ = first
    half = replace(one.recording, outputs=0.5 * one.recording.outputs)
    best = design_motion(problem, found, [one], [half], evaluations=30)
    assert np.abs(best.outputs).max() < 0.62 * np.abs(one.recording.outputs).max()
    assert -np.inf in best.gains
    still = replace(one.recording, outputs=1e-3 * one.recording.outputs)
    with pytest.raises(IdentificationError, match="None of 4 .* outside what was recorded"):
        design_motion(problem, found, [one], [still], evaluations=10)
