"""Simple meshes of SOFA's share folder, computed if their files are missing."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from sofa_softctl.runtime.mesh.mesh import Mesh


def made_mesh(name: str) -> Mesh | None:
    """Return the mesh with this name in SOFA's share folder, or None if it is not made here.

    Args:
        name: Path in the folder, such as `mesh/cube.obj`.
    """
    make = _MADE.get(name.replace("\\", "/").removeprefix("./"))
    return None if make is None else make()


def _cube() -> Mesh:
    """Make a cube from -1 to 1 of 12 triangles; a corner is off by 1e-6, as in SOFA's file."""
    round_once = [(1, -1), (1, 1), (-1, 1), (-1, -1)]  # (x, z)
    positions = np.array([(x, y, z) for y in (-1, 1) for x, z in round_once], dtype=float)
    positions[5] = [0.999999, 1.0, 1.000001]
    sides = [(4, 0, 7), (0, 3, 7), (2, 6, 7), (2, 7, 3), (1, 5, 2), (5, 6, 2)]
    sides += [(0, 4, 1), (4, 5, 1), (4, 7, 6), (4, 6, 5), (0, 1, 2), (0, 2, 3)]
    return Mesh(positions, triangles=np.array(sides))


def _flat_floor() -> Mesh:
    """Make a quad of side 40 in the plane y = 0, seen from above."""
    corners = [(-20.0, 0.0, -20.0), (-20.0, 0.0, 20.0), (20.0, 0.0, 20.0), (20.0, 0.0, -20.0)]
    return Mesh(np.array(corners), quads=np.array([[0, 1, 2, 3]]))


def _cube_of_27() -> Mesh:
    """Make a cube from -3.5 to 3.5 with 27 points, one inside, and 8 triangles on each side."""
    axis = (-3.5, 0.0, 3.5)
    positions = np.array(list(itertools.product(axis, repeat=3)))
    number: np.ndarray = np.arange(27).reshape(3, 3, 3)
    triangles: list[tuple[int, ...]] = []
    for direction, end in itertools.product(range(3), (0, 2)):
        side: np.ndarray = np.take(number, end, axis=direction)  # (3, 3), rows along the lower axis
        outward = (end == 2) != (direction == 1)
        for i, j in itertools.product(range(2), repeat=2):
            a, b, c, d = side[i, j], side[i, j + 1], side[i + 1, j], side[i + 1, j + 1]
            is_falling = (direction, end) in _FALLING
            halves = [(a, c, b), (b, c, d)] if is_falling else [(a, c, d), (a, d, b)]
            triangles += [half if outward else half[::-1] for half in halves]
    return Mesh(positions, triangles=np.array(triangles))


def _floor() -> Mesh:
    """Make a slab of 4 x 1 x 4 cells."""
    half, top, bottom = 74.67229, -1.32967, -5.32967
    return _box(np.array([-half, bottom, -half]), np.array([half, top, half]), (4, 1, 4))


def _box(low: np.ndarray, high: np.ndarray, cells: tuple[int, int, int]) -> Mesh:
    """Make the surface of a box with a grid of cells on its sides, seen from outside."""
    numbers: dict[tuple[int, ...], int] = {}
    triangles: list[tuple[int, ...]] = []
    for axis, end in itertools.product(range(3), (0, 1)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for a, b in itertools.product(range(cells[u]), range(cells[v])):
            corners = []
            for da, db in ((0, 0), (1, 0), (1, 1), (0, 1)):
                cell = [0, 0, 0]
                cell[axis], cell[u], cell[v] = end * cells[axis], a + da, b + db
                corners.append(numbers.setdefault(tuple(cell), len(numbers)))
            p, q, r, s = corners if end else corners[::-1]
            triangles += [(p, q, r), (p, r, s)]
    step = (high - low) / cells
    positions = np.array([low + np.array(cell) * step for cell in numbers])
    return Mesh(positions, triangles=np.array(triangles))


def _ball() -> Mesh:
    """Make a sphere of radius 1 with its poles on y, of 16 segments and 15 rings."""
    segments = 16
    points = [(0.0, 1.0, 0.0)]
    for ring, segment in itertools.product(range(1, segments), range(segments)):
        down, around = np.pi * ring / segments, 2.0 * np.pi * segment / segments
        across = np.sin(down)
        points.append((across * np.sin(around), np.cos(down), across * np.cos(around)))
    points.append((0.0, -1.0, 0.0))
    triangles, quads = [], []
    for segment in range(segments):
        p, q = 1 + segment, 1 + (segment + 1) % segments
        triangles.append((0, p, q))
        for ring in range(segments - 2):
            upper, lower = ring * segments, (ring + 1) * segments
            quads.append((p + upper, p + lower, q + lower, q + upper))
        last = (segments - 2) * segments
        triangles.append((p + last, len(points) - 1, q + last))
    return Mesh(np.array(points), triangles=np.array(triangles), quads=np.array(quads))


_FALLING = {(0, 0), (2, 2)}
"""Direction and end of the sides of the cube of 27 points that are cut along the other diagonal."""
_MADE: dict[str, Callable[[], Mesh]] = {
    "mesh/ball.obj": _ball,
    "mesh/cube.obj": _cube,
    "mesh/cube_low_res.obj": _cube_of_27,
    "mesh/floor.obj": _floor,
    "mesh/floorFlat.obj": _flat_floor,
    "mesh/smCube27.obj": _cube_of_27,
}
