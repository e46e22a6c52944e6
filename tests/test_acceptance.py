"""Reports of acceptance tests: what passes, what does not, and what a file keeps of them."""

import math

import pytest

from sofa_softctl.acceptance import AcceptanceReport, Criterion


def test_all_limits_count_and_what_was_not_measured_is_not_accepted():
    good, bad = Criterion("path", 0.5, 1.0), Criterion("goal", 2.0, 1.0)
    unknown = Criterion("depth", math.nan, math.inf)
    assert AcceptanceReport("model", (good,)).passed
    for other in (bad, unknown):
        report = AcceptanceReport("model", (good, other))
        assert not report.passed and other.name in report.reason and "path" not in report.reason
    assert not AcceptanceReport("model", (good,), failure="it diverged").passed
    assert "it diverged" in AcceptanceReport("model", (), failure="it diverged").reason


def test_the_worst_share_of_a_limit_tells_which_motion_is_better():
    def worst(*criteria, failure=""):
        return AcceptanceReport("model", criteria, failure).worst

    assert worst(Criterion("a", 0.5, 2.0), Criterion("b", 0.3, 1.0)) == 0.3
    assert worst(Criterion("inside", -1.0, 0.0)) == 0.0
    assert worst(Criterion("inside", 0.1, 0.0)) == math.inf
    assert worst(Criterion("a", math.nan, 1.0)) == worst(failure="diverged") == math.inf


def test_a_report_is_the_same_after_it_was_written_and_read():
    criteria = (Criterion("a", math.nan, 1.0, "length"), Criterion("b", 0.1, math.inf, ""))
    report = AcceptanceReport("embedded", criteria, "it diverged", 1.5)
    again = AcceptanceReport.from_json(report.to_json())
    assert again.criteria[1] == criteria[1] and math.isnan(again.criteria[0].value)
    assert (again.simulator, again.failure, again.seconds) == ("embedded", "it diverged", 1.5)


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"criteria": 3}', "x"])
def test_what_is_no_report_is_refused(text):
    with pytest.raises(ValueError, match="not a report"):
        AcceptanceReport.from_json(text)
