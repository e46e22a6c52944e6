"""Corotational linear tetrahedra: frames, forces, stiffness products and the stiffness matrix.

An element at rest has the gradients g_a of its shape functions and the volume V. Its rotation R
takes the rest shape near the present one; h_a = R g_a. With isotropic elasticity (Lame's lambda
and mu) the stiffness between nodes a and b is, in the world frame and without dR/dx,

    K_ab = V (lambda h_a h_b^T + mu h_b h_a^T + mu (h_a . h_b) I)

so that neither a 6x12 strain matrix nor a 12x12 element matrix is ever formed. This equals
R B^T D B R^T of SOFA's TetrahedronFEMForceField, whose rotation methods are here too.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit

SMALL, LARGE, POLAR, SVD, GRADIENT = 0, 1, 2, 3, 4
RUN = 64
"""Number of elements whose frames are computed together: in the first-level cache [-]."""


@njit
def edge_frame(a: np.ndarray, b: np.ndarray, c: np.ndarray, frame: np.ndarray) -> None:
    """Rows x = ab, z = x cross ac, y = z cross x, each of length one (method large)."""
    x0, x1, x2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    n = np.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
    x0, x1, x2 = x0 / n, x1 / n, x2 / n
    y0, y1, y2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    z0, z1, z2 = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
    n = np.sqrt(z0 * z0 + z1 * z1 + z2 * z2)
    z0, z1, z2 = z0 / n, z1 / n, z2 / n
    frame[0, 0], frame[0, 1], frame[0, 2] = x0, x1, x2
    frame[1, 0], frame[1, 1], frame[1, 2] = z1 * x2 - z2 * x1, z2 * x0 - z0 * x2, z0 * x1 - z1 * x0
    frame[2, 0], frame[2, 1], frame[2, 2] = z0, z1, z2


@njit
def set_identity(m: np.ndarray) -> None:
    """m = I. A loop: numba takes seconds to compile the assignment of an array."""
    for i in range(3):
        for j in range(3):
            m[i, j] = 1.0 if i == j else 0.0


@njit
def determinant(m: np.ndarray) -> float:
    """Return det m."""
    return (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )


@njit
def cofactors(m: np.ndarray, out: np.ndarray) -> None:
    """out = det(m) inv(m)^T."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for p in range(3):
            q, r = (p + 1) % 3, (p + 2) % 3
            out[i, p] = m[j, q] * m[k, r] - m[j, r] * m[k, q]


@njit
def polar_factor(m: np.ndarray, q: np.ndarray, work: np.ndarray) -> bool:
    """q = the orthogonal factor of m by Newton's iteration, scaled until it is near.

    Converges quadratically; keeps a reflection when det(m) < 0. Source: Higham 1986.
    """
    for i in range(3):
        for j in range(3):
            q[i, j] = m[i, j]
    for _ in range(100):
        cofactors(q, work)
        det = q[0, 0] * work[0, 0] + q[0, 1] * work[0, 1] + q[0, 2] * work[0, 2]
        if det == 0.0:
            return False
        norm_q = norm_w = 0.0
        for i in range(3):
            for j in range(3):
                norm_q += q[i, j] * q[i, j]
                norm_w += work[i, j] * work[i, j]
        scale = np.sqrt(np.sqrt(norm_w / norm_q) / abs(det))
        if abs(scale - 1.0) < 1e-2:
            scale = 1.0
        change = size = 0.0
        for i in range(3):
            for j in range(3):
                new = 0.5 * (scale * q[i, j] + work[i, j] / (det * scale))
                change = max(change, abs(new - q[i, j]))
                size = max(size, abs(new))
                q[i, j] = new
        if change <= 1e-9 * size:
            return True
    return False


