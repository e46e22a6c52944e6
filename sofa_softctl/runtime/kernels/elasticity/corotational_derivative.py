"""Derivatives of an elastic time step by positions and stiffnesses, for tetrahedra.

A step of linearly implicit Euler has, of the elasticity, the residual

    r = h f(x) - c K(x) w = -K(x) [h (x - R X) + c w],   c = h (h + beta),  w = v of the step's end

with K, R and h_a as in `corotational`. By elements, with Z = sum_c (h x_c + c w_c) h_c^T and
D = Z - h I (rotated rest positions have the gradient I):

    r_a = -P h_a,  P = s(D),  s(D) = V (lambda tr(D) I + mu (D + D^T))

When the rotation turns by omega = sum_b G_b dx_b (see `corotational_tangent`), K and R X turn with
it, so the exact derivative is, with [omega] the matrix of omega cross,

    dr_a = -([omega] P + s(h dF - [omega] Z)) h_a,   dF = sum_b dx_b h_b^T
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def gradients(
    x: np.ndarray,
    w: np.ndarray,
    elements: np.ndarray,
    h: np.ndarray,
    dt: float,
    c: float,
    Z: np.ndarray,
) -> None:
    """Compute Z of each element.

    Args:
        x, w: Positions, and velocities at the end of the step, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        h: Rotated gradients of the shape functions at x, shape (m, 4, 3).
        dt, c: Factors of positions and velocities.
        Z: Output, shape (m, 3, 3).
    """
    for e in range(elements.shape[0]):
        Z[e] = 0.0
        first = elements[e, 0]
        for a in range(1, 4):
            t = elements[e, a]
            for i in range(3):
                z = dt * (x[t, i] - x[first, i]) + c * (w[t, i] - w[first, i])
                for j in range(3):
                    Z[e, i, j] += z * h[e, a, j]


@njit
def _stress(D: np.ndarray, lam: float, mu: float, P: np.ndarray) -> None:
    """P = lam tr(D) I + mu (D + D^T)."""
    trace = lam * (D[0, 0] + D[1, 1] + D[2, 2])
    for i in range(3):
        for j in range(3):
            P[i, j] = mu * (D[i, j] + D[j, i])
        P[i, i] += trace


@njit
def _gradient(y: np.ndarray, element: np.ndarray, h: np.ndarray, out: np.ndarray) -> None:
    """out = sum_a y_a h_a^T."""
    out[:] = 0.0
    for a in range(4):
        t = element[a]
        for i in range(3):
            for j in range(3):
                out[i, j] += y[t, i] * h[a, j]


@njit
def _subtract_forces(P: np.ndarray, element: np.ndarray, h: np.ndarray, out: np.ndarray) -> None:
    """out_a -= P h_a."""
    for a in range(4):
        t = element[a]
        for i in range(3):
            out[t, i] -= P[i, 0] * h[a, 0] + P[i, 1] * h[a, 1] + P[i, 2] * h[a, 2]


@njit
def _turn(omega: np.ndarray, m: np.ndarray, out: np.ndarray) -> None:
    """out = [omega] m: omega cross each column."""
    for k in range(3):
        for i in range(3):
            j, l = (i + 1) % 3, (i + 2) % 3
            out[i, k] = omega[j] * m[l, k] - omega[l] * m[j, k]


@njit
def add_by_positions(
    dx: np.ndarray,
    elements: np.ndarray,
    h: np.ndarray,
    G: np.ndarray,
    Z: np.ndarray,
    stiffness: np.ndarray,
    dt: float,
    out: np.ndarray,
) -> None:
    """Add dr/dx dx to out, for several directions.

    Args:
        dx: Directions, shape (p, n, 3).
        elements: Tetrahedra, shape (m, 4).
        h: Rotated gradients of the shape functions, shape (m, 4, 3).
        G: Output of `corotational_tangent.rotation_gradients`, shape (m, 4, 3, 3).
        Z: Output of `gradients`, shape (m, 3, 3).
        stiffness: V lambda and V mu of each element, shape (m, 2).
        dt: Factor of positions.
        out: Output, shape (p, n, 3).
    """
    D, P, F, T = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    omega = np.empty(3)
    for e in range(elements.shape[0]):
        lam, mu = stiffness[e, 0], stiffness[e, 1]
        for i in range(3):
            for j in range(3):
                D[i, j] = Z[e, i, j]
            D[i, i] -= dt
        _stress(D, lam, mu, P)
        for k in range(dx.shape[0]):
            omega[:] = 0.0
            for b in range(4):
                t = elements[e, b]
                for i in range(3):
                    for j in range(3):
                        omega[i] += G[e, b, i, j] * dx[k, t, j]
            _gradient(dx[k], elements[e], h[e], F)
            _turn(omega, Z[e], T)
            for i in range(3):
                for j in range(3):
                    F[i, j] = dt * F[i, j] - T[i, j]
            _stress(F, lam, mu, D)
            _turn(omega, P, T)
            for i in range(3):
                for j in range(3):
                    D[i, j] += T[i, j]
            _subtract_forces(D, elements[e], h[e], out[k])


@njit
def add_transposed(
    y: np.ndarray,
    elements: np.ndarray,
    h: np.ndarray,
    G: np.ndarray,
    Z: np.ndarray,
    stiffness: np.ndarray,
    dt: float,
    out: np.ndarray,
    by_stiffness: np.ndarray,
) -> None:
    """Add (dr/dx)^T y to out, and d(y . r)/d(stiffness) to by_stiffness.

    Args:
        y: Weights of the residual, shape (n, 3).
        elements, h, G, Z, stiffness, dt: As for `add_by_positions`.
        out: Output, shape (n, 3).
        by_stiffness: Output, shape (m, 2).
    """
    D, P = np.empty((3, 3)), np.empty((3, 3))
    Y, S = np.empty((3, 3)), np.empty((3, 3))
    axial = np.empty(3)
    for e in range(elements.shape[0]):
        lam, mu = stiffness[e, 0], stiffness[e, 1]
        _gradient(y, elements[e], h[e], Y)
        for i in range(3):
            for j in range(3):
                D[i, j] = Z[e, i, j]
            D[i, i] -= dt
        trace_d, trace_y = D[0, 0] + D[1, 1] + D[2, 2], Y[0, 0] + Y[1, 1] + Y[2, 2]
        by_stiffness[e, 0] -= trace_d * trace_y
        for i in range(3):
            for j in range(3):
                by_stiffness[e, 1] -= (D[i, j] + D[j, i]) * Y[i, j]
        _stress(D, lam, mu, P)
        _stress(Y, lam, mu, S)
        for i in range(3):
            j, l = (i + 1) % 3, (i + 2) % 3
            axial[i] = 0.0
            for k in range(3):  # axial vectors of P Y^T and of Z S
                axial[i] += P[j, k] * Y[l, k] - P[l, k] * Y[j, k]
                axial[i] -= Z[e, j, k] * S[k, l] - Z[e, l, k] * S[k, j]
        for i in range(3):
            for j in range(3):
                S[i, j] *= dt
        _subtract_forces(S, elements[e], h[e], out)
        for b in range(4):
            t = elements[e, b]
            for j in range(3):
                out[t, j] -= (
                    G[e, b, 0, j] * axial[0] + G[e, b, 1, j] * axial[1] + G[e, b, 2, j] * axial[2]
                )


@njit
def add_by_stiffness(
    change: np.ndarray,
    elements: np.ndarray,
    h: np.ndarray,
    Z: np.ndarray,
    dt: float,
    out: np.ndarray,
) -> None:
    """Add r of another stiffness to out: r is linear in it.

    Args:
        change: V lambda and V mu of each element, shape (m, 2).
        elements, h, Z, dt: As for `add_by_positions`.
        out: Output, shape (n, 3).
    """
    D, P = np.empty((3, 3)), np.empty((3, 3))
    for e in range(elements.shape[0]):
        lam, mu = change[e, 0], change[e, 1]
        if lam == 0.0 and mu == 0.0:
            continue
        for i in range(3):
            for j in range(3):
                D[i, j] = Z[e, i, j]
            D[i, i] -= dt
        _stress(D, lam, mu, P)
        _subtract_forces(P, elements[e], h[e], out)
