"""Gauss-Newton search for parameters in a trust region, within bounds, and how it terminates.

Minimised is the sum of squared residuals r'r over the free parameters, by scipy's `least_squares`
with method trf (Branch, Coleman, Li 1999). Residuals and Jacobian are reduced to n_rho + 1 rows by
an orthogonal transformation, which leaves the steps unchanged, see `reduced`.

A search has converged if the decrease that the linearised model still predicts,
|projection of r on the columns of J|^2, is negligible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from time import perf_counter

import numpy as np
from scipy.optimize import least_squares

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.fitting.reduced import reduce_by_qr
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
        """SOLVED if the fitted parameters are a best fit within their bounds."""
        if self in (Termination.CONVERGED, Termination.AT_BOUND, Termination.FIXED):
            return Status.SOLVED
        return Status.HELD if self is Termination.UNOBSERVABLE else Status.NOT_CONVERGED


@dataclass(frozen=True)
class SearchSettings:
    """Tolerances of a search."""

    parameter_tolerance: float = 1e-10
    """Relative change of the parameters at which a search ends [-]."""
    cost_tolerance: float = 1e-7
    """Relative change of the cost at which a search ends, far below the effect of noise [-]."""
    decrease_max: float = 1e-2
    """Predicted decrease of the cost at convergence [-]: the square of a tenth of a deviation."""
    relative_decrease_max: float = 1e-6
    """Predicted decrease, relative to the cost, that is allowed in addition [-]."""
    bound_tolerance: float = 1e-6
    """Distance from a bound below which a parameter is at it, relative to its scale [-]."""
    start_distance_min: float = 1e-2
    """Smallest distance of starts from bounds, relative to the scale [-]."""
    far_rms_min: float = 3.0
    """RMS residual above which a search that stalls is far from the data [standard deviations].
    Gauss-Newton neglects the curvature due to residuals; derivatives may well be right."""
    residual_max: float = 1e100
    """Largest residual; beyond it a simulation counts as failed, as squares would overflow [-]."""


SETTINGS = SearchSettings()


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Start and end of one search."""

    start: np.ndarray
    """Initial parameters, shape (n_rho,)."""
    rho: np.ndarray
    """Final parameters, shape (n_rho,)."""
    cost: float
    """Sum of squared residuals of data and priors at the end [-]."""
    termination: Termination
    """Reason why the search ended."""
    at_bound: tuple[str, ...]
    """Parameters that ended at a bound."""
    evaluations: int
    """Number of simulations of all experiments, with derivatives."""
    rejected: int
    """Number of failed simulations, each followed by a shorter step."""
    reason: str
    """Message of the last failed simulation, or "" if none failed."""
    information: np.ndarray | None = None
    """J^T J at the end, 0 for parameters that are not free, shape (n_rho, n_rho), or None."""
    simulation_seconds: float = 0.0
    """Median wall time of a simulation of all experiments, with derivatives [s]."""


def search(
    misfit: StackedResidual,
    start: np.ndarray,
    free: np.ndarray,
    *,
    evaluations_max: int,
    progress: Callable[[int, float], None] | None = None,
) -> SearchResult:
    """Minimise the sum of squared residuals over some of the parameters.

    Simulation and derivatives are evaluated together, since nearly every step of Gauss-Newton is
    accepted. If either fails, residuals are not finite: scipy's trust region then shrinks to a
    quarter of the step, without evaluating the Jacobian.

    Args:
        misfit: Residuals of all experiments and priors.
        start: All parameters, shape (n_rho,).
        free: Mask of the parameters to fit, shape (n_rho,), at least one.
        evaluations_max: Limit of evaluations.
        progress: Called with the number of evaluations and the last cost.

    Raises:
        SimulationError: The model cannot be simulated at the start.
    """
    lower, upper = (side[free] for side in bounds(misfit.parameters))
    scale = np.array([parameter.scale for parameter in misfit.parameters])[free]
    first_point = _move_off_bounds(start[free], lower, upper, scale)
    trials = _Trials(misfit, start, free, progress)
    trials.evaluate(first_point)  # raises SimulationError to the caller
    with np.errstate(invalid="ignore"):  # SciPy's reflection at bounds, far from a minimum
        solution = least_squares(
            trials.residuals,
            first_point,
            jac=trials.jacobian,
            bounds=(lower, upper),
            method="trf",
            x_scale=scale,
            ftol=SETTINGS.cost_tolerance,
            xtol=SETTINGS.parameter_tolerance,
            gtol=SETTINGS.parameter_tolerance,
            max_nfev=evaluations_max,
        )
    is_at_lower, is_at_upper = (
        solution.x - lower < SETTINGS.bound_tolerance * scale,
        upper - solution.x < SETTINGS.bound_tolerance * scale,
    )
    names = np.array(misfit.names)[free]
    is_at_active_bound = (is_at_lower & (solution.grad > 0.0)) | (
        is_at_upper & (solution.grad < 0.0)
    )
    remaining_decrease = _predicted_decrease(
        np.asarray(solution.jac)[:, ~is_at_active_bound], solution.fun
    )
    converged = (
        remaining_decrease
        <= SETTINGS.decrease_max + SETTINGS.relative_decrease_max * 2.0 * solution.cost
    )
    return SearchResult(
        start=start,
        rho=trials.all_parameters(solution.x),
        cost=2.0 * float(solution.cost),
        termination=_termination(
            converged,
            is_exhausted=solution.status == 0,
            is_rejected=trials.rejected > 0,
            is_at_bound=bool((is_at_lower | is_at_upper).any()),
            is_far_from_data=2.0 * float(solution.cost) > SETTINGS.far_rms_min**2 * trials.data,
        ),
        at_bound=tuple(names[is_at_lower | is_at_upper].tolist()),
        evaluations=trials.evaluations,
        rejected=trials.rejected,
        reason=trials.reason,
        information=_information(np.asarray(solution.jac), free),
        simulation_seconds=float(np.median(trials.seconds)),
    )


