"""Causes that were put into the data come first, and models that are right are left alone."""

import json
import re
from dataclasses import dataclass, replace
from html import unescape

import numpy as np
import pytest
from scipy.signal import lfilter

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.causes.cause import value_text
from sofa_softctl.identification.causes.checks import contradiction
from sofa_softctl.identification.causes.columns import apply_column_change, possible_changes_of
from sofa_softctl.identification.causes.ranking import join_ties, order
from sofa_softctl.identification.causes.refit import better_without
from sofa_softctl.identification.causes.score import Score, undetectable_biases
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.fitting.gauss_newton import Termination
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, Refinement
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.report.make import add_diagnostics, make_report
from sofa_softctl.identification.uncertainty.discretisation import DiscretisationBudget, Shift
from sofa_softctl.view.pages.identification import causes as shown_causes
from sofa_softctl.view.pages.identification import page
from sofa_softctl.view.terminal.identification import show
from tests.identification.lag_problem import Wave


def with_values(report, **values):
    """The report with other values, and the diagnostics of these."""
    return add_diagnostics(replace(report, **values))


def shown(one, added):
    outputs = one.recording.outputs + added
    return replace(one, recording=replace(one.recording, outputs=outputs))


def reported(one, **given):
    return make_report("lag", estimate([one], **given), [one])


def texts(report):
    return " ".join(one.text for one in report.diagnostics)


def test_the_first_line_names_the_cause_its_size_and_what_to_do(models, capsys):
    one = shown(models.lag(1), 0.05)
    made = reported(one)
    first = made.causes.first
    assert first.name == "offset.tip" and first.low < 0.05 < first.high
    assert made.verdict.level == "bad" and first.explained == 1.0
    assert made.verdict.text.startswith("Not to be trusted: An offset of tip of 0.04")
    assert "explains it: --with offset.tip." in made.verdict.text
    assert made.verdict.text in page(made) and "What explains the data better" in page(made)
    told = json.loads(json.dumps(made.to_dict(), allow_nan=False))["causes"]
    assert told["found"][0]["name"] == "offset.tip" and told["found"][0]["p_value"] < 1e-6
    shift = made.estimate.value("gain") + told["found"][0]["shifts"]["gain"]
    assert shift == pytest.approx(2.0, abs=0.01)
    show(made, None, quiet=False, as_json=False)
    printed = capsys.readouterr().out
    assert printed.startswith("Not to be trusted: An offset of tip")
    assert "What explains the data better, best first" in printed


def test_models_that_are_right_are_left_alone(models):
    """Of 30, at a level of 2 %: more than 3 happen once in 300 times."""
    made = [reported(models.lag(100 + seed)) for seed in range(30)]
    assert sum(one.causes.first is not None for one in made) <= 3
    assert not made[0].causes.untested and len(made[0].causes.scores) == 6


def test_a_cause_without_consequence_is_no_alarm(models):
    made = reported(models.lag(1))
    first = reported(shown(models.lag(1), 0.05)).causes.first
    cause = replace(first, half_widths={"tau": 0.1}, shifts={"tau": 1e-4})
    calm = with_values(made, causes=replace(made.causes, found=(cause,)))
    assert calm.verdict.level == "look" and "It is of no consequence" in texts(calm)


def test_noise_that_is_not_white_is_not_called_an_effect(models):
    """Of a first-order process, with the deviation that is declared: an offset fits some of it, and
    leaves four fifths of what successive samples have in common."""
    one, white = models.lag(204), np.random.default_rng(4).standard_normal(201)
    coloured = lfilter([np.sqrt(1.0 - 0.95**2)], [1.0, -0.95], white)
    made = reported(shown(one, one.channels[0].deviation * coloured[:, None]))
    first = made.causes.first
    assert first.p_value < 0.02 and 0.5 < first.kept < 1.0 and first.explained < 0.2
    assert made.verdict.level == "bad" and "--with" not in made.verdict.text
    assert "perhaps the noise is not white. The likeliest, an offset of" in made.verdict.text


def test_numbers_without_a_unit_are_told_without_one():
    assert value_text(0.3, 0.01, "1") == "0.3 ± 0.01"
    assert value_text(0.03, 0.01, "") == "3 ± 1 %"


