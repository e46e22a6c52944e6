"""Meshes that elements without locking refuse, each with a sentence, and small ones that work."""

import numpy as np
import pytest

from sofa_softctl import add_elasticity
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split

POINTS = np.array(
    [[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 10], [10, -5, -8], [3, -9, -9], [0, -10, 0.0]]
)
CUBE = 10.0 * np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1.0]]
)
BESIDE = CUBE[[0, 1, 3, 4, 5, 7]] + [10.0, 10.0, 0.0]  # less the edge of nodes 2 and 6


def ten_nodes(points, cells):
    mesh = split(Mesh(points, tetrahedra=cells))
    return mesh.positions.copy(), mesh.tetrahedra


@pytest.fixture
def body(root, Sofa):
    """Makes a free body of these elements, initialised."""

    def make(points, cells, **options):
        root.gravity, root.dt = [0.0, -9810.0, 0.0], 0.01
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        cells = np.asarray(cells)
        kind, name = ("Tetrahedron", "tetrahedra") if cells.shape[1] == 4 else ("Hexahedron", "hexahedra")
        node.addObject(f"{kind}SetTopologyContainer", position=points, **{name: cells})
        node.addObject("MechanicalObject", name="dofs")
        node.addObject("UniformMass", totalMass=0.01)
        node.addObject("AssumedStrainFEMForceField", name="fem", youngModulus=500.0, **options)
        Sofa.Simulation.init(root)
        return node

    return make


SINGLE = {
    "tetrahedron": (POINTS[:4], [[0, 1, 2, 3]], False, 6),
    "10-node tetrahedron": (*ten_nodes(POINTS[:4], [[0, 1, 2, 3]]), True, 6),
    "hexahedron": (CUBE, [[0, 1, 2, 3, 4, 5, 6, 7]], False, 6),
    "tetrahedra at an edge": (POINTS[:6], [[0, 1, 2, 3], [0, 1, 4, 5]], False, 7),
    "10-node tetrahedra at an edge": (
        *ten_nodes(POINTS[:6], [[0, 1, 2, 3], [0, 1, 4, 5]]),
        *(True, 7),
    ),
    "hexahedra at an edge": (
        np.concatenate([CUBE, BESIDE]),
        [[0, 1, 2, 3, 4, 5, 6, 7], [2, 9, 13, 10, 6, 12, 8, 11]],
        *(False, 7),
    ),
    "tetrahedra at a node": (POINTS, [[0, 1, 2, 3], [0, 4, 5, 6]], False, 9),
}
"""Points, elements, quadratic, and modes without energy: six, and those of a hinge or a joint."""
SINGLE["hexahedra at an edge"][1][1] = [2, 9, 8 + 5, 10, 6, 12, 13, 11]


@pytest.mark.parametrize("material", ["Corotational", "MooneyRivlin"])
@pytest.mark.parametrize("name", SINGLE)
def test_elements_that_few_others_touch_move_as_they_should(body, dense, Sofa, name, material):
    """Free, they fall as a rigid body: v = g dt and x = g dt^2 after the first step."""
    points, cells, quadratic, modes = SINGLE[name]
    node = body(points, cells, quadratic=quadratic, materialName=material)
    eigenvalues = np.abs(np.linalg.eigvalsh(dense(node.fem)))
    assert (eigenvalues < 1e-9 * eigenvalues.max()).sum() == modes
    Sofa.Simulation.animate(node.getRoot(), 0.01)
    fall = node.dofs.position.array() - points
    assert fall == pytest.approx(np.tile([0.0, -0.981, 0.0], (len(points), 1)), abs=1e-9)
