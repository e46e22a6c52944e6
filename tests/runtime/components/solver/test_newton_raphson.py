"""Newton's method alone, on functions of one number."""

import logging
import math

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.solver.newton_raphson import NewtonRaphsonSolver
from sofa_softctl.runtime.core.node import Node

CRITERIA = (
    "relativeSuccessiveStoppingThreshold",
    "relativeInitialStoppingThreshold",
    "absoluteResidualStoppingThreshold",
    "relativeEstimateDifferenceThreshold",
    "absoluteEstimateDifferenceThreshold",
)
"""In the order in which they are looked at."""
STATUSES = (
    "ConvergedResidualSuccessiveRatio",
    "ConvergedResidualInitialRatio",
    "ConvergedAbsoluteResidual",
    "ConvergedRelativeEstimateDifference",
    "ConvergedAbsoluteEstimateDifference",
)


class Scalar:
    """r(x) of one number with -dr/dx = slope(x), and where it was asked."""

    def __init__(self, r, slope, x):
        self.r, self.slope, self.x, self.asked = r, slope, x, []

    def evaluate(self):
        self.asked.append(self.x)
        self.last = self.r(self.x)
        return self.last**2

    def solve(self):
        self.dx = self.last / self.slope(self.x)
        return self.dx**2

    def advance(self, alpha):
        self.x += alpha * self.dx

    def squared_estimate(self):
        return self.x**2


def root_of_two(x=2.0):
    """r = 2 - x^2."""
    return Scalar(lambda x: 2.0 - x * x, lambda x: 2.0 * x, x)


def arctan(x):
    """Newton's method for -atan(x) overshoots and grows from |x| > 1.3917 on."""
    return Scalar(lambda x: -math.atan(x), lambda x: 1.0 / (1.0 + x * x), x)


@pytest.fixture
def newton():
    """Makes a solver; of the criteria only those that are given are looked at."""

    def make(**values):
        values = dict.fromkeys(CRITERIA, 0.0) | {"maxNbIterationsNewton": 50} | values
        solver = Node("root").addObject("NewtonRaphsonSolver", **values)
        solver.init()
        return solver

    return make


def test_the_defaults_are_sofas():
    """One iteration; 1e-5 for what compares residuals, nothing for what compares steps."""
    solver = Node("root").addObject("NewtonRaphsonSolver")
    assert [solver.findData(name).value for name in CRITERIA] == [1e-5, 1e-5, 1e-5, 0.0, 0.0]
    assert (solver.maxNbIterationsNewton.value, solver.maxNbIterationsLineSearch.value) == (1, 1)
    assert solver.lineSearchCoefficient.value == 0.5
    assert solver.status.value == "Undefined"
    assert solver.warnWhenDiverge.value
    assert solver.warnWhenLineSearchFails.value


@pytest.mark.parametrize(("criterion", "status"), [*zip(CRITERIA, STATUSES, strict=True)])
@pytest.mark.parametrize("threshold", [0.3, 1e-3])
def test_each_criterion_alone_stops_it_at_its_threshold(criterion, status, threshold, newton):
    """At the first iteration where the criterion, written out here, is below the threshold."""
    solver, function = newton(**{criterion: threshold}), root_of_two()
    solver.solve(function)
    x = np.array(function.asked)  # 2, 3/2, 17/12, ...
    r, dx = np.abs(2.0 - x * x), np.abs(np.diff(x))
    values = (r[1:] / r[:-1], r[1:] / r[0], r[1:], dx / x[:-1], dx)[CRITERIA.index(criterion)]
    assert (values[:-1] >= threshold).all()
    assert values[-1] < threshold
    assert solver.status.value == status
    assert solver.residualGraph.array() == pytest.approx(r**2)


def test_criteria_are_looked_at_in_sofas_order(newton):
    """All are met after the first iteration, from |r| = 2 to 0.25: the first one that has a
    threshold names the status."""
    thresholds = dict.fromkeys(CRITERIA, 1e9) | {"absoluteResidualStoppingThreshold": 1.0}
    for status, criterion in zip(STATUSES, CRITERIA, strict=True):
        solver = newton(**thresholds)
        solver.solve(root_of_two())
        assert solver.status.value == status
        assert len(solver.residualGraph.array()) == 2
        del thresholds[criterion]


def test_comparisons_are_strict(newton):
    """|r| halves exactly in every iteration: a ratio of 1/2 is not below 1/2."""
    for threshold, iterations in ((0.5, 50), (0.5 + 1e-9, 1)):
        solver = newton(relativeSuccessiveStoppingThreshold=threshold, warnWhenDiverge=False)
        solver.solve(Scalar(lambda x: -x, lambda x: 2.0, 1.0))
        assert len(solver.residualGraph.array()) == iterations + 1


def test_an_equilibrium_needs_no_iteration(newton):
    """|r| <= threshold at the start, equality included; without that criterion it iterates."""
    solver, function = newton(absoluteResidualStoppingThreshold=2.0), root_of_two(2.0)
    solver.solve(function)
    assert solver.status.value == "ConvergedEquilibrium"
    assert function.asked == [2.0]
    assert solver.residualGraph.array().tolist() == [4.0]


