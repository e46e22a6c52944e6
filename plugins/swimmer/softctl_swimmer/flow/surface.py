"""Closed triangle meshes with outward normals, checked: the skin of one link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sofa_softctl.errors import MeshError
from softctl_swimmer.flow.tables import TriangleTables, triangle_tables

DEGENERATE_AREA_RATIO = 1e-6
"""Ratio of twice the area to the longest side squared below which a triangle is degenerate [-]."""


@dataclass(frozen=True)
class Surface:
    """A closed surface of flat triangles in its link's frame. Create it with `checked_surface`."""

    tables: TriangleTables
    """Vertices, triangles and derived arrays; lengths in [m]."""

    @property
    def vertices(self) -> np.ndarray:
        """Positions [m], shape (P, 3)."""
        return self.tables.vertices

    @property
    def triangles(self) -> np.ndarray:
        """Vertices of each triangle, counter-clockwise seen from the fluid, shape (T, 3)."""
        return self.tables.triangles

    @cached_property
    def volume(self) -> float:
        """Enclosed volume [m^3]."""
        return float(_signed_volumes(self.vertices, self.triangles).sum())

    @cached_property
    def twist_velocities(self) -> np.ndarray:
        """Normal velocity at each triangle's corners for unit twists, shape (T, 3, 6).

        Columns: translations [-] and rotations about the frame's origin [m] along x, y and z. A
        rigid motion's normal velocity is linear on a flat triangle, so corners hold all of it.
        """
        y = self.vertices[self.triangles]  # (T, 3, 3)
        n = np.broadcast_to(self.tables.normals[:, None], y.shape)
        return _freeze(np.concatenate([n, np.cross(y, n)], axis=-1))

    @cached_property
    def twist_fluxes(self) -> np.ndarray:
        """Integral of each vertex's hat function times the twists' normal velocity, (P, 6)."""
        q = self.twist_velocities
        element = (q + q.sum(axis=1, keepdims=True)) * self.tables.double_areas[:, None, None] / 24
        flux = np.zeros((len(self.vertices), 6))
        np.add.at(flux, self.triangles, element)
        return _freeze(flux)


def checked_surface(
    vertices: np.ndarray, triangles: np.ndarray, *, name: str = "the mesh"
) -> Surface:
    """Return a checked surface.

    Args:
        vertices: Positions in the link's frame [m], shape (P, 3).
        triangles: Vertices of each triangle, counter-clockwise seen from outside, shape (T, 3).
        name: Name of the mesh in messages.

    Raises:
        MeshError: Triangles are missing; wrong shapes or indices, NaN, degenerate triangles,
            unused vertices, an open or non-manifold surface, separate parts, flipped triangles, or
            normals that point inward. Self-intersection is only detected by the added mass.
    """
    vertices, triangles = _arrays(vertices, triangles, name)
    _check_areas(vertices, triangles, name)
    _check_closed(triangles, name)
    _check_connected(triangles, len(vertices), name)
    volume = _signed_volumes(vertices, triangles).sum()
    if volume <= 0.0:
        raise MeshError(
            f"{name}: all {len(triangles)} triangles are flipped: their normals point inward "
            f"(enclosed volume {volume:.3g} m^3, expected > 0). Swap two vertices of each triangle."
        )
    return Surface(triangle_tables(vertices, triangles))


def _freeze(array):
    array.setflags(write=False)
    return array


def _arrays(vertices, triangles, name):
    vertices = np.array(vertices, dtype=float)
    triangles = np.array(triangles)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise MeshError(f"{name}: vertices have shape {vertices.shape}; expected (P, 3).")
    if triangles.ndim != 2 or triangles.shape[1:] != (3,) or triangles.dtype.kind not in "iu":
        raise MeshError(
            f"{name}: triangles have shape {triangles.shape} and type {triangles.dtype}; expected "
            "(T, 3) and integers."
        )
    if not len(triangles):
        raise MeshError(f"{name} has no triangles. Expected a closed surface.")
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise MeshError(f"{name}: vertex {bad[0]} is {vertices[bad[0]]}; expected finite numbers.")
    bad = np.flatnonzero(((triangles < 0) | (triangles >= len(vertices))).any(axis=1))
    if len(bad):
        raise MeshError(
            f"{name}: triangle {bad[0]} has the vertices {triangles[bad[0]].tolist()}; there are "
            f"{len(vertices)}, numbered from 0."
        )
    unused = np.setdiff1d(np.arange(len(vertices)), triangles)
    if len(unused):
        raise MeshError(
            f"{name}: {len(unused)} vertices belong to no triangle, first {unused[0]}. Remove them."
        )
    return vertices, triangles


