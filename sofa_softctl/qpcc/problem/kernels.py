"""Compiled parts of an inverse problem: checks, tracking term, energy term and scaled QP."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def tracking_terms(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e: np.ndarray,
    weight: np.ndarray,
    effect_ratio_min: float,
    Q: np.ndarray,
    g: np.ndarray,
) -> float:
    """Compute Hessian and gradient at 0 of 1/2 ||weight * delta_e||^2, zero without an effect.

    Args:
        W_ea, W_aa, delta_e, weight: As in `InverseProblem`, with delta_e in the free motion.
        effect_ratio_min: Effect of an actuator, per square root of deformation energy and relative
            to the strongest one's, below which it is rounding [-].
        Q, g: Outputs, shapes (n_a, n_a) and (n_a,).

    Returns:
        The largest curvature per compliance: a measure of effect without the actuators' units.
    """
    n_e, n_a = W_ea.shape
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
    threshold = effect_ratio_min**2 * _strongest(Q, W_aa)
    for i in range(n_a):
        if Q[i, i] < threshold * W_aa[i, i]:
            Q[i, :] = 0.0
            Q[:, i] = 0.0
            g[i] = 0.0
    return _strongest(Q, W_aa)


@njit
def _strongest(H: np.ndarray, W_aa: np.ndarray) -> float:
    largest = -np.inf
    for i in range(H.shape[0]):
        compliance = W_aa[i, i]
        largest = max(largest, H[i, i] / compliance if compliance > 0.0 else 0.0)
    return largest


@njit
def scale_qp(
    H: np.ndarray,
    g: np.ndarray,
    W_aa: np.ndarray,
    effort_lower: np.ndarray,
    effort_upper: np.ndarray,
    displacement_lower: np.ndarray,
    displacement_upper: np.ndarray,
    delta_a: np.ndarray,
    error: float,
) -> tuple[
    np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray
]:
    """Return a dimensionless QP and its scales; see `solve.tracking_qp.build_qp`.

    Args:
        H, g: Hessian and gradient in efforts, shapes (n_a, n_a) and (n_a,).
        W_aa, delta_a: As in `InverseProblem`, with delta_a in the free motion.
        effort_lower, effort_upper, displacement_lower, displacement_upper: Ranges, shape (n_a,).
        error: Norm of the weighted effector error in the free motion [displacement].

    Returns:
        H, g, A, lower and upper of the QP, effort scale, displacement scale and the actuators whose
        displacement is limited.
    """
    n_a = len(g)
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
        if displacement_lower[i] > -np.inf or displacement_upper[i] < np.inf:
            rows[m] = i
            m += 1
    A, low, high = np.empty((m, n_a)), np.empty(n_a + m), np.empty(n_a + m)
    for i in range(n_a):
        low[i], high[i] = effort_lower[i] / d[i], effort_upper[i] / d[i]
    for k in range(m):
        i = rows[k]
        low[n_a + k] = (displacement_lower[i] - delta_a[i]) / r[i]
        high[n_a + k] = (displacement_upper[i] - delta_a[i]) / r[i]
        for j in range(n_a):
            A[k, j] = W_aa[i, j] * d[j] / r[i]
    size = error
    for k in range(n_a + m):
        size = max(size, low[k], -high[k])
    if size <= 0.0:  # the free motion is at its goal and within the limits: lam = 0
        size = 1.0
    scaled_H, scaled_g = np.empty((n_a, n_a)), np.empty(n_a)
    for i in range(n_a):
        scaled_g[i] = d[i] * g[i] / size
        for j in range(n_a):
            scaled_H[i, j] = d[i] * H[i, j] * d[j]
    return scaled_H, scaled_g, A, low / size, high / size, d * size, r * size, rows[:m]


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
def is_at_any(value: np.ndarray, lower: np.ndarray, upper: np.ndarray, margin: np.ndarray) -> bool:
    """Return True if a value is at or beyond an end of its interval, within the margin; (n,)."""
    for i in range(len(value)):
        if value[i] - lower[i] <= margin[i] or upper[i] - value[i] <= margin[i]:
            return True
    return False


@njit
def has_fault(
    W_ea: np.ndarray,
    W_aa: np.ndarray,
    delta_e_free: np.ndarray,
    delta_a_free: np.ndarray,
    effector_weight: np.ndarray,
    effort_min: np.ndarray,
    effort_max: np.ndarray,
    effort_previous: np.ndarray,
    effort_rate: np.ndarray,
    effort_fixed: np.ndarray,
    displacement_min: np.ndarray,
    displacement_max: np.ndarray,
    displacement_previous: np.ndarray,
    displacement_rate: np.ndarray,
    displacement_fixed: np.ndarray,
) -> bool:
    """Return True if fields of an `InverseProblem`, in its order, may be unusable.

    The checks of `InverseProblem` name the fault; this finds in a microsecond that there is none.
    """
    square = skew = total = 0.0
    n_a = len(W_aa)
    for i in range(n_a):
        for j in range(n_a):
            square += W_aa[i, j] ** 2
            skew += (W_aa[i, j] - W_aa[j, i]) ** 2
    for k in range(len(W_ea)):
        total += abs(delta_e_free[k]) + abs(effector_weight[k])
        for i in range(n_a):
            total += abs(W_ea[k, i])
    is_right = skew <= 1e-16 * square
    for i in range(n_a):
        total += abs(delta_a_free[i]) + abs(effort_previous[i]) + abs(displacement_previous[i])
        is_right &= W_aa[i, i] >= 0.0
        is_right &= _is_interval(effort_min[i], effort_max[i])
        is_right &= _is_interval(displacement_min[i], displacement_max[i])
        is_right &= effort_rate[i] >= 0.0 and displacement_rate[i] >= 0.0
        is_right &= not np.isinf(effort_fixed[i]) and not np.isinf(displacement_fixed[i])
    return not (is_right and np.isfinite(square + total))


@njit
def _is_interval(lower: float, upper: float) -> bool:
    return lower <= upper and lower < np.inf and upper > -np.inf


@njit
def limit_ranges(
    effort_min: np.ndarray,
    effort_max: np.ndarray,
    effort_previous: np.ndarray,
    effort_rate: np.ndarray,
    effort_fixed: np.ndarray,
    displacement_min: np.ndarray,
    displacement_max: np.ndarray,
    displacement_previous: np.ndarray,
    displacement_rate: np.ndarray,
    displacement_fixed: np.ndarray,
) -> np.ndarray:
    """Return the ranges in which all limits of an `InverseProblem` hold, given its fields.

    Returns:
        Smallest and largest effort, smallest and largest displacement, shape (4, n_a).
    """
    ranges = np.empty((4, len(effort_min)))
    for i in range(len(effort_min)):
        change = effort_rate[i]
        low = max(effort_min[i], effort_previous[i] - change)
        high = min(effort_max[i], effort_previous[i] + change)
        fixed = effort_fixed[i]
        if not np.isnan(fixed):
            low, high = max(low, fixed), min(high, fixed)
            low = max(low, min(max(fixed, effort_min[i]), effort_max[i]))
            high = min(high, min(max(fixed, effort_min[i]), effort_max[i]))
        ranges[0, i], ranges[1, i] = low, high
        change = displacement_rate[i]
        low = max(displacement_min[i], displacement_previous[i] - change)
        high = min(displacement_max[i], displacement_previous[i] + change)
        fixed = displacement_fixed[i]
        if not np.isnan(fixed):
            low, high = max(low, fixed), min(high, fixed)
        ranges[2, i], ranges[3, i] = low, high
    return ranges
