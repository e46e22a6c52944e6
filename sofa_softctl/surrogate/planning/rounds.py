"""Rounds of a plan on a sparse grid, each near the plan before on a better map; cost estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import MapError, TimeLimitError
from sofa_softctl.status import Status
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.outcome import TIMED_OUT
from sofa_softctl.surrogate.planning.planner import Iteration, Plan, plan
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem, evaluate
from sofa_softctl.surrogate.sparse.polynomials import (
    SETTINGS as FIT,
)
from sofa_softctl.surrogate.sparse.polynomials import (
    Frame,
    axis_weights,
    fits,
    ordered_terms,
)
from sofa_softctl.surrogate.sparse.sparse import SETTINGS as SPARSE
from sofa_softctl.surrogate.sparse.sparse import SparseGrid
from sofa_softctl.surrogate.sparse.tube import Tube


@dataclass(frozen=True)
class RoundsSettings:
    """Numbers of the rounds of a plan on a sparse grid."""

    stage_tolerance_ratios: tuple[float, ...] = (1000.0, 10.0, 1.0)
    """Tolerance of each stage over the final one; a stage ends when a plan stays in its tube
    [-]."""
    first_width: float = 0.15
    """Width of the first tube over the extent of the first guess [-]."""
    width_max: float = 0.3
    """Largest width of a tube [-]."""
    iterations_max: int = 30
    """Maximum number of iterations of a round that is not the last one."""
    rounds_max: int = 20
    """Maximum number of rounds."""
    terms_per_equation: float = 0.6
    """Number of terms over equations that fits typically have, for estimates [-]."""
    terms_max: int = 10_000
    """Maximum number of terms that an estimate counts."""


SETTINGS = RoundsSettings()
ACCURACY = 2e-6
"""Default tolerance over the largest displacement of an output, as of cells of 1/8 [-]."""
WIDTH_MIN = 0.02
"""Smallest width of a tube [-]."""


@dataclass(frozen=True)
class RoundsEnd:
    """State at the end of the rounds."""

    error: float
    """Estimated largest error of the map along the plan [length]."""
    tolerance: float
    """Requested error [length]."""
    moving: bool
    """Whether the last plan left the tube in which the error is known."""


def plan_in_rounds(
    problem: PlanningProblem,
    grid: SparseGrid,
    u: np.ndarray,
    a: np.ndarray,
    *,
    tolerance: float | None = None,
    most: int = SPARSE.samples_max,
    settings: Settings | None = None,
    progress: Callable[[Iteration], None] | None = None,
    evaluations: Callable[[], int] | None = None,
) -> Plan:
    """Plan; add samples of the map around the plan, and plan again from there.

    A round may change each coordinate by the width of its tube. The rounds end when the map's
    estimated error is tolerated and the plan is inside the sampled tube.

    Args:
        problem: Planning problem, with an embedding that interpolates the grid.
        grid: Sparse grid.
        u: Initial tensions, shape (K - 1, d).
        a: Initial coordinates, shape (K, d).
        tolerance: Error of outputs [length]; by default `ACCURACY` times their largest
            displacement.
        most: Maximum number of samples in a tube.
        settings, progress, evaluations: As for `plan`.

    Raises:
        MapError: The map has no values near the initial trajectory.
        TimeLimitError: The time limit was reached before the first plan.
    """
    history: list[Iteration] = []
    width, stage = first_width(a), 0
    result, end = None, RoundsEnd(np.inf, 0.0, True)
    rest = np.tile(problem.a_first, (problem.instants, 1))
    for number in range(SETTINGS.rounds_max):
        trajectories = (a,) if problem.a_before is None else (problem.a_before, a)
        error_max = tolerance or ACCURACY * displacement(grid)
        try:
            error = grid.cover(
                np.vstack(trajectories),
                width,
                SETTINGS.stage_tolerance_ratios[stage] * error_max,
                most=most,
            )
        except TimeLimitError:
            if result is None:
                raise
            status, message = Status.NOT_CONVERGED, TIMED_OUT
            result = replace(result, status=status, message=message, timed_out=True)
            break
        error_max = tolerance or ACCURACY * displacement(grid)

        def report(step: Iteration, number: int = number) -> None:
            history.append(step._replace(round=number))
            if progress is not None:
                progress(history[-1])

        nearby_problem = replace(problem, limits=_nearby_limits(problem, a, width))
        if not np.isfinite(
            evaluate(nearby_problem, a, u).cost
        ):  # it leads to where the map has no answers
            if result is not None:
                end = RoundsEnd(error, error_max, True)
                break
            if np.array_equal(a, rest):
                raise MapError(_without_answers(grid, a[0]))
            u, a, width = problem.within_limits(rest[1:]), rest, 2.0 * WIDTH_MIN
            continue
        round_settings = settings or Settings()
        if stage < len(SETTINGS.stage_tolerance_ratios) - 1 and error > error_max:
            round_settings = replace(
                round_settings, iterations=min(round_settings.iterations, SETTINGS.iterations_max)
            )
        result = plan(
            nearby_problem, u, a, settings=round_settings, progress=report, evaluations=evaluations
        )
        if result.timed_out:
            break
        distance = float(np.linalg.norm(result.a - a, axis=1).max())
        end = RoundsEnd(error, error_max, bool(np.isnan(grid.error_estimate(result.a)).any()))
        if not end.moving and (
            stage == len(SETTINGS.stage_tolerance_ratios) - 1 or error <= error_max
        ):
            break
        u, a = result.u, result.a
        if end.moving:
            width = min(2.0 * width, SETTINGS.width_max)
        else:
            width, stage = max(min(2.0 * distance, width), WIDTH_MIN), stage + 1
    assert result is not None
    result = replace(result, iterations=len(history), history=tuple(history))
    return result if result.timed_out else _with_map_notes(result, end, grid)


def first_width(a: np.ndarray) -> float:
    """Return the width of the tube around a first guess a (K, d) [-]."""
    width = SETTINGS.first_width * float(np.ptp(a, axis=0).max(initial=0.0))
    return float(np.clip(width, 2.0 * WIDTH_MIN, SETTINGS.width_max))


def displacement(grid: SparseGrid) -> float:
    """Return the largest difference of an output between samples; infinite for less than two."""
    value = grid.corners.data[:, 0]
    return float(np.ptp(value, axis=0).max()) if len(value) > 1 else np.inf


def _nearby_limits(problem: PlanningProblem, a: np.ndarray, width: float) -> Limits:
    """Return the limits, narrowed to a width around coordinates a."""
    low, high = problem.state_bounds
    low, high = np.maximum(low, a[1:] - width), np.minimum(high, a[1:] + width)
    return replace(problem.limits, a_min=low, a_max=high)


def _without_answers(grid: SparseGrid, a: np.ndarray) -> str:
    reason = "".join(f" {message}" for _, message in grid.failures[-1:])
    return (
        f"There is no plan from a = {np.round(a, 3).tolist()}: near it the robot buckles, folds, "
        f"or snaps to another shape. Give another start, or lower tensions.{reason}"
    )


def _with_map_notes(result: Plan, end: RoundsEnd, grid: SparseGrid) -> Plan:
    """Return the plan with notes on the map, NOT_CONVERGED if the map is too inaccurate."""
    reasons = []
    if end.moving:
        reasons.append("The plan still moves to where the map's error is not known.")
    if end.error > end.tolerance:
        reasons.append(
            f"The map's error along the plan is estimated at {end.error:.2g}, above the tolerance "
            f"of {end.tolerance:.2g}: give a larger one, or narrower limits."
        )
    if result.status.ok and not reasons:
        return result
    if grid.failure_count:
        reasons.append(
            f"At {grid.failure_count} points near the plans so far the robot buckles, folds, or "
            "snaps to another shape: move the goals, or lower u_max."
        )
    status = Status.NOT_CONVERGED if result.status.ok else result.status
    return replace(
        result, status=status, message=" ".join(filter(None, (result.message, *reasons)))
    )


def estimate_sparse(
    grid: SparseGrid, a: np.ndarray, tolerance: float | None, workers: int = 0
) -> CostEstimate:
    """Estimate the cost of a plan near coordinates a (K, d), see `expected_samples`.

    The time of one equilibrium is measured in the first round, whose samples are kept.
    """
    start, solved = perf_counter(), grid.counts.evaluations
    expected = expected_samples(grid, a, tolerance)
    counts = grid.counts
    seconds = (perf_counter() - start) * max(workers, 1)
    return CostEstimate(
        corners={SPARSE.level: max(expected - counts.from_store, counts.evaluations)},
        known=counts.from_store,
        each=seconds / max(counts.evaluations - solved, 1),
        size=8 * (1 + grid.dimension) * grid.size,
        workers=workers,
        stored=grid.corners.store is not None,
    )


def expected_samples(grid: SparseGrid, a: np.ndarray, tolerance: float | None) -> int:
    """Estimate the number of samples that a plan needs, after drawing its first round.

    Errors at left-out samples of the first fits fall exponentially with the weight of the last
    term. This line is extrapolated to the tolerance, and the terms of less weight in the narrower
    tube of the last round are counted. In the cases of `benchmarks.dimensions` the result is
    correct within a factor of two.

    Args:
        grid: Sparse grid.
        a: Coordinates near the plan [-], shape (K, d).
        tolerance: As for `plan_in_rounds`.
    """
    grid.cover(a, first_width(a), np.inf)
    assert grid.tube is not None
    rows = grid.rows_near(grid.tube)
    points, data = grid.corners.points[rows], grid.corners.data[rows]
    with one_blas_thread():
        fits_with_errors = list(fits(points, data))
    errors = np.log([max(error, 1e-300) for _, error in fits_with_errors])
    frame = fits_with_errors[0][0].basis.frame
    r = FIT.analytic_radius * float(frame.half.max())
    weights = axis_weights(frame.half, r)
    last = np.array([fit.basis.terms[-1] @ weights for fit, _ in fits_with_errors])
    fit_count = int(np.argmin(errors)) + 1
    log_error_max = np.log(
        (tolerance or ACCURACY * displacement(grid)) / SPARSE.error_safety_factor**2
    )
    if fit_count < 2 or errors[fit_count - 1] <= log_error_max:
        return len(rows)
    slope, start = np.polyfit(last[:fit_count], errors[:fit_count], 1)
    if slope >= 0.0:
        return len(rows)
    narrow = Frame.from_points(Tube(a, WIDTH_MIN).draw(400, np.random.default_rng(0))).half
    terms = ordered_terms(narrow, SETTINGS.terms_max)
    needed = int((terms @ axis_weights(narrow, r) <= (log_error_max - start) / slope).sum())
    return max(len(rows), round(needed / (SETTINGS.terms_per_equation * (1 + grid.dimension))))
