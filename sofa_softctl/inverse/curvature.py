"""How the contact law bends away from its linearisation, weighted by its multipliers."""

from __future__ import annotations

import math

import numpy as np

from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import SLIDING
from sofa_softctl.inverse.piece import Piece, Row
from sofa_softctl.inverse.piece_kernels import equations
from sofa_softctl.inverse.piece_qp import PieceQP


def law_curvature(
    mechanics: Mechanics,
    piece: Piece,
    problem: PieceQP,
    multipliers: np.ndarray,
    effort: np.ndarray,
    force: np.ndarray,
    *,
    tracking: bool = True,
) -> np.ndarray:
    """Second derivative of the contact law's part of the Lagrangian over a piece's variables.

    With it, the sequence of QPs is Newton's method. A cone that is pressed against adds

        eta / |lam_t| (w . lam_t)^2                       (w normal to lam_t)

    and a sliding contact, with u its direction and P = mu lam_n, s = |delta_t|, the second
    derivatives of its two equations

        u . lam_t + sqrt(P^2 - (w . lam_t)^2) = 0
        ((w . lam_t) (u . delta_t) - (u . lam_t) (w . delta_t)) / (s + P) = 0

    each times its multiplier.

    Args:
        mechanics: The mechanics.
        piece: The piece.
        problem: Its last QP.
        multipliers: Those of the QP's rows, shape (m,).
        effort: Efforts of its answer in units of energy, shape (n_a,).
        force: Contact forces of its answer in units of energy, shape (n_r,).
        tracking: Whether the QP minimises the objective, or else the excess of limits.

    Returns:
        Shape (n_v, n_v), symmetric, in general indefinite.
    """
    m = mechanics
    eta = multipliers * problem.multiplier
    n_v = piece.X.shape[1]
    K = np.zeros((n_v, n_v))
    for row in ((problem.rows.kind == Row.CONE) & (eta < 0.0)).nonzero()[0]:
        n = m.contacts.starts[problem.rows.of[row]]
        friction = force[n + 1 : n + 3]
        size = math.hypot(*friction)
        if size > 1e-9 * m.size:
            across = _across(friction / size) @ piece.X[n + 1 : n + 3]
            K -= (eta[row] / size) * np.outer(across, across)
    sliding = (piece.modes.kind == SLIDING).nonzero()[0]
    if not len(sliding):
        return K
    gradient = _objective_gradient(m, effort, force) if tracking else np.zeros(len(force))
    law = _law_multipliers(m, piece, problem, eta, gradient, force)
    delta = m.delta_c(effort, force)
    for i in sliding:
        n = m.contacts.starts[i]
        t = slice(n + 1, n + 3)
        aim = delta[t] - force[t]
        total = math.hypot(*aim)
        if total <= 1e-9 * m.size:
            continue
        u = aim / total
        w = _across(u)
        X = piece.X[t]  # (2, n_v)
        D = m.W_cc[t] @ piece.X
        D[:, : len(effort)] += m.W_ac[:, t].T
        P = m.mu[i] * force[n]
        if P > 1e-6 * total:
            K -= (law[n + 1] / P) * np.outer(w @ X, w @ X)
        cross = np.outer(w @ X, u @ D) - np.outer(u @ X, w @ D)
        K += (law[n + 2] / total) * (cross + cross.T)
    return K


def _across(direction: np.ndarray) -> np.ndarray:
    return np.array([-direction[1], direction[0]])


def _objective_gradient(m: Mechanics, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Derivative of the objective by the contact forces, shape (n_r,)."""
    gradient: np.ndarray = m.B_c.T @ (m.B_a @ effort + m.B_c @ force + m.e_free)
    if m.energy is not None and len(m.energy) > len(effort):
        gradient = gradient + (m.energy @ np.concatenate((effort, force)))[len(effort) :]
    return gradient


def _law_multipliers(
    m: Mechanics,
    piece: Piece,
    problem: PieceQP,
    eta: np.ndarray,
    gradient: np.ndarray,
    force: np.ndarray,
) -> np.ndarray:
    """Multipliers of the equations that `eliminate` solved, shape (n_r,), 0 on other rows."""
    for row in eta.nonzero()[0].tolist():
        gradient = gradient + eta[row] * _row_over_forces(m, piece, problem, row, force)
    rows, E, _ = equations(
        m.W_cc, m.W_ac, m.c_free, m.mu, m.contacts.starts, m.row_contact, *piece.modes
    )
    law = np.zeros(len(force))
    try:
        law[rows] = -np.linalg.solve(E.T, gradient[rows])
    except np.linalg.LinAlgError:  # contacts depend on each other: without multipliers
        law[:] = 0.0
    return law


def _row_over_forces(
    m: Mechanics, piece: Piece, problem: PieceQP, row: int, force: np.ndarray
) -> np.ndarray:
    """Derivative of what a row limits by the contact forces, shape (n_r,)."""
    kind, i = int(problem.rows.kind[row]), int(problem.rows.of[row])
    over = np.zeros(len(m.c_free))
    if kind == Row.DISPLACEMENT:
        return m.W_ac[i]
    if kind == Row.SUM:
        normal = m.contacts.starts[m.contacts.sums[i].contacts]
        over[normal] = m.c_unit[normal]
        over /= math.sqrt(float(over @ over)) or 1.0
        return over
    n = m.contacts.starts[i]
    if kind == Row.GAP:
        return m.W_cc[n]
    if kind == Row.FORCE:
        over[n] = 1.0
    elif kind == Row.SLIP:
        over = piece.modes.direction[i] @ m.W_cc[n + 1 : n + 3]
    elif kind == Row.CONE:  # the plane that is pressed against touches the cone at the force
        friction = force[n + 1 : n + 3]
        over[n], over[n + 1 : n + 3] = m.mu[i], -friction / (math.hypot(*friction) or 1.0)
    return over
