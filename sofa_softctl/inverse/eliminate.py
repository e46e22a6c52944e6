"""Contact forces as functions of the efforts, for given modes of the contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import INACTIVE, SLIDING, Modes

SINGULAR = 1e-10
"""Pivots, or singular values, below this fraction of the largest one are taken for zero: contacts
that depend on each other, such as the four corners of a rigid box."""

CONSISTENT = 1e-7
"""Contacts that depend on each other may contradict each other by this, relative to `size`."""


class Eliminated(NamedTuple):
    """The contact forces lam_c = X v + x that keep the contacts in their modes.

    The variables v are the efforts and, if contacts depend on each other, the forces that these
    exchange among themselves without moving anything. Everything is in units of energy.
    """

    X: np.ndarray
    """Forces over variables, shape (n_r, n_v)."""
    x: np.ndarray
    """Forces at v = 0, shape (n_r,)."""
    tied: np.ndarray
    """What contacts that depend on each other ask of the variables, tied v = tied_to,
    shape (k, n_v)."""
    tied_to: np.ndarray
    """Right-hand side, shape (k,)."""


def eliminate(mechanics: Mechanics, modes: Modes) -> Eliminated | None:
    """Solve the contacts' equations for their forces.

    Touching contacts have delta_n = 0; sticking ones delta_t = 0 as well; sliding ones obey the
    linearised law of `Modes`. That is one equation for each of their rows. The forces of inactive
    contacts are zero.

    Returns:
        The forces, or None if these modes contradict each other whatever the efforts.
    """
    m = mechanics
    n_a, n_r = m.W_ac.shape
    rows = np.flatnonzero((modes.kind != INACTIVE)[m.row_contact])
    E, F = _equations(m, modes, rows)
    if not len(rows):
        return Eliminated(np.zeros((n_r, n_a)), np.zeros(n_r), np.empty((0, n_a)), np.empty(0))
    lu, pivots, info = lapack.dgetrf(E)
    size = np.abs(lu.diagonal())
    if info or size.min() < SINGULAR * size.max():
        return _eliminate_dependent(m, rows, E, F)
    solution, _ = lapack.dgetrs(lu, pivots, F)
    X, x = np.zeros((n_r, n_a)), np.zeros(n_r)
    X[rows], x[rows] = -solution[:, :n_a], -solution[:, n_a]
    return Eliminated(X, x, np.empty((0, n_a)), np.empty(0))


def _equations(m: Mechanics, modes: Modes, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E lam_c + F (lam_a, 1) = 0 on the rows of touching contacts: E (k, k) and F (k, n_a + 1)."""
    E = m.W_cc[np.ix_(rows, rows)]
    F = np.concatenate((m.W_ac[:, rows].T, m.c_free[rows, None]), axis=1)
    sliding = np.flatnonzero(modes.kind == SLIDING)
    if len(sliding):
        n = np.searchsorted(rows, m.contacts.starts[sliding])
        t, s = n + 1, n + 2
        u, a, b = modes.direction[sliding], modes.balance[sliding, 0], modes.balance[sliding, 1]
        w = np.stack((-u[:, 1], u[:, 0]), axis=1)
        E_w = b[:, None] * (w[:, :1] * E[t] + w[:, 1:] * E[s])
        F[s] = b[:, None] * (w[:, :1] * F[t] + w[:, 1:] * F[s])
        E[t] = F[t] = 0.0
        E[t, n], E[t, t], E[t, s] = m.mu[sliding], u[:, 0], u[:, 1]
        k = np.arange(len(sliding))
        E_w[k, t] += a * w[:, 0]
        E_w[k, s] += a * w[:, 1]
        E[s] = E_w
    return E, F


def _eliminate_dependent(
    m: Mechanics, rows: np.ndarray, E: np.ndarray, F: np.ndarray
) -> Eliminated | None:
    """As `eliminate` where E is singular: what it leaves open are variables of their own."""
    U, S, Vt = np.linalg.svd(E)
    rank = int((S > SINGULAR * S[0]).sum())
    solution = Vt[:rank].T @ ((U[:, :rank].T @ F) / S[:rank, None])
    left = U[:, rank:].T @ F  # (k, n_a + 1), must vanish
    n_a, n_r = m.W_ac.shape
    free = len(rows) - rank
    X, x = np.zeros((n_r, n_a + free)), np.zeros(n_r)
    X[rows] = np.concatenate((-solution[:, :n_a], Vt[rank:].T), axis=1)
    x[rows] = -solution[:, n_a]
    binding = np.abs(left[:, :n_a]).max(axis=1) > CONSISTENT
    if (np.abs(left[~binding, n_a]) > CONSISTENT * m.size).any():
        return None
    tied = np.concatenate((left[binding, :n_a], np.zeros((int(binding.sum()), free))), axis=1)
    return Eliminated(X, x, tied, -left[binding, n_a])