def test_what_the_data_could_not_show_is_said(models, capsys):
    made = reported(models.lag(1))
    names = [one.name for one in made.causes.hidden]
    assert names[:2] == ["gain.tip", "gain.drive"] or names[:2] == ["gain.drive", "gain.tip"]
    (told,) = [one.sentence for one in made.causes.hidden if one.name == "gain.tip"]
    assert "shifts gain by the half-width of its interval" in told
    assert told.endswith("and cannot be seen in these data at any size.")
    show(made, None, quiet=False, as_json=False)
    assert "What these data could not show:" in capsys.readouterr().out
    assert "What these data could not show" in page(made)


def test_an_effect_that_is_a_fitted_parameter_by_another_name_is_not_listed():
    """Damping beside a damper's adds to it; damping that acts on k as well is told."""

    def listed(*slopes):
        effect = Parameter("damping.b", 0.0, "N s/m")
        one = Score(effect, np.nan, np.inf, np.array(slopes), 0.0, 1.0)
        units = {"c": "N s/m", "k": "N/m"}
        found = undetectable_biases([one], 1e-3, {"c": 0.1, "k": 1.0}, units, {"c": 2.0, "k": 50.0})
        return [each.parameter for each in found]

    assert listed(1.0, 1e-9) == []
    assert listed(1.0, 1.0) == ["c"] and listed(0.5, 0.0) == ["c"]


def test_a_reversed_column_is_named_and_derivatives_are_not_blamed(models):
    class Lag(models.Lag):
        def with_recording(self, change):
            return replace(self, recording=change(self.recording))

    one = models.lag(1)
    run = replace(one.recording, inputs=-one.recording.inputs)
    wrong = Lag(run, (replace(models.TAU, upper=20.0), models.GAIN))
    made = reported(wrong)
    first = made.causes.first
    assert {first.name, *first.alike} == {"sign.drive", "sign.tip"}
    assert "which explains it: correct the recording." in made.verdict.text
    assert "not exact" not in texts(made)
    assert made.estimate.rho + list(first.shifts.values()) == pytest.approx([0.3, 2.0], rel=0.01)


@pytest.mark.parametrize(
    ("share", "order", "blamed"),
    [(1.0, 1, False), (0.9, 1, True), (1.0, 2, True), (1.3, 2, False)],
)
def test_no_cause_is_blamed_where_a_finer_model_fits_as_well(models, share, order, blamed):
    """Half a step takes away 3/4 of what an error of order 1 adds to the cost, 15/16 of order 2."""
    made = reported(shown(models.lag(1), 0.05))
    first = made.causes.first
    finer = Refinement("dt", "time step", "with steps of 5 ms", lambda: None, order)
    none = np.zeros(2)
    shift = Shift(finer, made.estimate.rho, none, 0.75 * share * first.decrease, True, 0.0)
    budget = DiscretisationBudget(made.estimate.names, (shift,))
    told = with_values(made, discretisation=budget)
    assert ("change the time step first" in told.verdict.text) == (not blamed)
    assert ("change the time step first" in texts(told)) == (not blamed)
    assert (first.sentence in texts(told)) == blamed


def test_a_cause_that_leaves_more_than_noise_does_not_explain_it_and_a_poor_one_comes_second(
    models,
):
    made = reported(shown(models.lag(1), 0.05))
    first = made.causes.first

    def told(**changed):
        found = (replace(first, **changed),)
        return with_values(made, causes=replace(made.causes, found=found)).verdict.text

    assert "explains it: --with offset.tip" in told(left=1.1)
    assert "explains most of it, and leaves 30 times the noise: --with" in told(left=30.0)
    columns = told(left=30.0, kind="columns", text="tip has the other sign", change=np.nan)
    assert "leaves 30 times the noise: check the recording." in columns
    wave = shown(models.lag(1), np.sin(9.0 * models.lag(1).time)[:, None])
    poor = reported(wave)
    assert poor.causes.found and poor.causes.first.explained < 0.5
    assert poor.verdict.text.startswith("Not to be trusted: The search converged to residuals of")


