"""Kernels of the enumeration of contact modes: convex QPs, relaxations, and a local method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.jit import njit

OPEN, INACTIVE, STICKING, SLIDING, TOUCHING = -1, 0, 1, 2, 3
"""What is known of a contact: nothing, or its mode, or only that it touches."""
SOLVED, INFEASIBLE, FAILED = 0, 1, 2
"""How a kernel ended."""
ACCEPTED = 1e-7
"""Residual of a quadratic program's answer that is taken if nothing better comes [-]."""
DAMPING = 1e-10
"""Of the steps of multipliers, so that planes that nearly coincide do no harm [-]."""
FACETS = 8
"""Planes around every friction cone, beside those that answers add."""


class Statement(NamedTuple):
    """An inverse problem over x = (efforts, contact forces, excesses), free of units.

    Minimise 1/2 x' H x + g' x such that G x <= h, delta = C x + c, and every contact obeys its law.
    """

    H: np.ndarray
    """Hessian, shape (n, n)."""
    g: np.ndarray
    """Gradient at zero, shape (n,)."""
    C: np.ndarray
    """Gaps and slips of the contact rows, shape (n_r, n)."""
    c: np.ndarray
    """Shape (n_r,)."""
    G: np.ndarray
    """Limits, rows of norm one, shape (m, n)."""
    h: np.ndarray
    """Shape (m,)."""
    mu: np.ndarray
    """Coefficient of friction, shape (n_c,)."""
    starts: np.ndarray
    """First row of each contact, shape (n_c,)."""
    rough: np.ndarray
    """Whether each contact has tangential rows, shape (n_c,)."""
    cone: bool
    """Whether friction is limited by Coulomb's cone."""
    first: int
    """Column of the first contact row's force."""


@njit
def _factor(K: np.ndarray) -> None:
    """Cholesky in the lower triangle, in place; directions without curvature are frozen."""
    n = len(K)
    for j in range(n):
        top = K[j, j]
        d = top
        for k in range(j):
            d -= K[j, k] * K[j, k]
        if d <= 1e-14 * top or d <= 1e-250:
            K[j, j] = 1e100
            for i in range(j + 1, n):
                K[i, j] = 0.0
            continue
        d = np.sqrt(d)
        K[j, j] = d
        for i in range(j + 1, n):
            v = K[i, j]
            for k in range(j):
                v -= K[i, k] * K[j, k]
            K[i, j] = v / d


@njit
def _forward(L: np.ndarray, x: np.ndarray) -> None:
    """Solve L y = x in place."""
    for i in range(len(x)):
        v = x[i]
        for k in range(i):
            v -= L[i, k] * x[k]
        x[i] = v / L[i, i]


@njit
def _backward(L: np.ndarray, x: np.ndarray) -> None:
    """Solve L' y = x in place."""
    for i in range(len(x) - 1, -1, -1):
        v = x[i]
        for k in range(i + 1, len(x)):
            v -= L[k, i] * x[k]
        x[i] = v / L[i, i]


