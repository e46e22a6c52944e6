"""Corotational linear hexahedra: frames, stiffness, forces and the stiffness matrix.

An element has trilinear shape functions and the rest shape X, its nodes in the order (0, 0, 0),
(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), ... The rows of its frame R are axes that turn with it.
Its stiffness K, found once at rest in its own axes by eight points of Gauss, gives the forces
f = R^T K (R_0 X - R x), and R^T K R is the stiffness in the world's axes, without dR/dx. Methods
as in SOFA's HexahedronFEMForceField: small has R = 1, large the mean of the edges along x and that
along y, polar the polar decomposition of the three mean edges.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.runtime.kernels.elasticity.corotational import (
    LARGE,
    SMALL,
    edge_frame,
    polar_factor,
    set_identity,
)

CORNERS = np.array(
    [
        [-1.0, -1.0, -1.0],
        [1.0, -1.0, -1.0],
        [1.0, 1.0, -1.0],
        [-1.0, 1.0, -1.0],
        [-1.0, -1.0, 1.0],
        [1.0, -1.0, 1.0],
        [1.0, 1.0, 1.0],
        [-1.0, 1.0, 1.0],
    ]
)
"""Nodes of the reference element."""
_PARALLELEPIPED_TOLERANCE = 1e-3
"""Largest gap of a parallelepiped's opposite edges, relative to their length [-], as in SOFA."""


@njit
def mean_edges(x: np.ndarray, element: np.ndarray, m: np.ndarray) -> None:
    """Compute the mean of the four edges along each direction of the element, as rows."""
    for axis in range(3):
        for i in range(3):
            total = 0.0
            for a in range(8):
                total += CORNERS[a, axis] * x[element[a], i]
            m[axis, i] = 0.25 * total


@njit
def rotate(x: np.ndarray, elements: np.ndarray, method: int, frames: np.ndarray) -> None:
    """Compute the frame R of each element at x, rows = axes.

    Args:
        x: Positions, shape (n, 3).
        elements: Hexahedra, shape (m, 8).
        method: SMALL, LARGE or POLAR of `corotational`.
        frames: Output, shape (m, 3, 3).
    """
    edges, work, origin = np.empty((3, 3)), np.empty((3, 3)), np.zeros(3)
    for e in range(elements.shape[0]):
        if method == SMALL:
            set_identity(frames[e])
            continue
        mean_edges(x, elements[e], edges)
        if method == LARGE:
            edge_frame(origin, edges[0], edges[1], frames[e])
        else:
            polar_factor(edges, frames[e], work)


@njit
def _jacobian(p: np.ndarray, point: np.ndarray, J: np.ndarray) -> None:
    """J_ij = dX_i / dxi_j of the trilinear map at a point of the reference element."""
    for i in range(3):
        for j in range(3):
            k, l = (j + 1) % 3, (j + 2) % 3
            total = 0.0
            for a in range(8):
                c = CORNERS[a]
                total += p[a, i] * c[j] * (1.0 + c[k] * point[k]) * (1.0 + c[l] * point[l])
            J[i, j] = total / 8.0


@njit
def _is_parallelepiped(p: np.ndarray) -> bool:
    """Return True if opposite edges are equal to a thousandth of their length."""
    for a, b, c, d in ((3, 2, 0, 1), (1, 5, 0, 4), (2, 6, 0, 4), (3, 7, 0, 4)):
        gap = length = 0.0
        for i in range(3):
            edge = p[d, i] - p[c, i]
            miss = p[a, i] + edge - p[b, i]
            gap += miss * miss
            length += edge * edge
        if not np.sqrt(gap) < _PARALLELEPIPED_TOLERANCE * np.sqrt(length):
            return False
    return True


