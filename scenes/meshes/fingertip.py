"""Build the meshes of two soft fingertips (mm): fingertip.vtk, round, and pad.vtk, flat.

Run by hand, `python scenes/meshes/fingertip.py`; the files beside it are its output and are
committed. Both lie along x with their front at x = 0.
"""

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_vtk

COUNTS = {"fingertip": (7, 3, 3), "pad": (5, 5, 5)}
LENGTH, BACK, FRONT, DOME = 24.0, 14.0, 6.0, 2.0
"""Length of the round one, sides of its square section at both ends, and how far the middle of its
front stands out [mm]."""
PAD = (12.0, 16.0, 20.0)
"""Length, height and width of the flat one."""


def unit_grid(counts: tuple[int, int, int]) -> np.ndarray:
    """Nodes of a grid over [0, 1] x [-1, 1] x [-1, 1], shape (n, 3)."""
    axes = [np.linspace(low, 1.0, n) for low, n in zip((0.0, -1.0, -1.0), counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def fingertip_mesh() -> Mesh:
    """Tapered towards the front, whose middle stands out as a dome."""
    along, y, z = unit_grid(COUNTS["fingertip"]).T
    half = 0.5 * (BACK + along * (FRONT - BACK))
    x = (along - 1.0) * LENGTH - 0.5 * DOME * along * (y**2 + z**2)
    return orient(np.stack([x, half * y, half * z], axis=-1), grid_tetrahedra(COUNTS["fingertip"]))


def pad_mesh() -> Mesh:
    """A block."""
    along, y, z = unit_grid(COUNTS["pad"]).T
    length, height, width = PAD
    points = np.stack([(along - 1.0) * length, 0.5 * height * y, 0.5 * width * z], axis=-1)
    return orient(points, grid_tetrahedra(COUNTS["pad"]))


def main() -> None:
    for name, mesh in (("fingertip", fingertip_mesh()), ("pad", pad_mesh())):
        check(mesh, np.array([[-1e-6, 0.0, 0.0]]))
        write_vtk(HERE / f"{name}.vtk", mesh, f"{name}, mm")
        print(name, summary(mesh))


if __name__ == "__main__":
    main()
