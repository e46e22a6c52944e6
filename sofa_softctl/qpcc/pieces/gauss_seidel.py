"""Contact forces at given actuator efforts, by block Gauss-Seidel."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit(inner=True)
def _stick(W: np.ndarray, j: int, d: np.ndarray, lam: np.ndarray, new: np.ndarray) -> bool:
    """Force that sticks a contact, by Cramer's rule; False if W is singular there.

    Args:
        W: Compliance, shape (n_r, n_r).
        j: First row of the contact.
        d: delta of its three rows with the present force, shape (3,).
        lam: Present forces, shape (n_r,).
        new: Output, shape (3,).
    """
    a, b, c = W[j, j], W[j, j + 1], W[j, j + 2]
    e, f, i = W[j + 1, j + 1], W[j + 1, j + 2], W[j + 2, j + 2]
    A, B, C = e * i - f * f, c * f - b * i, b * f - c * e
    det = a * A + b * B + c * C
    if det <= 1e-12 * a * e * i:
        return False
    E, F, I = a * i - c * c, b * c - a * f, a * e - b * b
    new[0] = lam[j] - (A * d[0] + B * d[1] + C * d[2]) / det
    new[1] = lam[j + 1] - (B * d[0] + E * d[1] + F * d[2]) / det
    new[2] = lam[j + 2] - (C * d[0] + F * d[1] + I * d[2]) / det
    return True


@njit(inner=True)
def _contact(
    W: np.ndarray,
    j: int,
    mu: float,
    sticking: bool,
    d: np.ndarray,
    lam: np.ndarray,
    new: np.ndarray,
) -> None:
    """Force of a contact with friction at given forces of the others. Arguments as for `_stick`."""
    if W[j, j] <= 0.0:
        new[:] = 0.0
        return
    holds = _stick(W, j, d, lam, new)
    limit = np.inf if sticking else mu * new[0]
    if holds and new[0] >= 0.0 and np.sqrt(new[1] ** 2 + new[2] ** 2) <= limit:
        return
    if sticking and holds:
        new[:] = 0.0  # the force would pull
        return
    new[0] = max(0.0, lam[j] - d[0] / W[j, j])
    change = new[0] - lam[j]
    mean = 0.5 * (W[j + 1, j + 1] + W[j + 2, j + 2])
    for c in (1, 2):
        new[c] = 0.0
        if mean > 0.0:
            new[c] = lam[j + c] - (d[c] + W[j + c, j] * change) / mean
    size = np.sqrt(new[1] ** 2 + new[2] ** 2)
    limit = np.inf if sticking and new[0] > 0.0 else mu * new[0]
    if size > limit:
        new[1] *= limit / size
        new[2] *= limit / size


@njit(fastmath=True)
def contact_gauss_seidel(
    W: np.ndarray,
    delta: np.ndarray,
    starts: np.ndarray,
    friction: np.ndarray,
    sticking: bool,
    tolerance: float,
    max_sweeps: int,
    lam: np.ndarray,
) -> tuple[int, float]:
    """Contact forces for non-penetration and the round Coulomb cone, or sticking.

    A contact that can stick inside the cone gets that force; any other takes a normal step and then
    a tangential one that is projected onto the cone. At convergence, lam_n >= 0, delta_n >= 0, one
    of them zero, and lam_t is the projection of lam_t - delta_t / W_t onto the disc of radius mu
    lam_n, which is Coulomb's law.

    Args:
        W: Compliance of the contact rows, shape (n_r, n_r).
        delta: delta of the rows without contact forces, shape (n_r,).
        starts: First row of each contact, shape (n_c,).
        friction: Coefficient of friction, 0 for a contact of one row, shape (n_c,).
        sticking: Whether contacts stick without a cone; friction then only gives the rows.
        tolerance: Largest |W_ii change of lam_i| of a sweep at convergence.
        max_sweeps: Maximum number of sweeps.
        lam: Start and output, shape (n_r,).

    Returns:
        Number of sweeps, and the largest |W_ii change of lam_i| in the last one: above the
        tolerance, it did not converge.

    Source: projections as in Jourdan, Alart, Jean 1998, "A Gauss-Seidel like algorithm
        to solve frictional contact problems".
    """
    n_r = delta.shape[0]
    d, new = np.zeros(3), np.zeros(3)
    error = 0.0
    for sweep in range(1, max_sweeps + 1):
        error = 0.0
        for c in range(starts.shape[0]):
            j = starts[c]
            rows = 3 if friction[c] > 0.0 else 1
            for k in range(rows):
                value = delta[j + k]
                for l in range(n_r):
                    value += W[j + k, l] * lam[l]
                d[k] = value
            if rows == 3:
                _contact(W, j, friction[c], sticking, d, lam, new)
            else:
                new[0] = max(0.0, lam[j] - d[0] / W[j, j]) if W[j, j] > 0.0 else 0.0
            for k in range(rows):
                error = max(error, W[j + k, j + k] * abs(new[k] - lam[j + k]))
                lam[j + k] = new[k]
        if error <= tolerance:
            return sweep, error
    return max_sweeps, error