class _Trials:
    """Cache of the reduced residuals and their Jacobian at the last point."""

    def __init__(
        self,
        misfit: StackedResidual,
        start: np.ndarray,
        free: np.ndarray,
        progress: Callable[[int, float], None] | None,
    ) -> None:
        self.misfit, self.start, self.free, self.progress = misfit, start, free, progress
        self.evaluations, self.rejected, self.reason = 0, 0, ""
        self.data, self.seconds = 0, list[float]()
        self._at: bytes = b""
        self._values = (np.empty(0), np.empty((0, 0)))

    def all_parameters(self, x: np.ndarray) -> np.ndarray:
        """Return all parameters, with x for the free ones."""
        rho = self.start.copy()
        rho[self.free] = x
        return rho

    def residuals(self, x: np.ndarray) -> np.ndarray:
        """Return the residuals, NaN if the simulation fails."""
        if x.tobytes() != self._at:
            try:
                self.evaluate(x)
            except SimulationError as error:
                self.rejected += 1
                self.reason = str(error)
                return np.full(len(self._values[0]), np.nan)
        return self._values[0]

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the Jacobian, in general at the last point: scipy evaluates residuals first."""
        if x.tobytes() != self._at:
            self.evaluate(x)
        return self._values[1]

    def evaluate(self, x: np.ndarray) -> None:
        """Evaluate residuals and Jacobian at x, or raise SimulationError."""
        self.evaluations += 1
        rho = self.all_parameters(x)
        of_priors = self.misfit.stack_residuals((), rho)
        began = perf_counter()
        fits = self.misfit.fits(rho)
        self.seconds.append(perf_counter() - began)
        self.data = sum(int(fit.is_measured.sum()) for fit in fits)
        residuals, jacobian = reduce_by_qr(fits, of_priors)
        if not np.abs(residuals).max(initial=0.0) <= SETTINGS.residual_max:
            raise SimulationError("The model's outputs are too large.")
        self._at, self._values = x.tobytes(), (residuals, jacobian[:, self.free])
        if self.progress is not None:
            self.progress(self.evaluations, float(residuals @ residuals))


def _information(J: np.ndarray, free: np.ndarray) -> np.ndarray:
    """J^T J by all parameters, 0 for those that are not free, shape (n_rho, n_rho)."""
    information = np.zeros((len(free), len(free)))
    information[np.ix_(free, free)] = J.T @ J
    return information


def _move_off_bounds(
    start: np.ndarray, lower: np.ndarray, upper: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Move a start off the bounds: at a bound the initial trust region would have no size."""
    gap = np.minimum(SETTINGS.start_distance_min * scale, 0.25 * (upper - lower))
    return np.clip(start, lower + gap, upper - gap)


def _predicted_decrease(J: np.ndarray, r: np.ndarray) -> float:
    """Decrease of r'r that the linearised model predicts, |projection of r on J's columns|^2."""
    if not J.shape[1]:
        return 0.0
    size = np.linalg.norm(J, axis=0)
    U, s, _ = np.linalg.svd(J / np.where(size > 0.0, size, 1.0), full_matrices=False)
    basis = U[:, s > 1e-8 * s.max(initial=0.0)]
    return float(np.sum((basis.T @ r) ** 2))


def _termination(
    is_converged: bool,
    *,
    is_exhausted: bool,
    is_rejected: bool,
    is_at_bound: bool,
    is_far_from_data: bool,
) -> Termination:
    if is_converged:
        return Termination.AT_BOUND if is_at_bound else Termination.CONVERGED
    if is_exhausted:
        return Termination.EXHAUSTED
    if is_rejected:
        return Termination.BLOCKED
    return Termination.MISFIT if is_far_from_data else Termination.STALLED
