"""Hyperelastic tetrahedra: forces, stiffness products, the stiffness matrix and the energy.

The strain energy W of a material is a function of I1 = tr C, I2 = (I1^2 - tr C^2) / 2 and J = det F
with the deformation gradient F and C = F^T F. Node a of an element, with the gradient g_a of its
shape function at rest and the volume V, then has a force by three vectors, half the derivatives
of I1 and I2 and the derivative of J by x_a:

    p_a = F g_a,  q_a = (I1 F - F C) g_a,  c_a = cof(F) g_a
    f_a = -V (2 W1 p_a + 2 W2 q_a + WJ c_a)

and the stiffness between nodes a and b is exact, with W12 = W22 = 0 in every material here:

    K_ab = -df_a/dx_b = V (4 W11 p_a p_b^T + 2 W1J (p_a c_b^T + c_a p_b^T)
                           + 2 W2J (q_a c_b^T + c_a q_b^T) + WJJ c_a c_b^T
                           + 2 W1 dp_a/dx_b + 2 W2 dq_a/dx_b + WJ dc_a/dx_b)
    dp_a/dx_b = (g_a . g_b) I
    dq_a/dx_b = 2 p_a p_b^T - p_b p_a^T + (I1 g_a . g_b - p_a . p_b) I - (g_a . g_b) F F^T
    dc_a/dx_b = -[F (g_a x g_b)], the matrix of the cross product

Only W itself is divided by J, so only W decides how an inverted element behaves.
Source: Bonet and Wood 2008, chapter 6; the stresses agree with SOFA's materials.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import cofactors

ST_VENANT_KIRCHHOFF, NEO_HOOKEAN, STABLE_NEO_HOOKEAN, MOONEY_RIVLIN, ARRUDA_BOYCE = 0, 1, 2, 3, 4

SLOPES = 12
"""W1, W2, WJ, W11, W1J, W2J, WJJ, W1JJ, W2JJ, WJJJ, W111, W11J of an element, times its volume."""

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
def _deformation(x: np.ndarray, element: np.ndarray, g: np.ndarray, F: np.ndarray) -> None:
    """F = sum_a x_a g_a^T, from edges so that far from the origin nothing cancels."""
    for i in range(3):
        u1 = x[element[1], i] - x[element[0], i]
        u2 = x[element[2], i] - x[element[0], i]
        u3 = x[element[3], i] - x[element[0], i]
        for j in range(3):
            F[i, j] = u1 * g[1, j] + u2 * g[2, j] + u3 * g[3, j]


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
def energy(
    x: np.ndarray,
    elements: np.ndarray,
    gradients: np.ndarray,
    volumes: np.ndarray,
    material: int,
    parameters: np.ndarray,
) -> float:
    """Elastic energy of the whole body at x, zero at rest.

    Args:
        x: Positions, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        gradients, volumes: g_a and V at rest, shapes (m, 4, 3) and (m,).
        material: ST_VENANT_KIRCHHOFF, NEO_HOOKEAN, STABLE_NEO_HOOKEAN, MOONEY_RIVLIN or
            ARRUDA_BOYCE.
        parameters: mu and lambda, c1, c2 and k of MOONEY_RIVLIN, or mu and k of ARRUDA_BOYCE, of
            each element [pressure], shape (m, 2) or (m, 3). W is linear in them.
    """
    F, cof = np.empty((3, 3)), np.empty((3, 3))
    total = 0.0
    for e in range(elements.shape[0]):
        _deformation(x, elements[e], gradients[e], F)
        I1, I2, J = _invariants(F, cof)
        total += volumes[e] * _energy_density(material, parameters[e], I1, I2, J)
    return total


@njit
def deform(
    x: np.ndarray,
    elements: np.ndarray,
    gradients: np.ndarray,
    volumes: np.ndarray,
    material: int,
    parameters: np.ndarray,
    deformations: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Deformation gradient F of each element at x, and V times the derivatives of W there.

    Args:
        x, elements, gradients, volumes, material, parameters: As for `energy`.
        deformations: Output F, shape (m, 3, 3).
        slopes: Output, in the order of SLOPES, shape (m, 12).
    """
    cof = np.empty((3, 3))
    for e in range(elements.shape[0]):
        _deformation(x, elements[e], gradients[e], deformations[e])
        I1, I2, J = _invariants(deformations[e], cof)
        _slopes(material, parameters[e], I1, I2, J, slopes[e])
        for i in range(SLOPES):
            slopes[e, i] *= volumes[e]


