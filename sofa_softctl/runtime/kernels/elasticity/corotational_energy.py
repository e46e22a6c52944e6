"""Corotational linear elasticity as a strain energy of the deformation gradient F = R S.

With the rotation R, the stretch S and Lame's parameters mu and lambda times the point's volume,

    W = mu |F - R|^2 + lambda / 2 (tr S - 3)^2
    P = dW/dF = 2 mu (F - R) + lambda (tr S - 3) R
    H = d2W/dF2 = 2 mu I + lambda r r^T + k sum_mn M_mn t_m t_n^T,  k = lambda (tr S - 3) - 2 mu

where r is the vector of R, t_m that of R [e_m]x, and M the inverse of G = tr(S) I - S: a change D
of F turns R by R [w]x with G w = the axial vector of R^T D - D^T R. For small strains it is linear
elasticity in the rotated frame. A time step takes K, which is H with M = I / 2 and k = -2 mu: the
stiffness in the rotated frame, as in SOFA. It differs from H in proportion to the strain, and is
positive also under compression, where H is not.

An inverted point, det F <= 0, takes the nearest rotation, and in H the G of no stretch: there G can
be singular.

Source: McAdams et al., "Efficient elasticity for character skinning with contact and collisions",
ACM Transactions on Graphics 30 (2011), for W and P; H and the change of K are derived here.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import (
    cofactors,
    determinant,
    rotation_factor,
    set_identity,
)

_NEWTON_TOLERANCE = 1e-17
"""Squared change of R in the last iteration; the next would change it by about this much [-]."""


@njit
def _newton_rotation(F: np.ndarray, R: np.ndarray) -> bool:
    """R = the rotation of F with det F > 0, by Newton's iteration R <- (R + R^-T) / 2.

    Scalars stay in registers: five times faster than `corotational.polar_factor`, which scales each
    iterate for matrices far from a rotation. Returns False after 30 iterations.

    Source: Higham 1986.
    """
    a, b, c = F[0, 0], F[0, 1], F[0, 2]
    d, e, f = F[1, 0], F[1, 1], F[1, 2]
    g, h, i = F[2, 0], F[2, 1], F[2, 2]
    for _ in range(30):
        ca, cb, cc = e * i - f * h, f * g - d * i, d * h - e * g
        cd, ce, cf = c * h - b * i, a * i - c * g, b * g - a * h
        cg, ch, ci = b * f - c * e, c * d - a * f, a * e - b * d
        inverse = 1.0 / (a * ca + b * cb + c * cc)
        da, db, dc = 0.5 * (ca * inverse - a), 0.5 * (cb * inverse - b), 0.5 * (cc * inverse - c)
        dd, de, df = 0.5 * (cd * inverse - d), 0.5 * (ce * inverse - e), 0.5 * (cf * inverse - f)
        dg, dh, di = 0.5 * (cg * inverse - g), 0.5 * (ch * inverse - h), 0.5 * (ci * inverse - i)
        a, b, c = a + da, b + db, c + dc
        d, e, f = d + dd, e + de, f + df
        g, h, i = g + dg, h + dh, i + di
        change = da * da + db * db + dc * dc + dd * dd + de * de + df * df
        change += dg * dg + dh * dh + di * di
        if not change > _NEWTON_TOLERANCE:  # NaN stays visible
            R[0, 0], R[0, 1], R[0, 2] = a, b, c
            R[1, 0], R[1, 1], R[1, 2] = d, e, f
            R[2, 0], R[2, 1], R[2, 2] = g, h, i
            return True
    return False


@njit
def rotate(deformations: np.ndarray, rotations: np.ndarray) -> None:
    """Compute the rotation R of each deformation gradient, both of shape (p, 3, 3)."""
    work = np.empty((3, 3))
    for p in range(deformations.shape[0]):
        F, R = deformations[p], rotations[p]
        if determinant(F) <= 0.0 or not _newton_rotation(F, R):
            rotation_factor(F, R, work)


@njit
def _trace_of_stretch(R: np.ndarray, F: np.ndarray) -> float:
    """Return tr S = R : F."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += R[i, j] * F[i, j]
    return total


