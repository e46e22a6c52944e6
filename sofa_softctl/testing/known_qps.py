"""Small quadratic programs with known solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.qp.problem import QP

INF = np.inf


@dataclass(frozen=True, eq=False)
class KnownQP:
    """A quadratic program with its solution, derived by hand."""

    name: str
    """Short description."""
    qp: QP
    """The problem."""
    x: np.ndarray | None
    """Minimiser, shape (n,); NaN for arbitrary values. None if the limits contradict each other."""
    y: np.ndarray | None = None
    """Multipliers, shape (n + m,), or None if they are not unique."""


def known_qps() -> list[KnownQP]:
    """Return all problems."""
    nan = np.nan
    return [
        KnownQP("no limits", _qp([[2.0, 0.0], [0.0, 1.0]], [-2.0, 3.0]), _v(1, -3), _v(0, 0)),
        KnownQP("nothing to do", _qp(np.eye(2), [0.0, 0.0]), _v(0, 0), _v(0, 0)),
        KnownQP("an upper bound", _qp([[1.0]], [-2.0], upper=[1.0]), _v(1), _v(1)),
        KnownQP("a lower bound", _qp([[1.0]], [2.0], lower=[-1.0]), _v(-1), _v(-1)),
        KnownQP("a fixed variable", _qp([[1.0]], [0.0], lower=[3.0], upper=[3.0]), _v(3), _v(-3)),
        KnownQP(
            "a lower limit of a row",  # 1/2 |x|^2 with x_0 + x_1 >= 2: x = (1, 1), y = -1
            _qp(np.eye(2), [0.0, 0.0], [[1.0, 1.0]], [-INF, -INF, 2.0]),
            _v(1, 1),
            _v(0, 0, -1),
        ),
        KnownQP(
            "an equality",  # 1/2 |x|^2 with x_0 - x_1 = 2
            _qp(np.eye(2), [0.0, 0.0], [[1.0, -1.0]], [-INF, -INF, 2.0], [INF, INF, 2.0]),
            _v(1, -1),
            _v(0, 0, -1),
        ),
        KnownQP(
            "a corner",  # both bounds and the row through their corner: the multipliers are open
            _qp(np.eye(2), [-2.0, -2.0], [[1.0, 1.0]], [-INF] * 3, [1.0, 1.0, 2.0]),
            _v(1, 1),
        ),
        KnownQP(
            "the same row three times",
            _qp(np.eye(2), [-2.0, 0.0], [[1.0, 0.0]] * 3, [-INF] * 5, [INF, INF, 1.0, 1.0, 1.0]),
            _v(1, 0),
        ),
        KnownQP(
            "an equality twice",
            _qp(np.eye(2), [0.0, 0.0], [[1.0, 1.0]] * 2, [-INF, -INF, 2, 2], [INF, INF, 2, 2]),
            _v(1, 1),
        ),
        KnownQP(
            "a singular Hessian",  # 1/2 (x_0 + x_1)^2 - 2 (x_0 + x_1): only the sum is determined
            _qp(np.ones((2, 2)), [-2.0, -2.0], None, [0.0, 0.0], [3.0, 3.0]),
            _v(nan, nan),
        ),
        KnownQP(
            "no curvature at all",  # a linear program
            _qp(np.zeros((2, 2)), [1.0, -1.0], None, [-1.0, -1.0], [2.0, 2.0]),
            _v(-1, 2),
            _v(-1, 1),
        ),
        KnownQP(
            "badly scaled",  # a million between the curvatures, and between the two bounds
            _qp(np.diag([1e3, 1e-3]), [-1e3, -1.0], None, [-INF, -INF], [1e-3, 5e2]),
            _v(1e-3, 5e2),
            _v(1e3 - 1.0, 0.5),
        ),
        KnownQP(
            "contradicting limits",  # 0 <= x, but x_0 + x_1 <= -3
            _qp(np.eye(2), [1.0, 1.0], [[1.0, 1.0]], [0.0, 0.0, -5.0], [1.0, 1.0, -3.0]),
            None,
        ),
        KnownQP(
            "contradicting equalities",
            _qp(np.eye(2), [0.0, 0.0], [[1.0, 1.0]] * 2, [-INF, -INF, 1, 2], [INF, INF, 1, 2]),
            None,
        ),
    ]


def random_qp(seed: int, *, rank: int | None = None, equalities: int = 0) -> QP:
    """Return a feasible QP of 6 variables and 5 rows with limits on every side.

    Args:
        seed: Seed of the random numbers.
        rank: Rank of the Hessian; full by default.
        equalities: Number of rows that are equalities.
    """
    rng = np.random.default_rng(seed)
    n, m = 6, 5
    B = rng.normal(size=(rank or 2 * n, n))
    A = rng.normal(size=(m, n))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    inside = np.concatenate((x := rng.normal(size=n), A @ x))
    lower, upper = inside - rng.exponential(0.3, n + m), inside + rng.exponential(0.3, n + m)
    lower[rng.random(n + m) < 0.3] = -INF
    upper[rng.random(n + m) < 0.3] = INF
    equal = n + np.arange(equalities)
    lower[equal] = upper[equal] = inside[equal]
    # the gradient is in the range of H, as in tracking: the cost is bounded below
    return QP(B.T @ B / n, B.T @ rng.normal(size=len(B)), A, lower, upper)


def _qp(H: object, g: object, A: object = None, lower: object = None, upper: object = None) -> QP:
    g = np.array(g, float)
    A = np.zeros((0, len(g))) if A is None else np.array(A, float)
    lower = np.full(len(g) + len(A), -INF) if lower is None else np.array(lower, float)
    upper = np.full(len(g) + len(A), INF) if upper is None else np.array(upper, float)
    return QP(np.array(H, float), g, A, lower, upper)


def _v(*entries: float) -> np.ndarray:
    return np.array(entries, float)
