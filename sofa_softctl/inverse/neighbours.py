"""The pieces next to a piece: which contact may do something else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import INACTIVE, SLIDING, STICKING, Modes
from sofa_softctl.inverse.piece import Row
from sofa_softctl.inverse.piece_qp import PieceQP
from sofa_softctl.inverse.qp import QPResult


@dataclass(frozen=True, eq=False)
class Pivot:
    """A contact that presses against the border of its piece, and what is beyond it."""

    dual: float
    """Multiplier of the border [-]: what the objective gains beyond it, to first order."""
    contact: int
    """Number of the contact."""
    modes: Modes
    """The modes beyond."""


def pressing(
    mechanics: Mechanics,
    modes: Modes,
    problem: PieceQP,
    result: QPResult,
    effort: np.ndarray,
    force: np.ndarray,
) -> list[Pivot]:
    """Contacts whose border holds back the objective, the largest multiplier first."""
    m = mechanics
    y = result.y[len(result.x) :]
    borders = (-y > 1e-9) & (problem.rows.kind <= Row.CONE)
    delta = m.delta_c(effort, force)
    found: dict[int, Pivot] = {}
    for row in np.flatnonzero(borders)[np.argsort(y[borders])]:
        i = int(problem.rows.of[row])
        if i not in found:
            other = beyond(m, modes, Row(problem.rows.kind[row]), i, delta, force)
            found[i] = Pivot(float(-y[row]), i, other)
    return list(found.values())


def nearby(
    mechanics: Mechanics,
    modes: Modes,
    effort: np.ndarray,
    force: np.ndarray,
    *,
    but: Collection[int],
    count: int,
) -> list[Pivot]:
    """Contacts that are near a border of their piece, the nearest first.

    An inactive contact may touch, a touching one be inactive, a sticking one slide, a sliding
    one stick. Their multiplier is given as 0.

    Args:
        mechanics: The mechanics.
        modes: The modes of the piece.
        effort: Efforts of its answer in units of energy, shape (n_a,).
        force: Contact forces of its answer in units of energy, shape (n_r,).
        but: Contacts that are left out.
        count: Most contacts.
    """
    m = mechanics
    delta = m.delta_c(effort, force)
    n = m.contacts.starts
    order = np.argsort(np.maximum(np.abs(force[n]), np.abs(delta[n])))
    found, gains = [], None
    for i in [i for i in order.tolist() if i not in but][:count]:
        touching = modes.kind[i] != INACTIVE
        row = Row.FORCE if touching else Row.GAP
        found.append(Pivot(0.0, i, beyond(m, modes, row, i, delta, force)))
        if not touching or m.sticking or not m.rough[i]:
            continue
        if modes.kind[i] == SLIDING:
            found.append(Pivot(0.0, i, modes.with_contact(i, STICKING)))
            continue
        if gains is None:
            gains = _slip_gradient(m, modes, effort, force)
        gradient = gains[n[i] + 1 : n[i] + 3]
        size = float(np.hypot(*gradient))
        if size > 0.0:
            heading = np.array([-gradient / size, [0.5, 0.5]])
            found.append(Pivot(0.0, i, modes.with_contact(i, SLIDING, heading)))
    return found


def _slip_gradient(m: Mechanics, modes: Modes, effort: np.ndarray, force: np.ndarray) -> np.ndarray:
    """What the tracking term gains where a contact is let slip, its forces following.

    Returns:
        Derivative of the tracking term by delta_c, shape (n_r,), 0 for inactive contacts.
    """
    rows = np.flatnonzero((modes.kind != INACTIVE)[m.row_contact])
    residual = m.B_a @ effort + m.B_c @ force + m.e_free
    E = m.W_cc[np.ix_(rows, rows)]
    E = E + 1e-9 * np.eye(len(rows))  # contacts may depend on each other
    gradient = np.zeros(len(force))
    gradient[rows] = np.linalg.solve(E, m.B_c[:, rows].T @ residual)
    return gradient


def beyond(
    m: Mechanics, modes: Modes, row: Row, i: int, delta: np.ndarray, force: np.ndarray
) -> Modes:
    """The modes on the other side of a border."""
    n = m.contacts.starts[i]
    if row is Row.FORCE:
        return modes.with_contact(i, INACTIVE)
    if row is Row.SLIP:
        return modes.with_contact(i, STICKING)
    if row is Row.CONE:
        friction = force[n + 1 : n + 3]
        size = float(np.hypot(*friction))
        direction = -friction / size if size > 0.0 else np.array([1.0, 0.0])  # at the cone's tip
        return modes.with_contact(i, SLIDING, np.array([direction, [0.0, 1.0]]))
    if not m.sticking and m.rough[i]:
        slip = delta[n + 1 : n + 3]
        length = float(np.hypot(*slip))
        if length > 1e-9 * m.size:
            return modes.with_contact(i, SLIDING, np.array([slip / length, [1.0, 0.0]]))
    return modes.with_contact(i, STICKING)


def heading(
    m: Mechanics, i: int, delta: np.ndarray, force: np.ndarray, before: np.ndarray
) -> np.ndarray:
    """Direction and balance of a sliding contact, see `Modes`, shape (2, 2)."""
    n = m.contacts.starts[i]
    slip, friction = delta[n + 1 : n + 3], force[n + 1 : n + 3]
    aim = slip - friction  # both point along u when the law is obeyed
    length = float(np.hypot(*aim))
    direction = aim / length if length > 1e-12 * m.size else before
    a, b = max(float(slip @ direction), 0.0), m.mu[i] * max(float(force[n]), 0.0)
    total = a + b
    balance = np.array([a, b]) / total if total > 1e-12 * m.size else np.array([0.5, 0.5])
    return np.array([direction, balance])