def _check_areas(vertices, triangles, name):
    y = vertices[triangles]
    double_areas = np.linalg.norm(np.cross(y[:, 1] - y[:, 0], y[:, 2] - y[:, 0]), axis=1)
    longest = np.linalg.norm(y - np.roll(y, 1, axis=1), axis=2).max(axis=1)
    bad = np.flatnonzero(~(double_areas > DEGENERATE_AREA_RATIO * longest**2))
    if len(bad):
        raise MeshError(
            f"{name}: {_list_numbers(bad, 'triangle')} degenerate (twice the area below "
            f"{DEGENERATE_AREA_RATIO:g} of the longest side squared); triangle {bad[0]} has the "
            f"vertices {triangles[bad[0]].tolist()}. Merge or move their vertices."
        )


def _check_closed(triangles, name):
    """Check that every edge belongs to two triangles, in opposite directions."""
    directed = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=-1).reshape(-1, 2)
    owner = np.repeat(np.arange(len(triangles)), 3)
    _, edge, count = np.unique(
        np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    edge = edge.reshape(-1)
    for is_wrong, problem in ((count == 1, "open"), (count > 2, "not a surface")):
        bad = np.flatnonzero(is_wrong[edge])
        if len(bad):
            triangle, ends = owner[bad[0]], directed[bad[0]].tolist()
            raise MeshError(
                f"{name} is {problem}: edge {ends} of triangle {triangle} belongs to "
                f"{count[edge[bad[0]]]} triangles, expected 2 ({len(np.unique(edge[bad]))} such "
                "edges). Potential flow needs a closed skin: fill holes, merge double vertices."
            )
    forward = np.bincount(edge, directed[:, 0] < directed[:, 1])
    if (forward != 1).any():
        flipped = _find_flipped(edge, owner, directed, len(triangles))
        raise MeshError(
            f"{name}: {_list_numbers(flipped, 'triangle')} flipped against the others. Swap two "
            "vertices of each."
        )


def _check_connected(triangles, count, name):
    """Check that there is one part: a second skin inside would be a body in the enclosed fluid."""
    edges = np.concatenate((triangles[:, :2], triangles[:, 1:]))
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(count, count))
    parts, _ = connected_components(graph, directed=False)
    if parts > 1:
        raise MeshError(f"{name} has {parts} separate parts; expected one. Keep the outer skin.")


def _find_flipped(edge, owner, directed, count):
    """Return the smaller set of triangles whose orientation differs from their neighbours'."""
    order = np.argsort(edge, kind="stable").reshape(-1, 2)
    pairs = owner[order]  # (E, 2)
    has_same_direction = (directed[order[:, 0]] == directed[order[:, 1]]).all(axis=1)
    neighbours: list[list[tuple[int, bool]]] = [[] for _ in range(count)]
    for (first, second), is_same in zip(pairs.tolist(), has_same_direction.tolist(), strict=True):
        neighbours[first].append((second, is_same))
        neighbours[second].append((first, is_same))
    flip = np.full(count, -1)
    bad: list[int] = []
    for start in range(count):
        if flip[start] >= 0:
            continue
        flip[start], part, queue = 0, [start], [start]
        while queue:
            current = queue.pop()
            for second, is_same in neighbours[current]:
                if flip[second] < 0:
                    flip[second] = flip[current] ^ is_same
                    part.append(second)
                    queue.append(second)
        flipped = [t for t in part if flip[t]]
        bad += flipped if 2 * len(flipped) <= len(part) else [t for t in part if not flip[t]]
    return np.array(sorted(bad))


def _list_numbers(numbers, noun):
    first = ", ".join(str(number) for number in numbers[:5])
    if len(numbers) == 1:
        return f"{noun} {first} is"
    return f"{noun}s {first}{', ...' if len(numbers) > 5 else ''} ({len(numbers)} in all) are"


def _signed_volumes(vertices, triangles):
    y = vertices[triangles] - vertices.mean(axis=0)
    return np.einsum("ti,ti->t", y[:, 0], np.cross(y[:, 1], y[:, 2])) / 6
