"""Build the mesh of the rolling ring (mm): ring.vtk, and ring_skin.obj to touch the ground with.

Run by hand, `python scenes/meshes/ring.py`; the files beside it are its output and are committed.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_obj, write_vtk

RADII = np.array([15.0, 17.5, 20.0])
WIDTHS = np.linspace(0.0, 10.0, 5)
AROUND = 48
"""Nodes around; a multiple of eight, so that the ring looks the same from every cable."""


def ring_mesh() -> Mesh:
    """The ring about z, its own mirror image."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    nodes = itertools.product(angle, RADII, WIDTHS)
    points = np.array([(r * np.cos(a), r * np.sin(a), z) for a, r, z in nodes])
    return orient(points, grid_tetrahedra((AROUND, len(RADII), len(WIDTHS)), closed=True))


def ring_skin() -> tuple[np.ndarray, np.ndarray]:
    """The ring's four faces with nodes at their borders only, wound outwards."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    section = [(RADII[-1], 0.0), (RADII[-1], 10.0), (RADII[0], 10.0), (RADII[0], 0.0)]
    points = np.array([(r * np.cos(a), r * np.sin(a), z) for a in angle for r, z in section])
    triangles = []
    for i in range(AROUND):
        for m in range(4):
            a, b = 4 * i + m, 4 * i + (m + 1) % 4
            c, d = (4 * (i + 1) + m) % len(points), (4 * (i + 1) + (m + 1) % 4) % len(points)
            triangles += [(a, c, b), (c, d, b)] if i % 2 else [(a, c, d), (a, d, b)]
    return points, np.array(triangles)


def main() -> None:
    mesh = ring_mesh()
    angle = np.pi / 4.0 * np.arange(8)
    anchors = np.stack([16.0 * np.cos(angle), 16.0 * np.sin(angle), 0 * angle + 5.0], axis=-1)
    check(mesh, anchors)
    write_vtk(HERE / "ring.vtk", mesh, "ring with four cables, mm")
    write_obj(HERE / "ring_skin.obj", *ring_skin())
    print("ring  ", summary(mesh))


if __name__ == "__main__":
    main()
