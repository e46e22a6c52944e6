"""Build the mesh of the beam that three fingers hold (mm): beam.vtk, and beam_skin.obj around it.

Run by hand, `python scenes/meshes/beam.py`; the files beside it are its output and are committed.
"""

import itertools

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, skin, summary, write_obj, write_vtk

LENGTH, SIDE = 100.0, 12.0
COUNTS = (18, 5, 5)


def beam_mesh() -> Mesh:
    """A bar along x about the origin."""
    sides = (LENGTH, SIDE, SIDE)
    axes = [np.linspace(-s / 2.0, s / 2.0, n) for s, n in zip(sides, COUNTS, strict=True)]
    return orient(np.array(list(itertools.product(*axes))), grid_tetrahedra(COUNTS))


def main() -> None:
    mesh = beam_mesh()
    check(mesh, np.zeros((1, 3)))
    write_vtk(HERE / "beam.vtk", mesh, "beam, mm")
    write_obj(HERE / "beam_skin.obj", *skin(mesh))
    print("beam  ", summary(mesh))


if __name__ == "__main__":
    main()
