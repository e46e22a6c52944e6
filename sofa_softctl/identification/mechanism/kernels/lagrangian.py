"""Lagrangian of a tree of joints, with its first and second derivatives.

With S_j the screw of joint j, V_j the motion of what it carries, P_j and I_j momentum and inertia
of all that it carries, [A, B] the bracket of motions, W_j = [V_j, S_j] and i an ancestor of j or j
itself, the kinetic energy T of the tree has

    T_v[j] = P_j . S_j                    T_vv[i, j] = S_i . I_j S_j
    T_q[j] = P_j . W_j                    T_qq[i, j] = W_i . (I_j W_j - [S_j, .]^T P_j)
    T_qv[q_i, v_j] = W_i . I_j S_j        T_qv[q_j, v_i] = S_i . (I_j W_j - [S_j, .]^T P_j)

from dS_j/dq_i = [S_i, S_j] and Jacobi's identity. Joints that do not move (lengths that are
parameters) are in the tree as well: the same table gives derivatives by them.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.identification.mechanism.kernels.arrays import Lagrangian, Tree
from sofa_softctl.identification.mechanism.kernels.frames import (
    add_transposed_bracket,
    bracket,
    cross,
    dot,
    fall,
    frames,
    momentum,
    unit_inertia,
    value,
)


@njit(separate=True)
def lagrangian(
    tree: Tree, rho: np.ndarray, q: np.ndarray, v: np.ndarray, by_rho: bool
) -> Lagrangian:
    """All first and second derivatives of L at (q, v); by parameters only if asked."""
    count, bodies = tree.parent.shape[0], tree.body.shape[0]
    at = frames(tree, rho, q)
    S, g = at.S, tree.gravity
    V, W = np.zeros((count, 6)), np.empty((count, 6))
    for j in range(count):
        if tree.parent[j] >= 0:
            V[j] = V[tree.parent[j]]
        if tree.coordinate[j] >= 0:
            for i in range(6):
                V[j, i] += S[j, i] * v[tree.coordinate[j]]
        bracket(V[j], S[j], W[j])
    inertia, P = np.zeros((count, 10)), np.zeros((count, 6))
    units = np.empty((bodies, 10))
    for b in range(bodies):
        unit_inertia(tree, at, b, units[b])
        m = value(tree.mass, b, rho)
        for i in range(10):
            inertia[tree.body[b], i] += m * units[b, i]
    H = np.empty(6)
    for j in range(count - 1, -1, -1):  # inertias first hold what is j's own, then all it carries
        momentum(inertia[j], V[j], H)
        P[j] += H
        if tree.parent[j] >= 0:
            P[tree.parent[j]] += P[j]
    for j in range(count - 1, -1, -1):
        if tree.parent[j] >= 0:
            inertia[tree.parent[j]] += inertia[j]
    L_q, L_v = np.empty(count), np.empty(count)
    qq, qv, vv = np.zeros((count, count)), np.zeros((count, count)), np.zeros((count, count))
    IS, X, U, G = np.empty(6), np.empty(6), np.empty(3), np.empty(3)
    for j in range(count):
        momentum(inertia[j], S[j], IS)
        momentum(inertia[j], W[j], X)
        add_transposed_bracket(S[j], P[j], -1.0, X)
        fall(S[j], inertia[j], U)  # d(mass * centre)/dq_j
        cross(U, g, G)
        L_v[j] = dot(P[j], S[j])
        L_q[j] = dot(P[j], W[j]) + dot(g, U)
        i = j
        while i >= 0:
            vv[i, j] = vv[j, i] = dot(S[i], IS)
            qv[i, j] = dot(W[i], IS)
            if i != j:
                qv[j, i] = dot(S[i], X)
            qq[i, j] = qq[j, i] = dot(W[i], X) + dot(S[i, :3], G)
            i = tree.parent[i]
    for s in range(tree.spring.shape[0]):
        c, j = tree.spring[s], tree.joint[tree.spring[s]]
        k = value(tree.stiffness, s, rho)
        L_q[j] -= k * (q[c] - value(tree.rest, s, rho))
        qq[j, j] -= k
    for a in range(tree.rotor.shape[0]):
        c, j = tree.rotor[a], tree.joint[tree.rotor[a]]
        inertia_of = value(tree.armature, a, rho)
        L_v[j] += inertia_of * v[c]
        vv[j, j] += inertia_of
    n_rho = rho.shape[0] if by_rho else 0
    q_rho, v_rho = np.zeros((count, n_rho)), np.zeros((count, n_rho))
    if by_rho:
        add_springs_by_rho(tree, rho, q, q_rho)
        for a in range(tree.rotor.shape[0]):
            k, c = tree.armature.parameter[a], tree.rotor[a]
            if k >= 0:
                v_rho[tree.joint[c], k] += tree.armature.factor[a] * v[c]
        for b in range(bodies):
            k, f, j = tree.mass.parameter[b], tree.mass.factor[b], tree.body[b]
            if k < 0:
                continue
            momentum(units[b], V[j], H)
            while j >= 0:
                fall(S[j], units[b], U)
                q_rho[j, k] += f * (dot(W[j], H) + dot(g, U))
                v_rho[j, k] += f * dot(S[j], H)
                j = tree.parent[j]
    return Lagrangian(L_q, L_v, qq, qv, vv, q_rho, v_rho)


@njit
def add_springs_by_rho(tree: Tree, rho: np.ndarray, q: np.ndarray, q_rho: np.ndarray) -> None:
    """Derivatives of the springs' forces by stiffness and by rest."""
    for s in range(tree.spring.shape[0]):
        c, j = tree.spring[s], tree.joint[tree.spring[s]]
        k, r = tree.stiffness.parameter[s], tree.rest.parameter[s]
        if k >= 0:
            q_rho[j, k] -= tree.stiffness.factor[s] * (q[c] - value(tree.rest, s, rho))
        if r >= 0:
            q_rho[j, r] += tree.rest.factor[s] * value(tree.stiffness, s, rho)


@njit
def energies(tree: Tree, rho: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Kinetic and potential energy [J]."""
    at = frames(tree, rho, q)
    count = tree.parent.shape[0]
    V, unit, H = np.zeros((count, 6)), np.empty(10), np.empty(6)
    for j in range(count):
        if tree.parent[j] >= 0:
            V[j] = V[tree.parent[j]]
        if tree.coordinate[j] >= 0:
            V[j] += at.S[j] * v[tree.coordinate[j]]
    kinetic, potential = 0.0, 0.0
    for b in range(tree.body.shape[0]):
        unit_inertia(tree, at, b, unit)
        momentum(unit, V[tree.body[b]], H)
        m = value(tree.mass, b, rho)
        kinetic += 0.5 * m * dot(V[tree.body[b]], H)
        potential -= m * dot(tree.gravity, unit[1:4])
    for s in range(tree.spring.shape[0]):
        stretch = q[tree.spring[s]] - value(tree.rest, s, rho)
        potential += 0.5 * value(tree.stiffness, s, rho) * stretch * stretch
    for a in range(tree.rotor.shape[0]):
        kinetic += 0.5 * value(tree.armature, a, rho) * v[tree.rotor[a]] ** 2
    return kinetic, potential
