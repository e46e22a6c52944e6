"""Build the meshes of the trunk that holds a cup (mm): gripper_trunk.vtk, cup.vtk, cup_skin.obj.

gripper_trunk_coarse.vtk is the same trunk with fewer nodes: a plant unlike its model.

Run by hand, `python scenes/meshes/trunk_cup.py`; the files beside it are its output and are
committed. The scene imports nothing from here: places of cables and contacts are in the scene.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_obj, write_vtk

STRAIGHT, WRAP = 120.0, np.radians(285.0)
"""Length of the arm [mm], and how far the hook reaches around the cup."""
GRIP = 20.4
"""Distance of the hook's inner face from the cup's axis [mm]."""
ARM_SHARE = 0.48
"""Share of the sections that make the arm."""
WIDTH = (18.0, 9.0)
"""Side of the square section at the base and at the tip [mm]."""
SECTIONS, ACROSS = 45, 4
COARSE = 37, 3
"""Sections and nodes across of the coarse mesh."""
AROUND = 36
HOLE, FOOT, RIM, HEIGHT, WALL = 4.0, 18.0, 22.0, 45.0, 2.5
"""Cup: radius of the hole in its bottom, outer radius below and above, height, wall [mm]."""


def centre_line(share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points along the trunk, directions towards the cup's axis, and widths [mm].

    The arm lies along +x; the hook turns from it towards +z around the cup's axis, which stands
    along y at (STRAIGHT, 0, GRIP + half the width where the hook begins).
    """
    width = np.interp(share, [0.0, 1.0], WIDTH)
    start = GRIP + 0.5 * np.interp(ARM_SHARE, [0.0, 1.0], WIDTH)
    angle = np.maximum(share - ARM_SHARE, 0.0) / (1.0 - ARM_SHARE) * WRAP
    radius = np.where(angle > 0.0, GRIP + 0.5 * width, start)
    x = STRAIGHT * np.minimum(share / ARM_SHARE, 1.0) + radius * np.sin(angle)
    z = start - radius * np.cos(angle)
    inward = np.stack([-np.sin(angle), 0.0 * angle, np.cos(angle)], axis=-1)
    return np.stack([x, 0.0 * x, z], axis=-1), inward, width


def trunk_mesh(sections: int = SECTIONS, across: int = ACROSS) -> Mesh:
    """The trunk, swept along its centre line."""
    points, inward, width = centre_line(np.linspace(0.0, 1.0, sections))
    steps = np.linspace(-0.5, 0.5, across)
    up = np.array([0.0, 1.0, 0.0])
    nodes = [
        points[i] + width[i] * (a * inward[i] + b * up)
        for i, a, b in itertools.product(range(sections), steps, steps)
    ]
    return orient(np.array(nodes), grid_tetrahedra((sections, across, across)))


def cup_profile() -> tuple[np.ndarray, np.ndarray]:
    """Radius and height of the outer and inner face, from the hole to the rim, (n, 2) each."""
    slope = (RIM - FOOT) / HEIGHT
    bottom = np.linspace(HOLE, FOOT, 5)
    wall = np.linspace(0.0, HEIGHT, 14)[1:]
    outer = [*((r, 0.0) for r in bottom), *((FOOT + slope * y, y) for y in wall)]
    corner = FOOT + slope * WALL - WALL
    floor = np.linspace(HOLE, corner, 5)
    inside = np.linspace(WALL, HEIGHT, 14)[1:]
    inner = [*((r, WALL) for r in floor), *((FOOT + slope * y - WALL, y) for y in inside)]
    return np.array(outer), np.array(inner)


def revolve(profile: np.ndarray) -> np.ndarray:
    """Return points of a profile revolved about the y axis, shape (AROUND, n, 3)."""
    angle = 2.0 * np.pi * np.arange(AROUND)[:, None] / AROUND
    r, y = profile.T
    return np.stack(
        [r * np.cos(angle), np.broadcast_to(y, (AROUND, len(y))), r * np.sin(angle)], -1
    )


def cup_mesh() -> Mesh:
    """The cup, its axis along y through the origin, its bottom at y = 0."""
    outer, inner = cup_profile()
    points = np.stack([revolve(outer), revolve(inner)], axis=2).reshape(-1, 3)
    return orient(points, grid_tetrahedra((AROUND, len(outer), 2), closed=True))


def cup_skin() -> tuple[np.ndarray, np.ndarray]:
    """The outer wall, wound outwards."""
    heights = np.linspace(0.0, HEIGHT, 7)
    points = revolve(np.stack([FOOT + (RIM - FOOT) * heights / HEIGHT, heights], axis=-1))
    n = len(heights)
    triangles = []
    for i, j in itertools.product(range(AROUND), range(n - 1)):
        a, b = i * n + j, ((i + 1) % AROUND) * n + j
        triangles += [(a, a + 1, b), (b, a + 1, b + 1)]
    return points.reshape(-1, 3), np.array(triangles)


def main() -> None:
    for name, trunk in (("", trunk_mesh()), ("_coarse", trunk_mesh(*COARSE))):
        check(trunk, centre_line(np.linspace(0.02, 0.98, 9))[0])
        write_vtk(HERE / f"gripper_trunk{name}.vtk", trunk, "trunk with a hook, mm")
        print("trunk ", summary(trunk))
    cup = cup_mesh()
    check(cup, np.array([[21.0 - WALL / 2.0, HEIGHT * 0.75, 0.0]]))
    write_vtk(HERE / "cup.vtk", cup, "cup, mm")
    write_obj(HERE / "cup_skin.obj", *cup_skin())
    print("cup   ", summary(cup))


if __name__ == "__main__":
    main()
