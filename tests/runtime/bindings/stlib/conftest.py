"""Meshes of a small beam, as files, and what a graph holds."""

import itertools

import meshio
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def embedded(Sofa):
    """The libraries are those of the embedded backend."""
    return Sofa


@pytest.fixture
def meshes(tmp_path, box):
    """Folder with beam.vtk, 20 x 20 x 90, skin.obj and skin.stl around it, hole.stl inside."""
    positions, tetrahedra = box(3, 3, 4)
    meshio.Mesh(positions, [("tetra", tetrahedra)]).write(tmp_path / "beam.vtk", binary=False)
    write_box(tmp_path / "skin.obj", (0.0, 0.0, 0.0), (20.0, 20.0, 90.0))
    write_box(tmp_path / "skin.stl", (0.0, 0.0, 0.0), (20.0, 20.0, 90.0))
    write_box(tmp_path / "hole.stl", (5.0, 5.0, 40.0), (15.0, 15.0, 80.0))
    return tmp_path


def write_box(path, low, high):
    """The surface of a box, of 12 triangles that are turned outwards."""
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [half for a, b, c, d in quads for half in ([a, b, c], [a, c, d])]
    meshio.Mesh(corners, [("triangle", np.array(triangles))]).write(path)


@pytest.fixture
def graph():
    """graph(node): 'Class name' of each object, and those of its children in dictionaries."""

    def listed(node):
        found = [f"{entry.getClassName()} {entry.getName()}" for entry in node.objects]
        return [*found, *({child.getName(): listed(child)} for child in node.children)]

    return listed


@pytest.fixture
def run(Sofa):
    """run(root, steps): initialise the scene and step it."""

    def go(root, steps=5):
        Sofa.Simulation.init(root)
        Sofa.Simulation.animateNSteps(root, steps, root.dt.value)

    return go
