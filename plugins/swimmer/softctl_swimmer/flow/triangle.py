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

from softctl_swimmer.flow.tables import TriangleTables

FLAT = 8 * np.finfo(float).eps
"""A height below this share of the coordinates is rounding: the point lies in the plane."""


@njit(cache=True, error_model="numpy")
def seen_from(x: np.ndarray, vertices: np.ndarray, a: np.ndarray, r: np.ndarray) -> None:
    """Vectors a (P, 3) and distances r (P,) from x to the vertices."""
    for p in range(len(vertices)):
        ax, ay, az = vertices[p, 0] - x[0], vertices[p, 1] - x[1], vertices[p, 2] - x[2]
        a[p, 0], a[p, 1], a[p, 2] = ax, ay, az
        r[p] = math.sqrt(ax * ax + ay * ay + az * az)


@njit(cache=True, error_model="numpy")
def edge_integrals(
    tables: TriangleTables, a: np.ndarray, r: np.ndarray, L: np.ndarray, E: np.ndarray
) -> None:
    """Integrals L of 1/R and E of R along each edge, shape (E,).

    With s the coordinate along the edge from the foot of x, and d the distance of its line,
    L = ln((r1 + r2 + l) / (r1 + r2 - l)). Its denominator is 2 w / (r1 + r2 + l) with
    w = r1 r2 + s1 s2 + d^2, which `_w` gives without cancellation, also beside the edge.
    """
    for e in range(len(L)):
        first, last = tables.edges[e, 0], tables.edges[e, 1]
        l, r1, r2 = tables.lengths[e], r[first], r[last]
        s1, s2, d2 = _edge_coordinates(tables.tangents, e, a, first, l)
        L[e] = _log(l, r1 + r2, _w(s1, s2, d2, r1, r2))
        E[e] = 0.5 * (s2 * r2 - s1 * r1 + d2 * L[e])


@njit(cache=True, error_model="numpy")
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
        first, last = tables.edges[e, 0], tables.edges[e, 1]
        l, r1, r2 = tables.lengths[e], r[first], r[last]
        s1, s2, d2 = _edge_coordinates(tables.tangents, e, a, first, l)
        w = _w(s1, s2, d2, r1, r2)
        if w <= 0.0 or r1 == 0.0 or r2 == 0.0:
            dL[e] = 0.0
            curl[e] = 0.0
            dE[e] = 0.0
            continue
        difference = l * (s1 + s2) / (r1 + r2)  # r2 - r1
        Q = l * (r1 + r2) / (r1 * r2 * w)  # integral of 1/R^3
        ux, uy, uz = tables.tangents[e, 0], tables.tangents[e, 1], tables.tangents[e, 2]
        ax, ay, az = a[first, 0], a[first, 1], a[first, 2]
        along = difference / (r1 * r2)
        dL[e, 0] = (ax - s1 * ux) * Q + ux * along
        dL[e, 1] = (ay - s1 * uy) * Q + uy * along
        dL[e, 2] = (az - s1 * uz) * Q + uz * along
        dE[e, 0] = -((ax - s1 * ux) * L[e] + ux * difference)
        dE[e, 1] = -((ay - s1 * uy) * L[e] + uy * difference)
        dE[e, 2] = -((az - s1 * uz) * L[e] + uz * difference)
        curl[e, 0] = Q * (ay * uz - az * uy)
        curl[e, 1] = Q * (az * ux - ax * uz)
        curl[e, 2] = Q * (ax * uy - ay * ux)


@njit(cache=True, error_model="numpy")
def _edge_coordinates(tangents, e, a, first, l):
    """Return the coordinates s of both ends along edge e, and the squared distance of its line."""
    ux, uy, uz = tangents[e, 0], tangents[e, 1], tangents[e, 2]
    ax, ay, az = a[first, 0], a[first, 1], a[first, 2]
    s1 = ax * ux + ay * uy + az * uz
    cx, cy, cz = ay * uz - az * uy, az * ux - ax * uz, ax * uy - ay * ux
    return s1, s1 + l, cx * cx + cy * cy + cz * cz


@njit(cache=True, error_model="numpy")
def _log(l, r_sum, w):
    """Return L of an edge of length l with r_sum = r1 + r2: 2 artanh(l / r_sum); 0 on the edge."""
    z = l / r_sum
    if z < 0.1:  # the series is cheaper than a logarithm, and exact far away
        q = z * z
        tail = 1 / 9 + q * (1 / 11 + q * (1 / 13 + q * (1 / 15 + q * (1 / 17))))
        return 2.0 * z * (1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * tail))))
    return math.log(1.0 + l * (r_sum + l) / w) if w > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def _w(s1, s2, d2, r1, r2):
    """r1 r2 + s1 s2 + d^2; beside the edge, where s1 s2 < 0, by the conjugate."""
    s = s1 * s2
    if s >= 0.0:
        return r1 * r2 + s + d2
    return d2 * (s1 * s1 + s2 * s2 + d2) / (r1 * r2 - s) + d2