def test_iterations_that_run_out_are_told(newton, caplog):
    """The status says so, the estimate is the last one, and a warning gives the residuals."""
    solver, function = newton(maxNbIterationsNewton=2), root_of_two()
    solver.solve(function)
    assert solver.status.value == "DivergedMaxIterations"
    assert function.x == pytest.approx(17.0 / 12.0)
    assert "did not converge in 2 iteration(s): the residual went from 2 to 0.00694" in caplog.text
    caplog.clear()
    solver.warnWhenDiverge.value = False
    solver.solve(root_of_two())
    assert not caplog.records


def test_the_line_search_halves_the_step_until_the_residual_falls(newton):
    """From x = 3 the full step goes to -9.49, half of it to -3.25 and a quarter to -0.12."""
    solver = newton(maxNbIterationsNewton=1, maxNbIterationsLineSearch=5, warnWhenDiverge=False)
    function = arctan(3.0)
    step = 10.0 * math.atan(3.0)
    solver.solve(function)
    assert function.asked == pytest.approx([3.0, 3.0 - step, 3.0 - step / 2, 3.0 - step / 4])
    assert function.x == function.asked[-1]


def test_the_coefficient_of_the_line_search_counts(newton):
    solver = newton(
        maxNbIterationsNewton=1, maxNbIterationsLineSearch=5, lineSearchCoefficient=0.1,
        warnWhenDiverge=False,
    )  # fmt: skip
    function = arctan(3.0)
    solver.solve(function)
    step = 10.0 * math.atan(3.0)
    assert function.asked == pytest.approx([3.0, 3.0 - step, 3.0 - step / 10])


@pytest.mark.parametrize("tries", [0, 1, 2])
def test_a_line_search_that_fails_makes_the_full_step_and_goes_on(tries, newton, caplog):
    """Also after more than one try: back to the full step. The iterations end as diverged."""
    solver = newton(maxNbIterationsNewton=2, maxNbIterationsLineSearch=tries)
    function = arctan(3.0)
    solver.solve(function)
    first = 3.0 - 10.0 * math.atan(3.0)
    second = first - (1.0 + first**2) * math.atan(first)
    assert function.x == pytest.approx(second)
    assert solver.status.value == "DivergedMaxIterations"
    failed = [r.getMessage() for r in caplog.records if "line search failed" in r.getMessage()]
    assert len(failed) == 2
    assert f"in iteration 0: no step, of {max(tries, 1)} tried, makes the resid" in failed[0]


def test_a_failed_line_search_is_the_status_until_a_criterion_is_met(newton):
    """DivergedLineSearch while it goes on, here after a slope of the wrong sign; then its end."""
    solver = newton(absoluteResidualStoppingThreshold=1e-3, warnWhenLineSearchFails=False)
    seen = []
    function = Scalar(lambda x: -x, lambda x: -1.0 if x == 1.0 else 1.0, 1.0)
    solve = function.solve
    function.solve = lambda: (seen.append(solver.status.value), solve())[1]
    solver.solve(function)
    assert seen == ["Running", "DivergedLineSearch"]
    assert solver.status.value == "ConvergedAbsoluteResidual"


def test_line_search_warnings_can_be_switched_off(newton, caplog):
    solver = newton(
        maxNbIterationsNewton=1, warnWhenLineSearchFails=False, warnWhenDiverge=False
    )  # fmt: skip
    solver.solve(arctan(3.0))
    assert not caplog.records


def test_a_residual_that_is_nan_ends_as_diverged(newton):
    """No comparison with NaN holds, so no criterion is met."""
    solver = newton(**dict.fromkeys(CRITERIA, 1e9), warnWhenDiverge=False, maxNbIterationsNewton=3)
    function = Scalar(lambda x: math.nan, lambda x: 1.0, 1.0)
    solver.solve(function)
    assert solver.status.value == "DivergedMaxIterations"
    assert math.isnan(function.x)


def test_it_tells_its_iterations_when_asked(newton, caplog):
    caplog.set_level(logging.INFO, "sofa_softctl")
    newton(printLog=True, absoluteResidualStoppingThreshold=0.3).solve(root_of_two())
    assert "Iteration 0: residual 0.25" in caplog.text


def test_reset_forgets_the_last_solve(newton):
    solver = newton(maxNbIterationsNewton=1, warnWhenDiverge=False)
    solver.solve(root_of_two())
    solver.reset()
    assert solver.status.value == "Undefined"
    assert len(solver.residualGraph.array()) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"maxNbIterationsNewton": 0}, "needs maxNbIterationsNewton >= 1, got 0"),
        ({"lineSearchCoefficient": 1.0}, "needs lineSearchCoefficient between 0 and 1, got 1"),
    ],
)
def test_numbers_that_make_no_sense_are_errors(values, message, newton):
    with pytest.raises(SceneError, match=message):
        newton(**values)


def test_it_is_no_integrator():
    """It does nothing by itself: a node with it alone has no integrator."""
    assert NewtonRaphsonSolver.category == "newton solver"
    node = Node("root")
    node.addObject("NewtonRaphsonSolver")
    assert not node.hasODESolver()
