"""Diagnostics on searches, duplicate recordings, outliers, bounds, the next motion."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.fitting.outliers import outliers
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.experiment_design import rank
from sofa_softctl.identification.uncertainty.identifiability import Direction, identifiability
from sofa_softctl.identification.uncertainty.residual_analysis import analyse_residuals
from sofa_softctl.view.pages.identification import CHANNELS_MAX, most_informative, page
from sofa_softctl.view.terminal.identification import candidates_table, show
from sofa_softctl.view.words import number
from tests.identification.lag_problem import Wave


def texts(report, level=None):
    return " ".join(one.text for one in report.diagnostics if level in (None, one.level))


def with_outputs(one, outputs):
    return replace(one, recording=replace(one.recording, outputs=outputs))


def test_a_local_minimum_is_reported_and_other_starts_are_listed(capsys):
    data = [Wave()]
    made = make_report("wave", estimate(data), data)
    assert made.verdict.text.startswith("Not to be trusted: The search converged to residuals of")
    assert "a local minimum, or the model is wrong. Try --starts 8." in made.verdict.text
    made = make_report("wave", estimate(data, starts=9, seed=1), data)
    show(made, None, quiet=False, as_json=False)
    told = capsys.readouterr().out
    assert "From other starts" in told and "Of 9 searches." in told
    assert told.count("│ w ") == 1 + 6  # the table of parameters, and that of minima
    assert "The search converged: no small change" in texts(made, "good")
    assert "2 of 9 searches ended at the best minimum found, 7 at 5 others, of" in texts(made)


def test_a_search_that_did_not_end_far_from_the_data_is_no_matter_of_its_limit(models):
    one = models.lag(1)
    wave = 100.0 * np.sin(9.0 * one.time)[:, None]
    far = with_outputs(one, one.recording.outputs + wave)
    made = make_report("lag", estimate([far], evaluations_max=2), [far])
    assert "Residuals of" in made.verdict.text and "Try --starts 8." in made.verdict.text
    near = make_report("lag", estimate([one], evaluations_max=2), [one])
    assert "--starts" not in texts(near) and "Raise the limit" in texts(near)


def test_a_wrong_model_is_more_likely_where_most_searches_end_alike(models):
    one = models.lag(1)
    wave = with_outputs(one, one.recording.outputs + np.sin(9.0 * one.time)[:, None])
    made = make_report("lag", estimate([wave], starts=3), [wave])
    assert "as did 3 of 3 searches: the model is probably wrong" in texts(made, "look")


def test_starts_that_cannot_be_simulated_are_moved_towards_the_given_one(models):
    """Lags above 0.6 fail here: those starts come back towards 0.5, and none is lost."""

    class Short(models.Lag):
        def sensitivities(self, rho):
            if rho[0] > 0.6:
                raise SimulationError("the lag is too long.")
            return super().sensitivities(rho)

    one = Short(models.lag().recording)
    found = estimate([one], starts=6)
    assert len(found.searches) == 6
    assert all(each.start[0] <= 0.6 for each in found.searches)
    (told,) = found.warnings
    assert told.startswith("at 2 of 6 starts the model cannot be simulated; the first is tau = ")
    assert told.endswith("(the lag is too long). Moved towards one that can be: 2")


def test_held_out_data_that_are_missed_as_fitted_ones_are_not_called_good(models):
    def waved(seed):
        one = models.lag(seed)
        return with_outputs(one, one.recording.outputs + 0.1 * np.sin(9.0 * one.time)[:, None])

    data = [waved(1)]
    made = make_report("lag", estimate(data), data, hold_out=[waved(2)])
    assert "Both are more than noise explains" in texts(made, "look")
    assert "Held-out" not in texts(made, "good")


def test_duplicate_recordings_are_reported(models):
    one, again = models.lag(1), models.lag(1)
    made = make_report("lag", estimate([one, again]), [one, again])
    assert "lag was given twice: its samples count double" in texts(made, "look")
    made = make_report("lag", estimate([one]), [one], hold_out=[again])
    assert "lag is both fitted and held out" in texts(made, "look")
    assert "Held-out" not in texts(made, "good")
    made = make_report("lag", estimate([one]), [one], hold_out=[models.lag(2)])
    assert "twice" not in texts(made) and "both fitted" not in texts(made)


def test_a_bound_is_named_not_the_value_beside_it(models):
    """Data of a gain of -1, whose lower bound is 0: the search ends at 1e-20 or so."""
    one = models.lag(truth=np.array([0.3, -1.0]))
    made = make_report("lag", estimate([one]), [one])
    assert "gain ended at its lower bound, 0 mm/V." in texts(made, "look")


def test_a_single_wrong_sample_is_named_and_neighbours_and_steps_are_not(models):
    one = models.lag(1)
    y = one.recording.outputs.copy()
    y[37] += 18.0
    wrong = with_outputs(one, y)
    made = make_report("lag", estimate([wrong]), [wrong])
    assert "tip at t = 0.74 s is off by" in texts(made, "bad")
    assert "leave it out (an empty cell)" in texts(made, "bad") and len(made.outliers) == 1
    assert made.outliers[0].deviations == pytest.approx(900.0, rel=0.01)
    y = one.recording.outputs.copy()
    y[100:] += 2.0  # a step of 100 deviations
    (fit,) = estimate([with_outputs(one, y)]).fits
    assert outliers(fit) == ()


def test_ends_and_corners_of_a_smooth_misfit_are_no_wrong_samples(models):
    """A triangle that rises by 100 deviations a sample, as a model leaves that is wrong."""
    (fit,) = estimate([models.lag(3)]).fits
    ramp = np.abs(np.arange(len(fit.time)) % 80 - 40.0)[:, None]
    assert outliers(replace(fit, measured=fit.outputs + 2.0 * ramp)) == ()
    for row in (0, 1, len(ramp) - 1):
        measured = fit.measured.copy()
        measured[row] += 2.0
        (one,) = outliers(replace(fit, measured=measured))
        assert one.row == row


def test_noise_has_no_wrong_samples_and_missing_ones_do_no_harm(models):
    (fit,) = estimate([models.lag(3)]).fits
    random = np.random.default_rng(0)
    for _ in range(50):
        noise = random.standard_normal(fit.outputs.shape)
        noise[random.random(noise.shape) < 0.3] = np.nan
        assert outliers(replace(fit, measured=fit.outputs + 0.02 * noise)) == ()
    assert outliers(replace(fit, measured=np.full_like(fit.measured, np.nan))) == ()


def test_times_of_a_clock_are_counted_from_the_start(models):
    (fit,) = estimate([models.lag(1)]).fits
    wrong = fit.measured.copy()
    wrong[120:140] -= 0.1
    (told,) = analyse_residuals(replace(fit, time=fit.time + 1.7e9, measured=wrong))
    assert "most from 2.4 to 2.8 s after the start" in told.sentence


def test_the_next_motion_is_judged_with_the_noise_of_inputs_as_the_table_is(models):
    noisy = (replace(models.VOLTAGE, deviation=0.05),)
    data = [models.lag(1, inputs=noisy)]
    found = estimate(data)
    trust = identifiability(found, data)
    (again,) = rank(found, [models.lag(3, inputs=noisy)], data)
    table = dict(zip(found.names, (trust.high - trust.low) / 2.0, strict=True))
    assert again.half_widths_now == pytest.approx(table, rel=1e-4)  # but for the wide prior
    both = [*data, models.lag(3, inputs=noisy)]
    trust = identifiability(estimate(both), both)
    table = dict(zip(found.names, (trust.high - trust.low) / 2.0, strict=True))
    assert again.half_widths == pytest.approx(table, rel=0.05)  # at another estimate
    assert again.gain == pytest.approx(np.log(2.0), abs=1e-4)  # twice the same: variances halve


def test_a_motion_that_would_make_the_estimate_worse_is_reported(models):
    data = [models.lag(1)]
    bad = models.lag(3, inputs=(replace(models.VOLTAGE, deviation=2.0),))
    made = make_report("lag", estimate(data), data, candidates=[bad])
    assert made.candidates[0].gain < 0.0
    assert "Recording lag would make the estimate worse" in texts(made, "look")


def test_tables_of_many_parameters_fit_eighty_columns(models, capsys):
    data = [models.lag(1)]
    made = make_report("lag", estimate(data), data, candidates=[models.lag(8)])
    many = {f"a_long_name_{k}": 1.234e-5 for k in range(9)}
    units = [replace(models.TAU, name=name) for name in many]
    best = replace(made.candidates[0], name="slow.csv", half_widths=many, half_widths_now=many)
    wide = replace(made, candidates=(best,) * 3)
    found = replace(made.estimate, parameters=(*made.estimate.parameters, *units))
    Console(width=80).print(candidates_table(replace(wide, estimate=found)))
    told = capsys.readouterr().out
    for name in many:
        (line,) = [line for line in told.splitlines() if name in line]
        assert line.count("1.23e-05") == 4


def test_parameters_that_start_at_zero_are_given_in_their_unit():
    units = {"turn": (1.0, "rad")}
    alone = Direction({"turn": -1.0, "k": 0.01}, 0.0022, units)
    assert alone.sentence == "turn is known within 0.0022 rad"
    both = Direction({"turn": -0.8, "k": 0.6}, 0.012, units)
    assert both.sentence == "0.80 turn/(1 rad) - 0.60 k is known within 1.2 %"


def test_a_perfect_fit_is_reported_as_that(models):
    one = models.lag()
    made = make_report("lag", estimate([one]), [one])
    assert "The fitted data have no residuals." in texts(made, "good")
    assert '<td class="n">0 mm</td>' in page(made)
    assert number(-1e-9, 0.01) == "0.0000"


def test_channels_that_move_most_are_drawn_beside_those_that_are_wrong():
    missed, moved = [9.0] * 10 + [1.0] * 20, [0.1] * 25 + [50.0] * 5
    drawn = most_informative(missed, moved, [True] * 10 + [False] * 20)
    assert len(drawn) == CHANNELS_MAX and set(range(25, 30)) < set(drawn)
    assert most_informative(missed, moved, [False] * 30)[:5] == list(range(25, 30))


def test_only_parameters_that_start_at_zero_are_counted_in_units(models):
    parameters = (models.TAU, replace(models.GAIN, start=0.0))
    trust = identifiability(estimate([models.lag(1)], parameters))
    assert trust.directions[0].units == {"gain": (pytest.approx(2.0, rel=0.01), "mm/V")}
