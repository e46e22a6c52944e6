"""Constraints that fixed contact modes imply, as rows of QPs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit

OPEN, INACTIVE, STICKING, SLIDING, TOUCHING = -1, 0, 1, 2, 3
"""What is known of a contact: nothing, or its mode, or only that it touches."""
FACETS = 8
"""Planes around every friction cone, beside those that answers add."""


class EnumerationProblem(NamedTuple):
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
def _row(R: np.ndarray, r: np.ndarray, at: int, row: np.ndarray, value: float) -> int:
    """Append row . x <= value (or =) of norm one; returns the next place, or -1 if impossible."""
    norm = np.sqrt(row @ row)
    if norm < 1e-12:
        return at if value > -1e-9 else -1
    R[at], r[at] = row / norm, value / norm
    return at + 1


@njit
def _cone_rows(
    st: EnumerationProblem, i: int, cuts: np.ndarray, G: np.ndarray, h: np.ndarray, at: int
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
    st: EnumerationProblem, i: int, low: float, high: float, G: np.ndarray, h: np.ndarray, at: int
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
def assemble(
    st: EnumerationProblem, kind: np.ndarray, low: np.ndarray, high: np.ndarray, cuts: np.ndarray
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
def law_errors(st: EnumerationProblem, x: np.ndarray) -> np.ndarray:
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
def turning(
    st: EnumerationProblem,
    kind: np.ndarray,
    cols: np.ndarray,
    place: np.ndarray,
    x: np.ndarray,
    angle: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The curved conditions about x and the angles, as rows over the steps of (x[cols], angles).

    Sliding: lam_t + mu lam_n u = 0 and w . delta_t = 0 (A d = -c), u . delta_t >= 0 (in G d <= h),
    with u = (cos, sin) of the angle and w normal to it. Sticking: the tangent of the cone.

    Args:
        st: The problem.
        kind: INACTIVE, STICKING or SLIDING, shape (n_c,).
        cols: Columns of x that vary, shape (k,).
        place: Where each column of x is in `cols`, shape (n,).
        x: Shape (n,).
        angle: Direction of slip of the sliding contacts [rad], shape (n_c,).

    Returns:
        A, c, G and h; in G sliding contacts come first.
    """
    n, delta = len(cols), st.C @ x + st.c
    slides = np.sum(kind == SLIDING)
    A, c = np.zeros((3 * slides, n + slides)), np.zeros(3 * slides)
    G, h = np.zeros((len(kind), n + slides)), np.zeros(len(kind))
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
        return A, c, G[:m], h[:m]
    for i in range(len(kind)):
        if kind[i] == STICKING and st.rough[i]:
            j = st.first + st.starts[i]
            size = np.sqrt(x[j + 1] ** 2 + x[j + 2] ** 2)
            if size > 1e-12:
                G[m, place[j]] = -st.mu[i]
                G[m, place[j + 1]], G[m, place[j + 2]] = x[j + 1] / size, x[j + 2] / size
                h[m] = st.mu[i] * x[j] - size
                m += 1
    return A, c, G[:m], h[:m]


@njit
def add_curvature(
    st: EnumerationProblem,
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