@njit
def _invert(m: np.ndarray, out: np.ndarray) -> float:
    """out = m^-1; returns det m."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for p in range(3):
            q, r = (p + 1) % 3, (p + 2) % 3
            out[p, i] = m[j, q] * m[k, r] - m[j, r] * m[k, q]
    det: float = m[0, 0] * out[0, 0] + m[0, 1] * out[1, 0] + m[0, 2] * out[2, 0]
    for i in range(3):
        for j in range(3):
            out[i, j] /= det
    return det


@njit
def element_stiffness(
    x: np.ndarray,
    elements: np.ndarray,
    frames: np.ndarray,
    lame: np.ndarray,
    stiffness: np.ndarray,
) -> None:
    """K_ab = sum of w (lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) 1) over Gauss's points.

    A parallelepiped has the gradients g of its first node's edges everywhere, as in SOFA.

    Args:
        x: Positions of the shape, shape (n, 3).
        elements: Hexahedra, shape (m, 8).
        frames: Axes of each element, shape (m, 3, 3).
        lame: Lambda and mu of each element, shape (m, 2).
        stiffness: Output K in the element's axes, shape (m, 24, 24).
    """
    p, g, J, inverse = np.empty((8, 3)), np.empty((8, 3)), np.empty((3, 3)), np.empty((3, 3))
    point = np.empty(3)
    for e in range(elements.shape[0]):
        lam, mu = lame[e, 0], lame[e, 1]
        for a in range(8):
            for i in range(3):
                p[a, i] = 0.0
                for j in range(3):
                    p[a, i] += frames[e, i, j] * x[elements[e, a], j]
        straight = _is_parallelepiped(p)
        for i in range(3):
            J[i, 0] = 0.5 * (p[1, i] - p[0, i])
            J[i, 1] = 0.5 * (p[3, i] - p[0, i])
            J[i, 2] = 0.5 * (p[4, i] - p[0, i])
        K = stiffness[e]
        K[:] = 0.0
        for corner in range(8):
            for j in range(3):
                point[j] = CORNERS[corner, j] / np.sqrt(3.0)
            if not straight:
                _jacobian(p, point, J)
            weight = _invert(J, inverse)
            for a in range(8):
                c = CORNERS[a]
                s0, s1, s2 = 1.0 + c[0] * point[0], 1.0 + c[1] * point[1], 1.0 + c[2] * point[2]
                d0, d1, d2 = c[0] * s1 * s2 / 8.0, s0 * c[1] * s2 / 8.0, s0 * s1 * c[2] / 8.0
                for i in range(3):
                    g[a, i] = d0 * inverse[0, i] + d1 * inverse[1, i] + d2 * inverse[2, i]
            for a in range(8):
                for b in range(8):
                    dot = g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2]
                    for i in range(3):
                        for j in range(3):
                            k_ij = lam * g[a, i] * g[b, j] + mu * g[b, i] * g[a, j]
                            if i == j:
                                k_ij += mu * dot
                            K[3 * a + i, 3 * b + j] += weight * k_ij


@njit
def local_rest(x0: np.ndarray, elements: np.ndarray, frames: np.ndarray, rest: np.ndarray) -> None:
    """rest = R_0 X, each element's rest shape in its own axes, shape (m, 8, 3)."""
    for e in range(elements.shape[0]):
        for a in range(8):
            for i in range(3):
                rest[e, a, i] = 0.0
                for j in range(3):
                    rest[e, a, i] += frames[e, i, j] * x0[elements[e, a], j]


@njit
def _add_turned(
    element: np.ndarray, frame: np.ndarray, f: np.ndarray, factor: float, out: np.ndarray
) -> None:
    """out_a += factor R^T f_a."""
    for a in range(8):
        t = element[a]
        f0, f1, f2 = f[3 * a], f[3 * a + 1], f[3 * a + 2]
        for i in range(3):
            out[t, i] += factor * (frame[0, i] * f0 + frame[1, i] * f1 + frame[2, i] * f2)


@njit
def _multiply(K: np.ndarray, d: np.ndarray, f: np.ndarray) -> None:
    """f = K d, by rows of the symmetric K, so that the inner loop has no sum."""
    f[:] = 0.0
    for j in range(24):
        dj = d[j]
        for i in range(24):
            f[i] += K[j, i] * dj