@njit
def interior_point(
    H: np.ndarray,
    g: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    soft: np.ndarray,
    G: np.ndarray,
    h: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    cutoff: float,
) -> tuple[int, float]:
    """Convex QP by a primal-dual interior point method.

    Minimises 1/2 x'Hx + g'x + sum (A_i x - b_i)^2 / (2 soft_i) over G x <= h, where rows with
    soft_i = 0 hold exactly. All data are of the order of one.

    Args:
        H: Positive semidefinite, shape (n, n).
        g: Shape (n,).
        A: Shape (k, n).
        b: Shape (k,).
        soft: Shape (k,).
        G: Shape (m, n).
        h: Shape (m,).
        x: Output, shape (n,).
        y: Output, multipliers of A, shape (k,).
        z: Output, multipliers of G, shape (m,).
        cutoff: Problems with a minimum above this are as good as infeasible.

    Returns:
        SOLVED, INFEASIBLE or FAILED, and a lower bound of the minimum (-inf if there is none).

    Source: predictor and corrector of Mehrotra 1992, "On the implementation of a primal-dual
        interior point method".
    """
    n, k, m = len(g), len(b), len(h)
    x[:], y[:], z[:] = 0.0, 0.0, 1.0
    s = np.maximum(h, 1.0)
    K, S, Y = np.empty((n, n)), np.empty((k, k)), np.empty((k, n))
    dx, dy, dz, ds, w = np.empty(n), np.empty(k), np.empty(m), np.empty(m), np.empty(m)
    size = 1.0 + np.abs(g).max()
    best, bound = np.inf, -np.inf
    best_x, best_y, best_z = x.copy(), y.copy(), z.copy()
    for _ in range(60):
        Hx = H @ x
        rd, rp, rg = Hx + g + A.T @ y + G.T @ z, A @ x - soft * y - b, G @ x + s - h
        mean = (s @ z) / m if m else 0.0
        pd = np.abs(rd).max() if n else 0.0
        pp = max(np.abs(rp).max() if k else 0.0, np.abs(rg).max() if m else 0.0)
        worst = max(max(pd / size, pp), mean * m / size)
        if not np.isfinite(worst):
            return FAILED, -np.inf
        dual = -0.5 * (x @ Hx) - b @ y - h @ z - 0.5 * (soft @ (y * y))
        bound = max(bound, dual - np.abs(rd).sum() * (10.0 + 2.0 * np.abs(x).max()))
        if bound > cutoff:
            return INFEASIBLE, np.inf
        if worst < best:
            best, best_x[:], best_y[:], best_z[:] = worst, x, y, z
        if best < 1e-10 or worst > 1e5 * best or (best < ACCEPTED and worst > 3.0 * best):
            break
        for i in range(n):
            for j in range(i + 1):
                K[i, j] = H[i, j]
            K[i, i] += 1e-11
        for r in range(m):
            w[r] = z[r] / (s[r] + DAMPING * z[r])
            for i in range(n):
                v = w[r] * G[r, i]
                if v != 0.0:
                    for j in range(i + 1):
                        K[i, j] += v * G[r, j]
        for r in range(k):  # changes nothing where A dx - soft dy = -rp, but makes K definite
            for i in range(n):
                v = A[r, i]
                if v != 0.0:
                    for j in range(i + 1):
                        K[i, j] += v * A[r, j]
        _factor(K)
        for r in range(k):
            Y[r] = A[r]
            _forward(K, Y[r])
        for r in range(k):
            for q in range(r + 1):
                S[r, q] = Y[r] @ Y[q]
            S[r, r] += soft[r] / (1.0 - soft[r]) + 1e-13 * (1.0 + S[r, r])
        _factor(S)
        target = 0.0
        rc = s * z
        for phase in range(2):
            r1 = -rd - G.T @ (w * (rg - rc / z)) - A.T @ rp
            _forward(K, r1)
            dy[:] = Y @ r1 + rp
            _forward(S, dy)
            _backward(S, dy)
            dx[:] = r1 - Y.T @ dy
            _backward(K, dx)
            dy[:] /= 1.0 - soft
            dz[:] = w * (G @ dx + rg - rc / z)
            ds[:] = -(rc + s * dz) / z
            up, ud = 1.0, 1.0
            for r in range(m):
                if ds[r] < 0.0:
                    up = min(up, -s[r] / ds[r])
                if dz[r] < 0.0:
                    ud = min(ud, -z[r] / dz[r])
            if phase == 0 and m:
                after = ((s + up * ds) @ (z + ud * dz)) / m
                target = max(mean * (after / mean) ** 3, 1e-12)
                rc = s * z + ds * dz - target
        up = ud = min(1.0, 0.995 * min(up, ud)) if m else 1.0
        x += up * dx
        s += up * ds
        y += ud * dy
        z += ud * dz
    x[:], y[:], z[:] = best_x, best_y, best_z
    return (SOLVED if best < ACCEPTED else FAILED), bound


@njit
def _row(R: np.ndarray, r: np.ndarray, at: int, row: np.ndarray, value: float) -> int:
    """Append row . x <= value (or =) of norm one; returns the next place, or -1 if impossible."""
    norm = np.sqrt(row @ row)
    if norm < 1e-12:
        return at if value > -1e-9 else -1
    R[at], r[at] = row / norm, value / norm
    return at + 1


@njit
def _cone_rows(
    st: Statement, i: int, cuts: np.ndarray, G: np.ndarray, h: np.ndarray, at: int
) -> int:
    """Planes p . lam_t <= mu lam_n around a cone: fixed ones, and those of `cuts`."""
    j = st.first + st.starts[i]
    row = np.zeros(len(st.g))
    row[j] = -st.mu[i]
    for f in range(FACETS):
        row[j + 1], row[j + 2] = np.cos(2 * np.pi * f / FACETS), np.sin(2 * np.pi * f / FACETS)
        at = _row(G, h, at, row, 0.0)
    for cut in range(len(cuts)):
        if int(cuts[cut, 0]) == i:
            row[j + 1], row[j + 2] = np.cos(cuts[cut, 1]), np.sin(cuts[cut, 1])
            at = _row(G, h, at, row, 0.0)
    return at


