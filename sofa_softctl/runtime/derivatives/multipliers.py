"""Multipliers of a step's drives and contacts, with friction, and their derivatives.

Rows say W lam - missing = delta. Of a displacement that is imposed delta = 0; of a cable that only
pulls, and along the normal of a contact, delta >= 0, lam >= 0, one of them 0. Of the two rows along
a contact's tangents delta = 0 where it sticks, |lam| <= mu lam_n, else it slides,
lam = -mu lam_n delta / |delta|.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.optimize as optimize

from sofa_softctl.errors import SimulationError
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    BILATERAL,
    COULOMB,
    UNILATERAL,
    gauss_seidel,
    row_parameters,
)

SWEEPS, SWEPT = 20_000, 1e-10
"""Most sweeps that look for modes, and the change at which they end, of the largest delta [-]."""
NEWTON, EXACT = 30, 1e-14
"""Most steps of Newton's method, and the change at which they end, of the largest delta [-]."""
AT_LIMIT = 1.0 - 1e-6
"""Share of the limit of friction from which on a contact slides [-]."""


class Rough(NamedTuple):
    """Contacts with friction."""

    first: np.ndarray
    """Row along the normal of each; those along the tangents are the next two."""
    mu: np.ndarray
    """Coefficient of friction of each."""

    def among(self, chosen: np.ndarray) -> Rough:
        """The same among some rows, bool, shape (m,)."""
        return Rough((np.cumsum(chosen) - 1)[self.first], self.mu)


class Modes(NamedTuple):
    """Which rows act, and what changes of delta do to their multipliers: D d(lam) = -G d(delta)."""

    held: np.ndarray
    """Rows with a multiplier, bool, shape (m,)."""
    D: np.ndarray
    """Shape (q, q), of the held rows alone."""
    G: np.ndarray
    """Shape (q, q)."""

    def solve(self, W: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """d(lam) = (D + G W)^-1 G missing, W of the held rows; missing of shape (q, ...)."""
        found: np.ndarray = np.linalg.solve(self.D + self.G @ W, self.G @ missing)
        return found

    def solve_transposed(self, W: np.ndarray, of_lam: np.ndarray) -> np.ndarray:
        """Its transpose, shape (q,)."""
        found: np.ndarray = self.G.T @ np.linalg.solve((self.D + self.G @ W).T, of_lam)
        return found


def modes_of(held: np.ndarray, lam: np.ndarray, slip: np.ndarray, rough: Rough) -> Modes:
    """Modes at a solution.

    Args:
        held: Rows with a multiplier, bool, shape (m,).
        lam: Multipliers, shape (m,).
        slip: delta of rows along tangents, shape (m,).
        rough: Contacts with friction.
    """
    count = int(held.sum())
    D, G = np.zeros((count, count)), np.eye(count)
    place = np.cumsum(held) - 1
    for n, mu in zip(rough.first.tolist(), rough.mu.tolist(), strict=True):
        if held[n] and slides(lam[n : n + 3], mu):
            t, way = slice(place[n + 1], place[n + 2] + 1), slip[n + 1 : n + 3]
            size = float(np.linalg.norm(way))
            s = way / size
            D[t, t] = np.eye(2)
            D[t, place[n]] = mu * s
            G[t, t] = mu * lam[n] / size * (np.eye(2) - np.outer(s, s))
    return Modes(held, D, G)


def slides(lam: np.ndarray, mu: float) -> bool:
    """Whether a contact is at the limit of its friction; lam of its three rows."""
    return bool(np.hypot(lam[1], lam[2]) >= AT_LIMIT * mu * lam[0])


def multipliers(
    W: np.ndarray, missing: np.ndarray, one_sided: np.ndarray, rough: Rough
) -> tuple[np.ndarray, np.ndarray]:
    """The multipliers, and which rows are held.

    Args:
        W: Compliance, shape (m, m).
        missing: What delta lacks without multipliers, shape (m,).
        one_sided: Rows with lam >= 0, bool, shape (m,).
        rough: Contacts with friction.

    Raises:
        SimulationError: No modes of the contacts were found that solve them.
    """
    if not len(rough.first):
        lam = _without_friction(W, missing, one_sided)
        return lam, (lam != 0.0) | ~one_sided
    parameters = np.array(
        [row_parameters(UNILATERAL if one else BILATERAL) for one in one_sided.tolist()]
    )
    for n, mu in zip(rough.first.tolist(), rough.mu.tolist(), strict=True):
        parameters[n : n + 3] = row_parameters(COULOMB, mu)
    lam, size = np.zeros(len(missing)), float(np.abs(missing).max())
    gauss_seidel(W, -missing, parameters, 1.0, SWEPT * size, SWEEPS, lam)
    held = (lam != 0.0) | ~one_sided
    for n in rough.first.tolist():
        held[n + 1 : n + 3] = held[n]
    for _ in range(NEWTON):
        delta = W @ lam - missing
        modes = modes_of(held, lam, delta, rough)
        rest = modes.G @ delta[held]
        for n, mu in zip(rough.first.tolist(), rough.mu.tolist(), strict=True):
            if held[n] and slides(lam[n : n + 3], mu):
                at = np.cumsum(held)[n + 1] - 1
                way = delta[n + 1 : n + 3] / np.linalg.norm(delta[n + 1 : n + 3])
                rest[at : at + 2] = lam[n + 1 : n + 3] + mu * lam[n] * way
        change = -np.linalg.solve(modes.D + modes.G @ W[np.ix_(held, held)], rest)
        lam[held] += change
        if np.abs(W[np.ix_(held, held)] @ change).max(initial=0.0) <= EXACT * size:
            apart = (W @ lam - missing)[one_sided]
            if (lam[one_sided] >= 0.0).all() and (apart >= -SWEPT * size).all():
                return lam, held
            break
    raise SimulationError("no modes of the contacts were found in which friction holds.")


def _without_friction(W: np.ndarray, missing: np.ndarray, one_sided: np.ndarray) -> np.ndarray:
    """W lam = missing; where lam >= 0, W lam >= missing, one of them equal."""
    lam: np.ndarray = np.linalg.solve(W, missing)
    if not (lam[one_sided] < 0.0).any():
        return lam
    L = np.linalg.cholesky(0.5 * (W + W.T))  # |L^T lam - L^-1 missing| is least where that holds
    lower = np.where(one_sided, 0.0, -np.inf)
    target = np.linalg.solve(L, missing)
    found = optimize.lsq_linear(L.T, target, (lower, np.inf), method="bvls", tol=1e-14)
    return np.where(one_sided & (found.active_mask != 0), 0.0, found.x)
