"""The quadratic programs of a piece: the best tracking, and the least excess of limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sofa_softctl.inverse.build import NO_EFFECT
from sofa_softctl.inverse.limits import Limit, effort_box
from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.piece import Piece, Row, Rows, join
from sofa_softctl.inverse.qp import QP


class Bounds(NamedTuple):
    """The limits of a problem as a piece takes them."""

    limits: list[Limit]
    """Limits of the actuators, in units of the scene."""
    sum_minimum: np.ndarray
    """Least sums of normal forces [effort], one for each of `Contacts.sums`."""
    sum_maximum: np.ndarray
    """Greatest sums of normal forces [effort]."""


@dataclass(frozen=True, eq=False)
class PieceQP:
    """A QP of a piece, free of units and well scaled, and the way back."""

    qp: QP
    """The QP."""
    scale: np.ndarray
    """v = scale * x of the piece's variables, shape (n_v,)."""
    rows: Rows
    """Its rows; those of the variables' own limits are not among them."""
    multiplier: np.ndarray
    """Multiplier of each row in units of energy, of a multiplier of one of the QP, shape (m,)."""
    indefinite: float
    """By how much its Hessian's least eigenvalue was below zero, and was lifted [-]."""


class Bend(NamedTuple):
    """What a QP knows of the curved contact law, from the answer of the one before.

    All of it vanishes where the answer does not change any more.
    """

    curvature: np.ndarray
    """What the Hessian gains, see `curvature.law_curvature`, shape (n_v, n_v)."""
    damping: float
    """Penalty on the distance from `center`, relative to the Hessian's diagonal [-]."""
    center: np.ndarray
    """Variables of the answer before, shape (n_v,)."""


def tracking_qp(
    mechanics: Mechanics, piece: Piece, bounds: Bounds, bend: Bend | None = None
) -> PieceQP:
    """The QP that minimises the objective on a piece, within all limits.

    Source: Coevoet, Escande, Duriez 2019, section III-D, the QP over the subsets I_1 and I_2; here
        the contact forces are eliminated by the equations of the modes.
    """
    m = mechanics
    n_a, n_v = len(m.a_unit), piece.X.shape[1]
    H, g = _objective(m, piece)
    H, indefinite = _convex(H)
    H, g = _bent(H, g, n_v, bend)
    lower, upper = effort_box(m.problem)
    d_lower, d_upper = np.full(n_a, -np.inf), np.full(n_a, np.inf)
    for limit in bounds.limits:
        low, high = (lower, upper) if limit.quantity == "effort" else (d_lower, d_upper)
        np.fmax(low, limit.lower, out=low)  # fmax passes over NaN
        np.fmin(high, limit.upper, out=high)
    free = np.full(n_v - n_a, np.inf)
    rows = [piece.law]
    limited = ((d_lower > -np.inf) | (d_upper < np.inf)).nonzero()[0]
    if len(limited):
        low = (d_lower * m.a_unit - piece.d)[limited]
        high = (d_upper * m.a_unit - piece.d)[limited]
        kinds = np.full(len(limited), int(Row.DISPLACEMENT))
        rows.append(Rows(piece.D[limited], low, high, kinds, limited))
    if m.contacts.sums:
        rows.append(sum_rows(m, piece, bounds))
    low = np.concatenate((lower / m.a_unit, -free))
    high = np.concatenate((upper / m.a_unit, free))
    error = math.sqrt(piece.e @ piece.e)
    return _scaled(H, g, join(*rows), low, high, error, indefinite)


def violation_qp(
    mechanics: Mechanics, piece: Piece, bounds: Bounds, bend: Bend | None = None
) -> PieceQP | None:
    """The QP that exceeds the soft limits by as little as the piece allows, by least squares.

    Its variables are those of the piece, and an excess t for each soft limit, in units of energy
    as in `closest.build_violation_qp`. None if there is no soft limit.
    """
    m = mechanics
    n_a, n_v = len(m.a_unit), piece.X.shape[1]
    eye = np.eye(n_a, n_v)
    soft = []
    for limit in bounds.limits:
        if limit.hard:
            continue
        kept = np.flatnonzero((limit.lower > -np.inf) | (limit.upper < np.inf))  # none for NaN
        if limit.quantity == "effort":
            matrix, offset, unit = eye, np.zeros(n_a), 1.0 / m.a_unit
        else:
            matrix, offset, unit = piece.D, piece.d, m.a_unit
        low, high = limit.lower * unit - offset, limit.upper * unit - offset
        kinds = np.full(len(kept), int(Row.DISPLACEMENT))
        soft.append(Rows(matrix[kept], low[kept], high[kept], kinds, kept))
    soft.append(sum_rows(m, piece, bounds))
    soft_rows = join(*soft)
    k = len(soft_rows.low)
    if not k:
        return None
    return _least_excess(m, piece.law, soft_rows, bend)


def restoration_qp(mechanics: Mechanics, piece: Piece) -> PieceQP:
    """The QP that breaks what the modes ask for by as little as the efforts' bounds allow.

    Its variables are those of the piece and an excess of each row of `piece.law` but ties.
    """
    tie = piece.law.kind == Row.TIED
    soft, hard = (Rows(*(field[part] for field in piece.law)) for part in (~tie, tie))
    return _least_excess(mechanics, hard, soft)


