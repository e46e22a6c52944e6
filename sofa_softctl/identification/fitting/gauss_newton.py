"""Termination of a search for parameters.

Gauss-Newton in a trust region, within bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.optimize import least_squares

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.reduced import reduced
from sofa_softctl.identification.fitting.residual import StackedResidual
from sofa_softctl.identification.model.parameter import bounds
from sofa_softctl.status import Status


class Termination(Enum):
    """Reason why a search ended. The value is a sentence for the user; compare by member."""

    CONVERGED = "The search converged: no small change of the parameters fits the data better."
    AT_BOUND = (
        "The search converged with parameters at their bounds. Widen bounds that are not physical; "
        "otherwise the model is wrong, or the data hardly depend on them."
    )
    BLOCKED = (
        "The search ended next to parameters with which the model cannot be simulated; a better "
        "fit is predicted there. Set another start, tighter bounds, or a smaller step of the model."
    )
    EXHAUSTED = (
        "The search reached its limit of simulations before it converged. Raise the limit "
        "(--iterations), or start where it ended (--set-start)."
    )
    STALLED = (
        "The search found no better fit although derivatives predict one, near the data: the "
        "simulation is not smooth in the parameters there, or its derivatives are not exact."
    )
    MISFIT = (
        "The search ended far from the data: steps that should fit better do not, as happens where "
        "no parameters of this model fit. Look for columns that are swapped or reversed, for what "
        "the model leaves out, and for a better start."
    )
    LEFT = "The search was left before its end: another fits the data far better."
    FIXED = "Every parameter is fixed: they stay at their starts."
    UNOBSERVABLE = "No parameter that is not fixed is observable: they stay at their starts."

    @property
    def status(self) -> Status:
        """SOLVED: the parameters are a best fit within their bounds, as far as they are fitted."""
        if self in (Termination.CONVERGED, Termination.AT_BOUND, Termination.FIXED):
            return Status.SOLVED
        return Status.HELD if self is Termination.UNOBSERVABLE else Status.NOT_CONVERGED


TOLERANCE = 1e-10
"""Relative change of the parameters at which a search ends [-]."""
SMALL = 1e-7
"""Relative change of the cost at which it ends: far below the effect of noise [-]."""
DECREMENT = 1e-2
"""Predicted decrease of the cost at convergence, a tenth of a deviation's square [-]..."""
DECREMENT_SHARE = 1e-6
"""... and the same relative to the cost."""
BOUND = 1e-6
"""A parameter closer to a bound than this share of its scale is at it."""
INSIDE = 1e-2
"""Least distance of starts from bounds, as share of the scale."""
FAR = 3.0
"""RMS residual above which a search that stalls is far from the data [standard deviations]:
Gauss-Newton leaves out what residuals add to the curvature; derivatives may well be right."""
OVERFLOW = 1e100
"""Larger residuals count as a failed simulation: their squares would overflow."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Start and end of one search."""

    start: np.ndarray
    """Initial parameters, shape (n_rho,)."""
    rho: np.ndarray
    """Final parameters, shape (n_rho,)."""
    cost: float
    """Sum of squared residuals of data and priors there [-]."""
    termination: Termination
    """Reason why it ended."""
    at_bound: tuple[str, ...]
    """Parameters that ended at a bound."""
    evaluations: int
    """Simulations of all experiments, with derivatives."""
    rejected: int
    """Failed simulations: a shorter step was tried instead."""
    reason: str
    """Message of the last failed simulation; empty: none failed."""
    information: np.ndarray | None = None
    """J^T J at the end, 0 for parameters that were held, shape (n_rho, n_rho); None: unknown."""


