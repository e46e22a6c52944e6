"""Closed-form integrals of 1/R and its normal derivative over flat triangles, linear densities.

Notation, for a field point x, a source point y and R = |y - x|:

    a_k, r_k    vector and distance from x to corner k
    e = k       the edge opposite corner k, of length l_k; nu_k points in the plane out across it
    t_k         nu_k . (y_e - x), signed distance from the foot of x to that edge's line
    h           n . (x - y), height of x above the plane
    L_e, E_e    integrals of 1/R and of R along the edge
    Omega       integral of h / R^3: the solid angle, positive above the plane
    N_k         linear shape function of corner k, N_k = t_k l_k / (2 area) at the foot of x

With Gauss' theorem in the plane, N_k(y) = N_k(foot) - nu_k . (y - foot) l_k / (2 area) gives

    I   = int 1/R          = sum_e t_e L_e - h Omega
    S_k = int N_k / R      = l_k / (2 area) (t_k I - nu_k . sum_e nu_e E_e)
    D_k = int N_k h / R^3  = l_k / (2 area) (t_k Omega + h nu_k . sum_e nu_e L_e)

Values of a point in the plane are principal values: Omega = 0 there. On an edge, terms such as
t L have the limit zero, and L is set to zero. Nothing is approximated; rounding grows with the
distance as eps (R / l)^2 relative to the value itself, which is below eps relative to values near
the triangle, so that no other formula is needed far away.

Source: the derivation above; solid angle: Van Oosterom and Strackee 1983, eq. (8).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from softctl_swimmer.tables import TriangleTables

FLAT = 8 * np.finfo(float).eps
"""A height below this share of the coordinates is rounding: the point lies in the plane."""


@njit(cache=True)
def seen_from(x: np.ndarray, vertices: np.ndarray, a: np.ndarray, r: np.ndarray) -> None:
    """Vectors a (P, 3) and distances r (P,) from x to the vertices."""
    for p in range(len(vertices)):
        ax, ay, az = vertices[p, 0] - x[0], vertices[p, 1] - x[1], vertices[p, 2] - x[2]
        a[p, 0], a[p, 1], a[p, 2] = ax, ay, az
        r[p] = math.sqrt(ax * ax + ay * ay + az * az)


@njit(cache=True)
def edge_integrals(
    tables: TriangleTables, a: np.ndarray, r: np.ndarray, L: np.ndarray, E: np.ndarray
) -> None:
    """Integrals L of 1/R and E of R along each edge, shape (E,).

    With s the coordinate along the edge from the foot of x, and d the distance of its line,
    L = ln((r1 + r2 + l) / (r1 + r2 - l)). Its denominator is 2 w / (r1 + r2 + l) with
    w = r1 r2 + s1 s2 + d^2, which `_w` gives without cancellation, also beside the edge.
    """
    for e in range(len(L)):
        first, last = tables.edges[e]
        l, r1, r2 = tables.lengths[e], r[first], r[last]
        s1, s2, d2 = _along(tables.tangents[e], a[first], l)
        w = _w(s1, s2, d2, r1, r2)
        L[e] = math.log1p(l * (r1 + r2 + l) / w) if w > 0.0 else 0.0
        E[e] = 0.5 * (s2 * r2 - s1 * r1 + d2 * L[e])


@njit(cache=True)
def edge_gradients(
    tables: TriangleTables,
    a: np.ndarray,
    r: np.ndarray,
    L: np.ndarray,
    dL: np.ndarray,
    curl: np.ndarray,
    dE: np.ndarray,
) -> None:
    """Gradients by x of L and E, and the integral of (y - x) x tangent / R^3, each (E, 3).

    Zero where x lies on the edge, and they do not exist.
    """
    for e in range(len(L)):
        first, last = tables.edges[e]
        l, r1, r2, u = tables.lengths[e], r[first], r[last], tables.tangents[e]
        s1, s2, d2 = _along(u, a[first], l)
        w = _w(s1, s2, d2, r1, r2)
        if w <= 0.0 or r1 == 0.0 or r2 == 0.0:
            dL[e] = 0.0
            curl[e] = 0.0
            dE[e] = 0.0
            continue
        difference = l * (s1 + s2) / (r1 + r2)  # r2 - r1
        Q = l * (r1 + r2) / (r1 * r2 * w)  # integral of 1/R^3
        for i in range(3):
            across = a[first, i] - s1 * u[i]
            dL[e, i] = across * Q + u[i] * difference / (r1 * r2)
            dE[e, i] = -(across * L[e] + u[i] * difference)
        curl[e, 0] = Q * (a[first, 1] * u[2] - a[first, 2] * u[1])
        curl[e, 1] = Q * (a[first, 2] * u[0] - a[first, 0] * u[2])
        curl[e, 2] = Q * (a[first, 0] * u[1] - a[first, 1] * u[0])


@njit(cache=True)
def _along(u, a, l):
    """Coordinates s of both ends along the tangent u, and the squared distance of the line."""
    s1 = a[0] * u[0] + a[1] * u[1] + a[2] * u[2]
    cx = a[1] * u[2] - a[2] * u[1]
    cy = a[2] * u[0] - a[0] * u[2]
    cz = a[0] * u[1] - a[1] * u[0]
    return s1, s1 + l, cx * cx + cy * cy + cz * cz


@njit(cache=True)
def _w(s1, s2, d2, r1, r2):
    """r1 r2 + s1 s2 + d^2; beside the edge, where s1 s2 < 0, by the conjugate."""
    s = s1 * s2
    if s >= 0.0:
        return r1 * r2 + s + d2
    return d2 * (s1 * s1 + s2 * s2 + d2) / (r1 * r2 - s) + d2


@njit(cache=True)
def height_and_angle(
    tables: TriangleTables, t: int, a: np.ndarray, r: np.ndarray
) -> tuple[float, float]:
    """Height h of x above triangle t and its solid angle Omega (0 in the plane)."""
    i, j, k = tables.triangles[t]
    near = i  # the nearest corner: least rounding, and none at all at a corner
    if r[j] < r[near]:
        near = j
    if r[k] < r[near]:
        near = k
    n = tables.normals[t]
    h = -(n[0] * a[near, 0] + n[1] * a[near, 1] + n[2] * a[near, 2])
    y = tables.vertices[near]
    if abs(h) <= FLAT * (abs(y[0]) + abs(y[1]) + abs(y[2]) + r[near]):
        return 0.0, 0.0
    ij = a[i, 0] * a[j, 0] + a[i, 1] * a[j, 1] + a[i, 2] * a[j, 2]
    jk = a[j, 0] * a[k, 0] + a[j, 1] * a[k, 1] + a[j, 2] * a[k, 2]
    ki = a[k, 0] * a[i, 0] + a[k, 1] * a[i, 1] + a[k, 2] * a[i, 2]
    below = r[i] * r[j] * r[k] + ij * r[k] + jk * r[i] + ki * r[j]
    return h, 2.0 * math.atan2(tables.double_areas[t] * h, below)


@njit(cache=True)
def corner_weights(
    tables: TriangleTables,
    t: int,
    a: np.ndarray,
    L: np.ndarray,
    E: np.ndarray,
    h: float,
    omega: float,
    S: np.ndarray,
    D: np.ndarray,
) -> None:
    """S_k and D_k of the module's docstring for the corners of triangle t, shape (3,)."""
    wx = wy = wz = fx = fy = fz = total = 0.0
    for k in range(3):
        e, nu = tables.triangle_edges[t, k], tables.conormals[t, k]
        S[k] = _edge_distance(tables, t, k, a)  # t_k, for now
        total += S[k] * L[e]
        wx, wy, wz = wx + nu[0] * L[e], wy + nu[1] * L[e], wz + nu[2] * L[e]
        fx, fy, fz = fx + nu[0] * E[e], fy + nu[1] * E[e], fz + nu[2] * E[e]
    total -= h * omega
    for k in range(3):
        nu = tables.conormals[t, k]
        slope = tables.lengths[tables.triangle_edges[t, k]] / tables.double_areas[t]
        D[k] = slope * (S[k] * omega + h * (nu[0] * wx + nu[1] * wy + nu[2] * wz))
        S[k] = slope * (S[k] * total - (nu[0] * fx + nu[1] * fy + nu[2] * fz))


