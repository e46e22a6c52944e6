"""Estimated number of equilibria of a plan on a sparse grid, from the errors of its first fits."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from sofa_softctl.base.blas_threads import one_blas_thread
from sofa_softctl.surrogate.grid.sparse.polynomials import Frame, fits
from sofa_softctl.surrogate.grid.sparse.sparse import CAUTION, FINEST, SparseGrid
from sofa_softctl.surrogate.grid.sparse.terms import RADIUS, axis_weights, ordered_terms
from sofa_softctl.surrogate.grid.sparse.tube import Tube
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.planning.sparse.rounds import (
    ACCURACY,
    WIDTH_MIN,
    displacement,
    first_width,
)

EQUATIONS = 0.6
"""Terms over equations that fits come out with [-]."""
TERMS = 10_000
"""Terms at most that are counted."""


def estimate_sparse(
    grid: SparseGrid, a: np.ndarray, tolerance: float | None, workers: int = 0
) -> CostEstimate:
    """Estimate the cost of a plan near the motion a, shape (K, d), see `expected_samples`.

    The time of one equilibrium is measured on those of the first round, which are kept.
    """
    start, solved = perf_counter(), grid.counts.evaluations
    expected = expected_samples(grid, a, tolerance)
    counts = grid.counts
    seconds = (perf_counter() - start) * max(workers, 1)
    return CostEstimate(
        corners={FINEST: max(expected - counts.from_store, counts.evaluations)},
        known=counts.from_store,
        each=seconds / max(counts.evaluations - solved, 1),
        size=8 * (1 + grid.dimension) * grid.size,
        workers=workers,
        stored=grid.corners.store is not None,
    )


def expected_samples(grid: SparseGrid, a: np.ndarray, tolerance: float | None) -> int:
    """Number of samples that a plan will take, with those of its first round, which are drawn.

    Left out of the first fits, samples are missed by errors that fall exponentially with the weight
    of the last term. That line is prolonged to the tolerance. Terms of less weight, in the narrower
    tube of the last round, each take their share of equations. In the cases of
    `benchmarks.dimensions` it is right within a factor of two.

    Args:
        grid: The grid.
        a: Motion near the plan's [-], shape (K, d).
        tolerance: As for `plan_in_rounds`.
    """
    grid.cover(a, first_width(a), np.inf)
    assert grid.tube is not None
    near = grid.rows_near(grid.tube)
    points, data = grid.corners.points[near], grid.corners.data[near]
    with one_blas_thread():
        tried = list(fits(points, data))
    errors = np.log([max(error, 1e-300) for _, error in tried])
    frame = tried[0][0].basis.frame
    r = RADIUS * float(frame.half.max())
    weights = axis_weights(frame.half, r)
    last = np.array([fit.basis.terms[-1] @ weights for fit, _ in tried])
    upto = int(np.argmin(errors)) + 1
    asked = np.log((tolerance or ACCURACY * displacement(grid)) / CAUTION**2)
    if upto < 2 or errors[upto - 1] <= asked:
        return len(near)
    slope, start = np.polyfit(last[:upto], errors[:upto], 1)
    if slope >= 0.0:
        return len(near)
    narrow = Frame.around(Tube(a, WIDTH_MIN).draw(400, np.random.default_rng(0))).half
    terms = ordered_terms(narrow, TERMS)
    needed = int((terms @ axis_weights(narrow, r) <= (asked - start) / slope).sum())
    return max(len(near), round(needed / (EQUATIONS * (1 + grid.dimension))))
