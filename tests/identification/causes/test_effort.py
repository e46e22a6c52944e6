"""The expected time of a search for causes, and its limit."""

import pytest

from sofa_softctl.identification.causes.causes import find_causes
from sofa_softctl.identification.causes.effort import SearchTime, SearchTooLongError
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.report.make import make_report


def test_the_expected_time_counts_simulations_of_tests_and_fits(models):
    """Tests of a sensor need none, three effects of the input four each, a fixed parameter one."""
    experiment = models.lag(1)
    found = estimate([experiment], fixed=["tau"])
    time = SearchTime(found, [experiment], is_limited=True)
    assert time.tests == 3 * 4.0 + 1.0
    assert time.simulation == found.searches[0].simulation_seconds > 0.0
    assert time.total_seconds(0) == pytest.approx(13.0 * time.simulation)
    average = 4.5 * (3 * 1.0 + 3 * 4.0) / 6
    assert time.total_seconds(10) == pytest.approx((23.0 + 10 * average) * time.simulation)


def test_a_limited_search_ends_before_what_would_take_too_long(models):
    experiment = models.lag(1)
    found = estimate([experiment])
    time = SearchTime(found, [experiment], is_limited=True)
    time.check(10.0)
    with pytest.raises(SearchTooLongError, match="about 10") as error:
        time.check(100.0)
    assert error.value.seconds > 100.0
    SearchTime(found, [experiment], is_limited=False).check(1e6)


def test_a_search_that_is_left_out_says_its_time_and_is_made_on_request(models):
    """As if each simulation had taken a quarter of an hour."""
    experiment = models.lag(1)
    found = estimate([experiment])
    for search in found.searches:
        object.__setattr__(search, "simulation_seconds", 900.0)
    report = make_report("lag", found, [experiment], causes=None)
    assert report.causes.postponed == pytest.approx(12.0 * 900.0, rel=0.01)
    assert report.causes.scores == () and report.causes.first is None
    assert "that takes about 10800 s. --causes does it." in " ".join(
        diagnostic.text for diagnostic in report.diagnostics
    )
    made = find_causes(found, [experiment], report.trust.high - found.rho, 200.0)
    assert made.postponed == 0.0 and len(made.scores) == 6