@njit
def _sector_rows(
    st: Statement, i: int, low: float, high: float, G: np.ndarray, h: np.ndarray, at: int
) -> int:
    """Slip within a sector of angles, friction opposite, between the disc's arc and its chord."""
    j, t = st.first + st.starts[i], st.starts[i] + 1
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    for e in range(3):
        angle, sign = (low, 1.0) if e == 0 else (high, -1.0)
        p, q = -sign * np.sin(angle), sign * np.cos(angle)  # inwards
        if e == 2:  # implied, but lost in rounding where the sector is narrow
            p, q = np.cos(middle), np.sin(middle)
        at = _row(G, h, at, -(p * st.C[t] + q * st.C[t + 1]), p * st.c[t] + q * st.c[t + 1])
        if at < 0:
            return at
    row = np.zeros(len(st.g))
    for e in range(2):
        angle, sign = (low, 1.0) if e == 0 else (high, -1.0)
        row[j + 1], row[j + 2] = -sign * np.sin(angle), sign * np.cos(angle)
        at = _row(G, h, at, row, 0.0)
    for angle in (low, middle, high):  # tangents of the arc: friction is -lam_t
        row[j], row[j + 1], row[j + 2] = -st.mu[i], -np.cos(angle), -np.sin(angle)
        at = _row(G, h, at, row, 0.0)
    row[j], row[j + 1], row[j + 2] = st.mu[i] * np.cos(half), np.cos(middle), np.sin(middle)
    return _row(G, h, at, row, 0.0)


