"""Reports: diagnostics, JSON and the page."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.view.pages.identification import page
from sofa_softctl.view.terminal.identification import show
from sofa_softctl.view.words import interval_text, number


def texts(report, level=None):
    return " ".join(one.text for one in report.diagnostics if level in (None, one.level))


@pytest.fixture(scope="module")
def full(models):
    """A report with a wrong span, an unobservable parameter and noise of inputs."""
    three = (models.TAU, models.GAIN, models.GHOST)
    one = models.lag(1, inputs=(replace(models.VOLTAGE, deviation=0.05),), parameters=three)
    y = one.recording.outputs.copy()
    y[120:140] -= 0.1
    y[39:62] = np.nan
    one = replace(one, recording=replace(one.recording, outputs=y))
    found = estimate([one], starts=3)
    return make_report(
        "lag <1>",
        found,
        [one],
        hold_out=[models.lag(7, parameters=three)],
        candidates=[models.lag(8, parameters=three)],
        notes={"lag & co.csv": ("tip: 23 of 201 samples missing",)},
    )


def test_the_report_says_where_the_model_is_wrong_what_is_unobservable_and_whose_noise_it_is(full):
    assert "tip is wrong" in texts(full, "bad") and "2.4 to 2.8 s" in texts(full, "bad")
    assert "The data do not depend on ghost: it was kept at its start, 3 kg" in texts(full, "look")
    assert "they are too narrow" in texts(full, "look")
    assert re.search(
        r"9\d % of the variance of tau and gain is noise of recorded inputs", texts(full)
    )
    assert "Held-out data are predicted within" in texts(full)
    levels = [one.level for one in full.diagnostics]
    assert levels == sorted(levels, key=["bad", "look", "good"].index)


def test_a_good_model_is_called_good(models):
    one = models.lag(2)
    report = make_report("lag", estimate([one]), [one], hold_out=[models.lag(3)])
    assert [found.level for found in report.diagnostics] == ["good"] * 3
    assert report.rms_held_out == pytest.approx(1.0, abs=0.2)


def test_a_model_that_does_not_generalise_is_reported(models):
    one = models.lag(2)
    other = models.lag(3, truth=np.array([0.4, 2.0]))
    report = make_report("lag", estimate([one]), [one], hold_out=[other])
    assert "does not generalise to other motions" in texts(report, "bad")
    assert "No held-out data" in texts(make_report("lag", estimate([one]), [one]), "look")


def test_directions_bounds_and_noise_that_is_too_large_are_reported(models):
    swing = models.swing(1, place=0.01)
    told = texts(make_report("swing", estimate([swing]), [swing]), "bad")
    assert "0.58 k + 0.58 c + 0.58 m is not identifiable from these data (each rela" in told
    loud = models.lag(1, channels=(replace(models.PLACE, deviation=0.2),))
    told = texts(make_report("lag", estimate([loud]), [loud]), "look")
    assert "tip: the declared noise, 0.2 mm, is too large: residuals are 0.093 of what" in told
    assert "Declare 0.019 mm, or let noise be estimated" in told
    assert "Intervals are too wide." in told
    one = models.lag(1)
    short = (replace(models.TAU, start=0.2, upper=0.25), models.GAIN)
    told = texts(make_report("lag", estimate([one], short), [one]), "look")
    assert "tau ended at its upper bound, 0.25 s" in told


def test_the_first_line_says_whether_to_trust_it(models):
    one = models.lag(2)
    found = estimate([one])
    assert make_report("lag", found, [one], hold_out=[models.lag(3)]).verdict.level == "good"
    unchecked = make_report("lag", found, [one])
    assert unchecked.verdict.text == "Found, with a note to look at."
    other = models.lag(3, truth=np.array([0.4, 2.0]))
    wrong = make_report("lag", found, [one], hold_out=[other])
    assert wrong.verdict.level == "bad"
    assert wrong.verdict.text == f"Not to be trusted: {wrong.diagnostics[0].text}"
    assert wrong.to_dict()["verdict"] == wrong.verdict.text and wrong.verdict.text in page(wrong)


def test_noise_that_is_declared_too_small_is_said_as_too_large_noise_is(models):
    """White residuals of five times the declared noise."""
    quiet = models.lag(1, channels=(replace(models.PLACE, deviation=0.004),))
    made = make_report("lag", estimate([quiet]), [quiet])
    told = texts(made, "bad")
    assert "tip: the declared noise, 0.004 mm, is too small: residuals are 4.7 of what" in told
    assert told.endswith("Intervals are too narrow.") and "tip is wrong" not in told
    assert made.verdict.text.startswith("Not to be trusted: tip: the declared noise")
    assert made.to_dict()["residuals"][0]["declared_noise"] == "too small"
    let = make_report("lag", estimate([quiet], estimate_noise=True), [quiet])
    assert "declared noise" not in texts(let)


def test_intervals_are_not_called_too_narrow_and_too_wide_at_once(models):
    """One recording with a tenth of the declared noise, one of another robot."""
    loud = (replace(models.PLACE, deviation=0.2),)
    right = models.lag(1, channels=loud)
    wrong = models.lag(2, truth=np.array([2.0, 9.0]), channels=loud)
    told = texts(make_report("lag", estimate([right, wrong]), [right, wrong]), "look")
    assert "too narrow" in told and "too wide" not in told


def test_json_holds_numbers_intervals_and_none_where_nothing_is_known(full):
    told = json.loads(json.dumps(full.to_dict(), allow_nan=False))
    tau, _, ghost = told["parameters"]
    assert tau["low"] < tau["value"] < tau["high"] and tau["unit"] == "s" and tau["kept"] == ""
    both = np.hypot(tau["deviation_from_outputs"], tau["deviation_from_inputs"])
    assert tau["deviation"] == pytest.approx(both)
    assert ghost["kept"] == "unseen" and ghost["low"] is None
    assert (told["status"], told["termination"]) == ("SOLVED", "CONVERGED")
    assert len(told["searches"]) == 3
    assert told["residuals"][0]["windows"][2] is None and told["next"][0]["gain"] > 0.0
    assert told["recordings"] == {"lag & co.csv": ["tip: 23 of 201 samples missing"]}


@pytest.mark.soak
def test_every_number_of_an_estimate_not_to_be_trusted_is_marked(models):
    """In the page, in the terminal, and in the JSON text."""
    one = models.lag(2)
    wrong = make_report(
        "lag", estimate([one]), [one], hold_out=[models.lag(3, truth=np.array([0.4, 2.0]))]
    )
    right = make_report("lag", estimate([one]), [one], hold_out=[models.lag(3)])
    table = page(wrong).split("<h2>Parameters</h2>")[1].split("</section>")[0]
    assert "Not to be trusted</b>, because: Held-out data" in table
    for cells in re.findall(r"<tr>(<td>.*?)</tr>", table):
        _, value, _, interval, *_ = re.findall(r"<td[^>]*>(.*?)</td>", cells)
        assert all('class="doubt"' in cell and "\u2717" in cell for cell in (value, interval))
    assert "\u2717" not in page(right) and 'class="doubted"' not in page(right)
    assert wrong.to_dict()["not_to_be_trusted"] == wrong.diagnostics[0].text
    assert right.to_dict()["not_to_be_trusted"] == ""


def test_the_terminal_marks_numbers_not_to_be_trusted(models, capsys):
    one = models.lag(2)
    wrong = make_report(
        "lag", estimate([one]), [one], hold_out=[models.lag(3, truth=np.array([0.4, 2.0]))]
    )
    show(wrong, None, quiet=False, as_json=False)
    told = capsys.readouterr().out
    assert told.startswith("Not to be trusted: Held-out data")
    for row in (row for row in told.splitlines() if re.match(r"\W*(tau|gain)\b", row)):
        assert row.count("\u2717") == 2
    assert "for the reason above" in told


def test_held_out_samples_inside_the_band_are_counted(models):
    report = make_report(
        "lag", estimate([models.lag(2)]), [models.lag(2)], hold_out=[models.lag(3, seconds=23.98)]
    )
    share = report.predictions.coverage.share
    told = f"{100 * share:.0f} % of 1,200 held-out samples are inside the 95 % band."
    assert told in page(report) and told in texts(report, "good")
    found = report.to_dict()["prediction_band"]
    assert found["held_out"]["share"] == share == found["channels"][1]["share"]
    assert [one["data"] for one in found["channels"]] == ["fitted", "held out"]


class Checker(HTMLParser):
    """Tags that were opened and not closed, and all ids."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(full):
    text = page(full)
    found = Checker()
    found.feed(text)
    assert found.open == [] and len(set(found.ids)) == len(found.ids)
    assert found.tags.count("svg") >= 6
    assert all('role="img" aria-label=' in head for head in re.findall("<svg[^>]*>", text))
    assert not re.search(r'(src|href)="(?!#|data:)', text.replace("xlink:href", "href"))
    assert "<script" not in text and "@import" not in text
    assert "Identification of lag &lt;1&gt;" in text and "lag &amp; co.csv" in text
    for title in (
        *("What was found", "What the data can tell", "Residuals"),
        *("Measured and predicted", "What to record next", "From other starts"),
    ):
        assert f"<h2>{title}</h2>" in text
    for one in full.diagnostics:
        assert one.level in text


def test_unknown_intervals_are_not_written_as_numbers(models):
    swing = models.swing(1, place=0.01)
    text = page(make_report("swing", estimate([swing]), [swing]))
    assert text.count("not known alone") == 3 and 'var(--bad)">no</b>' in text


def test_values_have_as_many_digits_as_are_known():
    assert number(0.299247, 0.0029) == "0.2992"
    assert number(123.456, 20.0) == "123"
    assert number(123456.0, 2e4) == "1.2346e+05"
    assert number(3.0, float("nan")) == "3"
    assert interval_text(0.9, 1.1, 1.0, 2.0) == "0.90 to 1.10"
    assert interval_text(-2.0, 4.0, 1.0, 2.0) == "not known alone"
    assert interval_text(-0.2, 0.3, 0.05, 0.0) == "-0.20 to 0.30"  # a shift may well be zero
