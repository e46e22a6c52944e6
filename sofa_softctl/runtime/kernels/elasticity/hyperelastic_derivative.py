"""Change of a hyperelastic tangent with the deformation gradient: the third derivative of W.

With F, H and the slopes of W as in `hyperelastic`, T = dH in the direction D follows from the
product rule. It is the derivative of a time step by positions; see `StepTerm`.
Source: derived here from Bonet and Wood 2008, chapter 6.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import cofactors
from sofa_softctl.runtime.kernels.elasticity.hyperelastic import (
    add_cofactor_derivative,
    half_I2_gradient,
    squares,
)


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
def _squares_change(F: np.ndarray, D: np.ndarray, C: np.ndarray, B: np.ndarray) -> None:
    """C = F^T D + D^T F and B = F D^T + D F^T."""
    for i in range(3):
        for j in range(3):
            C[i, j] = B[i, j] = 0.0
            for k in range(3):
                C[i, j] += F[k, i] * D[k, j] + D[k, i] * F[k, j]
                B[i, j] += F[i, k] * D[j, k] + D[i, k] * F[j, k]


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
def add_tangent_rates(
    deformations: np.ndarray, slopes: np.ndarray, rates: np.ndarray, factor: float, out: np.ndarray
) -> None:
    """out += factor T of each point.

    Args:
        deformations, slopes: As for `hyperelastic.tangents`.
        rates: D of each point, shape (p, 3, 3).
        factor: Scale [-].
        out: Entries by (i, j) and (k, l) of F, shape (p, 9, 9), symmetric.
    """
    cof, dcof, S, dS = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    C, B, dC, dB = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    rows = np.empty((6, 3, 3))
    for number in range(deformations.shape[0]):
        F, D, w, A = deformations[number], rates[number], slopes[number], out[number]
        W2, WJ, W11, W1J, W2J, WJJ = w[1], w[2], w[3], w[4], w[5], w[6]
        cofactors(F, cof)
        _cofactors_change(F, D, dcof)
        squares(F, C, B)
        _squares_change(F, D, dC, dB)
        I1 = C[0, 0] + C[1, 1] + C[2, 2]
        half_I2_gradient(F, S)
        _half_I2_change(F, D, C, dC, I1, dS)
        d1, d2, dJ = 2.0 * _product(F, D), 2.0 * _product(S, D), _product(cof, D)
        c1, c2 = factor * (W11 * d1 + W1J * dJ), factor * W2J * dJ  # changes of W1 and W2
        cJ = factor * (W1J * d1 + W2J * d2 + WJJ * dJ)
        on_ff = 4.0 * factor * (w[10] * d1 + w[11] * dJ)
        on_fk = 2.0 * factor * (w[11] * d1 + w[7] * dJ)
        on_sk = 2.0 * factor * w[8] * dJ
        on_kk = factor * (w[7] * d1 + w[8] * d2 + w[9] * dJ)
        on_S, on_dS = 2.0 * c2, 2.0 * factor * W2
        on_I = 2.0 * c1 + on_S * I1 + on_dS * d1
        for i in range(3):
            for j in range(3):  # T = f rows0^T + k rows1^T + d rows2^T + s rows3^T + ...
                f, d, k, dk = F[i, j], D[i, j], cof[i, j], dcof[i, j]
                s, ds = S[i, j], dS[i, j]
                on_df = 4.0 * factor * W11 + 2.0 * on_dS
                rows[0, i, j] = (on_ff + 2.0 * on_S) * f + on_df * d
                rows[0, i, j] += on_fk * k + 2.0 * factor * W1J * dk
                rows[1, i, j] = on_fk * f + on_sk * s + on_kk * k
                rows[1, i, j] += factor * (2.0 * W1J * d + 2.0 * W2J * ds + WJJ * dk)
                rows[2, i, j] = on_df * f + 2.0 * factor * W1J * k
                rows[3, i, j] = on_sk * k + 2.0 * factor * W2J * dk
                rows[4, i, j] = factor * (2.0 * W1J * f + 2.0 * W2J * s + WJJ * k)
                rows[5, i, j] = 2.0 * factor * W2J * k
        for i in range(3):
            for j in range(3):
                f, d, k, dk = F[i, j], D[i, j], cof[i, j], dcof[i, j]
                s, ds = S[i, j], dS[i, j]
                row = A[3 * i + j]
                for p in range(3):
                    for q in range(3):
                        row[3 * p + q] += (
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
                    row[3 * i + p] -= on_S * C[p, j] + on_dS * dC[p, j]
                    row[3 * p + j] -= on_S * B[i, p] + on_dS * dB[i, p]
                row[3 * i + j] += on_I
        add_cofactor_derivative(F, cJ, A)
        add_cofactor_derivative(D, factor * WJ, A)
