"""Branches of the motion: their shares, and what they add to intervals."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from sofa_softctl.identification.uncertainty.validation import (
    covariance_between_minima,
    weighted_minima,
)


@pytest.fixture
def branched(models):
    """An estimate with a second end 4 deviations of gain away, whose cost is 2 more."""
    found = estimate([models.lag(1)])
    end = found.searches[0]
    away = np.zeros(len(found.rho))
    away[0] = 4.0 / np.sqrt(end.information[0, 0])
    other = replace(end, rho=end.rho + away, cost=end.cost + 2.0)
    return replace(found, branches=(end, other, end)), away


def test_each_branch_has_its_share_of_the_probability(branched):
    found, away = branched
    (one, first), (other, second) = weighted_minima(found)
    assert one is found.searches[0] and other.cost == one.cost + 2.0
    assert second / first == pytest.approx(np.exp(-1.0)) and first + second == pytest.approx(1.0)
    np.testing.assert_allclose(covariance_between_minima(found), second * np.outer(away, away))
    wide, narrow = identifiability(found), identifiability(replace(found, branches=()))
    assert wide.deviations[0] > narrow.deviations[0]
    np.testing.assert_allclose(
        wide.covariance - narrow.covariance, second * np.outer(away, away), atol=1e-15
    )


def test_a_branch_that_fits_much_worse_does_not_count(branched):
    found, _ = branched
    end, other = found.branches[:2]
    assert weighted_minima(
        replace(found, branches=(end, replace(other, cost=end.cost + 30.0)))
    ) == [(end, pytest.approx(1.0))]
    assert not covariance_between_minima(replace(found, branches=(end, end))).any()


def test_a_report_names_the_branches(models, branched):
    found, _ = branched
    told = [one.text for one in make_report("lag", found, [models.lag(1)]).diagnostics]
    assert any("Inputs on 2 branches of the motion explain the data" in text for text in told)