def search(
    misfit: StackedResidual,
    start: np.ndarray,
    free: np.ndarray,
    *,
    most: int,
    progress: Callable[[int, float], None] | None = None,
) -> SearchResult:
    """Minimise the sum of squared residuals over some of the parameters.

    Simulation and derivatives are evaluated together, as nearly every step of Gauss-Newton is
    accepted. Both are reduced to n_rho + 1 rows, which have the same steps. Where either fails,
    residuals are not finite: scipy's trust region then shrinks to a quarter of the step, without
    evaluating the Jacobian.

    Args:
        misfit: Residuals.
        start: All parameters, shape (n_rho,).
        free: Mask of the parameters to fit, shape (n_rho,), at least one.
        most: Limit of evaluations.
        progress: Called with the evaluations so far and the last cost.

    Raises:
        SimulationError: The model cannot be simulated at the start.

    Source: scipy's `least_squares`, method trf (Branch, Coleman, Li 1999).
    """
    lower, upper = (side[free] for side in bounds(misfit.parameters))
    scale = np.array([one.scale for one in misfit.parameters])[free]
    begin = _inside(start[free], lower, upper, scale)
    trials = _Trials(misfit, start, free, progress)
    trials.evaluate(begin)  # raises SimulationError to the caller
    with np.errstate(invalid="ignore"):  # SciPy's reflection at bounds, far from a minimum
        found = least_squares(
            trials.residuals,
            begin,
            jac=trials.jacobian,
            bounds=(lower, upper),
            method="trf",
            x_scale=scale,
            ftol=SMALL,
            xtol=TOLERANCE,
            gtol=TOLERANCE,
            max_nfev=most,
        )
    low, high = found.x - lower < BOUND * scale, upper - found.x < BOUND * scale
    names = np.array(misfit.names)[free]
    held = (low & (found.grad > 0.0)) | (high & (found.grad < 0.0))
    left = _decrement(np.asarray(found.jac)[:, ~held], found.fun)
    converged = left <= DECREMENT + DECREMENT_SHARE * 2.0 * found.cost
    return SearchResult(
        start=start,
        rho=trials.whole(found.x),
        cost=2.0 * float(found.cost),
        termination=_termination(
            converged,
            exhausted=found.status == 0,
            rejected=trials.rejected > 0,
            at_bound=bool((low | high).any()),
            far=2.0 * float(found.cost) > FAR**2 * trials.data,
        ),
        at_bound=tuple(names[low | high].tolist()),
        evaluations=trials.evaluations,
        rejected=trials.rejected,
        reason=trials.reason,
        information=_information(np.asarray(found.jac), free),
    )


class _Trials:
    """Reduced residuals and Jacobian by the free parameters, evaluated once, together."""

    def __init__(
        self,
        misfit: StackedResidual,
        start: np.ndarray,
        free: np.ndarray,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.misfit, self.start, self.free, self.progress = misfit, start, free, progress
        self.evaluations, self.rejected, self.reason = 0, 0, ""
        self.data = 0
        self._at: bytes = b""
        self._values = (np.empty(0), np.empty((0, 0)))

    def whole(self, x: np.ndarray) -> np.ndarray:
        """All parameters, given the free ones."""
        rho = self.start.copy()
        rho[self.free] = x
        return rho

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Residuals; NaN if the simulation fails."""
        if x.tobytes() != self._at:
            try:
                self.evaluate(x)
            except SimulationError as error:
                self.rejected += 1
                self.reason = str(error)
                return np.full(len(self._values[0]), np.nan)
        return self._values[0]

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Jacobian, mostly of the last point: scipy evaluates residuals first."""
        if x.tobytes() != self._at:
            self.evaluate(x)
        return self._values[1]

    def evaluate(self, x: np.ndarray) -> None:
        """Evaluate residuals and Jacobian at x; raises SimulationError."""
        self.evaluations += 1
        rho = self.whole(x)
        of_priors = self.misfit.stacked((), rho)
        fits = self.misfit.fits(rho)
        self.data = sum(int(fit.there.sum()) for fit in fits)
        residuals, jacobian = reduced(fits, of_priors)
        if not np.abs(residuals).max(initial=0.0) <= OVERFLOW:
            raise SimulationError("The model's outputs are too large.")
        self._at, self._values = x.tobytes(), (residuals, jacobian[:, self.free])
        if self.progress is not None:
            self.progress(self.evaluations, float(residuals @ residuals))


def _information(J: np.ndarray, free: np.ndarray) -> np.ndarray:
    """J^T J, spread over all parameters, shape (n_rho, n_rho)."""
    found = np.zeros((len(free), len(free)))
    found[np.ix_(free, free)] = J.T @ J
    return found


def _inside(
    start: np.ndarray, lower: np.ndarray, upper: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """A start off its bounds: at a bound the initial trust region would have no size."""
    gap = np.minimum(INSIDE * scale, 0.25 * (upper - lower))
    return np.clip(start, lower + gap, upper - gap)


def _decrement(J: np.ndarray, r: np.ndarray) -> float:
    """Decrease of r'r that the linearised model predicts: |projection of r on J's columns|^2."""
    if not J.shape[1]:
        return 0.0
    size = np.linalg.norm(J, axis=0)
    U, s, _ = np.linalg.svd(J / np.where(size > 0.0, size, 1.0), full_matrices=False)
    seen = U[:, s > 1e-8 * s.max(initial=0.0)]
    return float(np.sum((seen.T @ r) ** 2))


def _termination(
    converged: bool, *, exhausted: bool, rejected: bool, at_bound: bool, far: bool
) -> Termination:
    if converged:
        return Termination.AT_BOUND if at_bound else Termination.CONVERGED
    if exhausted:
        return Termination.EXHAUSTED
    if rejected:
        return Termination.BLOCKED
    return Termination.MISFIT if far else Termination.STALLED