@njit
def _assemble(
    st: Statement, kind: np.ndarray, low: np.ndarray, high: np.ndarray, cuts: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows G x <= h and A x = b of what is known of the contacts; a negative flag: impossible."""
    n, n_c = len(st.g), len(st.mu)
    space = len(st.h) + n_c * (FACETS + 12) + len(cuts)
    G, h = np.zeros((space, n)), np.zeros(space)
    A, b = np.zeros((3 * n_c, n)), np.zeros(3 * n_c)
    m, k = len(st.h), 0
    G[:m], h[:m] = st.G, st.h
    row = np.zeros(n)
    for i in range(n_c):
        j, r = st.first + st.starts[i], st.starts[i]
        if kind[i] != INACTIVE:
            row[j] = -1.0
            m = _row(G, h, m, row, 0.0)
            row[j] = 0.0
        if kind[i] == INACTIVE or kind[i] == OPEN:
            m = _row(G, h, m, -st.C[r], st.c[r])
            if m < 0:
                return -1, G, h, A, b
        else:
            A[k], b[k] = st.C[r], -st.c[r]
            k += 1
        if not st.rough[i]:
            continue
        if kind[i] == STICKING:
            for t in range(1, 3):
                A[k], b[k] = st.C[r + t], -st.c[r + t]
                k += 1
        if not st.cone or kind[i] == INACTIVE:
            continue
        if kind[i] == SLIDING and high[i] - low[i] < 3.1:
            m = _sector_rows(st, i, low[i], high[i], G, h, m)
            if m < 0:
                return -1, G, h, A, b
        else:
            m = _cone_rows(st, i, cuts, G, h, m)
    return 0, G[:m], h[:m], A[:k], b[:k]


@njit
def columns_of(st: Statement, kind: np.ndarray) -> np.ndarray:
    """Columns of x that may differ from zero."""
    used = np.ones(len(st.g), dtype=np.bool_)
    for i in range(len(st.mu)):
        if kind[i] == INACTIVE:
            j = st.first + st.starts[i]
            used[j : j + (3 if st.rough[i] else 1)] = False
    return np.flatnonzero(used)


@njit
def relax(
    st: Statement,
    kind: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    cuts: np.ndarray,
    cutoff: float,
) -> tuple[int, float, np.ndarray]:
    """The convex relaxation of what is known of the contacts.

    Args:
        st: The problem.
        kind: What is known of each contact, shape (n_c,).
        low: Least angle of slip of the sliding contacts [rad], shape (n_c,).
        high: Greatest angle of slip, shape (n_c,).
        cuts: More planes around cones: contact, angle of the outward normal, shape (n, 2).
        cutoff: Minima above this are of no interest.

    Returns:
        How it ended, a lower bound of the objective, and x, shape (n,).
    """
    x = np.zeros(len(st.g))
    flag, G, h, A, b = _assemble(st, kind, low, high, cuts)
    if flag < 0:
        return INFEASIBLE, np.inf, x
    cols = columns_of(st, kind)
    H = np.empty((len(cols), len(cols)))
    for i in range(len(cols)):
        for j in range(len(cols)):
            H[i, j] = st.H[cols[i], cols[j]]
    part, y, z = np.zeros(len(cols)), np.zeros(len(b)), np.zeros(len(h))
    A, G = np.ascontiguousarray(A[:, cols]), np.ascontiguousarray(G[:, cols])
    for r in range(len(b)):
        norm = np.sqrt(A[r] @ A[r])
        if norm > 1e-12:
            A[r] /= norm
            b[r] /= norm
        elif abs(b[r]) > 1e-9:
            return INFEASIBLE, np.inf, x
        else:
            A[r], b[r] = 0.0, 0.0
    soft = np.zeros(len(b))
    status, bound = interior_point(H, st.g[cols], A, b, soft, G, h, part, y, z, cutoff)
    x[cols] = part
    return status, bound, x


@njit
def law_errors(st: Statement, x: np.ndarray) -> np.ndarray:
    """Distance of each contact from its law, shape (n_c,).

    The larger of |min(lam_n, delta_n)| and of the distance of lam_t from the projection of
    lam_t - delta_t onto the friction disc; without a cone, the smaller of the distances from
    being inactive and from sticking.
    """
    delta = st.C @ x + st.c
    out = np.zeros(len(st.mu))
    for i in range(len(out)):
        r, j = st.starts[i], st.first + st.starts[i]
        normal = abs(min(x[j], delta[r]))
        if not st.rough[i]:
            out[i] = normal
        elif not st.cone:
            force = np.sqrt(x[j] ** 2 + x[j + 1] ** 2 + x[j + 2] ** 2)
            motion = np.sqrt(delta[r] ** 2 + delta[r + 1] ** 2 + delta[r + 2] ** 2)
            out[i] = min(max(force, -delta[r]), max(motion, -x[j]))
        else:
            p, q = x[j + 1] - delta[r + 1], x[j + 2] - delta[r + 2]
            length, disc = np.sqrt(p * p + q * q), st.mu[i] * max(x[j], 0.0)
            if length > disc:
                p *= disc / length
                q *= disc / length
            out[i] = max(normal, np.sqrt((x[j + 1] - p) ** 2 + (x[j + 2] - q) ** 2))
    return out


@njit
def _turning(
    st: Statement,
    kind: np.ndarray,
    cols: np.ndarray,
    place: np.ndarray,
    x: np.ndarray,
    angle: np.ndarray,
    A: np.ndarray,
    c: np.ndarray,
    G: np.ndarray,
    h: np.ndarray,
) -> int:
    """The curved conditions about x and the angles, as rows over the steps of (x[cols], angles).

    Sliding: lam_t + mu lam_n u = 0 and w . delta_t = 0 (A d = -c), u . delta_t >= 0 (in G d <= h),
    with u = (cos, sin) of the angle and w normal to it. Sticking: the tangent of the cone.

    Returns:
        Number of rows of G; sliding contacts come first.
    """
    n, delta = len(cols), st.C @ x + st.c
    A[:], G[:] = 0.0, 0.0
    m = s = 0
    for i in range(len(kind)):
        if kind[i] != SLIDING:
            continue
        r, j = st.starts[i], st.first + st.starts[i]
        p, q = np.cos(angle[i]), np.sin(angle[i])
        mu, force = st.mu[i], x[j]
        A[3 * s, place[j + 1]], A[3 * s + 1, place[j + 2]] = 1.0, 1.0
        A[3 * s, place[j]], A[3 * s + 1, place[j]] = mu * p, mu * q
        A[3 * s, n + s], A[3 * s + 1, n + s] = -mu * force * q, mu * force * p
        c[3 * s], c[3 * s + 1] = x[j + 1] + mu * force * p, x[j + 2] + mu * force * q
        along, across = p * delta[r + 1] + q * delta[r + 2], p * delta[r + 2] - q * delta[r + 1]
        for l in range(n):
            A[3 * s + 2, l] = p * st.C[r + 2, cols[l]] - q * st.C[r + 1, cols[l]]
            G[m, l] = -p * st.C[r + 1, cols[l]] - q * st.C[r + 2, cols[l]]
        A[3 * s + 2, n + s], c[3 * s + 2] = -along, across
        G[m, n + s], h[m] = -across, along
        m += 1
        s += 1
    if not st.cone:
        return m
    for i in range(len(kind)):
        if kind[i] == STICKING and st.rough[i]:
            j = st.first + st.starts[i]
            size = np.sqrt(x[j + 1] ** 2 + x[j + 2] ** 2)
            if size > 1e-12:
                G[m, place[j]] = -st.mu[i]
                G[m, place[j + 1]], G[m, place[j + 2]] = x[j + 1] / size, x[j + 2] / size
                h[m] = st.mu[i] * x[j] - size
                m += 1
    return m


@njit
def _curvature(
    st: Statement,
    kind: np.ndarray,
    cols: np.ndarray,
    place: np.ndarray,
    x: np.ndarray,
    angle: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    H: np.ndarray,
) -> None:
    """Add the second derivatives of the curved conditions, times their multipliers, to H."""
    n, delta = len(cols), st.C @ x + st.c
    s = 0
    for i in range(len(kind)):
        if kind[i] != SLIDING:
            continue
        r, j = st.starts[i], st.first + st.starts[i]
        p, q = np.cos(angle[i]), np.sin(angle[i])
        mu, force, t = st.mu[i], x[j], n + s
        along, across = p * delta[r + 1] + q * delta[r + 2], p * delta[r + 2] - q * delta[r + 1]
        H[t, t] += -mu * force * (y[3 * s] * p + y[3 * s + 1] * q) - y[3 * s + 2] * across
        H[t, t] += z[s] * along
        bend = mu * (y[3 * s + 1] * p - y[3 * s] * q)
        H[t, place[j]] += bend
        H[place[j], t] += bend
        for l in range(n):
            v = -y[3 * s + 2] * (p * st.C[r + 1, cols[l]] + q * st.C[r + 2, cols[l]])
            v -= z[s] * (p * st.C[r + 2, cols[l]] - q * st.C[r + 1, cols[l]])
            H[t, l] += v
            H[l, t] += v
        s += 1
    m = s
    for i in range(len(kind)):
        if st.cone and kind[i] == STICKING and st.rough[i]:
            j = st.first + st.starts[i]
            size = np.sqrt(x[j + 1] ** 2 + x[j + 2] ** 2)
            if size > 1e-12:
                a, b = place[j + 1], place[j + 2]
                p, q, w = x[j + 1] / size, x[j + 2] / size, z[m] / max(size, 1e-3)
                H[a, a] += w * q * q
                H[b, b] += w * p * p
                H[a, b] -= w * p * q
                H[b, a] -= w * p * q
                m += 1


@njit
def _merit(st: Statement, x: np.ndarray, c: np.ndarray, h: np.ndarray, weight: float) -> float:
    value: float = 0.5 * (x @ (st.H @ x)) + st.g @ x
    return value + weight * (np.abs(c).sum() + np.maximum(-h, 0.0).sum())


@njit
def _lift(H: np.ndarray) -> None:
    """Make a matrix positive definite: eigenvalues below zero change their sign."""
    n = len(H)
    L = H.copy()
    for i in range(n):
        L[i, i] += 1e-9
    _factor(L)
    bad = False
    for i in range(n):
        bad = bad or L[i, i] > 1e99
    if not bad:
        return
    values, vectors = np.linalg.eigh(H)
    for i in range(n):
        if values[i] < 1e-9:
            values[i] = max(-values[i], 1e-9)
    H[:] = (vectors * values) @ vectors.T


@njit
def descend(
    st: Statement, kind: np.ndarray, angle: np.ndarray, x: np.ndarray, steps: int
) -> tuple[int, float]:
    """The nearest local optimum of given modes, by sequential quadratic programs.

    Args:
        st: The problem.
        kind: INACTIVE, STICKING or SLIDING, shape (n_c,).
        angle: Direction of slip of the sliding contacts [rad], shape (n_c,). Start and output.
        x: Start and output, shape (n,).
        steps: Most quadratic programs.

    Returns:
        SOLVED, INFEASIBLE or FAILED, and the objective.

    Source: the stabilisation against dependent conditions is the one of Wright 1998, "Superlinear
        convergence of a stabilized SQP method to a degenerate solution".
    """
    n_c = len(kind)
    flag, G0, h0, A0, b0 = _assemble(
        st, kind, np.zeros(n_c), np.full(n_c, 2 * np.pi), np.empty((0, 2))
    )
    if flag < 0:
        return INFEASIBLE, np.inf
    cols = columns_of(st, kind)
    place = np.full(len(st.g), -1)
    place[cols] = np.arange(len(cols))
    for j in range(len(x)):
        if place[j] < 0:
            x[j] = 0.0
    slides = 0
    for i in range(n_c):
        slides += kind[i] == SLIDING
    n, k0, m0 = len(cols), len(b0), len(h0)
    N, k, M = n + slides, k0 + 3 * slides, m0 + slides + n_c + 2 * slides
    A, b, soft, G, h = np.zeros((k, N)), np.zeros(k), np.zeros(k), np.zeros((M, N)), np.zeros(M)
    A[:k0, :n], G[:m0, :n] = A0[:, cols], G0[:, cols]
    At, ct = np.zeros((3 * slides, N)), np.zeros(3 * slides)
    Gt, ht = np.zeros((slides + n_c, N)), np.zeros(slides + n_c)
    d, y, z = np.zeros(N), np.zeros(k), np.zeros(M)
    base = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            base[i, j] = st.H[cols[i], cols[j]]
    H, g = np.empty((N, N)), np.zeros(N)
    radius, weight, turned = 0.6, 1.0, 0.0
    mt = _turning(st, kind, cols, place, x, angle, At, ct, Gt, ht)
    for step in range(steps):
        error = np.abs(ct).max() if slides else 0.0
        H[:], H[:n, :n] = 0.0, base
        if step:
            _curvature(
                st, kind, cols, place, x, angle,
                np.minimum(np.maximum(y[k0:], -1e3), 1e3), z[m0 : m0 + mt], H,
            )  # fmt: skip
        g[:] = At.T @ ct
        g[:n] += (st.H @ x + st.g)[cols]
        A[k0:], b[:k0] = At, b0 - A0 @ x
        H += At.T @ At
        _lift(H)
        sigma = min(1e-4, max(1e-9, error))
        soft[k0:] = sigma
        old = np.minimum(np.maximum(y[k0:], -1e3), 1e3)
        b[k0:] = -ct - sigma * old
        m = m0 + mt
        h[:m0] = h0 - G0 @ x
        G[m0:m], h[m0:m] = Gt[:mt], ht[:mt]
        for s in range(slides):
            G[m], G[m + 1] = 0.0, 0.0
            G[m, n + s], G[m + 1, n + s] = 1.0, -1.0
            h[m], h[m + 1] = radius, radius
            m += 2
        zm = z[:m]
        status, _ = interior_point(H, g, A, b, soft, G[:m], h[:m], d, y, zm, 1e6)
        if status != SOLVED:
            return status, np.inf
        z[:m] = zm
        if slides:
            weight = max(weight, min(2.0 * np.abs(y[k0:]).max(), 1e3))
        start_x, start_angle = x.copy(), angle.copy()
        before = _merit(st, x, ct, ht[:mt], weight)
        share = 1.0
        for trial in range(5):
            x[cols] = start_x[cols] + share * d[:n]
            s = 0
            for i in range(n_c):
                if kind[i] == SLIDING:
                    angle[i] = start_angle[i] + share * d[n + s]
                    s += 1
            mt = _turning(st, kind, cols, place, x, angle, At, ct, Gt, ht)
            if _merit(st, x, ct, ht[:mt], weight) <= before + 1e-12 or step == 0:
                break
            share *= 0.4
        turned = np.abs(d).max()
        radius = min(0.6, 2.0 * radius) if share == 1.0 else max(0.3 * radius, 1e-3)
        error = np.abs(ct).max() if slides else 0.0
        if turned < 1e-7 and error < 1e-9 or (turned < 1e-5 and error < 1e-11):
            return SOLVED, 0.5 * (x @ (st.H @ x)) + st.g @ x
        if step == 12 and error > 1e-2:
            return FAILED, np.inf
    if error < 1e-9:
        return SOLVED, 0.5 * (x @ (st.H @ x)) + st.g @ x
    return FAILED, np.inf
