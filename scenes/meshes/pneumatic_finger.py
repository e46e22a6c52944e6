"""Build the meshes of the pneumatic finger (mm): pneumatic_finger.vtk, and its chamber's surface.

Run by hand, `python scenes/meshes/pneumatic_finger.py`; the files beside it are its output and are
committed.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_obj, write_vtk

WIDE, HIGH, SIZES = 5, 5, (4.0, 4.0, 3.0)
"""Cells along x and y, and their edges along x, y, z."""
BELLOWS = 7
"""Chambers, one above the other. Each takes four cells along z: wall, chamber, wall, gap."""
DEEP = 4 * BELLOWS + 1
"""Cells along z; the last one, at the top, is clamped."""
LOWER = np.array([-10.0, -10.0, -3.0 * DEEP])
"""Least corner: the finger hangs along -z from the origin."""


def kinds() -> tuple[np.ndarray, np.ndarray]:
    """Return masks of empty cells, and of cells of the chamber, shape (5, 5, DEEP).

    Chambers are 12 x 12 mm, joined by a duct of 4 x 4 mm beside the base, which is the side -y;
    between them the finger is cut down to the duct's cover.
    """
    chamber = np.zeros((WIDE, HIGH, DEEP), dtype=bool)
    gap = np.zeros_like(chamber)
    chamber[2, 1, 1 : DEEP - 3] = True
    for k in range(BELLOWS):
        chamber[1:4, 1:4, 4 * k + 1] = True
        gap[:, 3:, 4 * k + 3] = True
    return chamber | gap, chamber


def pneumatic_finger_mesh() -> tuple[Mesh, np.ndarray, np.ndarray]:
    """The finger, then points and triangles of its chamber, wound from the chamber outwards."""
    counts = (WIDE, HIGH, DEEP)
    axes = [size * np.arange(count + 1) for count, size in zip(counts, SIZES, strict=True)]
    points = np.array(list(itertools.product(*axes))) + LOWER
    tetrahedra = orient(points, grid_tetrahedra(tuple(n + 1 for n in counts))).tetrahedra
    cell = np.floor((points[tetrahedra].mean(axis=1) - LOWER) / SIZES).astype(int)
    empty, chamber = (kind[tuple(cell.T)] for kind in kinds())
    used, corners = np.unique(tetrahedra[~empty], return_inverse=True)
    walls, triangles = np.unique(outer_faces(tetrahedra[chamber]), return_inverse=True)
    finger = orient(points[used], corners.reshape(-1, 4))
    return finger, points[walls], triangles.reshape(-1, 3)


def outer_faces(tetrahedra: np.ndarray) -> np.ndarray:
    """Return faces of a single tetrahedron, outward for tetrahedra of positive volume."""
    faces = tetrahedra[:, [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]].reshape(-1, 3)
    _, index, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return faces[index[count == 1]]


def main() -> None:
    mesh, points, triangles = pneumatic_finger_mesh()
    check(mesh, np.array([[0.0, 0.0, 1.0 - 3.0 * DEEP]]))
    write_vtk(HERE / "pneumatic_finger.vtk", mesh, "pneumatic finger, mm")
    write_obj(HERE / "pneumatic_finger_chamber.obj", points, triangles)
    print("pneumatic finger", summary(mesh))


if __name__ == "__main__":
    main()
