"""Derivatives of a hyperelastic time step by positions and by parameters of the material.

A step of linearly implicit Euler has, of the elasticity, the residual

    r_a = -V (h P(F) + c dP(F)[D]) g_a,   c = h (h + beta),

with P, F and g_a as in `hyperelastic` and D the gradient of w, the velocity at the end of the step.
For positions that change by the gradient X it changes by -V A[X] g_a with

    A = h H + c T,   H = d2W/dF2,   T = dH in the direction of D: the third derivative of W with D,

both symmetric, 9 x 9. With f, s, k the vectors of F, S = I1 F - F C and cof F, and with the slopes
of W that are not zero in any material here (W12 = W22 = 0),

    H = 4 W11 f f^T + 2 W1J (f k^T + k f^T) + 2 W2J (s k^T + k s^T) + WJJ k k^T
        + 2 W1 I + 2 W2 dS/dF + WJ dcof/dF

and T follows by the product rule. W, and with it r, is linear in the material's parameters.
Source: derived here from Bonet and Wood 2008, chapter 6.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import cofactors

INVARIANTS = 7
"""Numbers of an element by which its share of y . r is linear in the slopes W1 to WJJ."""


@njit
def _gradient(u: np.ndarray, element: np.ndarray, g: np.ndarray, out: np.ndarray) -> None:
    """out = sum_a u_a g_a^T, from edges."""
    a, b, c, d = element[0], element[1], element[2], element[3]
    for i in range(3):
        u1, u2, u3 = u[b, i] - u[a, i], u[c, i] - u[a, i], u[d, i] - u[a, i]
        for j in range(3):
            out[i, j] = u1 * g[1, j] + u2 * g[2, j] + u3 * g[3, j]


@njit
def _take_off(P: np.ndarray, element: np.ndarray, g: np.ndarray, out: np.ndarray) -> None:
    """out_a -= P g_a."""
    for a in range(4):
        t = element[a]
        for i in range(3):
            out[t, i] -= P[i, 0] * g[a, 0] + P[i, 1] * g[a, 1] + P[i, 2] * g[a, 2]


@njit
def _cofactors_change(m: np.ndarray, d: np.ndarray, out: np.ndarray) -> None:
    """out = how the cofactors of m change with m by d."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for p in range(3):
            q, r = (p + 1) % 3, (p + 2) % 3
            out[i, p] = d[j, q] * m[k, r] + m[j, q] * d[k, r]
            out[i, p] -= d[j, r] * m[k, q] + m[j, r] * d[k, q]


