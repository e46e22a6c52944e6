"""Midpoint variational integrator of a tree of joints: Lagrangian, constraints, step, derivatives.

All in one file, since numba keeps stale code of kernels in others. Screws are in world axes about
the world's origin: a motion is (omega, v), a momentum (angular, linear). With S_j the screw of
joint j, V_j the motion of what it carries, P_j and I_j momentum and inertia of all that it carries,
[A, B] the bracket of motions, W_j = [V_j, S_j] and i an ancestor of j or j itself, the kinetic
energy T of the tree has

    T_v[j] = P_j . S_j                    T_vv[i, j] = S_i . I_j S_j
    T_q[j] = P_j . W_j                    T_qq[i, j] = W_i . (I_j W_j - [S_j, .]^T P_j)
    T_qv[q_i, v_j] = W_i . I_j S_j        T_qv[q_j, v_i] = S_i . (I_j W_j - [S_j, .]^T P_j)

from dS_j/dq_i = [S_i, S_j] and Jacobi's identity. Joints that do not move (lengths that are
parameters) are in the tree as well: the same table gives derivatives by them.

Source of the integrator: Caldwell, Coleman, Correll 2014, eqs. (3) to (8) and (13); A_k and B_k
from the KKT system of the step, multipliers included, which the printed (7b), (8a), (8b) are not.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl._internal.jit import njit
from sofa_softctl.identification.mechanism.arrays import (
    DIRECTION,
    POINT,
    Drive,
    Frames,
    Lagrangian,
    Linear,
    Readings,
    Steering,
    Tree,
    Values,
)


@njit
def value(of: Values, i: int, rho: np.ndarray) -> float:
    """Value of entry i."""
    k = of.parameter[i]
    return of.constant[i] + (of.factor[i] * rho[k] if k >= 0 else 0.0)


@njit
def cross(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """a x b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit
def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Dot product of two short vectors."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit
def bracket(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """[a, b] of two motions."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    out[3] = a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1]
    out[4] = a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2]
    out[5] = a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0]


@njit
def momentum(inertia: np.ndarray, a: np.ndarray, out: np.ndarray) -> None:
    """Momentum of `inertia` (mass, mass * centre, xx yy zz xy xz yz) in motion a."""
    m, x, y, z = inertia[0], inertia[1], inertia[2], inertia[3]
    out[0] = inertia[4] * a[0] + inertia[7] * a[1] + inertia[8] * a[2] + y * a[5] - z * a[4]
    out[1] = inertia[7] * a[0] + inertia[5] * a[1] + inertia[9] * a[2] + z * a[3] - x * a[5]
    out[2] = inertia[8] * a[0] + inertia[9] * a[1] + inertia[6] * a[2] + x * a[4] - y * a[3]
    out[3] = m * a[3] + a[1] * z - a[2] * y
    out[4] = m * a[4] + a[2] * x - a[0] * z
    out[5] = m * a[5] + a[0] * y - a[1] * x


@njit
def frames(tree: Tree, rho: np.ndarray, q: np.ndarray) -> Frames:
    """Forward kinematics."""
    count = tree.parent.shape[0]
    R, x, S = np.empty((count, 3, 3)), np.empty((count, 3)), np.zeros((count, 6))
    turn, here, axis = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for j in range(count):
        c, parent = tree.coordinate[j], tree.parent[j]
        at = q[c] if c >= 0 else value(tree.rigid, j, rho)
        for i in range(3):
            x[j, i] = tree.moved[j, i]
            for k in range(3):
                here[i, k] = tree.turned[j, i, k]
        if parent >= 0:
            for i in range(3):
                x[j, i] = x[parent, i] + dot(R[parent, i], tree.moved[j])
                for k in range(3):
                    here[i, k] = dot(R[parent, i], tree.turned[j, :, k])
        for i in range(3):
            axis[i] = dot(here[i], tree.axis[j])
        if tree.sliding[j]:
            S[j, 3:] = axis
            R[j] = here
            for i in range(3):
                x[j, i] += at * axis[i]
            continue
        S[j, :3] = axis
        cross(x[j], axis, S[j, 3:])
        rotation(tree.axis[j], at, turn)
        for i in range(3):
            for k in range(3):
                R[j, i, k] = dot(here[i], turn[:, k])
    return Frames(R, x, S)


@njit
def rotation(axis: np.ndarray, angle: float, out: np.ndarray) -> None:
    """Rotation matrix (Rodrigues)."""
    s, c = np.sin(angle), np.cos(angle)
    for i in range(3):
        for k in range(3):
            out[i, k] = (1.0 - c) * axis[i] * axis[k]
        out[i, i] += c
    out[0, 1] -= s * axis[2]
    out[1, 0] += s * axis[2]
    out[0, 2] += s * axis[1]
    out[2, 0] -= s * axis[1]
    out[1, 2] -= s * axis[0]
    out[2, 1] += s * axis[0]


@njit
def unit_inertia(tree: Tree, at: Frames, b: int, out: np.ndarray) -> None:
    """Inertia of body b, for a mass of 1, about the world's origin."""
    j = tree.body[b]
    c = np.empty(3)
    for i in range(3):
        c[i] = at.x[j, i] + dot(at.R[j, i], tree.center[b])
    world = at.R[j] @ tree.gyration[b] @ at.R[j].T
    square = dot(c, c)
    out[0] = 1.0
    out[1:4] = c
    for i in range(3):
        out[4 + i] = world[i, i] + square - c[i] * c[i]
    out[7] = world[0, 1] - c[0] * c[1]
    out[8] = world[0, 2] - c[0] * c[2]
    out[9] = world[1, 2] - c[1] * c[2]


@njit
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
def add_transposed_bracket(s: np.ndarray, p: np.ndarray, factor: float, out: np.ndarray) -> None:
    """out += factor * [s, .]^T p, with p a momentum."""
    out[0] += factor * (p[1] * s[2] - p[2] * s[1] + p[4] * s[5] - p[5] * s[4])
    out[1] += factor * (p[2] * s[0] - p[0] * s[2] + p[5] * s[3] - p[3] * s[5])
    out[2] += factor * (p[0] * s[1] - p[1] * s[0] + p[3] * s[4] - p[4] * s[3])
    out[3] += factor * (p[4] * s[2] - p[5] * s[1])
    out[4] += factor * (p[5] * s[0] - p[3] * s[2])
    out[5] += factor * (p[3] * s[1] - p[4] * s[0])


@njit
def fall(s: np.ndarray, inertia: np.ndarray, out: np.ndarray) -> None:
    """Derivative of mass * centre along the screw s."""
    cross(s[:3], inertia[1:4], out)
    for i in range(3):
        out[i] += inertia[0] * s[3 + i]


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


@njit
def place(at: Frames, joint: int, local: np.ndarray, point: bool, out: np.ndarray) -> None:
    """A point or a direction in a joint's frame, in the world."""
    if joint < 0:
        out[:] = local
        return
    for i in range(3):
        out[i] = dot(at.R[joint, i], local) + (at.x[joint, i] if point else 0.0)


@njit
def slide(s: np.ndarray, x: np.ndarray, point: bool, out: np.ndarray) -> None:
    """Derivative of a point or a direction along the screw s."""
    cross(s[:3], x, out)
    if point:
        for i in range(3):
            out[i] += s[3 + i]


@njit
def measure(
    tree: Tree, rows: Readings, rho: np.ndarray, at: Frames, h: np.ndarray, Dh: np.ndarray
) -> None:
    """Rows h, shape (n_r,), and their derivatives by all joints, shape (n_r, N)."""
    a, b, change, normal = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    Dh[:] = 0.0
    for r in range(rows.kind.shape[0]):
        kind = rows.kind[r]
        point = kind != DIRECTION
        place(at, rows.one[r], rows.at_one[r], point, a)
        place(at, rows.other[r], rows.at_other[r], point, b)
        h[r] = row_value(rows, r, a, b) - value(rows.target, r, rho)
        for end in range(2):
            row_normal(rows, r, a, b, end, normal)
            j = rows.one[r] if end == 0 else rows.other[r]
            while j >= 0:
                slide(at.S[j], a if end == 0 else b, point, change)
                Dh[r, j] += dot(normal, change)
                j = tree.parent[j]


@njit
def row_value(rows: Readings, r: int, a: np.ndarray, b: np.ndarray) -> float:
    """Value of row r with its ends at a and b."""
    if rows.kind[r] == DIRECTION:
        return dot(a, b)
    if rows.kind[r] == POINT:
        return dot(rows.along[r], a) - dot(rows.along[r], b)
    d = a - b
    return np.sqrt(dot(d, d))


@njit
def row_normal(
    rows: Readings, r: int, a: np.ndarray, b: np.ndarray, end: int, out: np.ndarray
) -> None:
    """Derivative of row r by one of its ends."""
    if rows.kind[r] == DIRECTION:
        out[:] = b if end == 0 else a
        return
    sign = 1.0 if end == 0 else -1.0
    if rows.kind[r] == POINT:
        out[:] = sign * rows.along[r]
        return
    d = a - b
    out[:] = sign / np.sqrt(dot(d, d)) * d


@njit
def add_curvature(tree: Tree, at: Frames, weights: np.ndarray, out: np.ndarray) -> None:
    """out += second derivatives of weights . h by all joints, shape (N, N)."""
    rows = tree.closed
    a, b, normal = np.empty(3), np.empty(3), np.empty(3)
    change, twice = np.empty((2, tree.parent.shape[0], 3)), np.empty(3)
    for r in range(rows.kind.shape[0]):
        point, w = rows.kind[r] != DIRECTION, weights[r]
        place(at, rows.one[r], rows.at_one[r], point, a)
        place(at, rows.other[r], rows.at_other[r], point, b)
        for end in range(2):
            row_normal(rows, r, a, b, end, normal)
            j = rows.one[r] if end == 0 else rows.other[r]
            while j >= 0:
                slide(at.S[j], a if end == 0 else b, point, change[end, j])
                i = j
                while i >= 0:
                    cross(at.S[i, :3], change[end, j], twice)
                    add = w * dot(normal, twice)
                    out[i, j] += add
                    if i != j:
                        out[j, i] += add
                    i = tree.parent[i]
                j = tree.parent[j]
        if rows.kind[r] == POINT:
            continue
        row_normal(rows, r, a, b, 0, normal)
        d = a - b
        length = np.sqrt(dot(d, d))
        for first in range(2):
            i = rows.one[r] if first == 0 else rows.other[r]
            while i >= 0:
                for second in range(2):
                    j = rows.one[r] if second == 0 else rows.other[r]
                    while j >= 0:
                        u, t = change[first, i], change[second, j]
                        if rows.kind[r] == DIRECTION:
                            out[i, j] += w * dot(u, t) if first != second else 0.0
                        else:
                            sign = 1.0 if first == second else -1.0
                            flat = dot(u, t) - dot(normal, u) * dot(normal, t)
                            out[i, j] += w * sign * flat / length
                        j = tree.parent[j]
                i = tree.parent[i]


@njit
def force(tree: Tree, rho: np.ndarray, drive: Drive, k: int, q: np.ndarray, v: np.ndarray):  # type: ignore[no-untyped-def]
    """F_c at the middle of step k, shape (n,)."""
    F = drive.gain_u @ drive.u[k]
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for i in range(drive.fed.shape[0]):
        for j in range(drive.fed.shape[0]):
            F[drive.fed[i]] -= gain[i, j] * (q[drive.fed[j]] - drive.target[k, j])
    for d in range(tree.damper.shape[0]):
        c = tree.damper[d]
        F[c] -= value(tree.damping, d, rho) * v[c]
    for f in range(tree.rubbing.shape[0]):
        c = tree.rubbing[f]
        F[c] -= value(tree.friction, f, rho) * np.tanh(v[c] / tree.creep[f])
    return F


@njit
def add_resistance(tree: Tree, rho: np.ndarray, v: np.ndarray, far: np.ndarray, out: np.ndarray):  # type: ignore[no-untyped-def]
    """out -= slopes of the forces of dampers and Coulomb frictions by v, shape (n,).

    For Newton's iteration: where a coordinate's speed was `far` from the solution, its friction has
    the slope of the chord from rest. With that of the tangent, which is zero beyond the creep, the
    iteration may never end; with a chord it converges from anywhere, as friction's energy is even
    and grows less than squares do.
    """
    for d in range(tree.damper.shape[0]):
        out[tree.damper[d]] -= value(tree.damping, d, rho)
    for f in range(tree.rubbing.shape[0]):
        c, creep = tree.rubbing[f], tree.creep[f]
        t, of = np.tanh(v[c] / creep), value(tree.friction, f, rho)
        if far[c] > creep and abs(v[c]) > 1e-3 * creep:
            out[c] -= of * t / v[c]
        else:
            out[c] -= of * (1.0 - t * t) / creep


@njit
def linearise(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    k: int,
    dt: float,
    q0: np.ndarray,
    q1: np.ndarray,
    multipliers: np.ndarray,
) -> Linear:
    """Derivatives of step k, from q0 to q1."""
    joint = tree.joint
    n, n_h, n_rho = joint.shape[0], tree.closed.kind.shape[0], rho.shape[0]
    v = (q1 - q0) / dt
    middle = 0.5 * (q0 + q1)
    L = lagrangian(tree, rho, middle, v, True)
    count = tree.parent.shape[0]
    at0, at1 = frames(tree, rho, q0), frames(tree, rho, q1)
    h, Dh0, Dh1 = np.empty(n_h), np.empty((n_h, count)), np.empty((n_h, count))
    measure(tree, tree.closed, rho, at0, h, Dh0)
    measure(tree, tree.closed, rho, at1, h, Dh1)
    curved = np.zeros((count, count))
    add_curvature(tree, at0, multipliers, curved)
    F_q, F_v = np.zeros((n, n)), np.zeros(n)
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for i in range(drive.fed.shape[0]):
        for j in range(drive.fed.shape[0]):
            F_q[drive.fed[i], drive.fed[j]] -= gain[i, j]
    add_resistance(tree, rho, v, np.zeros(n), F_v)
    kkt = np.zeros((n + n_h, n + n_h))
    r_q, p_next, p_q = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    end = drive.share
    begin = 1.0 - end
    for i in range(n):
        a = joint[i]
        for j in range(n):
            b = joint[j]
            qq, vv = 0.25 * dt * L.qq[a, b], L.vv[a, b] / dt
            qv, vq = 0.5 * L.qv[a, b], 0.5 * L.qv[b, a]
            by_q = 0.5 * dt * F_q[i, j]
            by_v = F_v[i] if i == j else 0.0
            kkt[i, j] = qq + qv - vq - vv + begin * (by_q + by_v)
            r_q[i, j] = qq - qv - vq + vv + begin * (by_q - by_v) - curved[a, b]
            p_next[i, j] = qq + qv + vq + vv + end * (by_q + by_v)
            p_q[i, j] = qq - qv + vq - vv + end * (by_q - by_v)
        for r in range(n_h):
            kkt[i, n + r] = -Dh0[r, a]
            kkt[n + r, i] = Dh1[r, a]
    r_rho, p_rho = np.zeros((n + n_h, n_rho)), np.zeros((n, n_rho))
    add_by_rho(tree, drive, dt, L, v, Dh1, curved, r_rho, p_rho)
    add_signals(drive, k, dt, r_rho, p_rho)
    return Linear(kkt, r_q, r_rho, p_next, p_q, p_rho)


@njit
def add_by_rho(
    tree: Tree,
    drive: Drive,
    dt: float,
    L: Lagrangian,
    v: np.ndarray,
    Dh1: np.ndarray,
    curved: np.ndarray,
    r_rho: np.ndarray,
    p_rho: np.ndarray,
) -> None:
    """Derivatives by parameters of masses, springs, dampers, frictions, lengths, targets."""
    joint, end = tree.joint, drive.share
    n, n_h, n_rho = joint.shape[0], Dh1.shape[0], r_rho.shape[1]
    begin = 1.0 - end
    for i in range(n):
        for m in range(n_rho):
            half = 0.5 * dt * L.q_rho[joint[i], m]
            r_rho[i, m] = half - L.v_rho[joint[i], m]
            p_rho[i, m] = half + L.v_rho[joint[i], m]
    for d in range(tree.damper.shape[0]):
        m, c = tree.damping.parameter[d], tree.damper[d]
        if m >= 0:
            change = -dt * tree.damping.factor[d] * v[c]
            r_rho[c, m] += begin * change
            p_rho[c, m] += end * change
    for f in range(tree.rubbing.shape[0]):
        m, c = tree.friction.parameter[f], tree.rubbing[f]
        if m >= 0:
            change = -dt * tree.friction.factor[f] * np.tanh(v[c] / tree.creep[f])
            r_rho[c, m] += begin * change
            p_rho[c, m] += end * change
    for f in range(tree.parent.shape[0]):  # places of joints that do not move
        m = tree.rigid.parameter[f]
        if m < 0:
            continue
        factor = tree.rigid.factor[f]
        for i in range(n):
            half, full = 0.5 * dt * L.qq[joint[i], f], L.qv[f, joint[i]]
            r_rho[i, m] += factor * (half - full - curved[joint[i], f])
            p_rho[i, m] += factor * (half + full)
        for r in range(n_h):
            r_rho[n + r, m] += factor * Dh1[r, f]
    for r in range(n_h):
        m = tree.closed.target.parameter[r]
        if m >= 0:
            r_rho[n + r, m] -= tree.closed.target.factor[r]


@njit
def add_signals(drive: Drive, k: int, dt: float, r_rho: np.ndarray, p_rho: np.ndarray) -> None:
    """Derivatives by parameters that change inputs or targets, such as delays."""
    n_u = drive.u.shape[1]
    for s in range(drive.signal.shape[0]):
        m = drive.parameter[s]
        for i in range(drive.gain_u.shape[0]):
            change = dt * drive.slope[k, s] * input_gain(drive, k, i, drive.signal[s], n_u)
            r_rho[i, m] += (1.0 - drive.share) * change
            p_rho[i, m] += drive.share * change


@njit
def input_gain(drive: Drive, k: int, i: int, s: int, n_u: int) -> float:
    """Force on coordinate i for a unit of signal s of step k: an input or a target."""
    if s < n_u:
        return drive.gain_u[i, s]
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for a in range(drive.fed.shape[0]):
        if drive.fed[a] == i:
            return gain[a, s - n_u]
    return 0.0


@njit
def simulate(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q0: np.ndarray,
    p0: np.ndarray,
    v0: np.ndarray,
    q: np.ndarray,
    p: np.ndarray,
    multipliers: np.ndarray,
    steering: Steering,
    tolerance: float,
    most: int,
) -> int:
    """Simulate into q and p, shape (K + 1, n), and multipliers, (K, n_h); return completed steps.

    v0 is the first guess of Newton's iteration. Ends at a step that does not converge. Steering
    changes u of the drive.
    """
    joint = tree.joint
    n, n_h, count = joint.shape[0], tree.closed.kind.shape[0], tree.parent.shape[0]
    steps = q.shape[0] - 1
    q[0], p[0] = q0, p0
    rates = v0.copy()
    guess = np.zeros(n_h)
    h, Dh0, Dh1 = np.empty(n_h), np.empty((n_h, count)), np.empty((n_h, count))
    kkt, rest = np.zeros((n + n_h, n + n_h)), np.empty(n + n_h)
    end = drive.share
    measure(tree, tree.closed, rho, frames(tree, rho, q0), h, Dh0)
    for k in range(steps):
        if steering.gain.shape[0]:
            steer(drive.u[k], steering.gain[k], q[k], p[k], steering.path[k])
        here, lam = q[k], guess.copy()
        there = here + dt * rates
        converged, far = False, np.zeros(n)
        for _ in range(most):
            v = (there - here) / dt
            L = lagrangian(tree, rho, 0.5 * (here + there), v, False)
            measure(tree, tree.closed, rho, frames(tree, rho, there), h, Dh1)
            F = force(tree, rho, drive, k, 0.5 * (here + there), v)
            for i in range(n):
                a = joint[i]
                total = p[k, i] + 0.5 * dt * L.q[a] - L.v[a] + (1.0 - end) * dt * F[i]
                for r in range(n_h):
                    total -= Dh0[r, a] * lam[r]
                    kkt[i, n + r] = -Dh0[r, a]
                    kkt[n + r, i] = Dh1[r, a]
                rest[i] = total
                for j in range(n):
                    b = joint[j]
                    kkt[i, j] = (
                        0.25 * dt * L.qq[a, b] + 0.5 * (L.qv[a, b] - L.qv[b, a]) - L.vv[a, b] / dt
                    )
            add_force_slope(tree, rho, drive, k, dt, v, far, kkt)
            rest[n:] = h
            if not np.all(np.isfinite(rest)):
                return k
            change = np.linalg.solve(kkt, rest)
            there = there - change[:n]
            far = np.abs(change[:n]) / dt
            lam = lam - change[n:]
            if np.max(np.abs(change[:n])) < tolerance:
                converged = True
                break
        if not converged:
            return k
        v = (there - here) / dt
        L = lagrangian(tree, rho, 0.5 * (here + there), v, False)
        F = force(tree, rho, drive, k, 0.5 * (here + there), v)
        for i in range(n):
            p[k + 1, i] = 0.5 * dt * L.q[joint[i]] + L.v[joint[i]] + end * dt * F[i]
        rates, guess = v, lam
        q[k + 1], multipliers[k] = there, lam
        measure(tree, tree.closed, rho, frames(tree, rho, there), h, Dh0)
    return steps


@njit
def steer(u: np.ndarray, gain: np.ndarray, q: np.ndarray, p: np.ndarray, path: np.ndarray) -> None:
    """u -= gain ((q, p) - path)."""
    n = q.shape[0]
    for i in range(u.shape[0]):
        for j in range(n):
            u[i] -= gain[i, j] * (q[j] - path[j]) + gain[i, n + j] * (p[j] - path[n + j])


@njit
def add_force_slope(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    k: int,
    dt: float,
    v: np.ndarray,
    far: np.ndarray,
    kkt: np.ndarray,
) -> None:
    """kkt += derivative of F_d- by q_k+1; see `add_resistance` for `far`."""
    begin = 1.0 - drive.share
    gain = drive.gain[min(k, drive.gain.shape[0] - 1)]
    for i in range(drive.fed.shape[0]):
        for j in range(drive.fed.shape[0]):
            kkt[drive.fed[i], drive.fed[j]] -= begin * 0.5 * dt * gain[i, j]
    F_v = np.zeros(v.shape[0])
    add_resistance(tree, rho, v, far, F_v)
    for i in range(v.shape[0]):
        kkt[i, i] += begin * F_v[i]


@njit
def pull(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q: np.ndarray,
    multipliers: np.ndarray,
    by_q: np.ndarray,
    by_p: np.ndarray,
    by_rho: np.ndarray,
    by_inputs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The recursion (10) and the sum of (9), backwards; the covector of the start, by q and p.

    by_q, by_p: derivatives of the cost by states, shape (K + 1, n). Results are added to by_rho,
    shape (n_rho,), and to by_inputs, by u and target of each step, shape (K, n_u + m). A_k and B_k
    are never formed: one transposed solve a step.
    """
    n, n_u = q.shape[1], drive.u.shape[1]
    rest = np.zeros(n + multipliers.shape[1])
    a_q, a_p = by_q[-1].copy(), by_p[-1].copy()
    for k in range(q.shape[0] - 2, -1, -1):
        step = linearise(tree, rho, drive, k, dt, q[k], q[k + 1], multipliers[k])
        rest[:n] = a_q + step.p_next.T @ a_p
        rest[n:] = 0.0
        y = np.linalg.solve(step.kkt.T, rest)
        by_rho += step.p_rho.T @ a_p - step.r_rho.T @ y
        push_force = dt * (drive.share * a_p - (1.0 - drive.share) * y[:n])
        for i in range(n):
            for s in range(by_inputs.shape[1]):
                by_inputs[k, s] += push_force[i] * input_gain(drive, k, i, s, n_u)
        a_q = by_q[k] + step.p_q.T @ a_p - step.r_q.T @ y[:n]
        a_p = by_p[k] - y[:n]
    return a_q, a_p


@njit
def push(
    tree: Tree,
    rho: np.ndarray,
    drive: Drive,
    dt: float,
    q: np.ndarray,
    multipliers: np.ndarray,
    z_q: np.ndarray,
    z_p: np.ndarray,
) -> None:
    """z_k+1 = A_k z_k + B_k, from their first entries on, both (K + 1, n, n_rho)."""
    n = q.shape[1]
    for k in range(q.shape[0] - 1):
        step = linearise(tree, rho, drive, k, dt, q[k], q[k + 1], multipliers[k])
        rest = -step.r_rho
        rest[:n] -= step.r_q @ z_q[k] + z_p[k]
        y = np.linalg.solve(step.kkt, rest)
        z_q[k + 1] = y[:n]
        z_p[k + 1] = step.p_next @ z_q[k + 1] + step.p_q @ z_q[k] + step.p_rho


@njit
def readings(
    tree: Tree, rows: Readings, rho: np.ndarray, q: np.ndarray, y: np.ndarray, y_q: np.ndarray
) -> None:
    """Rows along a motion, into y, shape (K + 1, n_r), and by all joints y_q, (K + 1, n_r, N)."""
    for k in range(q.shape[0]):
        measure(tree, rows, rho, frames(tree, rho, q[k]), y[k], y_q[k])
