"""Build the mesh of the rolling ring (mm): ring.vtk, and ring_skin.obj to touch the ground with.

Run by hand, `python scenes/meshes/ring.py`; the files beside it are its output and are committed.
"""

import itertools

import numpy as np
from make import HERE, Mesh, check, summary, write_obj, write_vtk

RADII = np.array([15.0, 17.5, 20.0])
WIDTHS = np.linspace(0.0, 10.0, 5)
AROUND = 48
"""Nodes around; a multiple of eight, so that the ring looks the same from every cable."""
SPLITS = (
    ((0, 1, 3, 5), (0, 3, 2, 6), (0, 5, 4, 6), (3, 6, 5, 7), (0, 3, 5, 6)),
    ((1, 0, 4, 2), (1, 2, 7, 3), (1, 7, 4, 5), (2, 4, 7, 6), (1, 4, 2, 7)),
)
"""Five tetrahedra of a cell, for cells of even and odd number: corners by the bits of i, j, k."""


def ring_mesh() -> Mesh:
    """The ring about z, split so that it is its own mirror image."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    points = np.array(
        [(r * np.cos(a), r * np.sin(a), z) for a, r, z in itertools.product(angle, RADII, WIDTHS)]
    )
    counts = (AROUND, len(RADII), len(WIDTHS))
    tetrahedra = []
    for i, j, k in itertools.product(range(AROUND), range(counts[1] - 1), range(counts[2] - 1)):
        corners = [
            (((i + a) % AROUND) * counts[1] + j + b) * counts[2] + k + c
            for a, b, c in itertools.product((0, 1), repeat=3)
        ]
        for split in SPLITS[(i + j + k) % 2]:
            tetrahedra.append([corners[number] for number in split])
    return oriented(points, np.array(tetrahedra))


def oriented(points: np.ndarray, tetrahedra: np.ndarray) -> Mesh:
    """The mesh with positive volumes."""
    a, b, c, d = (points[tetrahedra[:, k]] for k in range(4))
    negative = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0
    turned = np.where(negative[:, None], tetrahedra[:, [1, 0, 2, 3]], tetrahedra)
    return Mesh(points, turned)


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
