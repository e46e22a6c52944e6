"""Narrow phase: closest point pairs of two surfaces.

Elements are points, lines and triangles; a sphere is a point with a reach. The methods are SOFA's
and differ in the pairs that count as contacts:

    LOCAL_MIN_DISTANCE  closest points inside both elements, if the shortest path between them
                        leaves each surface outwards (a cone around its normals)
    MIN_PROXIMITY       the same without cones; on lines, the end points count as well
    NEW_PROXIMITY       triangles against triangles, with each corner and edge belonging to one

Source: SOFA's semantics (section 12 of its description); formulas for closest points as
in Ericson, Real-Time Collision Detection, 2005, chapter 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sofa_softctl.base.jit import njit

LOCAL_MIN_DISTANCE, MIN_PROXIMITY, NEW_PROXIMITY = 0, 1, 2
INSIDE_MARGIN = 1e-6  # coordinates inside an element that closest points must exceed
CONTACTS_MAX = 15  # of two triangles: 3 + 3 corners, 9 pairs of edges
# |det| of two directions up to which lines count as parallel, by method
PARALLEL_DETERMINANT = np.array([1e-30, 1e-15, 1e-12])


class Surface(NamedTuple):
    """Elements that can touch, and their neighbours."""

    x: np.ndarray
    """Positions of the nodes [length], shape (n, 3)."""
    elements: np.ndarray
    """Nodes of each element, shape (m, 1), (m, 2) or (m, 3)."""
    reach: np.ndarray
    """Proximity of each element, and radius of a sphere [length], shape (m,)."""
    flags: np.ndarray
    """Corners (bits 0-2) and edges (bits 3-5) whose contacts belong to a triangle, shape (m,)."""
    triangles: np.ndarray
    """All triangles of the surface, shape (t, 3)."""
    edges: np.ndarray
    """All edges of the surface, shape (e, 2)."""
    triangles_at: np.ndarray
    """Triangles at each node, one list after the other."""
    triangles_start: np.ndarray
    """Index of the first item of each node's list, shape (n + 1,)."""
    edges_at: np.ndarray
    """Edges at each node, one list after the other."""
    edges_start: np.ndarray
    """Index of the first item of each node's list, shape (n + 1,)."""
    sides: np.ndarray
    """Triangles on both sides of each edge, -1 unless there are exactly two, shape (e, 2)."""
    both_sides: bool
    """Contacts from inside the surface count."""
    filtered: bool
    """Cones apply; not for spheres, nor for points of a node without lines."""


class Proximities(NamedTuple):
    """Pairs of near points, in the order of the candidate pairs."""

    element: np.ndarray
    """Element of each surface, shape (p, 2)."""
    weight: np.ndarray
    """Barycentric weights of each point in its element's nodes [-], shape (p, 2, 3)."""
    point: np.ndarray
    """The two points [length], shape (p, 2, 3)."""
    normal: np.ndarray
    """Unit vector from the first to the second [-], shape (p, 3)."""
    distance: np.ndarray
    """Distance of the two points [length], shape (p,)."""


