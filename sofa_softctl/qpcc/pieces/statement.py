"""Problem of a step for the kernels: least squares, limits, and the contact law.

One form for two problems: the best tracking within all limits, and, where they contradict each
other, the least excess of the soft ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.pieces.mechanics import Mechanics
from sofa_softctl.qpcc.pieces.mechanics_kernels import limit_rows
from sofa_softctl.qpcc.problem.kernels import limit_ranges
from sofa_softctl.qpcc.problem.limits import Limit, effort_box, limits_of

ANCHOR = 1e-10
"""Regularisation of efforts that neither tracking nor energy determines, relative to the scaled
Hessian's diagonal."""
EXCESS_ANCHOR = 1e-6
"""The same for the least excess, which leaves most efforts free."""


class ProblemLimits(NamedTuple):
    """The limits of a problem."""

    ranges: np.ndarray
    """Ranges of effort and displacement, as `kernels.limit_ranges`, shape (4, n_a)."""
    sum_minimum: np.ndarray
    """Least sums of normal forces [effort], one for each of `Contacts.sums`."""
    sum_maximum: np.ndarray
    """Greatest sums of normal forces [effort]."""

    @classmethod
    def of(cls, m: Mechanics) -> ProblemLimits:
        """All limits of the problem."""
        minimum, maximum = (np.array([s[k] for s in m.contacts.sums], float) for k in (2, 3))
        return cls(limit_ranges(m.problem.arrays[-1]), minimum, maximum)


class _Rows(NamedTuple):
    """low <= A_u u + A_c lam <= high."""

    A_u: np.ndarray
    A_c: np.ndarray
    low: np.ndarray
    high: np.ndarray


def tracking_statement(mechanics: Mechanics, limits: ProblemLimits) -> Statement | None:
    """Best tracking within all limits; None if limits of the efforts contradict each other."""
    m = mechanics
    sums = _sums(m, limits)
    is_possible, lower, upper, *rows = limit_rows(
        limits.ranges, *sums[1:], m.a_unit, m.W_aa, m.W_ac, m.problem.arrays[3]
    )
    if not is_possible:
        return None
    return _statement(m, m.F_u, m.F_c, m.f, lower, upper, _Rows(*rows), m.W_ac, ANCHOR)


def excess_statement(mechanics: Mechanics, limits: ProblemLimits) -> Statement | None:
    """Least excess of the soft limits; None if there are none.

    The variables are the efforts and an excess for each such limit, in units of energy as in
    `least_violation.build_violation_qp`; 1/2 the sum of their squares is minimised.
    """
    m = mechanics
    n_a, n_r = m.W_ac.shape
    parts = [(_efforts if limit.quantity == "effort" else _displacements)(m, limit)
             for limit in limits_of(m.problem) if not limit.is_hard]  # fmt: skip
    soft = _join_rows(*parts, _sums(m, limits))
    k = len(soft.low)
    if not k:
        return None
    lower, upper = (end / m.a_unit for end in effort_box(m.problem))
    free = np.full(k, np.inf)
    return _statement(
        m,
        np.concatenate((np.zeros((k, n_a)), np.eye(k)), axis=1),
        np.zeros((k, n_r)),
        np.zeros(k),
        np.concatenate((lower, -free)),
        np.concatenate((upper, free)),
        soft._replace(A_u=np.concatenate((soft.A_u, np.eye(k)), axis=1)),
        np.concatenate((m.W_ac, np.zeros((k, n_r)))),
        EXCESS_ANCHOR,
    )


def _statement(
    m: Mechanics,
    F_u: np.ndarray,
    F_c: np.ndarray,
    f: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    rows: _Rows,
    C: np.ndarray,
    anchor: float,
) -> Statement:
    return Statement(
        F_u=F_u,
        F_c=F_c,
        f=f,
        lower=lower,
        upper=upper,
        A_u=rows.A_u,
        A_c=rows.A_c,
        low=rows.low,
        high=rows.high,
        W=m.W_cc,
        C=C,
        d=m.c_free,
        mu=m.mu,
        starts=m.starts,
        sticking=m.sticking,
        size=m.size,
        anchor=anchor,
    )


def _displacements(m: Mechanics, limit: Limit) -> _Rows:
    """Return the rows of a displacement limit in units of energy."""
    low, high = limit.lower, limit.upper
    limited = np.flatnonzero((low > -np.inf) | (high < np.inf))  # none for NaN
    free, unit = m.problem.delta_a_free[limited], m.a_unit[limited]
    return _Rows(
        m.W_aa[limited],
        m.W_ac[limited],
        (low[limited] - free) * unit,
        (high[limited] - free) * unit,
    )


def _efforts(m: Mechanics, limit: Limit) -> _Rows:
    limited = np.flatnonzero((limit.lower > -np.inf) | (limit.upper < np.inf))
    unit = m.a_unit[limited]
    A_u = np.eye(len(m.a_unit))[limited]
    A_c = np.zeros((len(limited), m.W_ac.shape[1]))
    return _Rows(A_u, A_c, limit.lower[limited] / unit, limit.upper[limited] / unit)


def _sums(m: Mechanics, limits: ProblemLimits) -> _Rows:
    """The bounds on sums of normal forces, as rows of norm one over the forces."""
    sums = m.contacts.sums
    A_c = np.zeros((len(sums), len(m.c_unit)))
    for k, bound in enumerate(sums):
        normal = m.starts[bound.contacts]
        A_c[k, normal] = m.c_unit[normal]
    norm = np.sqrt((A_c * A_c).sum(axis=1))
    norm[norm == 0.0] = 1.0
    A_u = np.zeros((len(sums), len(m.a_unit)))
    low, high = limits.sum_minimum / norm, limits.sum_maximum / norm
    return _Rows(A_u, A_c / norm[:, None], low, high)


def _join_rows(*parts: _Rows) -> _Rows:
    return _Rows(*(np.concatenate(field) for field in zip(*parts, strict=True)))