@njit
def rotation_factor(m: np.ndarray, q: np.ndarray, work: np.ndarray) -> None:
    """q = the polar factor of m made a rotation: the axis of the smallest stretch is reversed.

    The eigenvectors V of m^T m come from Jacobi's method, then q = U V^T with det(q) = 1.
    """
    s, v = np.zeros((3, 3)), np.zeros((3, 3))
    set_identity(v)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                s[i, j] += m[k, i] * m[k, j]
    for _ in range(60):
        off = abs(s[0, 1]) + abs(s[0, 2]) + abs(s[1, 2])
        if off <= 1e-30 * (s[0, 0] + s[1, 1] + s[2, 2]) or off == 0.0:
            break
        for p in range(2):
            for r in range(p + 1, 3):
                if s[p, r] == 0.0:
                    continue
                theta = (s[r, r] - s[p, p]) / (2.0 * s[p, r])
                sign = 1.0 if theta >= 0.0 else -1.0
                t = sign / (abs(theta) + np.sqrt(theta * theta + 1.0))
                c = 1.0 / np.sqrt(t * t + 1.0)
                d = t * c
                for k in range(3):
                    a, b = s[k, p], s[k, r]
                    s[k, p], s[k, r] = c * a - d * b, d * a + c * b
                for k in range(3):
                    a, b = s[p, k], s[r, k]
                    s[p, k], s[r, k] = c * a - d * b, d * a + c * b
                for k in range(3):
                    a, b = v[k, p], v[k, r]
                    v[k, p], v[k, r] = c * a - d * b, d * a + c * b
    axis_min = 0
    for i in range(1, 3):
        if s[i, i] < s[axis_min, axis_min]:
            axis_min = i
    axis1, axis2 = (axis_min + 1) % 3, (axis_min + 2) % 3
    u = np.zeros((3, 3))
    for axis in (axis1, axis2):
        length = np.sqrt(max(s[axis, axis], 1e-300))
        for i in range(3):
            for k in range(3):
                u[i, axis] += m[i, k] * v[k, axis] / length
    sign = 1.0 if determinant(v) > 0.0 else -1.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        cross = u[j, axis1] * u[k, axis2] - u[k, axis1] * u[j, axis2]
        u[i, axis_min] = sign * cross
    for i in range(3):
        for j in range(3):
            q[i, j] = u[i, 0] * v[j, 0] + u[i, 1] * v[j, 1] + u[i, 2] * v[j, 2]


@njit
def _edges(x: np.ndarray, element: np.ndarray, m: np.ndarray) -> None:
    """Rows ab, ac, ad."""
    for i in range(3):
        for j in range(3):
            m[i, j] = x[element[i + 1], j] - x[element[0], j]


@njit
def _proper_frame(
    x0: np.ndarray,
    element: np.ndarray,
    edges: np.ndarray,
    frame0: np.ndarray,
    rest: np.ndarray,
    work: np.ndarray,
    frame: np.ndarray,
) -> bool:
    """Frame of an inverted or nearly flat element (det F < 1e-6): a rotation, no reflection.

    F = edges edges0^-1 in SOFA's sense; its rotation is applied to the frame at rest. Other
    elements are left as they are (False). `rest` and `work` are (3, 3) for intermediate results.
    """
    _edges(x0, element, rest)
    cofactors(rest, work)
    det0 = determinant(rest)
    if not determinant(edges) / det0 < 1e-6:  # NaN is left to the polar decomposition
        return False
    deformation = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                deformation[i, j] += edges[i, k] * work[j, k] / det0
    rotation_factor(deformation, rest, work)
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += rest[i, k] * frame0[k, j]
            frame[i, j] = total
    return True


@njit
def rest_frames(x0: np.ndarray, elements: np.ndarray, method: int, frames: np.ndarray) -> None:
    """Compute the frame of each element at rest, rows = axes, shape (m, 3, 3).

    Args:
        x0: Rest positions, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        method: SMALL, LARGE, POLAR, SVD or GRADIENT.
        frames: Output, shape (m, 3, 3).
    """
    edges, work = np.empty((3, 3)), np.empty((3, 3))
    for e in range(elements.shape[0]):
        t = elements[e]
        if method == LARGE:
            edge_frame(x0[t[0]], x0[t[1]], x0[t[2]], frames[e])
        elif method == SMALL or method == GRADIENT:
            set_identity(frames[e])
        else:
            _edges(x0, t, edges)
            polar_factor(edges, frames[e], work)