@njit
def add_force(
    elements: np.ndarray,
    gradients: np.ndarray,
    deformations: np.ndarray,
    slopes: np.ndarray,
    force: np.ndarray,
) -> None:
    """force_a -= V P g_a with P = 2 W1 F + 2 W2 (I1 F - F C) + WJ cof(F).

    Args:
        elements, gradients: As for `energy`.
        deformations, slopes: From `deform`.
        force: Output, shape (n, 3).
    """
    cof, second, P = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for e in range(elements.shape[0]):
        F, w = deformations[e], slopes[e]
        cofactors(F, cof)
        _half_I2_gradient(F, second)
        for i in range(3):
            for j in range(3):
                P[i, j] = -2.0 * (w[0] * F[i, j] + w[1] * second[i, j]) - w[2] * cof[i, j]
        _add_stress(elements[e], P, gradients[e], force)


@njit
def _half_I2_gradient(F: np.ndarray, out: np.ndarray) -> None:
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
def _add_stress(element: np.ndarray, P: np.ndarray, g: np.ndarray, out: np.ndarray) -> None:
    """out_a += P g_a."""
    for a in range(4):
        t = element[a]
        for i in range(3):
            out[t, i] += P[i, 0] * g[a, 0] + P[i, 1] * g[a, 1] + P[i, 2] * g[a, 2]


