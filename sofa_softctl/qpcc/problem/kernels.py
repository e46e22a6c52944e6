"""Compiled parts of an inverse problem: checks, limits, scaled QP, and evaluation of efforts.

`solve_tracking` does a step without contacts, from the mechanics to the checked solution.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.qp.active_set import FAILED, INFEASIBLE, SOLVED, solve_strictly_convex

LIMITS = (
    "effort_min",
    "effort_max",
    "effort_previous",
    "effort_rate",
    "effort_fixed",
    "displacement_min",
    "displacement_max",
    "displacement_previous",
    "displacement_rate",
    "displacement_fixed",
)
"""Fields of an `InverseProblem` that limit an actuator: the rows of its array of limits."""
FINITE = (
    "W_ea",
    "W_aa",
    "delta_e_free",
    "delta_a_free",
    "effector_weight",
    "effort_previous",
    "displacement_previous",
)
"""Fields whose numbers must be finite: faults 1 to 7 of `find_fault`."""
NO_FAULT, SKEW, NEGATIVE_COMPLIANCE, OF_LIMITS = 0, 8, 9, 10
"""Other faults of `find_fault`."""
SKEW_MAX = 1e-8
"""Largest asymmetry of W_aa, and negative compliance, in the Frobenius norm and relative to W_aa
[-]."""
MARGIN_FACTOR = 10.0
"""Distance at which a limit counts as reached, relative to the tolerance of the KKT residual [-]:
neither short of a limit nor beyond it as far as the check can tell."""
EFFECT_RATIO_MIN = 1e-12
"""Effect of an actuator on the effectors per square root of deformation energy, relative to the
strongest one's, below which it is rounding of W [-]."""
COMPLIANCE_MIN = 1e-14
"""Norm of W_E at which SoftRobots.Inverse drops the energy term [displacement / effort]."""