def test_a_cause_that_ends_at_a_bound_or_leaves_a_prior_is_not_advised(models):
    made = reported(shown(models.lag(1), 0.05))
    search, (tau, gain) = made.estimate.searches[0], made.estimate.parameters
    assert contradiction(search, made.estimate.parameters) == ""
    value = float(search.rho[1])
    near, far = (replace(gain, prior=Prior(value + k * 0.1, 0.1)) for k in (2.9, 3.1))
    assert contradiction(search, (tau, near)) == ""
    text = contradiction(search, (tau, far))
    assert re.fullmatch(r"gain = \S+ mm/V, declared as \S+ ± 0.1 mm/V", text)
    at_bound = replace(search, at_bound=("gain",), rho=np.array([search.rho[0], 1.5]))
    bounded = (tau, replace(gain, upper=1.5, start=1.0))
    assert contradiction(at_bound, bounded) == "gain at its upper bound, 1.5 mm/V"
    at_zero = replace(search, at_bound=("tau",), rho=np.array([0.0, value]))
    assert contradiction(at_zero, made.estimate.parameters) == ""
    cause = replace(made.causes.first, contradiction=text)
    told = with_values(made, causes=replace(made.causes, found=(cause,))).verdict.text
    assert "would explain it, but only with gain = " in told and "--with" not in told


def test_shifts_of_parameters_without_an_interval_are_not_counted_in_half_widths(models):
    first = reported(shown(models.lag(1), 0.05)).causes.first
    assert "half-widths of its interval" in first.largest_shift
    unknown = replace(first, half_widths={"tau": 0.0, "gain": -0.0})
    assert unknown.largest_shift == ""


def test_a_fit_that_leaves_a_local_minimum_is_no_cause():
    """From where a cause leads, the model alone gets to the data: its parameters were wrong."""
    one = Wave()
    made = reported(one)
    at, first = made.estimate.rho[0], made.causes.first
    assert abs(at - 10.0) > 3.0 and made.causes.better is None
    near = replace(first, shifts={"w": 9.8 - at}, decrease=made.estimate.cost)
    better = better_without(near, made.estimate, [one])
    assert better.parameters["w"] == pytest.approx(10.0, abs=1e-6)
    assert better_without(replace(near, shifts={"w": 0.0}), made.estimate, [one]) is None
    told = with_values(made, causes=replace(made.causes, found=(), better=better))
    assert "the search ended at a local minimum. Start there: --set-start w=10." in (
        told.verdict.text
    )
    assert replace(better, rms=100.0).sentence.endswith("ended at a local minimum. Try --starts 8.")
    json.dumps(told.to_dict(), allow_nan=False)


def test_a_changed_recording_that_is_taken_for_one_is_explained(models):
    class Wrong(models.Lag):
        def with_recording(self, recording):
            return replace(self, recording=recording)

    (change, *_) = possible_changes_of(Wrong(models.lag(1).recording))
    with pytest.raises(IdentificationError, match="^with_recording of Wrong .* is a function, "):
        apply_column_change([Wrong(models.lag(1).recording)], change)


def test_a_with_recording_that_fails_loses_no_estimate(models):
    """Columns are not tested then, and that is said."""

    class Broken(models.Lag):
        def with_recording(self, change):
            raise KeyError("drive")

    one = models.lag(1)
    made = reported(Broken(replace(one.recording, inputs=-one.recording.inputs)))
    why = made.causes.untested["swapped columns"]
    assert why.startswith("with_recording of Broken gave no experiment (KeyError: 'drive')")
    assert made.causes.to_dict()["untested"]["swapped columns"] == why
    assert f"Not tested: swapped columns. {why}" in unescape(shown_causes.undetected_effects(made))


TIME = np.linspace(0.0, 6.0, 241)


@dataclass(frozen=True, eq=False)
class Two(Experiment):
    """Two outputs, each a swing of its own frequency and size."""

    recording: Recording
    parameters: tuple = (Parameter("a", 1.5), Parameter("w", 2.2, "1/s", upper=4.0))
    inputs: tuple = ()
    channels: tuple = (Channel("x", "mm", 0.02), Channel("y", "mm", 0.02))
    name: str = "two"

    @property
    def time(self):
        return TIME

    @property
    def measured(self):
        return self.recording.outputs

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        a, w = rho
        t, zero = self.time, np.zeros(len(self.time))
        y = np.stack([np.sin(w * t), a * np.cos(3.0 * w * t)], axis=1)
        by_a = np.stack([zero, np.cos(3.0 * w * t)], axis=1)
        by_w = np.stack([t * np.cos(w * t), -3.0 * a * t * np.sin(3.0 * w * t)], axis=1)
        return y, np.stack([by_a, by_w], axis=2)

    def with_recording(self, change):
        return replace(self, recording=change(self.recording))


