"""Build the mesh of the arm with a laser (mm): arm.vtk, of the size of the paper's arm.

Run by hand, `python scenes/meshes/arm.py`; the file beside it is its output and is committed.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, oriented
from make import HERE, Mesh, check, summary, write_vtk

LENGTH, SIDE = 100.0, 20.0
COUNTS = (5, 5, 21)


def arm_mesh() -> Mesh:
    """A bar that hangs along -z from the origin."""
    half = SIDE / 2.0
    axes = [np.linspace(-half, half, n) for n in COUNTS[:2]] + [np.linspace(-LENGTH, 0, COUNTS[2])]
    return oriented(np.array(list(itertools.product(*axes))), grid_tetrahedra(COUNTS))


def main() -> None:
    mesh = arm_mesh()
    check(mesh, np.zeros((1, 3)))
    write_vtk(HERE / "arm.vtk", mesh, "arm with a laser, mm")
    print("arm   ", summary(mesh))


if __name__ == "__main__":
    main()
