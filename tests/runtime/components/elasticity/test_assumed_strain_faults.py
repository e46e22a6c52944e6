"""Meshes that elements without locking refuse, each with a sentence, and small ones that work."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split

POINTS = np.array(
    [[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 10], [10, -5, -8], [3, -9, -9], [0, -10, 0.0]]
)
CUBE = 10.0 * np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1.0]]
)
BESIDE = CUBE[[1, 2, 3, 5, 6, 7]] + [10.0, 10.0, 0.0]  # its nodes 0 and 4 are CUBE's 2 and 6


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
        kind = "tetrahedra" if cells.shape[1] == 4 else "hexahedra"
        node.addObject("MeshTopology", position=points, **{kind: cells})
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
    "wedge": (CUBE[[0, 1, 3, 4, 5, 7]], [[0, 1, 2, 2, 3, 4, 5, 5]], False, 6),
    "tetrahedra at an edge": (POINTS[:6], [[0, 1, 2, 3], [0, 1, 4, 5]], False, 7),
    "10-node tetrahedra at an edge": (
        *ten_nodes(POINTS[:6], [[0, 1, 2, 3], [0, 1, 4, 5]]),
        *(True, 7),
    ),
    "hexahedra at an edge": (
        np.concatenate([CUBE, BESIDE]),
        [[0, 1, 2, 3, 4, 5, 6, 7], [2, 8, 9, 10, 6, 11, 12, 13]],
        *(False, 7),
    ),
    "tetrahedra at a node": (POINTS, [[0, 1, 2, 3], [0, 4, 5, 6]], False, 9),
}
"""Points, elements, quadratic, and modes without energy: six, and those of a hinge or a joint."""


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


@pytest.mark.parametrize("thickness", [0.0, 1e-14])
def test_a_flat_hexahedron_is_named(body, thickness):
    message = r"1 of 1 elements that are folded or flat, first hexahedron 0 near \[5.0, 5.0, 0.0\]"
    with pytest.raises(SceneError, match=message):
        body(CUBE * [1.0, 1.0, thickness], [range(8)])


@pytest.mark.parametrize("quadratic", [False, True])
def test_a_flat_tetrahedron_is_named(body, quadratic):
    points, cells = POINTS[[0, 1, 2, 6]], [[0, 1, 2, 3]]
    if quadratic:
        points, cells = ten_nodes(points, cells)
    with pytest.raises(SceneError, match="tetrahedra without volume, first tetrahedra.0. = .0, "):
        body(points, cells, quadratic=quadratic)


def test_a_hexahedron_that_is_negative_at_one_point_is_named(body):
    """Its volume is positive: the sum would not show it."""
    points, cells, _, _ = SINGLE["hexahedra at an edge"]
    points = points.copy()
    points[12] = [12.0, 12.0, 2.0]
    message = r"1 of 2 elements that are folded or flat, first hexahedron 1 near .* of nodes "
    message += r"\[2, 8, 9, 10, 6, 11, 12, 13\]: its Jacobian is -.* at integration point 7, "
    with pytest.raises(SceneError, match=message + "where it must be positive. Move its nodes"):
        body(points, cells)


def test_a_middle_node_that_is_far_is_named(body):
    points, cells = ten_nodes(POINTS[:6], [[0, 1, 2, 3], [0, 1, 4, 5]])
    points[6] += [2.6, 0.0, 0.0]  # between nodes 0 and 1, which are 10 apart
    message = "has 1 nodes of 10-node tetrahedra that are more than a quarter of the edge from its"
    message += " middle, first node 6 of tetrahedron 0, on the edge from node 0 to 1: 0.26 times"
    with pytest.raises(SceneError, match=message):
        body(points, cells, quadratic=True)


def test_a_middle_node_that_folds_an_element_is_named(body):
    """The element is thin, so that a quarter of an edge is more than its height."""
    points, cells = ten_nodes(POINTS[:4] * [1.0, 1.0, 0.1], [[0, 1, 2, 3]])
    points[4] += [0.0, 0.0, 2.0]  # between nodes 0 and 1
    message = (
        "first 10-node tetrahedron 0 near .*: its Jacobian is -.* Move the nodes in the middle"
    )
    with pytest.raises(SceneError, match=message):
        body(points, cells, quadratic=True)