@njit
def energies(
    deformations: np.ndarray, rotations: np.ndarray, parameters: np.ndarray, out: np.ndarray
) -> None:
    """out = W of each point.

    Args:
        deformations, rotations: F and R of each point, shape (p, 3, 3).
        parameters: Mu and lambda times volume [energy], shape (p, 2).
        out: Output, shape (p,).
    """
    for p in range(deformations.shape[0]):
        F, R = deformations[p], rotations[p]
        distance = 0.0
        for i in range(3):
            for j in range(3):
                distance += (F[i, j] - R[i, j]) ** 2
        stretch = _trace_of_stretch(R, F) - 3.0
        out[p] = parameters[p, 0] * distance + 0.5 * parameters[p, 1] * stretch * stretch


@njit
def stresses(
    deformations: np.ndarray, rotations: np.ndarray, parameters: np.ndarray, out: np.ndarray
) -> None:
    """out = P of each point, shape (p, 3, 3); arguments as for `energies`."""
    for p in range(deformations.shape[0]):
        F, R, P = deformations[p], rotations[p], out[p]
        mu2 = 2.0 * parameters[p, 0]
        on_R = parameters[p, 1] * (_trace_of_stretch(R, F) - 3.0) - mu2
        for i in range(3):
            for j in range(3):
                P[i, j] = mu2 * F[i, j] + on_R * R[i, j]


@njit
def _turn_stiffness(R: np.ndarray, F: np.ndarray, G: np.ndarray, M: np.ndarray) -> float:
    """G = tr(S) I - S and M = G^-1, both of no stretch if F is inverted; return tr S."""
    trace = _trace_of_stretch(R, F)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += R[k, i] * F[k, j] + R[k, j] * F[k, i]
            G[i, j] = -0.5 * total
        G[i, i] += trace
    det = determinant(G)
    if determinant(F) <= 0.0 or det <= 0.0:
        set_identity(G)
        set_identity(M)
        for i in range(3):
            G[i, i], M[i, i] = 2.0, 0.5
        return trace
    cofactors(G, M)  # G is symmetric
    for i in range(3):
        for j in range(3):
            M[i, j] /= det
    return trace


@njit
def _turn_axes(R: np.ndarray, out: np.ndarray) -> None:
    """out[m] = R [e_m]x."""
    for m in range(3):
        j, k = (m + 1) % 3, (m + 2) % 3
        for i in range(3):
            out[m, i, m] = 0.0
            out[m, i, j] = R[i, k]
            out[m, i, k] = -R[i, j]


@njit
def tangents(
    deformations: np.ndarray,
    rotations: np.ndarray,
    parameters: np.ndarray,
    factor: float,
    is_exact: bool,
    out: np.ndarray,
) -> None:
    """out = factor K of each point, or factor H if it should be exact.

    Args:
        deformations, rotations, parameters: As for `energies`.
        factor: Scale [-].
        is_exact: Take H, the derivative of P, instead of K.
        out: Entries by (i, j) and (k, l) of F, shape (p, 9, 9), symmetric.
    """
    G, M = np.empty((3, 3)), np.empty((3, 3))
    t, s = np.empty((3, 3, 3)), np.empty((3, 3, 3))
    for p in range(deformations.shape[0]):
        F, R, A = deformations[p], rotations[p], out[p]
        mu, lam = factor * parameters[p, 0], factor * parameters[p, 1]
        _turn_axes(R, t)
        if is_exact:
            turn = lam * (_turn_stiffness(R, F, G, M) - 3.0) - 2.0 * mu
            _combine(M, t, turn, s)
        else:
            for m in range(3):
                for i in range(3):
                    for j in range(3):
                        s[m, i, j] = -mu * t[m, i, j]
        for i in range(3):
            for j in range(3):
                row, r = A[3 * i + j], lam * R[i, j]
                t0, t1, t2 = t[0, i, j], t[1, i, j], t[2, i, j]
                for k in range(3):
                    for l in range(3):
                        row[3 * k + l] = (
                            r * R[k, l] + t0 * s[0, k, l] + t1 * s[1, k, l] + t2 * s[2, k, l]
                        )
                row[3 * i + j] += 2.0 * mu


