"""Problem of a step for the kernels: least squares, limits, and the contact law.

One form for two problems: the best tracking within all limits, and, where they contradict each
other, the least excess of the soft ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.kernels import Statement
from sofa_softctl.qpcc.pieces.mechanics import Mechanics
from sofa_softctl.qpcc.problem.limits import Limit, effort_box

ANCHOR = 1e-10
"""Regularisation of efforts that neither tracking nor energy determines, relative to the scaled
Hessian's diagonal."""
EXCESS_ANCHOR = 1e-6
"""The same for the least excess, which leaves most efforts free."""
EFFECT_RATIO_MIN = 1e-12
"""A column of effectors below this fraction of the strongest one is rounding."""


class ProblemLimits(NamedTuple):
    """The limits of a problem."""

    limits: Sequence[Limit]
    """Limits of the actuators, in units of the scene."""
    sum_minimum: np.ndarray
    """Least sums of normal forces [effort], one for each of `Contacts.sums`."""
    sum_maximum: np.ndarray
    """Greatest sums of normal forces [effort]."""


class _Rows(NamedTuple):
    """low <= A_u u + A_c lam <= high."""

    A_u: np.ndarray
    A_c: np.ndarray
    low: np.ndarray
    high: np.ndarray


def tracking_statement(mechanics: Mechanics, limits: ProblemLimits) -> Statement | None:
    """Best tracking within all limits; None if limits of the efforts contradict each other."""
    m = mechanics
    n_a = len(m.a_unit)
    lower, upper = (end / m.a_unit for end in effort_box(m.problem))
    low, high = np.full(n_a, -np.inf), np.full(n_a, np.inf)
    for limit in limits.limits:
        if limit.quantity == "effort":
            lower = np.fmax(lower, limit.lower / m.a_unit)  # fmax ignores NaN
            upper = np.fmin(upper, limit.upper / m.a_unit)
        else:
            low, high = np.fmax(low, limit.lower), np.fmin(high, limit.upper)
    rows = _join_rows(_displacements(m, low, high), _sums(m, limits))
    if (lower > upper).any() or (rows.low > rows.high).any():
        return None
    energy = _energy_rows(m)
    F_u = np.concatenate((_without_rounding(m.B_a, m.B_a), energy[:, :n_a]))
    F_c = np.concatenate((m.B_c, energy[:, n_a:]))
    f = np.concatenate((m.e_free, np.zeros(len(energy))))
    return _statement(m, F_u, F_c, f, lower, upper, rows, m.W_ac, ANCHOR)


def excess_statement(mechanics: Mechanics, limits: ProblemLimits) -> Statement | None:
    """Least excess of the soft limits; None if there are none.

    The variables are the efforts and an excess for each such limit, in units of energy as in
    `least_violation.build_violation_qp`; 1/2 the sum of their squares is minimised.
    """
    m = mechanics
    n_a, n_r = m.W_ac.shape
    parts = [_displacements(m, limit.lower, limit.upper) if limit.quantity == "displacement"
             else _efforts(m, limit) for limit in limits.limits if not limit.is_hard]  # fmt: skip
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
    def writable(array: np.ndarray) -> np.ndarray:
        """Writable and contiguous, as the kernels require."""
        return np.array(array, dtype=float, order="C")

    return Statement(
        F_u=writable(F_u),
        F_c=writable(F_c),
        f=writable(f),
        lower=writable(lower),
        upper=writable(upper),
        A_u=writable(rows.A_u),
        A_c=writable(rows.A_c),
        low=writable(rows.low),
        high=writable(rows.high),
        W=writable(m.W_cc),
        C=writable(C),
        d=writable(m.c_free),
        mu=writable(m.mu),
        starts=np.array(m.contacts.starts, dtype=np.int64),
        sticking=m.sticking,
        size=float(m.size),
        anchor=anchor,
    )


def _without_rounding(B: np.ndarray, strongest: np.ndarray) -> np.ndarray:
    """B with columns that are rounding set to zero."""
    effect = (B * B).sum(axis=0)
    return np.where(
        effect > EFFECT_RATIO_MIN**2 * (strongest**2).sum(axis=0).max(initial=0.0), B, 0.0
    )


def _energy_rows(m: Mechanics) -> np.ndarray:
    """Rows G with G^T G = the energy term's Hessian over efforts and forces, (k, n_a + n_r)."""
    n_a, n_r = m.W_ac.shape
    if m.energy is None:
        return np.empty((0, n_a + n_r))
    values, vectors = np.linalg.eigh(m.energy)
    is_kept = values > 1e-14 * values[-1]
    rows = np.zeros((int(is_kept.sum()), n_a + n_r))
    rows[:, : len(m.energy)] = (vectors[:, is_kept] * np.sqrt(values[is_kept])).T
    return rows


def _displacements(m: Mechanics, low: np.ndarray, high: np.ndarray) -> _Rows:
    """Return the rows of displacement limits in units of energy."""
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
        normal = m.contacts.starts[bound.contacts]
        A_c[k, normal] = m.c_unit[normal]
    norm = np.sqrt((A_c * A_c).sum(axis=1))
    norm[norm == 0.0] = 1.0
    A_u = np.zeros((len(sums), len(m.a_unit)))
    low, high = limits.sum_minimum / norm, limits.sum_maximum / norm
    return _Rows(A_u, A_c / norm[:, None], low, high)


def _join_rows(*parts: _Rows) -> _Rows:
    return _Rows(*(np.concatenate(field) for field in zip(*parts, strict=True)))
