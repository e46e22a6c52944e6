import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.kernels.constraint.volume import enclosed_volume
from sofa_softctl.runtime.simulation import simulation

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [2, 1, 0]]
TETRAHEDRA = [[0, 1, 2, 3], [4, 2, 1, 3], [4, 5, 1, 2]]
RECORDED = [[0, 3, 2], [0, 1, 3], [0, 2, 1], [1, 4, 3], [2, 3, 4], [1, 2, 5], [2, 4, 5], [1, 5, 4]]
"""What SOFA v25.06 makes of these tetrahedra."""


@pytest.fixture
def surface(root):
    """Makes the surface of some tetrahedra; returns its topology."""

    def make(
        points=POINTS, tetrahedra=TETRAHEDRA, kind="TetrahedronSetTopologyContainer", **values
    ):
        body = root.addChild("body")
        body.addObject(kind, name="mesh", position=points, tetrahedra=tetrahedra)
        body.addObject("MechanicalObject", name="dofs")
        skin = body.addChild("skin")
        skin.addObject("TriangleSetTopologyContainer", name="mesh")
        skin.addObject("TriangleSetTopologyModifier")
        skin.addObject("Tetra2TriangleTopologicalMapping", **values)
        skin.addObject("MechanicalObject", name="dofs")
        skin.addObject("IdentityMapping")
        simulation.init(root)
        return skin.mesh

    return make


@pytest.mark.parametrize("kind", ["TetrahedronSetTopologyContainer", "MeshTopology"])
def test_faces_and_their_order_are_sofas(kind, surface):
    assert surface(kind=kind).triangles.value.tolist() == RECORDED


def test_linked_topologies_are_taken(surface):
    found = surface(input="@../mesh", output="@mesh")
    assert found.triangles.value.tolist() == RECORDED


def test_flipped_normals_turn_every_triangle_round(surface):
    found = surface(flipNormals=True).triangles.value.tolist()
    assert found == [[a, c, b] for a, b, c in RECORDED]


def test_no_initial_triangles_are_none(surface):
    assert len(surface(noInitialTriangles=True).triangles.value) == 0


def test_the_surface_of_a_box_encloses_it(surface, grid):
    """A closed surface, normals out, of the box's volume; vertices keep their numbers."""
    points, tetrahedra = grid((3, 2, 2), (3.0, 2.0, 1.0))
    edges = points[tetrahedra[:, 1:]] - points[tetrahedra[:, :1]]
    inverted = np.linalg.det(edges) < 0.0
    tetrahedra[inverted] = tetrahedra[inverted][:, [1, 0, 2, 3]]
    mesh = surface(points, tetrahedra.tolist())
    triangles = mesh.triangles.array()
    assert enclosed_volume(points, triangles, np.empty((0, 4), np.int64)) == pytest.approx(6.0)
    assert len(triangles) == 2 * 2 * (3 * 2 + 3 * 2 + 2 * 2)
    assert mesh.getContext().dofs.position.array() == pytest.approx(points)


def test_a_pressure_acts_on_the_surface_of_a_body(root, integrated, run):
    """A pressure on the outside of a tetrahedron: all there is to a scene with a surface."""
    root.addObject("FreeMotionAnimationLoop")
    body = integrated(root, "body", POINTS[:4])
    body.addObject("TetrahedronSetTopologyContainer", tetrahedra=[[0, 1, 2, 3]])
    body.addObject("UniformMass", vertexMass=1.0)
    body.addObject("LinearSolverConstraintCorrection")
    skin = body.addChild("skin")
    skin.addObject("TriangleSetTopologyContainer")
    skin.addObject("Tetra2TriangleTopologicalMapping")
    skin.addObject("MechanicalObject")
    skin.addObject("IdentityMapping")
    pressure = skin.addObject("SurfacePressureConstraint", value=[6.0])
    run(root, 1)
    assert pressure.initialCavityVolume.value == pytest.approx(1.0 / 6.0)
    expected = np.vstack([-np.ones(3), np.eye(3)])  # dV/dx of a corner is 1 / 6
    assert body.dofs.velocity.array() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tetrahedra": []}, "finds no tetrahedra in .*mesh"),
        ({"input": "@dofs"}, "input"),
    ],
)
def test_what_has_no_tetrahedra_is_an_error(values, message, surface):
    with pytest.raises(SceneError, match=message):
        surface(**values)


def test_a_mapping_without_a_topology_is_an_error(root):
    root.addChild("skin").addObject("Tetra2TriangleTopologicalMapping")
    with pytest.raises(SceneError, match="has no input: add a topology above its node"):
        simulation.init(root)