@njit(cache=True, error_model="numpy")
def height_and_angle(
    tables: TriangleTables, t: int, a: np.ndarray, r: np.ndarray
) -> tuple[float, float]:
    """Height h of x above triangle t and its solid angle Omega (0 in the plane)."""
    i, j, k = tables.triangles[t, 0], tables.triangles[t, 1], tables.triangles[t, 2]
    h = _height(tables, t, i, a)
    if abs(h) < 1e-3 * r[i]:  # from the nearest corner: least rounding, and none at a corner
        nearest = i
        if r[j] < r[nearest]:
            nearest = j
        if r[k] < r[nearest]:
            nearest = k
        h = _height(tables, t, nearest, a)
        size = abs(tables.vertices[nearest, 0]) + abs(tables.vertices[nearest, 1])
        if abs(h) <= FLAT * (size + abs(tables.vertices[nearest, 2]) + r[nearest]):
            return 0.0, 0.0
    ij = a[i, 0] * a[j, 0] + a[i, 1] * a[j, 1] + a[i, 2] * a[j, 2]
    jk = a[j, 0] * a[k, 0] + a[j, 1] * a[k, 1] + a[j, 2] * a[k, 2]
    ki = a[k, 0] * a[i, 0] + a[k, 1] * a[i, 1] + a[k, 2] * a[i, 2]
    numerator = tables.double_areas[t] * h
    denominator = r[i] * r[j] * r[k] + ij * r[k] + jk * r[i] + ki * r[j]
    if denominator > 0.0:
        return h, 2.0 * math.atan(numerator / denominator)
    return h, 2.0 * math.atan2(numerator, denominator)


@njit(cache=True, error_model="numpy")
def _height(tables, t, corner, a):
    n = tables.normals
    return -(n[t, 0] * a[corner, 0] + n[t, 1] * a[corner, 1] + n[t, 2] * a[corner, 2])


@njit(cache=True, error_model="numpy")
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
    nu, slope = tables.conormals, tables.slopes
    wx = wy = wz = fx = fy = fz = 0.0
    I = -h * omega
    for k in range(3):
        e, c = tables.triangle_edges[t, k], tables.triangles[t, (k + 1) % 3]
        x, y, z = nu[t, k, 0], nu[t, k, 1], nu[t, k, 2]
        t_k = x * a[c, 0] + y * a[c, 1] + z * a[c, 2]
        I += t_k * L[e]
        wx, wy, wz = wx + x * L[e], wy + y * L[e], wz + z * L[e]
        fx, fy, fz = fx + x * E[e], fy + y * E[e], fz + z * E[e]
        S[k] = t_k
    for k in range(3):
        x, y, z, t_k = nu[t, k, 0], nu[t, k, 1], nu[t, k, 2], S[k]
        D[k] = slope[t, k] * (t_k * omega + h * (x * wx + y * wy + z * wz))
        S[k] = slope[t, k] * (t_k * I - (x * fx + y * fy + z * fz))


@njit(cache=True, error_model="numpy")
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
    nu, n, edges = tables.conormals, tables.normals, tables.triangle_edges
    wx = wy = wz = 0.0
    I = -h * omega
    for k in range(3):
        e, c = edges[t, k], tables.triangles[t, (k + 1) % 3]
        t_k = nu[t, k, 0] * a[c, 0] + nu[t, k, 1] * a[c, 1] + nu[t, k, 2] * a[c, 2]
        I += t_k * L[e]
        wx, wy, wz = wx + nu[t, k, 0] * L[e], wy + nu[t, k, 1] * L[e], wz + nu[t, k, 2] * L[e]
    e0, e1, e2 = edges[t, 0], edges[t, 1], edges[t, 2]
    s0, s1, s2 = tables.senses[t, 0], tables.senses[t, 1], tables.senses[t, 2]
    for k in range(3):
        slope, c = tables.slopes[t, k], tables.triangles[t, (k + 1) % 3]
        x, y, z = nu[t, k, 0], nu[t, k, 1], nu[t, k, 2]
        t_k = x * a[c, 0] + y * a[c, 1] + z * a[c, 2]
        nu_w = x * wx + y * wy + z * wz
        c0 = x * nu[t, 0, 0] + y * nu[t, 0, 1] + z * nu[t, 0, 2]
        c1 = x * nu[t, 1, 0] + y * nu[t, 1, 1] + z * nu[t, 1, 2]
        c2 = x * nu[t, 2, 0] + y * nu[t, 2, 1] + z * nu[t, 2, 2]
        for i in range(3):
            w = wx if i == 0 else (wy if i == 1 else wz)
            d_omega = -(s0 * curl[e0, i] + s1 * curl[e1, i] + s2 * curl[e2, i])
            d_nu_w = c0 * dL[e0, i] + c1 * dL[e1, i] + c2 * dL[e2, i]
            d_nu_f = c0 * dE[e0, i] + c1 * dE[e1, i] + c2 * dE[e2, i]
            d_I = -n[t, i] * omega - w
            dD[k, i] = slope * (t_k * d_omega - nu[t, k, i] * omega + n[t, i] * nu_w + h * d_nu_w)
            dS[k, i] = slope * (t_k * d_I - nu[t, k, i] * I - d_nu_f)
