"""What topologies derive, hold and refuse; the orders are those of tests/parity."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

X = np.arange(24.0).reshape(8, 3).tolist()
CELL = [0, 1, 2, 3, 4, 5, 6, 7]


def test_a_container_leaves_other_kinds_of_elements_to_others(root):
    """src names a mesh with tetrahedra; the container of triangles has none of them."""
    root.addObject(
        "MeshTopology", name="mesh", position=X, triangles=[[0, 1, 2]], tetrahedra=[[0, 1, 2, 3]]
    )
    skin = root.addChild("skin")
    found = skin.addObject("TriangleSetTopologyContainer", src="@../mesh")
    simulation.init(root)
    assert found.triangles.array().tolist() == [[0, 1, 2]]
    assert len(found.tetrahedra.array()) == 0 and found.nbPoints.value == 8


def test_a_container_that_is_given_other_elements_is_complained_of(root):
    root.addObject("TriangleSetTopologyContainer", position=X, tetrahedra=[[0, 1, 2, 3]])
    with pytest.raises(SceneError, match="holds no tetrahedra: expected edges or triangles"):
        simulation.init(root)


def test_scripts_count_and_look_up_elements(root):
    mesh = root.addObject("MeshTopology", position=X, hexahedra=[CELL])
    simulation.init(root)
    assert (mesh.getNbHexahedra(), mesh.getNbQuads(), mesh.getNbLines()) == (1, 6, 12)
    assert mesh.getHexahedron(0) == CELL and mesh.getEdge(11) == [6, 7]
    with pytest.raises(SceneError, match="has no element 6 among its 6 quads"):
        mesh.getQuad(6)


def test_topology_algorithms_are_a_warning(root, tolerant):
    """Removed from SOFA; many scenes still have them."""
    root.addObject("TetrahedronSetTopologyAlgorithms", template="Vec3d")
    simulation.init(root)


def test_force_fields_act_on_the_last_topology_of_a_node(root):
    """As in SOFA; a grid and the tetrahedra made of it are a common pair."""
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    root.addObject("RegularGridTopology", name="grid", n=[2, 2, 2])
    root.addObject("TetrahedronSetTopologyContainer", name="tets", tetrahedra=[[0, 1, 2, 4]])
    root.addObject("MechanicalObject")
    root.addObject("UniformMass", totalMass=1.0)
    field = root.addObject("TetrahedronFEMForceField", youngModulus=1.0, poissonRatio=0.3)
    simulation.init(root)
    assert field.elements.tolist() == [[0, 1, 2, 4]]


def test_the_mass_of_a_grid_is_that_of_its_hexahedra(root):
    """Not of its sides, inner ones among them: a node in the middle has the most."""
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    root.addObject("RegularGridTopology", n=[3, 2, 2])
    root.addObject("MechanicalObject")
    mass = root.addObject("DiagonalMass", totalMass=16.0)
    simulation.init(root)
    assert mass.vertexMass.value == pytest.approx([1.0, 2.0, 1.0] * 4)


def test_a_grid_is_ready_for_what_stands_before_it(root):
    """As in SOFA, where a state and a mass may be added before the grid beside them."""
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    state = root.addObject("MechanicalObject")
    mass = root.addObject("MeshMatrixMass", massDensity=2.0)
    root.addObject("RegularGridTopology", nx=2, ny=2, nz=3, max=[1, 1, 3])
    simulation.init(root)
    assert len(state.position.value) == 12
    assert mass.totalMass.value == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Hexa2TetraTopologicalMapping", "finds no hexahedra in"),
        ("Quad2TriangleTopologicalMapping", "finds no quads in"),
        ("Triangle2EdgeTopologicalMapping", "finds no triangles in"),
    ],
)
def test_a_mapping_without_elements_is_an_error(kind, message, root):
    root.addObject("MeshTopology", position=X)
    child = root.addChild("child")
    child.addObject("MeshTopology", position=X)
    child.addObject(kind)
    with pytest.raises(SceneError, match=message):
        simulation.init(root)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nbPointsOnEachCircle": 4}, "needs 'radius' or 'radiusFocal'"),
        ({"nbPointsOnEachCircle": 4, "radius": -1.0}, "needs a positive 'radius', got -1"),
        ({"radius": 1.0}, "needs 'nbPointsOnEachCircle' from 1 on, got 0"),
    ],
)
def test_a_tube_needs_a_radius_and_vertices(values, message, root):
    root.addObject("EdgeSetTopologyContainer", position=X, edges=[[0, 1]])
    child = root.addChild("child")
    child.addObject("QuadSetTopologyContainer")
    child.addObject("Edge2QuadTopologicalMapping", **values)
    with pytest.raises(SceneError, match=message):
        simulation.init(root)


def test_vertices_of_a_tube_are_those_that_edges_name(root, tolerant):
    """A container without positions knows nothing of the frames beside it, as in SOFA."""
    container = root.addObject("EdgeSetTopologyContainer", edges=[[0, 1]])
    root.addObject(
        "MechanicalObject", template="Rigid3", position=[[i, 0, 0, 0, 0, 0, 1] for i in range(3)]
    )
    child = root.addChild("child")
    child.addObject("QuadSetTopologyContainer")
    tube = child.addObject("MechanicalObject")
    child.addObject("Edge2QuadTopologicalMapping", radius=1.0, nbPointsOnEachCircle=5)
    simulation.init(root)
    assert container.nbPoints.value == 2
    assert len(tube.position.value) == 10


def test_a_tube_needs_frames(root):
    root.addObject("EdgeSetTopologyContainer", position=X, edges=[[0, 1]])
    root.addObject("MechanicalObject")
    child = root.addChild("child")
    child.addObject("QuadSetTopologyContainer")
    child.addObject("MechanicalObject")
    child.addObject("Edge2QuadTopologicalMapping", radius=1.0, nbPointsOnEachCircle=4)
    with pytest.raises(SceneError, match="needs frames beside .* template='Rigid3'"):
        simulation.init(root)


def test_a_container_takes_over_what_a_grid_makes_later(root):
    """A Data that is still empty is a Data."""
    root.addObject("RegularGridTopology", name="grid", n=[3, 2, 2])
    child = root.addChild("child")
    found = child.addObject("HexahedronSetTopologyContainer", src="@../grid")
    simulation.init(root)
    assert found.hexahedra.value.tolist() == root.grid.hexahedra.value.tolist()
    assert len(found.hexahedra.value) == 2


def test_triangles_that_shall_be_wound_anew_are_a_fault(root):
    """SOFA turns them, and pressures on them act the other way."""
    root.addObject("TriangleSetTopologyContainer", position=[[0] * 3] * 3, triangles=[[0, 1, 2]])
    root.addObject("TriangleSetGeometryAlgorithms", recomputeTrianglesOrientation=True)
    with pytest.raises(SceneError, match="triangles keep their winding"):
        simulation.init(root)


@pytest.mark.parametrize(("defects", "count"), [("0", 7), ("1", 8)])
def test_a_face_that_two_tetrahedra_turn_the_same_way_is_there_once(
    root, monkeypatch, defects, count
):
    """SOFA lists it twice: it takes faces to be shared only if they are turned opposite ways."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    mesh = root.addObject("MeshTopology", position=X, tetrahedra=[[0, 1, 2, 3], [0, 1, 2, 4]])
    simulation.init(root)
    assert len(mesh.triangles.value) == count