@njit
def _product(F: np.ndarray, D: np.ndarray) -> float:
    """F : D."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += F[i, j] * D[i, j]
    return total


@njit
def _squares(F: np.ndarray, C: np.ndarray, B: np.ndarray) -> None:
    """C = F^T F and B = F F^T."""
    for i in range(3):
        for j in range(3):
            C[i, j] = F[0, i] * F[0, j] + F[1, i] * F[1, j] + F[2, i] * F[2, j]
            B[i, j] = F[i, 0] * F[j, 0] + F[i, 1] * F[j, 1] + F[i, 2] * F[j, 2]


@njit
def _squares_change(F: np.ndarray, D: np.ndarray, C: np.ndarray, B: np.ndarray) -> None:
    """C = F^T D + D^T F and B = F D^T + D F^T."""
    for i in range(3):
        for j in range(3):
            C[i, j] = B[i, j] = 0.0
            for k in range(3):
                C[i, j] += F[k, i] * D[k, j] + D[k, i] * F[k, j]
                B[i, j] += F[i, k] * D[j, k] + D[i, k] * F[j, k]


@njit
def _half_I2_gradient(F: np.ndarray, C: np.ndarray, I1: float, out: np.ndarray) -> None:
    """out = S = I1 F - F C."""
    for i in range(3):
        for j in range(3):
            out[i, j] = I1 * F[i, j]
            out[i, j] -= F[i, 0] * C[0, j] + F[i, 1] * C[1, j] + F[i, 2] * C[2, j]


@njit
def _half_I2_change(
    F: np.ndarray, D: np.ndarray, C: np.ndarray, dC: np.ndarray, I1: float, out: np.ndarray
) -> None:
    """out = how S changes with F by D: 2 (F : D) F + I1 D - D C - F dC."""
    d1 = 2.0 * _product(F, D)
    for i in range(3):
        for j in range(3):
            out[i, j] = d1 * F[i, j] + I1 * D[i, j]
            for k in range(3):
                out[i, j] -= D[i, k] * C[k, j] + F[i, k] * dC[k, j]


@njit
def gradients(u: np.ndarray, elements: np.ndarray, g: np.ndarray, out: np.ndarray) -> None:
    """out = gradient of u in each element.

    Args:
        u: Velocities or displacements, shape (n, 3).
        elements, g: Tetrahedra and gradients of their shape functions, (m, 4) and (m, 4, 3).
        out: Shape (m, 3, 3).
    """
    for e in range(elements.shape[0]):
        _gradient(u, elements[e], g[e], out[e])


@njit
def tensors(
    deformations: np.ndarray,
    slopes: np.ndarray,
    rates: np.ndarray,
    h: float,
    c: float,
    out: np.ndarray,
) -> None:
    """out = V A of each element, A = h H + c T.

    Args:
        deformations, slopes: From `hyperelastic.deform`, shapes (m, 3, 3) and (m, 12).
        rates: Gradient D of w, shape (m, 3, 3) [1/time].
        h, c: Length of the step [time], and h (h + beta).
        out: Entries by (i, j) and (k, l) of F, shape (m, 9, 9), symmetric.
    """
    cof, dcof, S, dS = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    C, B, dC, dB = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    rows = np.empty((6, 3, 3))
    for e in range(deformations.shape[0]):
        F, D, w, A = deformations[e], rates[e], slopes[e], out[e]
        W1, W2, WJ, W11, W1J, W2J, WJJ = w[0], w[1], w[2], w[3], w[4], w[5], w[6]
        cofactors(F, cof)
        _cofactors_change(F, D, dcof)
        _squares(F, C, B)
        _squares_change(F, D, dC, dB)
        I1 = C[0, 0] + C[1, 1] + C[2, 2]
        _half_I2_gradient(F, C, I1, S)
        _half_I2_change(F, D, C, dC, I1, dS)
        d1, d2, dJ = 2.0 * _product(F, D), 2.0 * _product(S, D), _product(cof, D)
        c1, c2 = c * (W11 * d1 + W1J * dJ), c * W2J * dJ  # c times the changes of W1 and W2
        cJ = c * (W1J * d1 + W2J * d2 + WJJ * dJ)
        on_ff = 4.0 * (h * W11 + c * (w[10] * d1 + w[11] * dJ))
        on_fk = 2.0 * (h * W1J + c * (w[11] * d1 + w[7] * dJ))
        on_sk = 2.0 * (h * W2J + c * w[8] * dJ)
        on_kk = h * WJJ + c * (w[7] * d1 + w[8] * d2 + w[9] * dJ)
        on_S, on_dS = 2.0 * (h * W2 + c2), 2.0 * c * W2
        on_cof, on_dcof = h * WJ + cJ, c * WJ
        on_I = 2.0 * (h * W1 + c1) + on_S * I1 + on_dS * d1
        for i in range(3):
            for j in range(3):  # A = f rows0^T + k rows1^T + d rows2^T + s rows3^T + ...
                f, d, k, dk = F[i, j], D[i, j], cof[i, j], dcof[i, j]
                s, ds = S[i, j], dS[i, j]
                on_df = 4.0 * c * W11 + 2.0 * on_dS
                rows[0, i, j] = (on_ff + 2.0 * on_S) * f + on_df * d
                rows[0, i, j] += on_fk * k + 2.0 * c * W1J * dk
                rows[1, i, j] = on_fk * f + on_sk * s + on_kk * k
                rows[1, i, j] += c * (2.0 * W1J * d + 2.0 * W2J * ds + WJJ * dk)
                rows[2, i, j] = on_df * f + 2.0 * c * W1J * k
                rows[3, i, j] = on_sk * k + 2.0 * c * W2J * dk
                rows[4, i, j] = c * (2.0 * W1J * f + 2.0 * W2J * s + WJJ * k)
                rows[5, i, j] = 2.0 * c * W2J * k
        for i in range(3):
            for j in range(3):
                f, d, k, dk = F[i, j], D[i, j], cof[i, j], dcof[i, j]
                s, ds = S[i, j], dS[i, j]
                for p in range(3):
                    for q in range(3):
                        A[3 * i + j, 3 * p + q] = (
                            f * rows[0, p, q]
                            + k * rows[1, p, q]
                            + d * rows[2, p, q]
                            + s * rows[3, p, q]
                            + dk * rows[4, p, q]
                            + ds * rows[5, p, q]
                            - on_S * F[i, q] * F[p, j]
                            - on_dS * (D[i, q] * F[p, j] + F[i, q] * D[p, j])
                        )
                for p in range(3):
                    A[3 * i + j, 3 * i + p] -= on_S * C[p, j] + on_dS * dC[p, j]
                    A[3 * i + j, 3 * p + j] -= on_S * B[i, p] + on_dS * dB[i, p]
                A[3 * i + j, 3 * i + j] += on_I
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for p in range(3):
                q, r = (p + 1) % 3, (p + 2) % 3
                row = A[3 * i + p]
                row[3 * j + q] += on_cof * F[k, r] + on_dcof * D[k, r]
                row[3 * k + r] += on_cof * F[j, q] + on_dcof * D[j, q]
                row[3 * j + r] -= on_cof * F[k, q] + on_dcof * D[k, q]
                row[3 * k + q] -= on_cof * F[j, r] + on_dcof * D[j, r]


@njit
def add_by_positions(
    dx: np.ndarray, elements: np.ndarray, g: np.ndarray, A: np.ndarray, out: np.ndarray
) -> None:
    """out += dr/dx dx, symmetric in dx.

    Args:
        dx: Directions, shape (p, n, 3).
        elements, g: As for `gradients`.
        A: From `tensors`, shape (m, 9, 9).
        out: Output, shape (p, n, 3).
    """
    X, P = np.empty((3, 3)), np.empty((3, 3))
    for number in range(dx.shape[0]):
        for e in range(elements.shape[0]):
            _gradient(dx[number], elements[e], g[e], X)
            for i in range(3):
                for j in range(3):
                    row, total = A[e, 3 * i + j], 0.0
                    for p in range(3):
                        for q in range(3):
                            total += row[3 * p + q] * X[p, q]
                    P[i, j] = total
            _take_off(P, elements[e], g[e], out[number])


@njit
def invariants(
    y: np.ndarray,
    elements: np.ndarray,
    g: np.ndarray,
    deformations: np.ndarray,
    rates: np.ndarray,
    h: float,
    c: float,
    out: np.ndarray,
) -> None:
    """Numbers t of each element with y . r = -t . (W1, W2, WJ, W11, W1J, W2J, WJJ) V.

    Args:
        y: Shape (n, 3).
        elements, g, deformations, rates, h, c: As for `tensors`.
        out: Shape (m, 7).
    """
    cof, dcof, S, dS = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    C, B, dC, dB = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    Y = np.empty((3, 3))
    for e in range(elements.shape[0]):
        F, D, t = deformations[e], rates[e], out[e]
        _gradient(y, elements[e], g[e], Y)
        cofactors(F, cof)
        _cofactors_change(F, D, dcof)
        _squares(F, C, B)
        _squares_change(F, D, dC, dB)
        I1 = C[0, 0] + C[1, 1] + C[2, 2]
        _half_I2_gradient(F, C, I1, S)
        _half_I2_change(F, D, C, dC, I1, dS)
        d1, d2, dJ = 2.0 * _product(F, D), 2.0 * _product(S, D), _product(cof, D)
        y1, y2, yJ = 2.0 * _product(F, Y), 2.0 * _product(S, Y), _product(cof, Y)
        t[0] = h * y1 + 2.0 * c * _product(D, Y)
        t[1] = h * y2 + 2.0 * c * _product(dS, Y)
        t[2] = h * yJ + c * _product(dcof, Y)
        t[3] = c * d1 * y1
        t[4] = c * (d1 * yJ + dJ * y1)
        t[5] = c * (d2 * yJ + dJ * y2)
        t[6] = c * dJ * yJ


@njit
def add_residual(
    elements: np.ndarray,
    g: np.ndarray,
    deformations: np.ndarray,
    slopes: np.ndarray,
    rates: np.ndarray,
    h: float,
    c: float,
    out: np.ndarray,
) -> None:
    """out += r of a material with these slopes.

    Args:
        elements, g, deformations, slopes, rates, h, c: As for `tensors`.
        out: Output, shape (n, 3).
    """
    cof, dcof, S, dS = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    C, B, dC, dB = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    P = np.empty((3, 3))
    for e in range(elements.shape[0]):
        F, D, w = deformations[e], rates[e], slopes[e]
        cofactors(F, cof)
        _cofactors_change(F, D, dcof)
        _squares(F, C, B)
        _squares_change(F, D, dC, dB)
        I1 = C[0, 0] + C[1, 1] + C[2, 2]
        _half_I2_gradient(F, C, I1, S)
        _half_I2_change(F, D, C, dC, I1, dS)
        d1, d2, dJ = 2.0 * _product(F, D), 2.0 * _product(S, D), _product(cof, D)
        on_F = 2.0 * (h * w[0] + c * (w[3] * d1 + w[4] * dJ))
        on_S = 2.0 * (h * w[1] + c * w[5] * dJ)
        on_cof = h * w[2] + c * (w[4] * d1 + w[5] * d2 + w[6] * dJ)
        for i in range(3):
            for j in range(3):
                P[i, j] = on_F * F[i, j] + on_S * S[i, j] + on_cof * cof[i, j]
                P[i, j] += c * (2.0 * w[0] * D[i, j] + 2.0 * w[1] * dS[i, j] + w[2] * dcof[i, j])
        _take_off(P, elements[e], g[e], out)
