"""Which tasks presumably have no motion, learnt from those that were solved in vain."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

LEAST = 10
"""Tasks without a motion from which on something is presumed."""
SOLVED = 0.2
"""Share of the tasks presumed to have no motion that are solved nevertheless [-]."""
SURE = 0.5
"""Probability of having none from which on a task is presumed to have none [-]."""
MOST = 2000
"""Latest tasks with a motion that count."""
RIDGE = 1e-5
"""Weight of the squared coefficients but the first, per sample."""


class Feasibility:
    """Logistic regression on the parameters and their products.

    Args:
        lower, upper: Limits of the parameters, shape (n_p,).
        possible: Parameters of tasks with a motion, shape (n, n_p).
        impossible: Parameters of tasks without one, shape (m, n_p).
        signs: Mirror symmetry of the parameters, shape (n_p,), or None.
    """

    def __init__(
        self,
        lower: np.ndarray,
        upper: np.ndarray,
        possible: np.ndarray,
        impossible: np.ndarray,
        signs: np.ndarray | None = None,
    ) -> None:
        self._middle, self._half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        self._weights: np.ndarray | None = None
        possible = possible[-MOST:]
        if len(impossible) < LEAST or len(possible) < LEAST:
            return
        p = np.concatenate((possible, impossible))
        none = np.repeat([0.0, 1.0], [len(possible), len(impossible)])
        if signs is not None:
            p, none = np.concatenate((p, signs * p)), np.concatenate((none, none))
        self._weights = _logistic(self._features(p), none)

    def presumes_none(self, p: np.ndarray) -> bool:
        """Whether a task presumably has no motion."""
        if self._weights is None:
            return False
        return bool(expit(self._features(p[None])[0] @ self._weights) > SURE)

    def _features(self, p: np.ndarray) -> np.ndarray:
        """1, parameters over their half ranges, and products of two, shape (n, features)."""
        x = np.clip((p - self._middle) / self._half, -2.0, 2.0)
        i, j = np.triu_indices(x.shape[1])
        return np.concatenate((np.ones((len(x), 1)), x, x[:, i] * x[:, j]), axis=1)


def _logistic(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights of logistic regression, by Newton's method, shape (features,)."""
    w = np.zeros(X.shape[1])
    ridge = np.diag([1e-9, *[RIDGE] * (len(w) - 1)])
    for _ in range(50):
        share = expit(X @ w)
        slope = X.T @ (share - y) / len(y) + ridge @ w
        curvature = (X * (share * (1.0 - share))[:, None]).T @ X / len(y) + ridge
        step = np.linalg.solve(curvature, slope)
        w = w - step
        if np.abs(step).max() < 1e-8:
            break
    return w