@njit(cache=True)
def _edge_distance(tables, t, k, a):
    """t_k: distance from the foot of x to the line of edge k, positive towards the triangle."""
    nu, c = tables.conormals[t, k], tables.triangles[t, (k + 1) % 3]
    return nu[0] * a[c, 0] + nu[1] * a[c, 1] + nu[2] * a[c, 2]


@njit(cache=True)
def corner_weight_gradients(
    tables: TriangleTables,
    t: int,
    a: np.ndarray,
    L: np.ndarray,
    E: np.ndarray,
    dL: np.ndarray,
    curl: np.ndarray,
    dE: np.ndarray,
    h: float,
    omega: float,
    dS: np.ndarray,
    dD: np.ndarray,
) -> None:
    """Gradients by x of S_k and D_k, shape (3 corners, 3 directions).

    The formulas of the module's docstring, differentiated; grad t_k = -nu_k, grad h = n,
    grad I = -n Omega - sum_e nu_e L_e, and grad Omega = -sum_e int (y - x) x tangent / R^3 with
    tangents counter-clockwise (the law of Biot and Savart).
    """
    n = tables.normals[t]
    total = -h * omega
    w = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    g = (0.0, 0.0, 0.0)  # grad Omega
    for k in range(3):
        e, nu = tables.triangle_edges[t, k], tables.conormals[t, k]
        total += _edge_distance(tables, t, k, a) * L[e]
        w = (w[0] + nu[0] * L[e], w[1] + nu[1] * L[e], w[2] + nu[2] * L[e])
        f = (f[0] + nu[0] * E[e], f[1] + nu[1] * E[e], f[2] + nu[2] * E[e])
        s = tables.senses[t, k]
        g = (g[0] - s * curl[e, 0], g[1] - s * curl[e, 1], g[2] - s * curl[e, 2])
    for k in range(3):
        nu = tables.conormals[t, k]
        slope = tables.lengths[tables.triangle_edges[t, k]] / tables.double_areas[t]
        t_k = _edge_distance(tables, t, k, a)
        nu_w = nu[0] * w[0] + nu[1] * w[1] + nu[2] * w[2]
        for i in range(3):
            d_nu_w = d_nu_f = 0.0
            for m in range(3):
                e, mu = tables.triangle_edges[t, m], tables.conormals[t, m]
                cosine = nu[0] * mu[0] + nu[1] * mu[1] + nu[2] * mu[2]
                d_nu_w += cosine * dL[e, i]
                d_nu_f += cosine * dE[e, i]
            dD[k, i] = slope * (-nu[i] * omega + t_k * g[i] + n[i] * nu_w + h * d_nu_w)
            d_total = -n[i] * omega - w[i]
            dS[k, i] = slope * (-nu[i] * total + t_k * d_total - d_nu_f)
