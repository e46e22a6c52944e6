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
    """A residual r(x) that is to vanish, and the estimate x at which it stands."""

    def evaluate(self) -> float:
        """Compute r at x; |r|^2."""

    def solve(self) -> float:
        """Compute dx of -dr/dx dx = r for the r of the last `evaluate`; |dx|^2."""

    def advance(self, alpha: float) -> None:
        """x += alpha dx."""

    def squared_estimate(self) -> float:
        """|x|^2."""


class NewtonRaphsonSolver(Component):
    """Newton's method for a StaticSolver.

    An iteration makes the full step, or with maxNbIterationsLineSearch > 1 a shorter one if that
    makes the residual smaller; when none does, it makes the full one and goes on. Then the
    criteria whose threshold is not 0 are looked at, in this order: ratio to the last residual, to
    the first one, the residual itself, the step relative to the estimate, the step itself. By
    default there is one iteration a step.

    Source: SOFA's component of the same name.
    """

    category: ClassVar[str] = "newton solver"

    maxNbIterationsNewton = UInt(1, "Most iterations.")
    relativeSuccessiveStoppingThreshold = Real(1e-5, "Residual at which to stop, by the last one.")
    relativeInitialStoppingThreshold = Real(1e-5, "Residual at which to stop, by the first one.")
    absoluteResidualStoppingThreshold = Real(
        1e-5, "Residual at which to stop: norm of all forces.", unit="force"
    )
    relativeEstimateDifferenceThreshold = Real(
        0.0, "Step at which to stop, by the norm of all positions."
    )
    absoluteEstimateDifferenceThreshold = Real(0.0, "Step at which to stop.", unit="length")
    maxNbIterationsLineSearch = UInt(1, "Most lengths of a step that are tried.")
    lineSearchCoefficient = Real(0.5, "Each length by the one before.")
    updateStateWhenDiverged = Bool(True, "Unused, as in SOFA.")
    status = Text(
        UNDEFINED, "How the last solve ended: Converged... or Diverged...", read_only=True
    )
    residualGraph = Reals(
        [], "Squared residual before and after each iteration of the last solve.", read_only=True
    )
    warnWhenLineSearchFails = Bool(
        True, "Warn when no length of a step makes the residual smaller."
    )
    warnWhenDiverge = Bool(True, "Warn when the iterations end before a criterion is met.")

    def init(self) -> None:
        """Check the numbers."""
        if (most := self.maxNbIterationsNewton.get()) < 1:
            problem = self.fault(f"needs maxNbIterationsNewton >= 1, got {most}.")
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
        """Move the estimate of a function to where it vanishes; `status` says how that ended."""
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
                residuals.append(self._search(function, residuals[-1], iteration))
            if self.printLog.get():
                message.info(self, f"Iteration {iteration}: residual {math.sqrt(residuals[-1]):g}.")
            converged = self._converged(residuals, step, estimate)
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

    def _search(self, function: NonlinearFunction, before: float, iteration: int) -> float:
        """Move by the longest step that is tried and makes the residual smaller; |r|^2 then."""
        tries = max(self.maxNbIterationsLineSearch.get(), 1)
        alpha, done, after = 1.0, 0.0, math.inf
        for _ in range(tries):
            function.advance(alpha - done)
            after = function.evaluate()
            if after < before:
                return after
            alpha, done = alpha * self.lineSearchCoefficient.get(), alpha
        self.status.set(LINE_SEARCH)
        if self.warnWhenLineSearchFails.get():
            message.warning(
                self,
                f"line search failed in iteration {iteration}: no step, of {tries} tried, makes "
                f"the residual of {math.sqrt(before):.3g} smaller. The full step is made.",
            )
        if tries > 1:
            function.advance(1.0 - done)
            after = function.evaluate()
        return after

    def _converged(self, residuals: list[float], step: float, estimate: float) -> str | None:
        """The first criterion that is met; all numbers are squared."""
        now = residuals[-1]
        criteria = (
            (SUCCESSIVE, self.relativeSuccessiveStoppingThreshold, now, residuals[-2]),
            (INITIAL, self.relativeInitialStoppingThreshold, now, residuals[0]),
            (ABSOLUTE, self.absoluteResidualStoppingThreshold, now, 1.0),
            (RELATIVE_ESTIMATE, self.relativeEstimateDifferenceThreshold, step, estimate),
            (ABSOLUTE_ESTIMATE, self.absoluteEstimateDifferenceThreshold, step, 1.0),
        )
        for status, threshold, value, reference in criteria:
            limit = threshold.get()
            if limit > 0.0 and value < limit**2 * reference:
                return status
        return None