@njit
def _combine(M: np.ndarray, t: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out_m = factor sum_n M_mn t_n."""
    for m in range(3):
        m0, m1, m2 = factor * M[m, 0], factor * M[m, 1], factor * M[m, 2]
        for i in range(3):
            for j in range(3):
                out[m, i, j] = m0 * t[0, i, j] + m1 * t[1, i, j] + m2 * t[2, i, j]


@njit
def add_tangent_rates(
    deformations: np.ndarray,
    rotations: np.ndarray,
    parameters: np.ndarray,
    rates: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out += factor B, with B dF the change of K D as F changes by dF: rank 3, not symmetric.

    K D = R (2 mu sym(E) + lambda tr(E) I) with E = R^T D depends on F by R only.

    Args:
        deformations, rotations, parameters, out: As for `tangents`.
        rates: D of each point, shape (p, 3, 3).
        factor: Scale [-].
    """
    G, M, E, Y = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    t, s, y = np.empty((3, 3, 3)), np.empty((3, 3, 3)), np.empty((3, 3, 3))
    for p in range(deformations.shape[0]):
        R, D, A = rotations[p], rates[p], out[p]
        mu, lam = factor * parameters[p, 0], factor * parameters[p, 1]
        _turn_stiffness(R, deformations[p], G, M)
        _turn_axes(R, t)
        _combine(M, t, 1.0, s)
        for i in range(3):
            for j in range(3):
                E[i, j] = R[0, i] * D[0, j] + R[1, i] * D[1, j] + R[2, i] * D[2, j]
        trace = E[0, 0] + E[1, 1] + E[2, 2]
        for m in range(3):  # Y: change of R^T K D as R turns by the unit vector m
            _turn_response(E, m, mu, lam, trace, Y)
            for i in range(3):
                for j in range(3):
                    y[m, i, j] = R[i, 0] * Y[0, j] + R[i, 1] * Y[1, j] + R[i, 2] * Y[2, j]
        for i in range(3):
            for j in range(3):
                row = A[3 * i + j]
                y0, y1, y2 = y[0, i, j], y[1, i, j], y[2, i, j]
                for k in range(3):
                    for l in range(3):
                        row[3 * k + l] += y0 * s[0, k, l] + y1 * s[1, k, l] + y2 * s[2, k, l]


@njit
def _turn_response(
    E: np.ndarray, axis: int, mu: float, lam: float, trace: float, Y: np.ndarray
) -> None:
    """Y = 2 mu (w sym(E) - sym(w E)) + lambda (tr(E) w - tr(w E) I), w = [e_axis]x."""
    j, k = (axis + 1) % 3, (axis + 2) % 3  # w[j, k] = -1, w[k, j] = 1
    for p in range(3):
        for q in range(3):
            Y[p, q] = 0.0
    for q in range(3):
        turned_j, turned_k = -E[k, q], E[j, q]  # rows j and k of w E
        Y[j, q] += mu * (-E[k, q] - E[q, k]) - mu * turned_j
        Y[k, q] += mu * (E[j, q] + E[q, j]) - mu * turned_k
        Y[q, j] -= mu * turned_j
        Y[q, k] -= mu * turned_k
    Y[j, k] -= lam * trace
    Y[k, j] += lam * trace
    turned_trace = lam * (E[j, k] - E[k, j])
    for i in range(3):
        Y[i, i] -= turned_trace
