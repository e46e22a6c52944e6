"""Projected Gauss-Seidel on the constraint system delta = W lambda + delta_free.

Each row has parameters (kind, value, lambda_min, lambda_max, delta_min, delta_max):

    IMPOSE_DELTA    delta = value, lambda within its limits
    IMPOSE_LAMBDA   lambda = value, unless delta would leave its limits
    BILATERAL       delta = 0
    UNILATERAL      delta >= 0, lambda >= 0, one of them zero
    COULOMB         three rows of this kind (normal, two tangents): the normal row as UNILATERAL,
                    the tangential rows stick or slide within |lambda_t| <= value lambda_n
    BLOCK           three rows with delta = 0, solved together, each time by the fraction `value`
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

IMPOSE_DELTA, IMPOSE_LAMBDA, BILATERAL, UNILATERAL, COULOMB, BLOCK = 0, 1, 2, 3, 4, 5
PARAMETERS = 6


def row_parameters(
    kind: int,
    value: float = 0.0,
    lambda_min: float = -np.inf,
    lambda_max: float = np.inf,
    delta_min: float = -np.inf,
    delta_max: float = np.inf,
) -> np.ndarray:
    """Return the parameters of one row, shape (6,)."""
    return np.array([kind, value, lambda_min, lambda_max, delta_min, delta_max], dtype=float)


@njit
def _solve_row(row: np.ndarray, w: float, d: float, old: float) -> float:
    """Return the new lambda of a single row.

    Args:
        row: Parameters of the row, shape (6,).
        w: Compliance W_jj of the row.
        d: Displacement delta with the present lambda.
        old: Present lambda.
    """
    kind = int(row[0])
    if kind == 1:
        new = row[1]
        reached = d + w * (new - old)
        if w > 0.0 and reached < row[4]:
            new = old + (row[4] - d) / w
        elif w > 0.0 and reached > row[5]:
            new = old + (row[5] - d) / w
        return new
    if w == 0.0:  # below 0 the matrix is indefinite, and the row is solved as in SOFA
        return old
    if kind == 0:
        return min(max(old - (d - row[1]) / w, row[2]), row[3])
    if kind == 2:
        return old - d / w
    return max(0.0, old - d / w)


@njit
def _solve_contact(
    W: np.ndarray, j: int, mu: float, d: np.ndarray, lam: np.ndarray, new: np.ndarray
) -> None:
    """Write the new lambda of a contact with friction: normal first, then both tangents together.

    Args:
        W: Compliance, shape (n, n).
        j: First row of the contact.
        mu: Coefficient of friction.
        d: delta of its three rows with the present lambda, shape (3,).
        lam: Present lambda, shape (n,).
        new: Output, shape (3,).
    """
    new[:] = 0.0
    if W[j, j] <= 0.0:
        return
    normal = lam[j] - d[0] / W[j, j]
    if normal < 0.0:
        return
    new[0] = normal
    change = normal - lam[j]
    mean = 0.5 * (W[j + 1, j + 1] + W[j + 2, j + 2])
    if mean <= 0.0:
        return
    for c in (1, 2):
        new[c] = lam[j + c] - (d[c] + W[j + c, j] * change) / mean
    size = np.sqrt(new[1] ** 2 + new[2] ** 2)
    if size > mu * normal:
        new[1] *= mu * normal / size
        new[2] *= mu * normal / size


@njit
def _solve_block(
    W: np.ndarray, j: int, part: float, d: np.ndarray, lam: np.ndarray, new: np.ndarray
) -> None:
    """Write the new lambda of three rows whose delta must vanish; see `_solve_contact`.

    Args:
        part: Fraction of the change that is made [-].
    """
    a, b, c = W[j, j], W[j + 1, j], W[j + 2, j]
    e, f, i = W[j + 1, j + 1], W[j + 2, j + 1], W[j + 2, j + 2]
    m0, m1, m2 = e * i - f * f, c * f - b * i, b * f - c * e
    determinant = a * m0 + b * m1 + c * m2
    new[0], new[1], new[2] = lam[j], lam[j + 1], lam[j + 2]  # a slice takes seconds to compile
    if determinant == 0.0:
        return
    scale = part / determinant
    m3, m4, m5 = a * i - c * c, b * c - a * f, a * e - b * b
    new[0] -= scale * (m0 * d[0] + m1 * d[1] + m2 * d[2])
    new[1] -= scale * (m1 * d[0] + m3 * d[1] + m4 * d[2])
    new[2] -= scale * (m2 * d[0] + m4 * d[1] + m5 * d[2])


DRIFT_RATIO_MAX = 0.1
"""Rounding that has added up in the deltas by the tolerance, up to which sweeps may end [-]."""
LANES = 16
"""Rows of W are filled up to a multiple of this length, so that loops over them need no rest."""


@njit(fastmath=True)
def _sweep(
    W: np.ndarray, parameters: np.ndarray, sor: float, lam: np.ndarray, delta: np.ndarray
) -> float:
    """Sweep over all rows; return the sum of |W_jj change of lambda_j|.

    A change of a multiplier is added to the delta of all rows at once, along its row of W.

    Args:
        W: Compliance, symmetric, in rows filled up with zeros, shape (n, m).
        parameters: Parameters of the rows, shape (n, 6).
        sor: Relaxation.
        lam: Multipliers, changed in place, shape (n,).
        delta: W lam + delta_free, changed in place, shape (m,).
    """
    d, new, change = np.zeros(3), np.zeros(3), np.zeros(3)
    error = 0.0
    j = 0
    while j < lam.shape[0]:
        kind = int(parameters[j, 0])
        count = 3 if kind >= 4 else 1
        for c in range(count):
            d[c] = delta[j + c]
        if kind == 5:
            _solve_block(W, j, parameters[j, 1], d, lam, new)
        elif kind == 4:
            _solve_contact(W, j, parameters[j, 1], d, lam, new)
        else:
            new[0] = _solve_row(parameters[j], W[j, j], d[0], lam[j])
        for c in range(count):
            change[c] = new[c] - lam[j + c]
        for r in range(count):
            square = 0.0
            for c in range(count):
                square += (W[j + r, j + c] * change[c]) ** 2
            error += np.sqrt(square)
        for c in range(count):
            change[c] *= sor
            lam[j + c] = lam[j + c] + change[c] if sor != 1.0 else new[c]
        if count == 3:
            for k in range(W.shape[1]):
                delta[k] += W[j, k] * change[0] + W[j + 1, k] * change[1] + W[j + 2, k] * change[2]
        elif change[0] != 0.0:
            for k in range(W.shape[1]):
                delta[k] += W[j, k] * change[0]
        j += count
    return error


@njit
def _fill_rows(W: np.ndarray) -> np.ndarray:
    """Return W in rows whose length is a multiple of `LANES`, filled up with zeros."""
    n = W.shape[0]
    filled = np.zeros((n, -(-n // LANES) * LANES))
    for i in range(n):
        for j in range(n):
            filled[i, j] = W[max(i, j), min(i, j)]
    return filled


@njit(fastmath=True)
def _compute_delta(
    W: np.ndarray, delta_free: np.ndarray, lam: np.ndarray, delta: np.ndarray
) -> None:
    """Write W lam + delta_free to delta, shape (m,), from filled rows of W, shape (n, m)."""
    delta[:] = 0.0
    for j in range(lam.shape[0]):
        delta[j] += delta_free[j]
        if lam[j] != 0.0:
            for k in range(W.shape[1]):
                delta[k] += W[j, k] * lam[j]


@njit
def gauss_seidel(
    W: np.ndarray,
    delta_free: np.ndarray,
    parameters: np.ndarray,
    sor: float,
    tolerance: float,
    max_iterations: int,
    lam: np.ndarray,
) -> tuple[int, float]:
    """Sweep until the sum of |W_jj change of lambda_j| is below the tolerance.

    Args:
        W: Compliance, shape (n, n), symmetric: only its lower triangle is read.
        delta_free: Violation without multipliers, shape (n,).
        parameters: One row of six numbers each, shape (n, 6).
        sor: Relaxation, 1 for none.
        tolerance: Limit of the sum over all rows.
        max_iterations: Maximum number of sweeps.
        lam: Start and output, shape (n,).

    Returns:
        Sweeps done, and the last sum.
    """
    error = 0.0
    rows = _fill_rows(W)
    delta = np.empty(rows.shape[1])
    _compute_delta(rows, delta_free, lam, delta)
    exact = np.empty_like(delta)
    for sweep in range(1, max_iterations + 1):
        error = _sweep(rows, parameters, sor, lam, delta)
        if error < tolerance:
            _compute_delta(rows, delta_free, lam, exact)
            if np.abs(delta - exact).sum() < DRIFT_RATIO_MAX * tolerance:
                return sweep, error
            delta[:] = exact  # rounding of large multipliers that are gone
    return max_iterations, error


@njit
def conjugate_gradient(
    W: np.ndarray,
    delta_free: np.ndarray,
    parameters: np.ndarray,
    sor: float,
    tolerance: float,
    max_iterations: int,
    lam: np.ndarray,
) -> tuple[int, float]:
    """Nonsmooth nonlinear conjugate gradient: repeat the changes of sweeps while they shrink.

    Arguments and results as for `gauss_seidel`. SOFA starts with a sweep that it does not count.

    Source: Silcowitz-Hansen, Niebe, Erleben 2010, "A nonsmooth nonlinear conjugate gradient method
        for interactive contact force problems", algorithm 2 (Fletcher-Reeves).
    """
    rows = _fill_rows(W)
    before, delta = lam.copy(), np.empty(rows.shape[1])
    _compute_delta(rows, delta_free, lam, delta)
    _sweep(rows, parameters, sor, lam, delta)
    gradient = before - lam
    direction = -gradient
    error = 0.0
    for sweep in range(1, max_iterations + 1):
        before[:] = lam
        error = _sweep(rows, parameters, sor, lam, delta)
        if error < tolerance:
            return sweep, error
        old = gradient @ gradient
        gradient = before - lam
        if old == 0.0:
            direction[:] = 0.0
            continue
        beta = (gradient @ gradient) / old
        if beta > 1.0:
            direction[:] = 0.0
        else:
            lam += beta * direction
            _compute_delta(rows, delta_free, lam, delta)
            direction = beta * direction - gradient
    return max_iterations, error
