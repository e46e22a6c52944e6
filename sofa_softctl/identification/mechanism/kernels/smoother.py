"""Dynamic programming for the likeliest inputs of a mechanism: one sweep back, one forward.

At a motion x_k = (q_k, p_k) with inputs u_k, steps are dx_k+1 = A_k dx_k + B_k drho + C_k du_k, and
the cost to be minimised over the du is

    sum_i |r_i + d(r_i)|^2 + sum_k |(e_k + du_k) / sigma|^2

with r the residuals of the samples, each linear in the states at both ends of its step, and e the
errors of the inputs. Several such problems are solved at once, which differ in r, e and drho alone:
they are columns of vectors. The cost from step k on is dx' P dx + 2 dx' g + ..., and the best
change du_k = -gain_k dx_k - feed_k.

Source: the linear-quadratic regulator's recursion (Bryson, Ho 1975, sections 2.5 and 13.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.kernels.arrays import Drive, Tree
from sofa_softctl.identification.mechanism.kernels.linearization import linearise


class Steps(NamedTuple):
    """Linearised steps."""

    A: np.ndarray
    """Derivative of the next state by the state, shape (K, 2 n, 2 n)."""
    B: np.ndarray
    """Derivative of the next state by the problems, shape (K, 2 n, columns)."""
    C: np.ndarray
    """Derivative of the next state by the noisy inputs, shape (K, 2 n, m)."""


class Samples(NamedTuple):
    """Linearised residuals of the samples, in the order of time, in standard deviations."""

    step: np.ndarray
    """Step in which each was taken, K for the last state, shape (n_t,)."""
    share: np.ndarray
    """Share of the step after which it was, below 1, shape (n_t,)."""
    by_q: np.ndarray
    """Derivatives of the outputs by q at each node, shape (K + 1, n_y, n)."""
    weight: np.ndarray
    """1 / deviation, 0 where missing, shape (n_t, n_y)."""
    values: np.ndarray
    """Residuals of each problem, shape (n_t, n_y, columns)."""


@njit
def linearise_steps(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q: np.ndarray,
    multipliers: np.ndarray,
    noisy: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
) -> None:
    """A_k, B_k and C_k of all steps, written to arrays shaped as in `Steps`.

    B has 1 + n_rho columns: 0, and the derivatives by each parameter.
    """
    n, n_rho, m = q.shape[1], rho.shape[0], noisy.shape[0]
    n_h = multipliers.shape[1]
    rest = np.zeros((n + n_h, 2 * n + n_rho + m))
    direct = np.zeros((n, 2 * n + n_rho + m))
    forces = np.ascontiguousarray(drive.gain_u[:, noisy])
    for k in range(q.shape[0] - 1):
        step = linearise(tree, rho, drive, k, dt, q[k], q[k + 1], multipliers[k])
        for i in range(n):
            for j in range(n):
                rest[i, j] = -step.r_q[i, j]
                direct[i, j] = step.p_q[i, j]
            rest[i, n + i] = -1.0
            for j in range(m):
                push = dt * forces[i, j]
                rest[i, 2 * n + n_rho + j] = -(1.0 - drive.share) * push
                direct[i, 2 * n + n_rho + j] = drive.share * push
            for j in range(n_rho):
                direct[i, 2 * n + j] = step.p_rho[i, j]
        for i in range(n + n_h):
            for j in range(n_rho):
                rest[i, 2 * n + j] = -step.r_rho[i, j]
        by_q = np.ascontiguousarray(np.linalg.solve(step.kkt, rest)[:n])
        by_p = step.p_next @ by_q + direct
        A[k, :n], A[k, n:] = by_q[:, : 2 * n], by_p[:, : 2 * n]
        B[k, :n, 1:], B[k, n:, 1:] = (
            by_q[:, 2 * n : 2 * n + n_rho],
            by_p[:, 2 * n : 2 * n + n_rho],
        )
        C[k, :n], C[k, n:] = by_q[:, 2 * n + n_rho :], by_p[:, 2 * n + n_rho :]


@njit
def backward(
    steps: Steps,
    samples: Samples,
    errors: np.ndarray,
    sigma: np.ndarray,
    gain: np.ndarray,
    feed: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Gains and feeds of all steps.

    Args:
        steps: Linearised steps.
        samples: Linearised residuals.
        errors: Errors e of the inputs, shape (K, m, columns).
        sigma: Standard deviations of the errors, shape (m,).
        gain: Written, shape (K, m, 2 n).
        feed: Written, shape (K, m, columns).

    Returns:
        P and g of the start, and the predicted decrease of the first column's cost.
    """
    count, n2, m = steps.C.shape
    n, columns = n2 // 2, steps.B.shape[2]
    P, g = np.zeros((n2, n2)), np.zeros((n2, columns))
    decrease = 0.0
    i = samples.step.shape[0] - 1
    while i >= 0 and samples.step[i] == count:
        add_sample(samples, i, P, g)
        i -= 1
    for k in range(count - 1, -1, -1):
        A, B, C = steps.A[k], steps.B[k], steps.C[k]
        gradient_ahead = g + P @ B
        PC = P @ C
        Quu = C.T @ PC
        Qux = PC.T @ A
        Qu = C.T @ gradient_ahead
        Qxx = A.T @ (P @ A)
        Qx = A.T @ gradient_ahead
        for j in range(m):
            Quu[j, j] += 1.0 / sigma[j] ** 2
            Qu[j] += errors[k, j] / sigma[j] ** 2
        while i >= 0 and samples.step[i] == k:
            share = samples.share[i]
            if share == 0.0:
                add_sample(samples, i, Qxx, Qx)
            else:
                w = samples.weight[i].copy().reshape(-1, 1)
                late = share * w * samples.by_q[k + 1]
                Gx = late @ A[:n]
                Gx[:, :n] += (1.0 - share) * w * samples.by_q[k]
                Gu = late @ C[:n]
                G = samples.values[i] + late @ B[:n]
                Quu += Gu.T @ Gu
                Qux += Gu.T @ Gx
                Qu += Gu.T @ G
                Qxx += Gx.T @ Gx
                Qx += Gx.T @ G
            i -= 1
        gain[k] = np.linalg.solve(Quu, Qux)
        feed[k] = np.linalg.solve(Quu, Qu)
        decrease += np.dot(np.ascontiguousarray(Qu[:, 0]), np.ascontiguousarray(feed[k][:, 0]))
        P = Qxx - Qux.T @ gain[k]
        P = 0.5 * (P + P.T)
        g = Qx - Qux.T @ feed[k]
    return P, g, decrease


@njit
def add_sample(samples: Samples, i: int, P: np.ndarray, g: np.ndarray) -> None:
    """Add the residuals of sample i, taken at a node, to the cost of the state there."""
    H = samples.weight[i].copy().reshape(-1, 1) * samples.by_q[samples.step[i]]
    n = H.shape[1]
    P[:n, :n] += H.T @ H
    g[:n] += H.T @ samples.values[i]


@njit
def forward(
    steps: Steps,
    gain: np.ndarray,
    feed: np.ndarray,
    start: np.ndarray,
    x: np.ndarray,
    u: np.ndarray,
) -> None:
    """Changes of states and inputs under the best inputs.

    Args:
        steps: Linearised steps.
        gain: Gains.
        feed: Feeds.
        start: Change of the start, shape (2 n, columns).
        x: Written, shape (K + 1, 2 n, columns).
        u: Written, shape (K, m, columns).
    """
    x[0] = start
    for k in range(u.shape[0]):
        u[k] = -(gain[k] @ x[k]) - feed[k]
        x[k + 1] = steps.A[k] @ x[k] + steps.C[k] @ u[k] + steps.B[k]