def _least_excess(m: Mechanics, hard: Rows, soft: Rows, bend: Bend | None = None) -> PieceQP:
    """Minimise 1/2 ||t||^2 such that the soft rows hold for R v + t, and the hard ones for R v."""
    (k, n_v), n_a = soft.R.shape, len(m.a_unit)
    lower, upper = effort_box(m.problem)
    free = np.full(n_v - n_a + k, np.inf)
    hard = hard._replace(R=np.concatenate((hard.R, np.zeros((len(hard.low), k))), axis=1))
    soft = soft._replace(R=np.concatenate((soft.R, np.eye(k)), axis=1))
    H = np.diag(np.concatenate((np.zeros(n_v), np.ones(k))))
    low, high = np.concatenate((lower / m.a_unit, -free)), np.concatenate((upper / m.a_unit, free))
    H, g = _bent(H, np.zeros(n_v + k), n_v, bend)
    return _scaled(H, g, join(hard, soft), low, high, 0.0, 0.0)


def _bent(
    H: np.ndarray, g: np.ndarray, n_v: int, bend: Bend | None
) -> tuple[np.ndarray, np.ndarray]:
    """Hessian and gradient with what `bend` adds on the first n_v variables."""
    if bend is None or len(bend.center) != n_v:
        return H, g
    bent = H.copy()
    bent[:n_v, :n_v] += bend.curvature
    values, vectors = np.linalg.eigh(bent)
    floor = 1e-9 * values[-1]
    if values[0] < floor:  # a saddle is left, not climbed
        bent = (vectors * np.maximum(np.abs(values), floor)) @ vectors.T
        bent = 0.5 * (bent + bent.T)
    if bend.damping:
        curvature = bent.diagonal()[:n_v]
        weight = bend.damping * np.maximum(curvature, 0.1 * bent.diagonal().max())
        bent[np.arange(n_v), np.arange(n_v)] += weight
    return bent, g + (H - bent)[:, :n_v] @ bend.center  # the gradient at the center stays


def sum_rows(mechanics: Mechanics, piece: Piece, bounds: Bounds) -> Rows:
    """The bounds on sums of normal forces, as rows of norm one over the forces."""
    m, sums = mechanics, mechanics.contacts.sums
    S = np.zeros((len(sums), len(m.c_unit)))
    for k, entry in enumerate(sums):
        normal = m.contacts.starts[entry.contacts]
        S[k, normal] = m.c_unit[normal]
    norm = np.sqrt((S * S).sum(axis=1))
    norm[norm == 0.0] = 1.0
    S /= norm[:, None]
    low, high = bounds.sum_minimum / norm - S @ piece.x, bounds.sum_maximum / norm - S @ piece.x
    return Rows(S @ piece.X, low, high, np.full(len(S), int(Row.SUM)), np.arange(len(S)))


def _objective(m: Mechanics, piece: Piece) -> tuple[np.ndarray, np.ndarray]:
    """Hessian (n_v, n_v) and gradient (n_v,) at v = 0."""
    n_a = len(m.a_unit)
    B = piece.B
    effect = (B * B).sum(axis=0)
    B = np.where(effect > NO_EFFECT**2 * max(effect.max(), (m.B_a * m.B_a).sum(axis=0).max()), B, 0)
    H, g = B.T @ B, piece.e @ B
    if m.energy is None:
        return H, g
    if len(m.energy) == n_a:
        H[:n_a, :n_a] += m.energy
        return H, g
    V = np.concatenate((np.eye(n_a, B.shape[1]), piece.X))
    v = np.concatenate((np.zeros(n_a), piece.x))
    return H + V.T @ m.energy @ V, g + v @ m.energy @ V


def _convex(H: np.ndarray) -> tuple[np.ndarray, float]:
    """H, or if it is indefinite beyond rounding, H lifted by its least eigenvalue."""
    H = 0.5 * (H + H.T)
    scale = float(np.abs(H.diagonal()).max())
    try:
        np.linalg.cholesky(H + (1e-9 * scale + 1e-300) * np.eye(len(H)))
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(H)[0])
        return H - least * np.eye(len(H)), -least / scale if scale else 0.0
    return H, 0.0


def _scaled(
    H: np.ndarray,
    g: np.ndarray,
    rows: Rows,
    low: np.ndarray,
    high: np.ndarray,
    error: float,
    indefinite: float,
) -> PieceQP:
    """The QP with a Hessian of diagonal one, rows of norm one, and one length for all limits."""
    curvature = H.diagonal()
    strongest = curvature.max() or 1.0
    d = 1.0 / np.sqrt(np.where(curvature > 0.0, curvature, strongest))
    A = rows.R * d
    r = np.sqrt((A * A).sum(axis=1))
    r[r < 1e-12 * r.max(initial=0.0)] = r.max(initial=1.0)
    r[r == 0.0] = 1.0
    lower = np.concatenate((low / d, rows.low / r))
    upper = np.concatenate((high / d, rows.high / r))
    size = max(error, float(lower.max(initial=0.0)), -float(upper.min(initial=0.0)))
    if size <= 0.0:
        size = 1.0
    qp = QP(d[:, None] * H * d, d * g / size, A / r[:, None], lower / size, upper / size)
    return PieceQP(qp, d * size, rows, size / r, indefinite)