@njit
def tracking_terms(
    W_ea: np.ndarray, W_aa: np.ndarray, delta_e: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return Hessian and gradient at 0 of 1/2 ||weight * delta_e||^2, and this norm.

    They are zero for an actuator without an effect. Arguments as in `InverseProblem`, with delta_e
    in the free motion.
    """
    n_e, n_a = W_ea.shape
    Q, g, square = np.empty((n_a, n_a)), np.empty(n_a), 0.0
    for i in range(n_a):
        for j in range(i + 1):
            total = 0.0
            for k in range(n_e):
                total += weight[k] * W_ea[k, i] * (weight[k] * W_ea[k, j])
            Q[i, j] = Q[j, i] = total
        total = 0.0
        for k in range(n_e):
            total += weight[k] * delta_e[k] * (weight[k] * W_ea[k, i])
        g[i] = total
    for k in range(n_e):
        square += (weight[k] * delta_e[k]) ** 2
    threshold = EFFECT_RATIO_MIN**2 * _strongest(Q, W_aa)
    for i in range(n_a):
        if Q[i, i] < threshold * W_aa[i, i]:
            Q[i, :] = 0.0
            Q[:, i] = 0.0
            g[i] = 0.0
    return Q, g, np.sqrt(square)


@njit
def _strongest(H: np.ndarray, W_aa: np.ndarray) -> float:
    largest = -np.inf
    for i in range(H.shape[0]):
        compliance = W_aa[i, i]
        largest = max(largest, H[i, i] / compliance if compliance > 0.0 else 0.0)
    return largest


@njit
def energy_matrix(
    W_aa: np.ndarray, counts: np.ndarray, Q: np.ndarray, energy: float
) -> tuple[np.ndarray, float]:
    """Return energy ||Q|| / ||W_E|| W_E, and ||W_E||, the largest absolute row sum.

    Args:
        W_aa: As in `InverseProblem`, shape (n_a, n_a).
        counts: True for actuators in the energy term, the rows of W_E, shape (n_a,).
        Q: Hessian of the tracking term, shape (n_a, n_a).
        energy: Weight of the energy term [-].
    """
    n = len(W_aa)
    E = np.zeros((n, n))
    norm = size = 0.0
    for i in range(n):
        row = size_of_row = 0.0
        for j in range(n):
            if counts[i] and counts[j]:
                E[i, j] = 0.5 * (W_aa[i, j] + W_aa[j, i])
            row += abs(E[i, j])
            size_of_row += abs(Q[i, j])
        norm, size = max(norm, row), max(size, size_of_row)
    if norm > 0.0:
        E *= energy * size / norm
    return E, norm


@njit
def scaled_qp(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e: np.ndarray,
    delta_a: np.ndarray,
    weight: np.ndarray,
    ranges: np.ndarray,
    energy: float,
    counts: np.ndarray,
) -> tuple:
    """Return a dimensionless QP and its scales; see `problem.build_qp`.

    Args:
        W_ea, W_aa, delta_e, delta_a, weight: As in `InverseProblem`, in the free motion.
        ranges: Ranges of effort and displacement, see `limit_ranges`, shape (4, n_a).
        energy: Weight of the energy term [-].
        counts: True for actuators in the energy term, shape (n_a,).

    Returns:
        H, g, A, lower and upper of the QP, effort scale, displacement scale and the actuators whose
        displacement is limited; and the Hessian of the energy term in efforts, zero if dropped.
    """
    n_a = len(W_aa)
    H, g, size = tracking_terms(W_ea, W_aa, delta_e, weight)
    E, norm = energy_matrix(W_aa, counts, H, energy)
    if norm <= COMPLIANCE_MIN:
        E[:] = 0.0
    H += E
    strongest = _strongest(H, W_aa)
    if strongest == 0.0:
        strongest = 1.0
    d = np.empty(n_a)
    for i in range(n_a):
        curvature = H[i, i]
        if curvature <= 0.0:  # without cost: scaled by its compliance, as if it were the strongest
            curvature = strongest * W_aa[i, i]
        d[i] = 1.0 / np.sqrt(curvature) if curvature > 0.0 else 1.0
    r = np.empty(n_a)
    rows = np.empty(n_a, np.int64)
    m = 0
    for i in range(n_a):
        total = 0.0
        for j in range(n_a):
            total += (W_aa[i, j] * d[j]) ** 2
        r[i] = np.sqrt(total) if total > 0.0 else 1.0
        if ranges[2, i] > -np.inf or ranges[3, i] < np.inf:
            rows[m] = i
            m += 1
    A, low, high = np.empty((m, n_a)), np.empty(n_a + m), np.empty(n_a + m)
    for i in range(n_a):
        low[i], high[i] = ranges[0, i] / d[i], ranges[1, i] / d[i]
    for k in range(m):
        i = rows[k]
        low[n_a + k] = (ranges[2, i] - delta_a[i]) / r[i]
        high[n_a + k] = (ranges[3, i] - delta_a[i]) / r[i]
        for j in range(n_a):
            A[k, j] = W_aa[i, j] * d[j] / r[i]
    for k in range(n_a + m):
        size = max(size, low[k], -high[k])
    if size <= 0.0:  # the free motion is at its goal and within the limits: lam = 0
        size = 1.0
    scaled_H, scaled_g = np.empty((n_a, n_a)), np.empty(n_a)
    for i in range(n_a):
        scaled_g[i] = d[i] * g[i] / size
        for j in range(n_a):
            scaled_H[i, j] = d[i] * H[i, j] * d[j]
    qp = scaled_H, scaled_g, A, low / size, high / size, d * size, r * size, rows[:m]
    return qp, E


@njit
def evaluate_effort(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e: np.ndarray,
    delta_a: np.ndarray,
    weight: np.ndarray,
    E: np.ndarray,
    effort: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return displacement (n_a,), effector error (n_e,) and objective of efforts.

    Arguments as of `scaled_qp`; E is the Hessian of the energy term.
    """
    n_e, n_a = W_ea.shape
    displacement, error, objective = np.empty(n_a), np.empty(n_e), 0.0
    for i in range(n_a):
        value = work = 0.0
        for j in range(n_a):
            value += W_aa[i, j] * effort[j]
            work += E[i, j] * effort[j]
        displacement[i] = value + delta_a[i]
        objective += effort[i] * work
    for k in range(n_e):
        value = 0.0
        for j in range(n_a):
            value += W_ea[k, j] * effort[j]
        error[k] = value + delta_e[k]
        objective += (weight[k] * error[k]) ** 2
    return displacement, error, 0.5 * objective


@njit
def reached_ends(
    limits: np.ndarray,
    effort: np.ndarray,
    displacement: np.ndarray,
    effort_margin: np.ndarray,
    displacement_margin: np.ndarray,
) -> np.ndarray:
    """Return the ends of limits that an answer reaches within the margins, which are (n_a,) each.

    Returns:
        Numbers k n_a + i of actuators i and ends k, sorted. The ends are, for effort, then
        displacement: smallest, largest, previous minus rate and previous plus rate.
    """
    n = limits.shape[1]
    reached = np.empty(8 * n, np.int64)
    count = 0
    for part in range(2):
        value = displacement if part else effort
        margin = displacement_margin if part else effort_margin
        for k in range(4):
            for i in range(n):
                end = limits[5 * part + k, i] if k < 2 else limits[5 * part + 2, i]
                if k >= 2:
                    end += limits[5 * part + 3, i] * (2 * k - 5)
                if abs(value[i] - end) <= margin[i]:
                    reached[count] = (4 * part + k) * n + i
                    count += 1
    return reached[:count]


@njit
def find_fault(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e: np.ndarray,
    delta_a: np.ndarray,
    weight: np.ndarray,
    limits: np.ndarray,
) -> tuple[int, int, int]:
    """Return the first fault in the fields of an `InverseProblem`, and its place.

    Returns:
        Number of the fault; row and column, or the actuator and 0. The faults are: NO_FAULT; 1 to
        7, a number of `FINITE` is not; SKEW; NEGATIVE_COMPLIANCE; and OF_LIMITS + k, limit k is
        wrong: for a smallest value, it and the largest one leave nothing.
    """
    n_e, n_a = W_ea.shape
    square = skew = largest = 0.0
    row = column = least = 0
    for k in range(n_e + n_a):
        for j in range(n_a):
            if not np.isfinite(W_ea[k, j] if k < n_e else W_aa[k - n_e, j]):
                return (1, k, j) if k < n_e else (2, k - n_e, j)
    for number, vector in ((3, delta_e), (4, delta_a), (5, weight), (6, limits[2]), (7, limits[7])):
        for i in range(len(vector)):
            if not np.isfinite(vector[i]):
                return number, i, 0
    for i in range(n_a):
        least = i if W_aa[i, i] < W_aa[least, least] else least
        for j in range(n_a):
            difference = abs(W_aa[i, j] - W_aa[j, i])
            square += W_aa[i, j] ** 2
            skew += difference**2
            if difference > largest:
                largest, row, column = difference, i, j
    if skew > SKEW_MAX**2 * square:
        return SKEW, row, column
    if W_aa[least, least] < -SKEW_MAX * np.sqrt(square):
        return NEGATIVE_COMPLIANCE, least, 0
    for first in (0, 5):
        for i in range(n_a):
            lower, upper = limits[first, i], limits[first + 1, i]
            if not (lower <= upper and lower < np.inf and upper > -np.inf):
                return OF_LIMITS + first, i, 0
    for first in (3, 8):
        for i in range(n_a):
            if not limits[first, i] >= 0.0:
                return OF_LIMITS + first, i, 0
    for first in (4, 9):
        for i in range(n_a):
            if np.isinf(limits[first, i]):
                return OF_LIMITS + first, i, 0
    return NO_FAULT, 0, 0


@njit
def effort_bounds(limits: np.ndarray) -> np.ndarray:
    """Return the hard ranges of the efforts: bounds, and imposed efforts in them, (2, n_a)."""
    bounds = limits[:2].copy()
    for i in range(bounds.shape[1]):
        fixed = limits[4, i]
        if not np.isnan(fixed):
            bounds[:, i] = min(max(fixed, limits[0, i]), limits[1, i])
    return bounds


@njit
def limit_ranges(limits: np.ndarray) -> np.ndarray:
    """Return the ranges in which all limits, shape (10, n_a) as `LIMITS`, hold.

    Returns:
        Smallest and largest effort, smallest and largest displacement, shape (4, n_a).
    """
    n = limits.shape[1]
    ranges = np.empty((4, n))
    bounds = effort_bounds(limits)
    for i in range(n):
        for part in range(2):
            first = 5 * part
            previous, rate, fixed = limits[first + 2, i], limits[first + 3, i], limits[first + 4, i]
            low = max(limits[first, i], previous - rate)
            high = min(limits[first + 1, i], previous + rate)
            if not np.isnan(fixed):
                low, high = max(low, fixed), min(high, fixed)
            ranges[2 * part, i], ranges[2 * part + 1, i] = low, high
        ranges[0, i] = max(ranges[0, i], bounds[0, i])
        ranges[1, i] = min(ranges[1, i], bounds[1, i])
    return ranges


@njit
def solve_tracking(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e: np.ndarray,
    delta_a: np.ndarray,
    weight: np.ndarray,
    limits: np.ndarray,
    energy: float,
    counts: np.ndarray,
    tolerance: float,
) -> tuple:
    """Check and solve a problem without contacts, and check the solution.

    Args:
        W_ea, W_aa, delta_e, delta_a, weight: As in `InverseProblem`, in the free motion.
        limits: Limits of the actuators, shape (10, n_a) as `LIMITS`.
        energy: Weight of the energy term [-].
        counts: True for actuators in the energy term, shape (n_a,).
        tolerance: Largest accepted KKT residual [-].

    Returns:
        SOLVED, or else a reason to call other solvers; effort, displacement, effector error,
        objective, reached ends (see `reached_ends`); x, y, residual and iterations of the QP (see
        `solve_strictly_convex`). Only the first counts if it is not SOLVED.
    """
    n_a = len(W_aa)
    effort = np.zeros(n_a)
    ranges = limit_ranges(limits)
    is_empty = (ranges[0] > ranges[1]).any() or (ranges[2] > ranges[3]).any()
    is_wrong = find_fault(W_ea, W_aa, delta_e, delta_a, weight, limits)[0] != NO_FAULT
    qp, E = scaled_qp(W_ea, W_aa, delta_e, delta_a, weight, ranges, energy, counts)
    H, g, A, lower, upper, effort_scale, displacement_scale, _ = qp
    outcome, x, y, residual, iterations = FAILED, effort, effort, np.inf, 0
    if is_empty:
        outcome = INFEASIBLE
    elif not is_wrong:
        outcome, x, y, residual, iterations = solve_strictly_convex(H, g, A, lower, upper)
        if not residual <= tolerance:
            outcome = FAILED
    if outcome == SOLVED:
        bounds = effort_bounds(limits)
        for i in range(n_a):
            effort[i] = min(max(effort_scale[i] * x[i], bounds[0, i]), bounds[1, i])
    displacement, error, objective = evaluate_effort(
        W_ea, W_aa, delta_e, delta_a, weight, E, effort
    )
    margin = MARGIN_FACTOR * tolerance
    reached = reached_ends(
        limits, effort, displacement, margin * effort_scale, margin * displacement_scale
    )
    answer = effort, displacement, error, objective, reached, x, y, residual, iterations
    return outcome, answer
