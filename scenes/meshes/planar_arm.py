"""Build the mesh of the planar arm (mm): planar_arm.vtk, one layer of cells in the plane x-z.

Run by hand, `python scenes/meshes/planar_arm.py`; the file beside it is its output, committed.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_vtk

CELL = 5.0
"""Edge of a cell, and thickness of the layer."""
PLATES, PLATE, JOINT = 5, (8, 1), (4, 2)
"""Wide plates with narrower joints in between; of each, cells along x and z."""


def planar_arm_mesh() -> Mesh:
    """Hangs along -z from the origin. Even numbers of cells along x: it is its own mirror image."""
    columns, rows = PLATE[0], PLATES * PLATE[1] + (PLATES - 1) * JOINT[1]
    across = CELL * np.linspace(-columns / 2.0, columns / 2.0, columns + 1)
    axes = across, (-CELL / 2.0, CELL / 2.0), CELL * np.arange(-rows, 1)
    points = np.array(list(itertools.product(*axes)))
    tetrahedra = grid_tetrahedra((columns + 1, 2, rows + 1))
    x, _, z = points[tetrahedra].mean(axis=1).T
    pitch = PLATE[1] + JOINT[1]
    filled = (-z / CELL % pitch < PLATE[1]) | (abs(x) < CELL * JOINT[0] / 2.0)
    used, corners = np.unique(tetrahedra[filled], return_inverse=True)
    return orient(points[used], corners.reshape(-1, 4))


def main() -> None:
    mesh = planar_arm_mesh()
    check(mesh, np.array([[0.0, 0.0, -65.0]]))
    write_vtk(HERE / "planar_arm.vtk", mesh, "planar arm, mm")
    print("planar arm", summary(mesh))


if __name__ == "__main__":
    main()