@njit
def add_product(
    v: np.ndarray,
    elements: np.ndarray,
    gradients: np.ndarray,
    deformations: np.ndarray,
    slopes: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out += factor K v: the change of P along the deformation gradient D of v.

    Args:
        v: Velocities or displacements, shape (n, 3).
        elements, gradients, deformations, slopes: As for `add_force`.
        factor: Scale of the product [-].
        out: Output, shape (n, 3).
    """
    cof, second, D = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    P, FFT, FDT = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for e in range(elements.shape[0]):
        F, w = deformations[e], slopes[e]
        _deformation(v, elements[e], gradients[e], D)
        cofactors(F, cof)
        _half_I2_gradient(F, second)
        I1 = d1 = d2 = dJ = 0.0  # I1, and the changes of I1 / 2, I2 / 2 and J
        for i in range(3):
            for j in range(3):
                I1 += F[i, j] * F[i, j]
                d1 += F[i, j] * D[i, j]
                d2 += second[i, j] * D[i, j]
                dJ += cof[i, j] * D[i, j]
                FFT[i, j] = F[i, 0] * F[j, 0] + F[i, 1] * F[j, 1] + F[i, 2] * F[j, 2]
                FDT[i, j] = F[i, 0] * D[j, 0] + F[i, 1] * D[j, 1] + F[i, 2] * D[j, 2]
        on_F = 4.0 * (w[3] + w[1]) * d1 + 2.0 * w[4] * dJ
        on_second = 2.0 * w[5] * dJ
        on_cof = 2.0 * w[4] * d1 + 2.0 * w[5] * d2 + w[6] * dJ
        on_D = 2.0 * (w[0] + w[1] * I1)
        for i in range(3):
            for j in range(3):
                turned = 0.0  # (D F^T F + F D^T F + F F^T D)_ij
                for k in range(3):
                    turned += (FDT[k, i] + FDT[i, k]) * F[k, j] + FFT[i, k] * D[k, j]
                P[i, j] = (
                    on_F * F[i, j]
                    + on_second * second[i, j]
                    + on_cof * cof[i, j]
                    + on_D * D[i, j]
                    - 2.0 * w[1] * turned
                )
        for i in range(3):  # the change of the cofactors
            j, k = (i + 1) % 3, (i + 2) % 3
            for p in range(3):
                q, r = (p + 1) % 3, (p + 2) % 3
                P[i, p] += w[2] * (
                    (D[j, q] * F[k, r] + F[j, q] * D[k, r])
                    - (D[j, r] * F[k, q] + F[j, r] * D[k, q])
                )
        for i in range(3):
            for j in range(3):
                P[i, j] *= factor
        _add_stress(elements[e], P, gradients[e], out)


@njit
def add_matrix(
    gradients: np.ndarray,
    deformations: np.ndarray,
    slopes: np.ndarray,
    factor: float,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """values[slots] += factor K, node pairs in the order of `corotational.element_pairs`.

    Args:
        gradients, deformations, slopes: As for `add_force`.
        factor: Scale of the matrix [-].
        slots: Index of each pair's block, ~index if its transpose is stored, shape (m, 10).
        values: Blocks, shape (k, 3, 3).
    """
    cof, second, FFT = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    p, q, c = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    left, right = np.empty((4, 3)), np.empty((4, 3))
    y = np.empty(3)
    for e in range(gradients.shape[0]):
        F, g = deformations[e], gradients[e]
        W1, W2, WJ = factor * slopes[e, 0], factor * slopes[e, 1], factor * slopes[e, 2]
        W11, W1J = factor * slopes[e, 3], factor * slopes[e, 4]
        W2J, WJJ = factor * slopes[e, 5], factor * slopes[e, 6]
        cofactors(F, cof)
        _half_I2_gradient(F, second)
        I1 = 0.0
        for i in range(3):
            for j in range(3):
                FFT[i, j] = F[i, 0] * F[j, 0] + F[i, 1] * F[j, 1] + F[i, 2] * F[j, 2]
            I1 += FFT[i, i]
        for a in range(4):
            g0, g1, g2 = g[a, 0], g[a, 1], g[a, 2]
            for i in range(3):
                p[a, i] = F[i, 0] * g0 + F[i, 1] * g1 + F[i, 2] * g2
                q[a, i] = second[i, 0] * g0 + second[i, 1] * g1 + second[i, 2] * g2
                c[a, i] = cof[i, 0] * g0 + cof[i, 1] * g1 + cof[i, 2] * g2
                left[a, i] = 4.0 * (W11 + W2) * p[a, i] + 2.0 * W1J * c[a, i]
                right[a, i] = 2.0 * W1J * p[a, i] + 2.0 * W2J * q[a, i] + WJJ * c[a, i]
        pair = 0
        for a in range(4):
            for b in range(a + 1):
                slot = slots[e, pair]
                pair += 1
                row, col = a, b
                if slot < 0:
                    slot = ~slot
                    row, col = b, a
                gr, gc = g[row], g[col]
                gg = gr[0] * gc[0] + gr[1] * gc[1] + gr[2] * gc[2]
                pp = p[row, 0] * p[col, 0] + p[row, 1] * p[col, 1] + p[row, 2] * p[col, 2]
                on_I = 2.0 * (W1 * gg + W2 * (I1 * gg - pp))
                on_FFT = -2.0 * W2 * gg
                n0 = WJ * (gr[1] * gc[2] - gr[2] * gc[1])
                n1 = WJ * (gr[2] * gc[0] - gr[0] * gc[2])
                n2 = WJ * (gr[0] * gc[1] - gr[1] * gc[0])
                for i in range(3):
                    y[i] = F[i, 0] * n0 + F[i, 1] * n1 + F[i, 2] * n2
                block = values[slot]
                for i in range(3):
                    pi, ci = p[row, i], c[row, i]
                    qi, ti = 2.0 * W2J * q[row, i], -2.0 * W2 * p[col, i]
                    for j in range(3):
                        block[i, j] += (
                            pi * left[col, j]
                            + ci * right[col, j]
                            + qi * c[col, j]
                            + ti * p[row, j]
                            + on_FFT * FFT[i, j]
                        )
                    block[i, i] += on_I
                block[0, 1] += y[2]
                block[0, 2] -= y[1]
                block[1, 2] += y[0]
                block[1, 0] -= y[2]
                block[2, 0] += y[1]
                block[2, 1] -= y[0]
