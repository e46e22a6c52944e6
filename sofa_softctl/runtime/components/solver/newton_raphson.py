"""NewtonRaphsonSolver, with SOFA's stopping rules."""

from __future__ import annotations

import math
from typing import ClassVar, Protocol

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import Bool, Real, Reals, Text, UInt
from sofa_softctl.runtime.helper import message, timer
from sofa_softctl.runtime.helper.message import complain

UNDEFINED, RUNNING = "Undefined", "Running"
EQUILIBRIUM = "ConvergedEquilibrium"
SUCCESSIVE, INITIAL = "ConvergedResidualSuccessiveRatio", "ConvergedResidualInitialRatio"
ABSOLUTE = "ConvergedAbsoluteResidual"
RELATIVE_ESTIMATE = "ConvergedRelativeEstimateDifference"
ABSOLUTE_ESTIMATE = "ConvergedAbsoluteEstimateDifference"
LINE_SEARCH, MAX_ITERATIONS = "DivergedLineSearch", "DivergedMaxIterations"


class NonlinearFunction(Protocol):
    """A residual r(x) to solve for zero, and its present estimate x."""

    def evaluate(self) -> float:
        """Compute r at x, and return |r|^2."""

    def solve(self) -> float:
        """Solve -dr/dx dx = r with the r of the last `evaluate`, and return |dx|^2."""

    def advance(self, alpha: float) -> None:
        """Add alpha dx to x."""

    def squared_estimate(self) -> float:
        """Return |x|^2."""


class NewtonRaphsonSolver(Component):
    """Newton's method for a StaticSolver.

    An iteration takes the full step, or with maxNbIterationsLineSearch > 1 a shorter one if that
    reduces the residual; if none does, it takes the full one and continues. Then the criteria with
    a threshold other than 0 are tested, in this order: ratio to the last residual, to the first
    one, the residual itself, the step relative to the estimate, the step itself. By default there
    is one iteration per step.

    Source: SOFA's component of the same name.
    """

    category: ClassVar[str] = "newton solver"

    maxNbIterationsNewton = UInt(1, "Largest number of iterations.")
    relativeSuccessiveStoppingThreshold = Real(1e-5, "Residual to stop at, over the last one.")
    relativeInitialStoppingThreshold = Real(1e-5, "Residual at which to stop, over the first one.")
    absoluteResidualStoppingThreshold = Real(
        1e-5, "Residual at which to stop: norm of all forces.", unit="force"
    )
    relativeEstimateDifferenceThreshold = Real(
        0.0, "Step at which to stop, over the norm of all positions."
    )
    absoluteEstimateDifferenceThreshold = Real(0.0, "Step at which to stop.", unit="length")
    maxNbIterationsLineSearch = UInt(1, "Largest number of lengths of a step to try.")
    lineSearchCoefficient = Real(0.5, "Ratio of each length to the previous one.")
    updateStateWhenDiverged = Bool(True, "Unused, as in SOFA.")
    status = Text(
        UNDEFINED, "Result of the last solve: Converged... or Diverged...", read_only=True
    )
    residualGraph = Reals(
        [], "Squared residual before and after each iteration of the last solve.", read_only=True
    )
    warnWhenLineSearchFails = Bool(True, "Warn if no length of a step reduces the residual.")
    warnWhenDiverge = Bool(True, "Warn if the iterations end before a criterion is met.")

    def init(self) -> None:
        """Check the Data."""
        if (iterations := self.maxNbIterationsNewton.get()) < 1:
            problem = self.fault(f"needs maxNbIterationsNewton >= 1, got {iterations}.")
            complain(self, problem, " Nothing moves, as in SOFA.")
        coefficient = self.lineSearchCoefficient.get()
        if not 0.0 < coefficient < 1.0:
            problem = self.fault(
                f"needs lineSearchCoefficient between 0 and 1, got {coefficient:g}."
            )
            complain(self, problem, " It is taken as it is, as in SOFA: no step is a shorter one.")

    def reset(self) -> None:
        """Forget the last solve."""
        self.status.set(UNDEFINED)
        self.residualGraph.set(self.residualGraph.type.initial(self))

    def solve(self, function: NonlinearFunction) -> None:
        """Move the estimate of a function to a zero, and set `status`."""
        self.status.set(RUNNING)
        residuals = [function.evaluate()]
        absolute = self.absoluteResidualStoppingThreshold.get()
        if absolute > 0.0 and residuals[0] <= absolute**2:
            status = EQUILIBRIUM
        else:
            status = self._iterate(function, residuals)
        self.status.set(status)
        timer.set_value("nb_iterations", len(residuals) - 1)
        self.residualGraph.set(self.residualGraph.type.convert(residuals, self))

    def _iterate(self, function: NonlinearFunction, residuals: list[float]) -> str:
        for iteration in range(self.maxNbIterationsNewton.get()):
            estimate = function.squared_estimate()
            with timer.record_steps("NewtonStep"):
                step = function.solve()
                residuals.append(self._search_line(function, residuals[-1], iteration))
            if self.printLog.get():
                message.info(self, f"Iteration {iteration}: residual {math.sqrt(residuals[-1]):g}.")
            converged = self._find_status(residuals, step, estimate)
            if converged is not None:
                return converged
        if self.warnWhenDiverge.get():
            message.warning(
                self,
                f"did not converge in {len(residuals) - 1} iteration(s): the residual went from "
                f"{math.sqrt(residuals[0]):.3g} to {math.sqrt(residuals[-1]):.3g}. Allow more "
                "(maxNbIterationsNewton), shorter steps (maxNbIterationsLineSearch), or load the "
                "scene in smaller steps.",
            )
        return MAX_ITERATIONS

    def _search_line(self, function: NonlinearFunction, residual: float, iteration: int) -> float:
        """Take the longest tried step that reduces the residual, and return |r|^2."""
        tries = max(self.maxNbIterationsLineSearch.get(), 1)
        alpha, alpha_done, new_residual = 1.0, 0.0, math.inf
        for _ in range(tries):
            function.advance(alpha - alpha_done)
            new_residual = function.evaluate()
            if new_residual < residual:
                return new_residual
            alpha, alpha_done = alpha * self.lineSearchCoefficient.get(), alpha
        self.status.set(LINE_SEARCH)
        if self.warnWhenLineSearchFails.get():
            message.warning(
                self,
                f"line search failed in iteration {iteration}: no step, of {tries} tried, makes "
                f"the residual of {math.sqrt(residual):.3g} smaller. The full step is made.",
            )
        if tries > 1:
            function.advance(1.0 - alpha_done)
            new_residual = function.evaluate()
        return new_residual

    def _find_status(self, residuals: list[float], step: float, estimate: float) -> str | None:
        """Return the first criterion that is met, or None; all numbers are squared."""
        residual = residuals[-1]
        criteria = (
            (SUCCESSIVE, self.relativeSuccessiveStoppingThreshold, residual, residuals[-2]),
            (INITIAL, self.relativeInitialStoppingThreshold, residual, residuals[0]),
            (ABSOLUTE, self.absoluteResidualStoppingThreshold, residual, 1.0),
            (RELATIVE_ESTIMATE, self.relativeEstimateDifferenceThreshold, step, estimate),
            (ABSOLUTE_ESTIMATE, self.absoluteEstimateDifferenceThreshold, step, 1.0),
        )
        for status, threshold, value, reference in criteria:
            limit = threshold.get()
            if limit > 0.0 and value < limit**2 * reference:
                return status
        return None
