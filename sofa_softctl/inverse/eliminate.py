"""Contact forces as functions of the efforts, for given modes of the contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.modes import Modes
from sofa_softctl.inverse.piece_kernels import equations, solve_small

SINGULAR = 1e-10
"""Pivots, or singular values, below this fraction of the largest one are taken for zero: contacts
that depend on each other, such as the four corners of a rigid box."""

SMALL = 100
"""Rows up to which `solve_small` is faster than LAPACK."""

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
    rows, E, F = equations(m.W_cc, m.W_ac, m.c_free, m.mu, m.contacts.starts, m.row_contact, *modes)
    if not len(rows):
        return Eliminated(np.zeros((n_r, n_a)), np.zeros(n_r), np.empty((0, n_a)), np.empty(0))
    solution, smallest = _solve(E, F)
    if smallest < SINGULAR:
        return _eliminate_dependent(m, rows, E, F)
    X, x = np.zeros((n_r, n_a)), np.zeros(n_r)
    X[rows], x[rows] = -solution[:, :n_a], -solution[:, n_a]
    return Eliminated(X, x, np.empty((0, n_a)), np.empty(0))


def _solve(E: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, float]:
    """The solution of E S = F, and the smallest pivot over the largest one."""
    if len(E) <= SMALL:
        solution = F.copy()
        return solution, solve_small(E.copy(), solution)
    lu, pivots, info = lapack.dgetrf(E)
    size = np.abs(lu.diagonal())
    if info:
        return F, 0.0
    solution, _ = lapack.dgetrs(lu, pivots, F)
    return solution, float(size.min() / size.max())


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