@njit
def rotate(
    x: np.ndarray,
    x0: np.ndarray,
    elements: np.ndarray,
    method: int,
    frames0: np.ndarray,
    gradients: np.ndarray,
    rotations: np.ndarray,
    h: np.ndarray,
) -> None:
    """Compute the rotation R of each element at x, and its gradients h_a = R g_a.

    R = frame(x)^T frame(x0). Methods as in SOFA: large takes the frame of the first two edges,
    polar the polar decomposition of the edges, svd as polar, but with a proper rotation instead of
    a reflection if the element is inverted or nearly flat (det F < 1e-6);
    gradient takes the polar decomposition of the deformation gradient F itself.

    Args:
        x, x0: Present and rest positions, shape (n, 3).
        elements: Tetrahedra, shape (m, 4).
        method: SMALL, LARGE, POLAR, SVD or GRADIENT.
        frames0: Frames at rest, shape (m, 3, 3).
        gradients: g_a at rest, shape (m, 4, 3).
        rotations: Output R, shape (m, 3, 3).
        h: Output, shape (m, 4, 3).
    """
    frame, edges = np.empty((3, 3)), np.empty((3, 3))
    work, rest = np.empty((3, 3)), np.empty((3, 3))
    if method == LARGE:
        _rotate_edge_frames(x, elements, frames0, rotations)
    for e in range(elements.shape[0]):
        if method == SMALL:
            set_identity(rotations[e])
        elif method != LARGE:
            t = elements[e]
            if method == GRADIENT:
                for i in range(3):
                    for j in range(3):
                        edges[j, i] = 0.0  # F^T
                        for a in range(1, 4):
                            edges[j, i] += (x[t[a], i] - x[t[0], i]) * gradients[e, a, j]
                polar_factor(edges, frame, work)
            else:
                _edges(x, t, edges)
                is_proper = method == SVD and _proper_frame(
                    x0, t, edges, frames0[e], rest, work, frame
                )
                if not is_proper:
                    polar_factor(edges, frame, work)
            r, f0 = rotations[e], frames0[e]
            for i in range(3):
                for j in range(3):
                    r[i, j] = (
                        frame[0, i] * f0[0, j] + frame[1, i] * f0[1, j] + frame[2, i] * f0[2, j]
                    )
        for a in range(4):
            g0, g1, g2 = gradients[e, a, 0], gradients[e, a, 1], gradients[e, a, 2]
            for i in range(3):
                h[e, a, i] = (
                    rotations[e, i, 0] * g0 + rotations[e, i, 1] * g1 + rotations[e, i, 2] * g2
                )


@njit
def _rotate_edge_frames(
    x: np.ndarray, elements: np.ndarray, frames0: np.ndarray, rotations: np.ndarray
) -> None:
    """Compute the rotations of method LARGE, as `edge_frame` and a product.

    Frames of `RUN` elements at a time lie in rows of `RUN` numbers, one for each coordinate, so
    that roots and quotients of several elements are computed at once: 0.4 of the time.
    """
    frames = np.zeros(9 * RUN)
    run = np.uint64(RUN)
    for start in range(0, elements.shape[0], RUN):
        count = np.uint64(min(RUN, elements.shape[0] - start))
        for k in range(count):
            e = np.uint64(start) + k
            a, b = np.uint64(elements[e, 0]), np.uint64(elements[e, 1])
            c = np.uint64(elements[e, 2])
            for i in range(np.uint64(3)):
                frames[i * run + k] = x[b, i] - x[a, i]
                frames[(np.uint64(3) + i) * run + k] = x[c, i] - x[a, i]
        _orthogonalize(frames)
        for k in range(count):
            e = np.uint64(start) + k
            for i in range(np.uint64(3)):
                x_i, y_i = frames[i * run + k], frames[(np.uint64(3) + i) * run + k]
                z_i = frames[(np.uint64(6) + i) * run + k]
                for j in range(np.uint64(3)):
                    rotations[e, i, j] = (
                        x_i * frames0[e, 0, j] + y_i * frames0[e, 1, j] + z_i * frames0[e, 2, j]
                    )