@njit
def _sub(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit
def _dot(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def _cross(
    a: tuple[float, float, float], b: tuple[float, float, float]
) -> tuple[float, float, float]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit
def _unit(a: tuple[float, float, float]) -> tuple[float, float, float]:
    size = np.sqrt(_dot(a, a))
    if size == 0.0:
        return 0.0, 0.0, 0.0
    return a[0] / size, a[1] / size, a[2] / size


@njit
def _normal(x: np.ndarray, triangle: np.ndarray) -> tuple[float, float, float]:
    a = x[triangle[0]]
    return _cross(_sub(x[triangle[1]], a), _sub(x[triangle[2]], a))


# -- closest points: True if they count, and coordinates ----------------------------------------


@njit
def _on_lines(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, method: int
) -> tuple[bool, float, float]:
    """Return coordinates along ab and cd of their closest points; both must lie inside."""
    ab, cd, ac = _sub(b, a), _sub(d, c), _sub(c, a)
    m00, m11, m01 = _dot(ab, ab), _dot(cd, cd), -_dot(cd, ab)
    r0, r1 = _dot(ab, ac), -_dot(cd, ac)
    det = m00 * m11 - m01 * m01
    if abs(det) <= PARALLEL_DETERMINANT[method]:
        return True, 0.5, 0.5
    s = (r0 * m11 - r1 * m01) / det
    t = (r1 * m00 - r0 * m01) / det
    inside = 1e-15 if method == LOCAL_MIN_DISTANCE else INSIDE_MARGIN
    good = inside <= s <= 1.0 - inside and inside <= t <= 1.0 - inside
    return good, s, t


@njit
def _on_line(a: np.ndarray, b: np.ndarray, p: np.ndarray, method: int) -> tuple[bool, float]:
    """Return the coordinate along ab of the point closest to p."""
    ab, ap = _sub(b, a), _sub(p, a)
    length = _dot(ab, ab)
    if length == 0.0:
        return False, 0.0
    s = _dot(ap, ab) / length
    if method == LOCAL_MIN_DISTANCE:
        return INSIDE_MARGIN <= s <= 1.0 - INSIDE_MARGIN, s
    return True, min(max(s, 0.0), 1.0)


@njit
def _in_triangle(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, p: np.ndarray
) -> tuple[bool, float, float]:
    """Return the coordinates along ab and ac of the projection of p, which must lie inside."""
    ab, ac, ap = _sub(b, a), _sub(c, a), _sub(p, a)
    m00, m11, m01 = _dot(ab, ab), _dot(ac, ac), _dot(ab, ac)
    r0, r1 = _dot(ap, ab), _dot(ap, ac)
    det = m00 * m11 - m01 * m01
    if det == 0.0:
        return False, 0.0, 0.0
    s = (r0 * m11 - r1 * m01) / det
    t = (r1 * m00 - r0 * m01) / det
    return s >= INSIDE_MARGIN and t >= INSIDE_MARGIN and s + t <= 1.0 - INSIDE_MARGIN, s, t


@njit
def _on_triangle(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, p: np.ndarray, flags: int
) -> tuple[bool, float, float]:
    """Return the point of a triangle closest to p; corners and edges count only if flagged."""
    ab, ac, ap = _sub(b, a), _sub(c, a), _sub(p, a)
    m00, m11, m01 = _dot(ab, ab), _dot(ac, ac), _dot(ab, ac)
    r0, r1 = _dot(ap, ab), _dot(ap, ac)
    det = m00 * m11 - m01 * m01
    if det == 0.0:
        return False, 0.0, 0.0
    small = 2.220446049250313e-16
    s = (r0 * m11 - r1 * m01) / det
    t = (r1 * m00 - r0 * m01) / det
    if s >= small and t >= small and s + t <= 1.0 - small:
        return True, s, t
    on_ab, on_ac = r0 / m00, r1 / m11
    if on_ab < small and on_ac < small:
        return flags & 1 != 0, 0.0, 0.0
    if small <= on_ab < 1.0 - small and t < small:
        return flags & 8 != 0, on_ab, 0.0
    if small <= on_ac < 1.0 - small and s < small:
        return flags & 32 != 0, 0.0, on_ac
    on_bc = (r1 - r0 + m00 - m01) / (m00 + m11 - 2.0 * m01)
    if on_bc < small:
        return flags & 2 != 0, 1.0, 0.0
    if on_bc > 1.0 - small:
        return flags & 4 != 0, 0.0, 1.0
    return flags & 16 != 0, 1.0 - on_bc, on_bc


# -- does the path leave the surface outwards? --------------------------------------------------


@njit
def _leaves_point(
    s: Surface, element: int, path: tuple[float, float, float], cone: float, factor: float
) -> bool:
    node = s.elements[element, 0]
    size = np.sqrt(_dot(path, path))
    mean = (0.0, 0.0, 0.0)
    first, last = s.triangles_start[node], s.triangles_start[node + 1]
    for k in range(first, last):
        n = _unit(_normal(s.x, s.triangles[s.triangles_at[k]]))
        mean = (mean[0] + n[0], mean[1] + n[1], mean[2] + n[2])
    e_first, e_last = s.edges_start[node], s.edges_start[node + 1]
    if first == last:
        for k in range(e_first, e_last):
            out = _edge_direction(s, node, s.edges_at[k])
            mean = (mean[0] + out[0], mean[1] + out[1], mean[2] + out[2])
    if _dot(mean, mean) > 1e-20:
        mean = _unit(mean)
        if not s.both_sides and _dot(mean, path) < -cone * size:
            return False
    for k in range(e_first, e_last):
        out = _edge_direction(s, node, s.edges_at[k])
        angle = max(_dot(mean, out) * factor, 0.0) + cone
        if _dot(out, path) < -angle * size:
            return False
    return True


@njit
def _edge_direction(s: Surface, node: int, edge: int) -> tuple[float, float, float]:
    """Return the unit vector along an edge, towards one of its nodes."""
    a, b = s.edges[edge, 0], s.edges[edge, 1]
    return _unit(_sub(s.x[node], s.x[b if a == node else a]))


@njit
def _leaves_line(
    s: Surface, element: int, path: tuple[float, float, float], cone: float, factor: float
) -> bool:
    a, b = s.elements[element, 0], s.elements[element, 1]
    size = np.sqrt(_dot(path, path))
    along = _unit(_sub(s.x[b], s.x[a]))
    if s.sides[element, 0] < 0:
        return abs(_dot(along, path)) <= (cone + 1e-4) * size
    left, right = s.sides[element, 0], s.sides[element, 1]
    t = s.triangles[left]
    if not ((a == t[0] and b == t[1]) or (a == t[1] and b == t[2]) or (a == t[2] and b == t[0])):
        left, right = right, left
    n1 = _unit(_normal(s.x, s.triangles[right]))
    n2 = _unit(_normal(s.x, s.triangles[left]))
    t1, t2 = _unit(_cross(n1, along)), _unit(_cross(along, n2))
    mean = _unit((n1[0] + n2[0], n1[1] + n2[1], n1[2] + n2[2]))
    if not s.both_sides and _dot(mean, path) < 0.0:
        return False
    if _dot(t1, path) < -(max(_dot(mean, t1) * factor, 0.0) + cone) * size:
        return False
    return _dot(t2, path) >= -(max(_dot(mean, t2) * factor, 0.0) + cone) * size


@njit
def _leaves(
    s: Surface, element: int, path: tuple[float, float, float], cone: float, factor: float
) -> bool:
    """Return True if the shortest path to the other surface starts outwards."""
    if not s.filtered:
        return True
    kind = s.elements.shape[1]
    if kind == 1:
        return _leaves_point(s, element, path, cone, factor)
    if kind == 2:
        return _leaves_line(s, element, path, cone, factor)
    return s.both_sides or _dot(_normal(s.x, s.elements[element]), path) >= 0.0


# -- all pairs ------------------------------------------------------------------------------------


@njit
def near_points(
    first: Surface,
    second: Surface,
    pairs: np.ndarray,
    method: int,
    alarm: float,
    cone: float,
    factor: float,
    lines: bool,
) -> Proximities:
    """Return the near points of candidate pairs of elements.

    Args:
        first: Surface of the larger elements (triangles before lines before points).
        second: The other surface.
        pairs: Candidate elements, shape (k, 2).
        method: LOCAL_MIN_DISTANCE, MIN_PROXIMITY or NEW_PROXIMITY.
        alarm: Distance in addition to the elements' reach above which pairs are left out [length].
        cone: SOFA's angleCone [-].
        factor: SOFA's coneFactor [-].
        lines: For NEW_PROXIMITY: edges of triangles meet edges.
    """
    k1, k2 = first.elements.shape[1], second.elements.shape[1]
    has_triangles = method == NEW_PROXIMITY and k1 == 3 and k2 >= 2
    capacity = len(pairs) * (CONTACTS_MAX if has_triangles else 1)
    out = Proximities(
        np.empty((capacity, 2), np.int64),
        np.zeros((capacity, 2, 3)),
        np.empty((capacity, 2, 3)),
        np.empty((capacity, 3)),
        np.empty(capacity),
    )
    w1, w2 = np.zeros(3), np.zeros(3)
    count = 0
    for k in range(len(pairs)):
        i, j = pairs[k]
        limit = alarm + first.reach[i] + second.reach[j]
        if has_triangles:
            count = _triangle_contacts(out, count, first, i, second, j, limit, lines)
            continue
        w1[:] = 0.0
        w2[:] = 0.0
        p, q = first.elements[i], second.elements[j]
        x, y = first.x, second.x
        good = True
        if k1 == 3 and k2 == 1:
            if method == NEW_PROXIMITY:
                good, w1[1], w1[2] = _on_triangle(
                    x[p[0]], x[p[1]], x[p[2]], y[q[0]], first.flags[i]
                )
            else:
                good, w1[1], w1[2] = _in_triangle(x[p[0]], x[p[1]], x[p[2]], y[q[0]])
        elif k1 == 2 and k2 == 1:
            good, w1[1] = _on_line(x[p[0]], x[p[1]], y[q[0]], method)
        elif k1 == 2 and k2 == 2:
            good, w1[1], w2[1] = _on_lines(x[p[0]], x[p[1]], y[q[0]], y[q[1]], method)
        elif k1 != 1 or k2 != 1:
            good = False  # triangles against lines or triangles: their parts suffice
        if not good:
            continue
        w1[0], w2[0] = 1.0 - w1[1] - w1[2], 1.0 - w2[1]
        if not _record(out, count, first, i, second, j, w1, w2, limit):
            continue
        if method == LOCAL_MIN_DISTANCE:
            path = _sub(out.point[count, 1], out.point[count, 0])
            opposite = (-path[0], -path[1], -path[2])
            if not _leaves(first, i, path, cone, factor):
                continue
            if not _leaves(second, j, opposite, cone, factor):
                continue
        count += 1
    return Proximities(
        out.element[:count],
        out.weight[:count],
        out.point[:count],
        out.normal[:count],
        out.distance[:count],
    )


@njit
def _set_point(out: np.ndarray, s: Surface, element: int, weight: np.ndarray) -> None:
    """Write the point of an element with these weights.

    Sum from the first corner, as in SOFA: flat on flat, rounding decides what leaves outwards.
    """
    corners = s.elements[element]
    for c in range(3):
        start = s.x[corners[0], c]
        value = start
        for k in range(1, len(corners)):
            value += (s.x[corners[k], c] - start) * weight[k]
        out[c] = value


@njit
def _record(
    out: Proximities,
    index: int,
    first: Surface,
    i: int,
    second: Surface,
    j: int,
    w1: np.ndarray,
    w2: np.ndarray,
    limit: float,
) -> bool:
    """Write a pair of points if they are nearer than `limit`."""
    out.element[index, 0], out.element[index, 1] = i, j
    _set_point(out.point[index, 0], first, i, w1)
    _set_point(out.point[index, 1], second, j, w2)
    out.weight[index, 0], out.weight[index, 1] = w1, w2
    offset = _sub(out.point[index, 1], out.point[index, 0])
    square = _dot(offset, offset)
    if not square < limit * limit:
        return False
    distance = np.sqrt(square)
    out.distance[index] = distance
    if distance > 1e-15:
        for c in range(3):
            out.normal[index, c] = offset[c] / distance
    else:
        out.normal[index, 0], out.normal[index, 1], out.normal[index, 2] = 1.0, 0.0, 0.0
    return True


@njit
def _triangle_contacts(
    out: Proximities,
    index: int,
    first: Surface,
    i: int,
    second: Surface,
    j: int,
    limit: float,
    lines: bool,
) -> int:
    """Add the contacts of a triangle with a triangle or a line; return the next free index."""
    p, q = first.elements[i], second.elements[j]
    x, y = first.x, second.x
    f1, f2 = first.flags[i], second.flags[j]
    corners = len(q)
    w1, w2 = np.zeros(3), np.zeros(3)
    for k in range(3):  # corners of the first on the second
        if not f1 & (1 << k) and (k > 0 or corners < 3):  # SOFA checks all but the first
            continue
        if corners == 3:
            good, s, t = _on_triangle(y[q[0]], y[q[1]], y[q[2]], x[p[k]], f2)
        else:
            good, s = _on_line(y[q[0]], y[q[1]], x[p[k]], NEW_PROXIMITY)
            t = 0.0
        w1[:] = 0.0
        w1[k] = 1.0
        w2[0], w2[1], w2[2] = 1.0 - s - t, s, t
        if good and _record(out, index, first, i, second, j, w1, w2, limit):
            index += 1
    for k in range(corners):  # corners of the second on the first
        if corners == 3 and not f2 & (1 << k):
            continue
        good, s, t = _on_triangle(x[p[0]], x[p[1]], x[p[2]], y[q[k]], f1)
        w2[:] = 0.0
        w2[k] = 1.0
        w1[0], w1[1], w1[2] = 1.0 - s - t, s, t
        if good and _record(out, index, first, i, second, j, w1, w2, limit):
            index += 1
    if not lines:
        return index
    for k in range(3):
        if not f1 & (8 << k):
            continue
        for m in range(3 if corners == 3 else 1):
            if corners == 3 and not f2 & (8 << m):
                continue
            k2, m2 = (k + 1) % 3, (m + 1) % corners
            good, s, t = _on_lines(x[p[k]], x[p[k2]], y[q[m]], y[q[m2]], NEW_PROXIMITY)
            w1[:] = 0.0
            w2[:] = 0.0
            w1[k], w1[k2] = 1.0 - s, s
            w2[m], w2[m2] = 1.0 - t, t
            if good and _record(out, index, first, i, second, j, w1, w2, limit):
                index += 1
    return index


@njit
def without_duplicates(point: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the indices of the pairs of points that repeat no earlier pair.

    Args:
        point: Pairs of points, shape (p, 2, 3).
        tolerance: Sum of the two squared distances above which pairs differ [length^2].
    """
    unique = np.empty(len(point), np.int64)
    count = 0
    for k in range(len(point)):
        is_new = True
        for m in range(count):
            earlier = unique[m]
            square = 0.0
            for side in range(2):
                for c in range(3):
                    square += (point[k, side, c] - point[earlier, side, c]) ** 2
            if square < tolerance:
                is_new = False
                break
        if is_new:
            unique[count] = k
            count += 1
    return unique[:count]