@njit
def add_force(
    x: np.ndarray,
    elements: np.ndarray,
    frames: np.ndarray,
    rest: np.ndarray,
    stiffness: np.ndarray,
    force: np.ndarray,
) -> None:
    """force += R^T K (R_0 X - R x).

    Args:
        x: Positions, shape (n, 3).
        elements: Hexahedra, shape (m, 8).
        frames: Axes at x, shape (m, 3, 3).
        rest: From `local_rest`, shape (m, 8, 3).
        stiffness: K of each element, shape (m, 24, 24).
        force: Output, shape (n, 3).
    """
    d, f = np.empty(24), np.empty(24)
    for e in range(elements.shape[0]):
        r = frames[e]
        for a in range(8):
            t = elements[e, a]
            for i in range(3):
                moved = r[i, 0] * x[t, 0] + r[i, 1] * x[t, 1] + r[i, 2] * x[t, 2]
                d[3 * a + i] = rest[e, a, i] - moved
        _multiply(stiffness[e], d, f)
        _add_turned(elements[e], r, f, 1.0, force)


@njit
def add_product(
    v: np.ndarray,
    elements: np.ndarray,
    frames: np.ndarray,
    stiffness: np.ndarray,
    factor: float,
    out: np.ndarray,
) -> None:
    """out += factor R^T K R v."""
    d, f = np.empty(24), np.empty(24)
    for e in range(elements.shape[0]):
        r = frames[e]
        for a in range(8):
            t = elements[e, a]
            for i in range(3):
                d[3 * a + i] = r[i, 0] * v[t, 0] + r[i, 1] * v[t, 1] + r[i, 2] * v[t, 2]
        _multiply(stiffness[e], d, f)
        _add_turned(elements[e], r, f, factor, out)


@njit
def add_matrix(
    frames: np.ndarray,
    stiffness: np.ndarray,
    factor: float,
    slots: np.ndarray,
    values: np.ndarray,
) -> None:
    """values[slots] += factor R^T K R, node pairs of an element in the order of `element_pairs`.

    Args:
        frames, stiffness: As for `add_force`.
        factor: Scale of the matrix [-].
        slots: Index of each pair's block, ~index if its transpose is stored, shape (m, 36).
        values: Blocks, shape (k, 3, 3).
    """
    half = np.empty((3, 3))
    for e in range(frames.shape[0]):
        r, K = frames[e], stiffness[e]
        pair = 0
        for a in range(8):
            for b in range(a + 1):
                slot = slots[e, pair]
                is_one_node = a != b and slot == slots[e, a * (a + 3) // 2]  # of a wedge
                pair += 1
                row, col = 3 * a, 3 * b
                if slot < 0:
                    slot = ~slot
                    row, col = col, row
                for i in range(3):
                    k0, k1, k2 = K[row + i, col], K[row + i, col + 1], K[row + i, col + 2]
                    for j in range(3):
                        half[i, j] = factor * (k0 * r[0, j] + k1 * r[1, j] + k2 * r[2, j])
                block = values[slot]
                for i in range(3):
                    for j in range(3):
                        product = r[0, i] * half[0, j] + r[1, i] * half[1, j] + r[2, i] * half[2, j]
                        block[i, j] += product
                        if is_one_node:
                            block[j, i] += product


def element_pairs(elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the 36 node pairs of each hexahedron, shapes (36 m,)."""
    first = [a for a in range(8) for b in range(a + 1)]
    second = [b for a in range(8) for b in range(a + 1)]
    return elements[:, first].ravel(), elements[:, second].ravel()


def signed_sizes(x: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the determinants of the mean edges, about the volume, negative if inverted, (m,)."""
    edges = 0.25 * np.einsum("ak,eai->eki", CORNERS, x[elements])
    return np.asarray(np.linalg.det(edges))