@njit
def _orthogonalize(frames: np.ndarray) -> None:
    """Replace the edges ab and ac, rows 0 to 5, by the axes of `edge_frame`, rows 0 to 8."""
    r1, r2, r3, r4 = np.uint64(RUN), np.uint64(2 * RUN), np.uint64(3 * RUN), np.uint64(4 * RUN)
    r5, r6, r7, r8 = np.uint64(5 * RUN), np.uint64(6 * RUN), np.uint64(7 * RUN), np.uint64(8 * RUN)
    for k in range(r1):
        x0, x1, x2 = frames[k], frames[r1 + k], frames[r2 + k]
        n = 1.0 / np.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
        x0, x1, x2 = x0 * n, x1 * n, x2 * n
        y0, y1, y2 = frames[r3 + k], frames[r4 + k], frames[r5 + k]
        z0, z1, z2 = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
        n = 1.0 / np.sqrt(z0 * z0 + z1 * z1 + z2 * z2)
        z0, z1, z2 = z0 * n, z1 * n, z2 * n
        y0, y1, y2 = z1 * x2 - z2 * x1, z2 * x0 - z0 * x2, z0 * x1 - z1 * x0
        frames[k], frames[r1 + k], frames[r2 + k] = x0, x1, x2
        frames[r3 + k], frames[r4 + k], frames[r5 + k] = y0, y1, y2
        frames[r6 + k], frames[r7 + k], frames[r8 + k] = z0, z1, z2


@njit
def add_force(
    x: np.ndarray,
    x0: np.ndarray,
    v: np.ndarray,
    factor: float,
    elements: np.ndarray,
    rotations: np.ndarray,
    h: np.ndarray,
    stiffness: np.ndarray,
    force: np.ndarray,
) -> None:
    """force_a -= V sigma h_a, sigma from u_a = x_a - R X_a - factor v_a, all relative to node 0.

    This is the elastic force and factor K v.

    Args:
        x, x0: Present and rest positions, shape (n, 3).
        v: Vectors of the nodes, shape (n, 3).
        factor: Scale of K v [-].
        elements: Tetrahedra, shape (m, 4).
        rotations, h: Outputs of `rotate`, shapes (m, 3, 3) and (m, 4, 3).
        stiffness: V lambda and V mu of each element, shape (m, 2).
        force: Output, shape (n, 3).
    """
    for e in range(elements.shape[0]):
        r00, r01, r02 = rotations[e, 0, 0], rotations[e, 0, 1], rotations[e, 0, 2]
        r10, r11, r12 = rotations[e, 1, 0], rotations[e, 1, 1], rotations[e, 1, 2]
        r20, r21, r22 = rotations[e, 2, 0], rotations[e, 2, 1], rotations[e, 2, 2]
        o = np.uint64(elements[e, 0])
        G00 = G11 = G22 = G01 = G02 = G12 = 0.0
        for a in range(1, 4):
            t = np.uint64(elements[e, a])
            d0, d1, d2 = x0[t, 0] - x0[o, 0], x0[t, 1] - x0[o, 1], x0[t, 2] - x0[o, 2]
            u0 = (x[t, 0] - x[o, 0]) - (r00 * d0 + r01 * d1 + r02 * d2)
            u1 = (x[t, 1] - x[o, 1]) - (r10 * d0 + r11 * d1 + r12 * d2)
            u2 = (x[t, 2] - x[o, 2]) - (r20 * d0 + r21 * d1 + r22 * d2)
            u0 -= factor * (v[t, 0] - v[o, 0])
            u1 -= factor * (v[t, 1] - v[o, 1])
            u2 -= factor * (v[t, 2] - v[o, 2])
            h0, h1, h2 = h[e, a, 0], h[e, a, 1], h[e, a, 2]
            G00, G11, G22 = G00 + u0 * h0, G11 + u1 * h1, G22 + u2 * h2
            G01, G02, G12 = (
                G01 + u0 * h1 + u1 * h0,
                G02 + u0 * h2 + u2 * h0,
                G12 + u1 * h2 + u2 * h1,
            )
        lam, mu = -stiffness[e, 0], -stiffness[e, 1]
        _add_stress(elements, h, e, lam, mu, G00, G11, G22, G01, G02, G12, force)


