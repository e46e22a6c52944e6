"""Build the mesh of the arm with a laser (mm): arm.vtk, of the size of the paper's arm.

Run by hand, `python scenes/meshes/arm.py`; the file beside it is its output and is committed. Finer
ones are made when they are wanted: `python scenes/meshes/arm.py --nodes 11 11 42 --out fine.vtk`.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np
from grid import grid_tetrahedra, orient
from make import HERE, Mesh, check, summary, write_vtk

LENGTH, SIDE = 100.0, 20.0
NODES = (5, 5, 21)
"""Along x, y and z; odd ones along x and y make a mesh that is its own mirror image."""


def arm_mesh(nodes: tuple[int, int, int] = NODES) -> Mesh:
    """A bar that hangs along -z from the origin."""
    half = SIDE / 2.0
    axes = [np.linspace(-half, half, n) for n in nodes[:2]] + [np.linspace(-LENGTH, 0, nodes[2])]
    return orient(np.array(list(itertools.product(*axes))), grid_tetrahedra(nodes))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the arm's mesh.")
    parser.add_argument("--nodes", type=int, nargs=3, default=NODES, help="along x, y and z")
    parser.add_argument("--out", type=Path, default=HERE / "arm.vtk")
    arguments = parser.parse_args()
    mesh = arm_mesh(tuple(arguments.nodes))
    check(mesh, np.zeros((1, 3)))
    write_vtk(arguments.out, mesh, "arm with a laser, mm")
    print("arm   ", summary(mesh))


if __name__ == "__main__":
    main()
