"""Searches with unknown inputs: where they begin, and which end is kept."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.gauss_newton import search
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.fitting.unknown_inputs import with_unknown_inputs
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment
from sofa_softctl.identification.model.parameter import Parameter

WAVES = 20.0
"""Wave number of a signal that snaps from branch to branch: minima are pi / 20 apart."""
TRUTH = 2.0
FREE = np.ones(1, bool)


@dataclass(frozen=True, eq=False)
class Snapping(Experiment):
    """Two samples, x and sin(20 x), x the parameter's distance from a place."""

    place: float
    waves: float = WAVES
    unknowns: int = 0
    none_from: float = np.inf
    """It cannot be simulated from here on."""
    name: str = "snapping"
    parameters: tuple = (Parameter("place", TRUTH, "mm", lower=0.0, upper=5.0),)
    channels: tuple = (Channel("tip", "mm", 1.0),)
    inputs: tuple = ()

    @property
    def time(self):
        return np.array([0.0, 1.0])

    @property
    def measured(self):
        return np.zeros((2, 1))

    def outputs(self, rho):
        return self.sensitivities(rho)[0]

    def sensitivities(self, rho):
        if rho[0] >= self.none_from:
            raise SimulationError("A step has no solution.")
        x = rho[0] - self.place
        values = np.array([x, np.sin(self.waves * x)])
        slopes = np.array([1.0, self.waves * np.cos(self.waves * x)])
        return values[:, None], slopes[:, None, None]

    def with_unknown_inputs(self, planned_at=None):
        return Snapping(TRUTH, unknowns=1, none_from=self.none_from)


def _both(exact, start):
    misfit = StackedResidual([exact])
    first = search(misfit, np.array([start]), FREE, evaluations_max=50)
    return first, with_unknown_inputs(misfit, [first], FREE, 50)


@pytest.mark.parametrize("start", [1.55, 1.7, 2.3, 2.45])
def test_searches_around_the_best_end_find_better_branches(start):
    """Of the branches one is best: x = 0. Costs of the others are x^2, three away 0.22."""
    _, found = _both(Snapping(TRUTH), start)
    plain = search(found.misfit, np.array([start]), FREE, evaluations_max=50)
    best = found.searches[0]
    assert best.cost < plain.cost - 0.02 and best.start == start
    assert best.cost == min(one.cost for one in found.branches) and len(found.branches) == 5
    np.testing.assert_array_equal(best.rho, found.branches[0].rho)


@pytest.mark.parametrize("start", [2.0, 4.0])
def test_a_search_begins_at_the_start_or_at_the_end_with_exact_inputs(start):
    """That with exact inputs ends at 4, on a branch of cost 4. One begins where costs are less."""
    exact, found = _both(Snapping(4.0, waves=0.0), start)
    assert exact.rho == pytest.approx(4.0)
    assert (found.searches[0].cost < 1e-9) == (start == 2.0)


def test_where_one_beginning_cannot_be_simulated_the_other_is_taken():
    misfit = StackedResidual([Snapping(TRUTH, none_from=2.5)])
    end = search(misfit, np.array([2.4]), FREE, evaluations_max=50)
    far = np.array([3.0])
    found = with_unknown_inputs(misfit, [replace(end, start=far)], FREE, 50)
    assert not found.warnings and found.searches[0].cost <= end.cost