@njit
def add_product(
    v: np.ndarray,
    elements: np.ndarray,
    h: np.ndarray,
    stiffness: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out += factor K v."""
    for e in range(elements.shape[0]):
        G00 = G11 = G22 = G01 = G02 = G12 = 0.0
        for a in range(4):
            t = np.uint64(elements[e, a])
            v0, v1, v2 = v[t, 0], v[t, 1], v[t, 2]
            h0, h1, h2 = h[e, a, 0], h[e, a, 1], h[e, a, 2]
            G00, G11, G22 = G00 + v0 * h0, G11 + v1 * h1, G22 + v2 * h2
            G01, G02, G12 = (
                G01 + v0 * h1 + v1 * h0,
                G02 + v0 * h2 + v2 * h0,
                G12 + v1 * h2 + v2 * h1,
            )
        lam, mu = factor * stiffness[e, 0], factor * stiffness[e, 1]
        _add_stress(elements, h, e, lam, mu, G00, G11, G22, G01, G02, G12, out)


@njit
def _add_stress(
    elements: np.ndarray,
    h: np.ndarray,
    e: int,
    lam: float,
    mu: float,
    G00: float,
    G11: float,
    G22: float,
    G01: float,
    G02: float,
    G12: float,
    out: np.ndarray,
) -> None:
    """out_a += (lam tr(G) I + mu (G + G^T)) h_a; Gij is G_ij + G_ji off the diagonal."""
    trace = lam * (G00 + G11 + G22)
    s00, s11, s22 = trace + 2.0 * mu * G00, trace + 2.0 * mu * G11, trace + 2.0 * mu * G22
    s01, s02, s12 = mu * G01, mu * G02, mu * G12
    for a in range(4):
        t = np.uint64(elements[e, a])
        h0, h1, h2 = h[e, a, 0], h[e, a, 1], h[e, a, 2]
        out[t, 0] += s00 * h0 + s01 * h1 + s02 * h2
        out[t, 1] += s01 * h0 + s11 * h1 + s12 * h2
        out[t, 2] += s02 * h0 + s12 * h1 + s22 * h2


@njit
def add_matrix(
    h: np.ndarray, stiffness: np.ndarray, factor: float, slots: np.ndarray, values: np.ndarray
) -> None:
    """values[slots] += factor K, node pairs of an element in the order of `element_pairs`.

    Args:
        h, stiffness: As for `add_force`.
        factor: Scale of the matrix [-].
        slots: Index of each pair's block, ~index if its transpose is stored, shape (m, 10).
        values: Blocks, shape (k, 3, 3).
    """
    for e in range(h.shape[0]):
        lam, mu = factor * stiffness[e, 0], factor * stiffness[e, 1]
        pair = 0
        for a in range(4):
            for b in range(a + 1):
                slot = slots[e, pair]
                pair += 1
                p0, p1, p2 = h[e, a, 0], h[e, a, 1], h[e, a, 2]
                q0, q1, q2 = h[e, b, 0], h[e, b, 1], h[e, b, 2]
                if slot < 0:
                    slot = ~slot
                    p0, p1, p2, q0, q1, q2 = q0, q1, q2, p0, p1, p2
                k = np.uint64(slot)
                dot = mu * (p0 * q0 + p1 * q1 + p2 * q2)
                l0, l1, l2, m0, m1, m2 = lam * p0, lam * p1, lam * p2, mu * p0, mu * p1, mu * p2
                values[k, 0, 0] += (l0 + m0) * q0 + dot
                values[k, 1, 1] += (l1 + m1) * q1 + dot
                values[k, 2, 2] += (l2 + m2) * q2 + dot
                values[k, 0, 1] += l0 * q1 + m1 * q0
                values[k, 1, 0] += l1 * q0 + m0 * q1
                values[k, 0, 2] += l0 * q2 + m2 * q0
                values[k, 2, 0] += l2 * q0 + m0 * q2
                values[k, 1, 2] += l1 * q2 + m2 * q1
                values[k, 2, 1] += l2 * q1 + m1 * q2


def element_pairs(elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the 10 node pairs of each tetrahedron, shapes (10 m,)."""
    first = [a for a in range(4) for b in range(a + 1)]
    second = [b for a in range(4) for b in range(a + 1)]
    return elements[:, first].ravel(), elements[:, second].ravel()


def shape_gradients(x0: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gradients of the linear shape functions, shape (m, 4, 3), and signed volumes (m,)."""
    edges = x0[elements[:, 1:]] - x0[elements[:, :1]]  # rows ab, ac, ad
    volumes = np.linalg.det(edges) / 6.0
    inner = np.linalg.inv(edges).transpose(0, 2, 1)  # row a: gradient of node a + 1
    return np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1), volumes
