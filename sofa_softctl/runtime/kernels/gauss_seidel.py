"""Projected Gauss-Seidel on the constraint system delta = W lambda + delta_free.

Each row has parameters (kind, value, lambda_min, lambda_max, delta_min, delta_max):

    IMPOSE_DELTA    delta = value, lambda within its limits
    IMPOSE_LAMBDA   lambda = value, unless delta would leave its limits
    BILATERAL       delta = 0
    UNILATERAL      delta >= 0, lambda >= 0, one of them zero
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.kernels.jit import njit

IMPOSE_DELTA, IMPOSE_LAMBDA, BILATERAL, UNILATERAL = 0, 1, 2, 3
PARAMETERS = 6


def row_parameters(
    kind: int,
    value: float = 0.0,
    lambda_min: float = -np.inf,
    lambda_max: float = np.inf,
    delta_min: float = -np.inf,
    delta_max: float = np.inf,
) -> np.ndarray:
    """The parameters of one row, shape (6,)."""
    return np.array([kind, value, lambda_min, lambda_max, delta_min, delta_max], dtype=float)


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
    """Sweeps until the sum of |W_jj change of lambda_j| is below the tolerance.

    Args:
        W: Compliance, shape (n, n).
        delta_free: Violation without multipliers, shape (n,).
        parameters: One row of six numbers each, shape (n, 6).
        sor: Relaxation, 1 for none.
        tolerance: For the sum over all rows.
        max_iterations: Most sweeps.
        lam: Start and output, shape (n,).

    Returns:
        Sweeps done, and the last sum.
    """
    n = delta_free.shape[0]
    error = 0.0
    for sweep in range(1, max_iterations + 1):
        error = 0.0
        for j in range(n):
            old = lam[j]
            w = W[j, j]
            d = delta_free[j]
            for k in range(n):
                d += W[j, k] * lam[k]
            kind = int(parameters[j, 0])
            if kind == 1:
                new = parameters[j, 1]
                reached = d + w * (new - old)
                if w > 0.0 and reached < parameters[j, 4]:
                    new = old + (parameters[j, 4] - d) / w
                elif w > 0.0 and reached > parameters[j, 5]:
                    new = old + (parameters[j, 5] - d) / w
            elif w <= 0.0:
                new = old
            elif kind == 0:
                new = old - (d - parameters[j, 1]) / w
                new = min(max(new, parameters[j, 2]), parameters[j, 3])
            elif kind == 2:
                new = old - d / w
            else:
                new = max(0.0, old - d / w)
            error += abs(w * (new - old))
            lam[j] = sor * new + (1.0 - sor) * old if sor != 1.0 else new
        if error < tolerance:
            return sweep, error
    return max_iterations, error