def two(swapped):
    run = Recording("two", TIME, np.zeros((len(TIME), 0)), np.zeros((len(TIME), 2)))
    y = Two(run).outputs(np.array([1.0, 2.0]))
    y += 0.02 * np.random.default_rng(0).standard_normal(y.shape)
    return Two(replace(run, outputs=y[:, ::-1] if swapped else y))


def test_swapped_columns_are_named():
    made = reported(two(swapped=True))
    assert made.causes.first.name == "swap.x.y"
    text = (
        "Not to be trusted: Columns x and y are swapped, which explains it: correct the recording."
    )
    assert made.verdict.text.startswith(text)
    assert reported(two(swapped=False)).causes.first is None


def test_swapped_markers_are_one_change_of_three_columns_each():
    names = [f"{one}.{axis}" for one in ("tip", "side") for axis in "xyz"] + ["load"]
    one = replace(two(swapped=False), channels=tuple(Channel(each, "mm", 1.0) for each in names))
    (change,) = [each for each in possible_changes_of(one) if each.name == "swap.tip.side"]
    assert change.text == "markers tip and side are swapped"
    row = np.arange(7.0)[None]
    assert change.table(row).tolist() == [[3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 6.0]]


def test_a_sensor_that_seems_to_have_failed_comes_before_causes_that_do_not_explain_it(models):
    """A wave is no effect that is tested; the note on the data says what the user can do."""
    wave = shown(models.lag(1), np.sin(9.0 * models.lag(1).time)[:, None])
    doubt = "'tip' is exactly 1 mm from t = 1 to 2 s: a frozen sensor? If so, leave cells empty"
    made = with_values(reported(wave), doubts={"a.csv": (doubt, "another", "a third")})
    assert made.verdict.text == (
        f"Not to be trusted: In a.csv, {doubt}. There are 2 more such notes."
    )
    offset = with_values(reported(shown(models.lag(1), 0.05)), doubts={"a.csv": (doubt,)})
    assert offset.verdict.text.startswith("Not to be trusted: An offset of tip")
    right = with_values(reported(models.lag(1)), doubts={"a.csv": (doubt,)})
    assert doubt not in texts(right)


def test_a_coarse_time_step_is_mentioned_where_it_was_not_tested(models):
    made = reported(shown(models.lag(1), 0.05))
    words = "Whether a finer time step or mesh explains it was not tested: --budget does."
    assert words in made.verdict.text
    tested = with_values(made, discretisation=DiscretisationBudget(made.estimate.names, ()))
    assert words not in tested.verdict.text


def test_a_search_that_ends_far_from_the_data_does_not_blame_derivatives():
    assert "derivatives are not exact" in Termination.STALLED.value
    assert "derivatives" not in Termination.MISFIT.value
    assert "swapped" in Termination.MISFIT.value


def test_what_the_model_lacks_comes_first_of_causes_that_fit_alike(models):
    first = reported(shown(models.lag(1), 0.05)).causes.first
    names = {"gain.a": 100.0, "payload.b": 97.0, "friction.c": 80.0}
    causes = [
        replace(first, name=name, decrease=decrease, adds_to_model=not name.startswith("gain"))
        for name, decrease in names.items()
    ]
    joined = join_ties(causes, 6.0)
    assert [cause.name for cause in joined] == ["payload.b", "gain.a", "friction.c"]
    assert [cause.alike for cause in joined] == [("gain.a",), ("payload.b",), ()]
    doubtful = [replace(causes[0], contradiction="E = 1, declared as 2 ± 0.1"), *causes[1:]]
    assert sorted(doubtful, key=order)[0].name == "payload.b"
    assert join_ties(sorted(doubtful, key=order), 6.0)[0].alike == ()
