"""Hyperelastic energies of the deformation gradient: stress and tangent.

The strain energy W of a material is a function of I1 = tr C, I2 = (I1^2 - tr C^2) / 2 and J = det F
with the deformation gradient F and C = F^T F. With S = I1 F - F C, half the derivative of I2, and
with W12 = W22 = 0 in every material here,

    P = dW/dF = 2 W1 F + 2 W2 S + WJ cof(F)
    H = d2W/dF2 = 4 W11 f f^T + 2 W1J (f k^T + k f^T) + 2 W2J (s k^T + k s^T) + WJJ k k^T
                  + 2 W1 I + 2 W2 dS/dF + WJ dcof/dF

where f, s, k are the vectors of F, S and cof(F). `strain_points` makes forces and the stiffness
matrix of them. Only W itself is divided by J, so only W decides how an inverted element behaves.
Source: Bonet and Wood 2008, chapter 6; the stresses agree with SOFA's materials.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import cofactors

ST_VENANT_KIRCHHOFF, NEO_HOOKEAN, STABLE_NEO_HOOKEAN, MOONEY_RIVLIN, ARRUDA_BOYCE = 0, 1, 2, 3, 4

SLOPES = 12
"""W1, W2, WJ, W11, W1J, W2J, WJJ, W1JJ, W2JJ, WJJJ, W111, W11J of a point, times its volume."""

_CHAINS = (1 / 2, 1 / 160, 11 / 67200, 19 / 3584000, 519 / 2759680000)
"""Arruda and Boyce 1993, as in SOFA, of chains of 8 links: W = mu sum_k c_k (I^k - 3^k) with
I = J^(-2/3) I1."""

CHAINS_AT_REST = sum(2 * k * c * 3.0 ** (k - 1) for k, c in enumerate(_CHAINS, start=1))
"""Shear modulus of ARRUDA_BOYCE at rest for mu = 1."""


@njit
def _energy_density(material: int, parameters: np.ndarray, I1: float, I2: float, J: float) -> float:
    """W, zero at rest: [energy / volume]."""
    if material == ST_VENANT_KIRCHHOFF:
        mu, lam = parameters[0], parameters[1]
        return lam / 8.0 * (I1 - 3.0) ** 2 + mu / 4.0 * (I1 * I1 - 2.0 * I2 - 2.0 * I1 + 3.0)
    if material == NEO_HOOKEAN:
        mu, lam = parameters[0], parameters[1]
        return mu / 2.0 * (I1 - 3.0) - mu * np.log(J) + lam / 2.0 * np.log(J) ** 2
    if material == STABLE_NEO_HOOKEAN:
        mu, lam = parameters[0], parameters[1]
        return mu / 2.0 * (I1 - 3.0) - mu * (J - 1.0) + (lam + mu) / 2.0 * (J - 1.0) ** 2
    scale = J ** (-2.0 / 3.0)
    if material == ARRUDA_BOYCE:
        mu, bulk = parameters[0], parameters[1]
        chains = 0.0
        for k in range(5):
            chains += _CHAINS[k] * ((scale * I1) ** (k + 1) - 3.0 ** (k + 1))
        return mu * chains + bulk / 2.0 * np.log(J) ** 2
    c1, c2, bulk = parameters[0], parameters[1], parameters[2]
    return c1 * (scale * I1 - 3.0) + c2 * (scale * scale * I2 - 3.0) + bulk / 2.0 * np.log(J) ** 2


@njit
def _slopes(
    material: int, parameters: np.ndarray, I1: float, I2: float, J: float, w: np.ndarray
) -> None:
    """w = the derivatives of W in the order of SLOPES."""
    for i in range(SLOPES):
        w[i] = 0.0
    if material == ST_VENANT_KIRCHHOFF:
        mu, lam = parameters[0], parameters[1]
        w[0] = lam / 4.0 * (I1 - 3.0) + mu / 2.0 * (I1 - 1.0)
        w[1] = -mu / 2.0
        w[3] = lam / 4.0 + mu / 2.0
    elif material == NEO_HOOKEAN:
        mu, lam = parameters[0], parameters[1]
        w[0] = mu / 2.0
        w[2] = (lam * np.log(J) - mu) / J
        w[6] = (lam - lam * np.log(J) + mu) / (J * J)
        w[9] = (2.0 * lam * np.log(J) - 3.0 * lam - 2.0 * mu) / (J * J * J)
    elif material == STABLE_NEO_HOOKEAN:
        mu, lam = parameters[0], parameters[1]
        w[0] = mu / 2.0
        w[2] = (lam + mu) * (J - 1.0) - mu
        w[6] = lam + mu
    elif material == ARRUDA_BOYCE:
        _slopes_of_chains(parameters[0], parameters[1], I1, J, w)
    else:
        c1, c2, bulk = parameters[0], parameters[1], parameters[2]
        scale = J ** (-2.0 / 3.0)
        w[0] = c1 * scale
        w[1] = c2 * scale * scale
        w[4] = -2.0 / 3.0 * w[0] / J
        w[5] = -4.0 / 3.0 * w[1] / J
        w[7] = -5.0 / 3.0 * w[4] / J
        w[8] = -7.0 / 3.0 * w[5] / J
        w[2] = w[4] * I1 + w[5] * I2 + bulk * np.log(J) / J
        w[6] = w[7] * I1 + w[8] * I2 + bulk * (1.0 - np.log(J)) / (J * J)
        w[9] = -(8.0 * w[7] * I1 + 10.0 * w[8] * I2) / (3.0 * J)
        w[9] += bulk * (2.0 * np.log(J) - 3.0) / (J * J * J)


@njit
def _slopes_of_chains(mu: float, bulk: float, I1: float, J: float, w: np.ndarray) -> None:
    """Compute the slopes of ARRUDA_BOYCE by p' = dp/dI of p = sum_k c_k I^k, and q = p' I."""
    scale = J ** (-2.0 / 3.0)
    I = scale * I1  # noqa: E741
    p1 = p2 = p3 = 0.0
    for k in range(5, 0, -1):
        p1 = p1 * I + k * _CHAINS[k - 1]
        if k > 1:
            p2 = p2 * I + k * (k - 1) * _CHAINS[k - 1]
        if k > 2:
            p3 = p3 * I + k * (k - 1) * (k - 2) * _CHAINS[k - 1]
    q, q1, q2 = p1 * I, p2 * I + p1, p3 * I + 2.0 * p2
    by_J, third = mu / J, 2.0 / 3.0
    w[0] = mu * scale * p1
    w[3] = mu * scale * scale * p2
    w[10] = mu * scale * scale * scale * p3
    w[2] = -third * by_J * q + bulk * np.log(J) / J
    w[4] = -third * by_J * scale * q1
    w[11] = -third * by_J * scale * scale * q2
    w[6] = third * by_J / J * (third * q1 * I + q) + bulk * (1.0 - np.log(J)) / (J * J)
    w[7] = third * by_J / J * scale * (5.0 / 3.0 * q1 + third * q2 * I)
    turned = third * (third * q2 * I + 5.0 / 3.0 * q1) * I  # -J dr/dJ of r = 2/3 q' I + q
    w[9] = -third * by_J / (J * J) * (2.0 * (third * q1 * I + q) + turned)
    w[9] += bulk * (2.0 * np.log(J) - 3.0) / (J * J * J)


@njit
def _invariants(F: np.ndarray, cof: np.ndarray) -> tuple[float, float, float]:
    """I1, I2 and J; I2 = tr(C)^2/2 - tr(C^2)/2 is the squared norm of the cofactors."""
    cofactors(F, cof)
    I1 = I2 = 0.0
    for i in range(3):
        for j in range(3):
            I1 += F[i, j] * F[i, j]
            I2 += cof[i, j] * cof[i, j]
    return I1, I2, F[0, 0] * cof[0, 0] + F[0, 1] * cof[0, 1] + F[0, 2] * cof[0, 2]


@njit
def energies(
    deformations: np.ndarray, material: int, parameters: np.ndarray, out: np.ndarray
) -> None:
    """out = W of each point, zero at rest.

    Args:
        deformations: F of each point, shape (p, 3, 3).
        material: ST_VENANT_KIRCHHOFF, NEO_HOOKEAN, STABLE_NEO_HOOKEAN, MOONEY_RIVLIN or
            ARRUDA_BOYCE.
        parameters: mu and lambda, c1, c2 and k of MOONEY_RIVLIN, or mu and k of ARRUDA_BOYCE,
            times the volume of each point [energy], shape (p, 2) or (p, 3). W is linear in them.
        out: Output, shape (p,).
    """
    cof = np.empty((3, 3))
    for p in range(deformations.shape[0]):
        I1, I2, J = _invariants(deformations[p], cof)
        out[p] = _energy_density(material, parameters[p], I1, I2, J)


@njit
def slopes(
    deformations: np.ndarray, material: int, parameters: np.ndarray, out: np.ndarray
) -> None:
    """out = derivatives of W at each point in the order of SLOPES, shape (p, 12).

    Args:
        deformations, material, parameters: As for `energies`.
        out: Output, shape (p, 12).
    """
    cof = np.empty((3, 3))
    for p in range(deformations.shape[0]):
        I1, I2, J = _invariants(deformations[p], cof)
        _slopes(material, parameters[p], I1, I2, J, out[p])


@njit
def stresses(deformations: np.ndarray, slopes: np.ndarray, out: np.ndarray) -> None:
    """out = P = 2 W1 F + 2 W2 (I1 F - F C) + WJ cof(F) of each point.

    Args:
        deformations: F of each point, shape (p, 3, 3).
        slopes: From `slopes`, shape (p, 12).
        out: Output, shape (p, 3, 3).
    """
    cof, second = np.empty((3, 3)), np.empty((3, 3))
    for p in range(deformations.shape[0]):
        F, w, P = deformations[p], slopes[p], out[p]
        cofactors(F, cof)
        half_I2_gradient(F, second)
        for i in range(3):
            for j in range(3):
                P[i, j] = 2.0 * (w[0] * F[i, j] + w[1] * second[i, j]) + w[2] * cof[i, j]


@njit
def half_I2_gradient(F: np.ndarray, out: np.ndarray) -> None:
    """out = I1 F - F C = (I1 - F F^T) F."""
    b00 = F[0, 0] * F[0, 0] + F[0, 1] * F[0, 1] + F[0, 2] * F[0, 2]
    b11 = F[1, 0] * F[1, 0] + F[1, 1] * F[1, 1] + F[1, 2] * F[1, 2]
    b22 = F[2, 0] * F[2, 0] + F[2, 1] * F[2, 1] + F[2, 2] * F[2, 2]
    b01 = F[0, 0] * F[1, 0] + F[0, 1] * F[1, 1] + F[0, 2] * F[1, 2]
    b02 = F[0, 0] * F[2, 0] + F[0, 1] * F[2, 1] + F[0, 2] * F[2, 2]
    b12 = F[1, 0] * F[2, 0] + F[1, 1] * F[2, 1] + F[1, 2] * F[2, 2]
    for j in range(3):
        out[0, j] = (b11 + b22) * F[0, j] - b01 * F[1, j] - b02 * F[2, j]
        out[1, j] = (b00 + b22) * F[1, j] - b01 * F[0, j] - b12 * F[2, j]
        out[2, j] = (b00 + b11) * F[2, j] - b02 * F[0, j] - b12 * F[1, j]


@njit
def tangents(deformations: np.ndarray, slopes: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out = factor H of each point.

    Args:
        deformations, slopes: As for `stresses`.
        factor: Scale [-].
        out: Entries by (i, j) and (k, l) of F, shape (p, 9, 9), symmetric.
    """
    cof, S = np.empty((3, 3)), np.empty((3, 3))
    C, B = np.empty((3, 3)), np.empty((3, 3))
    on_f, on_k = np.empty((3, 3)), np.empty((3, 3))
    for p in range(deformations.shape[0]):
        F, A = deformations[p], out[p]
        w0, w1, w2 = factor * slopes[p, 0], factor * slopes[p, 1], factor * slopes[p, 2]
        w3, w4 = factor * slopes[p, 3], factor * slopes[p, 4]
        w5, w6 = factor * slopes[p, 5], factor * slopes[p, 6]
        cofactors(F, cof)
        has_I2 = w1 != 0.0 or w5 != 0.0
        if has_I2:
            half_I2_gradient(F, S)
            squares(F, C, B)
        for i in range(3):
            for j in range(3):
                on_f[i, j] = 4.0 * (w3 + w1) * F[i, j] + 2.0 * w4 * cof[i, j]
                on_k[i, j] = 2.0 * w4 * F[i, j] + w6 * cof[i, j]
                if has_I2:
                    on_k[i, j] += 2.0 * w5 * S[i, j]
        for i in range(3):
            for j in range(3):
                row, f, k = A[3 * i + j], F[i, j], cof[i, j]
                for l in range(3):
                    for m in range(3):
                        row[3 * l + m] = f * on_f[l, m] + k * on_k[l, m]
                row[3 * i + j] += 2.0 * w0
                if has_I2:
                    s = 2.0 * w5 * S[i, j]
                    for l in range(3):
                        for m in range(3):
                            row[3 * l + m] += s * cof[l, m] - 2.0 * w1 * F[i, m] * F[l, j]
                        row[3 * i + l] -= 2.0 * w1 * C[l, j]
                        row[3 * l + j] -= 2.0 * w1 * B[i, l]
                    row[3 * i + j] += 2.0 * w1 * (C[0, 0] + C[1, 1] + C[2, 2])
        add_cofactor_derivative(F, w2, A)


@njit
def squares(F: np.ndarray, C: np.ndarray, B: np.ndarray) -> None:
    """C = F^T F and B = F F^T."""
    for i in range(3):
        for j in range(3):
            C[i, j] = F[0, i] * F[0, j] + F[1, i] * F[1, j] + F[2, i] * F[2, j]
            B[i, j] = F[i, 0] * F[j, 0] + F[i, 1] * F[j, 1] + F[i, 2] * F[j, 2]


@njit
def add_cofactor_derivative(F: np.ndarray, factor: float, A: np.ndarray) -> None:
    """A += factor d cof(F)/dF, shape (9, 9)."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for p in range(3):
            q, r = (p + 1) % 3, (p + 2) % 3
            row = A[3 * i + p]
            row[3 * j + q] += factor * F[k, r]
            row[3 * k + r] += factor * F[j, q]
            row[3 * j + r] -= factor * F[k, q]
            row[3 * k + q] -= factor * F[j, r]
