"""Multipliers of a step's drives and contacts, with friction, and their derivatives.

The rows are W lam - missing = delta. For imposed displacements delta = 0; for cables that only
pull, and along the normal of a contact, delta >= 0, lam >= 0, one of them 0. In the two rows along
a contact's tangents delta = 0 if it sticks, |lam| <= mu lam_n, else it slides,
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

SWEEPS_MAX, SWEEP_TOLERANCE = 20_000, 1e-10
"""Limits of sweeps to find modes: number, and change relative to the largest delta [-]."""
NEWTON_STEPS_MAX, NEWTON_TOLERANCE = 30, 1e-14
"""Limits of Newton's method: steps, and change relative to the largest delta [-]."""
SLIDING_RATIO_MIN = 1.0 - 1e-6
"""Fraction of the limit of friction above which a contact slides [-]."""


class FrictionContacts(NamedTuple):
    """Contacts with friction."""

    first: np.ndarray
    """Row along the normal of each contact; the next two are along the tangents."""
    mu: np.ndarray
    """Coefficient of friction of each contact."""

    def among(self, chosen: np.ndarray) -> FrictionContacts:
        """Return the contacts with indices among the chosen rows, bool, shape (m,)."""
        return FrictionContacts((np.cumsum(chosen) - 1)[self.first], self.mu)


class ActiveRows(NamedTuple):
    """Rows with a multiplier, and its changes with delta: D d(lam) = -G d(delta)."""

    held: np.ndarray
    """True for rows with a multiplier, shape (m,)."""
    D: np.ndarray
    """Factor of d(lam), for the q rows with a multiplier only, shape (q, q)."""
    G: np.ndarray
    """Factor of d(delta), shape (q, q)."""

    def solve(self, W: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return d(lam) = (D + G W)^-1 G missing, W of the held rows, missing (q, ...)."""
        return np.asarray(np.linalg.solve(self.D + self.G @ W, self.G @ missing))

    def solve_transposed(self, W: np.ndarray, of_lam: np.ndarray) -> np.ndarray:
        """Return the transpose of `solve` times of_lam, shape (q,)."""
        return np.asarray(self.G.T @ np.linalg.solve((self.D + self.G @ W).T, of_lam))


def active_rows(
    held: np.ndarray, lam: np.ndarray, slip: np.ndarray, friction: FrictionContacts
) -> ActiveRows:
    """Return the active rows at a solution.

    Args:
        held: True for rows with a multiplier, shape (m,).
        lam: Multipliers, shape (m,).
        slip: delta of rows along tangents, shape (m,).
        friction: Contacts with friction.
    """
    count = int(held.sum())
    D, G = np.zeros((count, count)), np.eye(count)
    index = np.cumsum(held) - 1
    for n, mu in zip(friction.first.tolist(), friction.mu.tolist(), strict=True):
        if held[n] and slides(lam[n : n + 3], mu):
            t, direction = slice(index[n + 1], index[n + 2] + 1), slip[n + 1 : n + 3]
            size = float(np.linalg.norm(direction))
            s = direction / size
            D[t, t] = np.eye(2)
            D[t, index[n]] = mu * s
            G[t, t] = mu * lam[n] / size * (np.eye(2) - np.outer(s, s))
    return ActiveRows(held, D, G)


def slides(lam: np.ndarray, mu: float) -> bool:
    """Return True if a contact is at the limit of its friction; lam of its three rows."""
    return bool(np.hypot(lam[1], lam[2]) >= SLIDING_RATIO_MIN * mu * lam[0])


def multipliers(
    W: np.ndarray, missing: np.ndarray, one_sided: np.ndarray, friction: FrictionContacts
) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers, and True for rows with a multiplier.

    Args:
        W: Compliance, shape (m, m).
        missing: Negative delta without multipliers, shape (m,).
        one_sided: True for rows with lam >= 0, shape (m,).
        friction: Contacts with friction.

    Raises:
        SimulationError: No modes of the contacts were found that solve the rows.
    """
    if not len(friction.first):
        lam = _without_friction(W, missing, one_sided)
        return lam, (lam != 0.0) | ~one_sided
    parameters = np.array(
        [row_parameters(UNILATERAL if flag else BILATERAL) for flag in one_sided.tolist()]
    )
    for n, mu in zip(friction.first.tolist(), friction.mu.tolist(), strict=True):
        parameters[n : n + 3] = row_parameters(COULOMB, mu)
    lam, size = np.zeros(len(missing)), float(np.abs(missing).max())
    gauss_seidel(W, -missing, parameters, 1.0, SWEEP_TOLERANCE * size, SWEEPS_MAX, lam)
    held = (lam != 0.0) | ~one_sided
    for n in friction.first.tolist():
        held[n + 1 : n + 3] = held[n]
    for _ in range(NEWTON_STEPS_MAX):
        delta = W @ lam - missing
        modes = active_rows(held, lam, delta, friction)
        residual = modes.G @ delta[held]
        for n, mu in zip(friction.first.tolist(), friction.mu.tolist(), strict=True):
            if held[n] and slides(lam[n : n + 3], mu):
                index = np.cumsum(held)[n + 1] - 1
                direction = delta[n + 1 : n + 3] / np.linalg.norm(delta[n + 1 : n + 3])
                residual[index : index + 2] = lam[n + 1 : n + 3] + mu * lam[n] * direction
        change = -np.linalg.solve(modes.D + modes.G @ W[np.ix_(held, held)], residual)
        lam[held] += change
        if np.abs(W[np.ix_(held, held)] @ change).max(initial=0.0) <= NEWTON_TOLERANCE * size:
            delta_normal = (W @ lam - missing)[one_sided]
            if (lam[one_sided] >= 0.0).all() and (delta_normal >= -SWEEP_TOLERANCE * size).all():
                return lam, held
            break
    raise SimulationError("no modes of the contacts were found in which friction holds.")


def _without_friction(W: np.ndarray, missing: np.ndarray, one_sided: np.ndarray) -> np.ndarray:
    """Solve W lam = missing; one-sided rows: lam >= 0, W lam >= missing, one of them equal."""
    lam: np.ndarray = np.linalg.solve(W, missing)
    if not (lam[one_sided] < 0.0).any():
        return lam
    L = np.linalg.cholesky(0.5 * (W + W.T))  # it minimises |L^T lam - L^-1 missing|
    lower = np.where(one_sided, 0.0, -np.inf)
    target = np.linalg.solve(L, missing)
    solution = optimize.lsq_linear(L.T, target, (lower, np.inf), method="bvls", tol=1e-14)
    return np.where(one_sided & (solution.active_mask != 0), 0.0, solution.x)
