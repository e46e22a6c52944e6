import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl import Session, read_record
from sofa_softctl.errors import RecordError
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.session.geometry import geometry_in, geometry_of
from sofa_softctl.view.movie.capture import bodies_of
from tests.parity.topologies import CUBE

TURN = Rotation.from_rotvec([0.4, -1.0, 0.7]).as_matrix()
E, NU, STRETCH = 1000.0, 0.3, 1e-3
LAM, MU = E * NU / ((1.0 + NU) * (1.0 - 2.0 * NU)), 0.5 * E / (1.0 + NU)


def same(ours, theirs):
    """Whether two dataclasses have equal fields, arrays to the bit."""
    assert type(ours) is type(theirs)
    for name, value in vars(ours).items():
        other = getattr(theirs, name)
        if hasattr(value, "__dataclass_fields__"):
            same(value, other)
        else:
            assert np.array_equal(value, other, equal_nan=isinstance(value, float)), name


@pytest.mark.parametrize("kind", ["RegularGridTopology", "SparseGridTopology"])
def test_of_hexahedra_the_outer_sides_are_shown(kind):
    """Of 4 x 4 x 4 cells, 16 on each side: 12 x 16 triangles, which bound the body's volume."""

    def scene(root):
        root.addObject("DefaultAnimationLoop")
        body = root.addChild("body")
        values = {**CUBE, "min": [0, 0, 0], "max": [2, 2, 2]}
        if kind == "RegularGridTopology":
            values = {"max": [2, 2, 2]}
        body.addObject(kind, n=[5, 5, 5], **values)
        body.addObject("MechanicalObject", name="dofs")
        skin = body.addChild("skin")
        skin.addObject("MeshTopology", **CUBE)
        skin.addObject("MechanicalObject", name="dofs")
        skin.addObject("BarycentricMapping")

    root = Session(scene).root
    (body,) = geometry_of(root).bodies
    (shown,) = bodies_of([root, *root.children, *root.body.children])
    assert shown[1].tolist() == body.triangles.tolist()
    assert len(body.triangles) == 12 * 16
    a, b, c = np.moveaxis(body.rest[body.triangles], 1, 0)
    assert np.einsum("ki,ki->", a, np.cross(b, c)) / 6.0 == pytest.approx(8.0)


def test_bodies_and_cables_come_back_from_a_recording(tmp_path, beam):
    def scene(root):
        node = beam(root, cables=2, value=5.0)
        node.fem.youngModulus.value = [400.0, 500.0, *[400.0] * 16]
        skin = node.addChild("skin")
        skin.addObject("MeshTopology", position=node.mesh.position.value, triangles=[[0, 1, 2]])
        skin.addObject("MechanicalObject", name="dofs")
        skin.addObject("IdentityMapping")
        floor = root.addChild("floor")
        points = [[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 9.0]]
        floor.addObject("MeshTopology", position=points, triangles=[[0, 1, 2]])
        floor.addObject("MechanicalObject", name="dofs")
        floor.addObject("TriangleCollisionModel", moving=False, simulated=False)

    session = Session(scene)
    with session.recording(tmp_path / "a.mcap"):
        session.step(2)
    expected = geometry_of(session.root)
    found = geometry_in(read_record(tmp_path / "a.mcap"))
    assert [body.name for body in found.bodies] == ["beam/dofs", "floor/dofs"]
    assert [body.obstacle for body in found.bodies] == [False, True]
    assert [cable.name for cable in found.cables] == ["beam/cable_0/cable", "beam/cable_1/cable"]
    assert [cable.lambda_per_effort for cable in found.cables] == [0.01, 0.01]
    assert found.gravity.tolist() == [0.0, -9810.0, 0.0]
    assert found.bodies[0].material.young[:3].tolist() == [400.0, 500.0, 400.0]
    assert found.bodies[1].material is None
    pairs = [(found.bodies, expected.bodies), (found.cables, expected.cables)]
    for ours, theirs in pairs:
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)


def test_a_cable_begins_at_its_pull_point(beam, root, Sofa):
    node = beam(root, cables=1)
    Sofa.Simulation.init(root)
    (cable,) = geometry_of(root).cables
    positions = np.array(node.cable_0.dofs.position.value)
    points = cable.points(np.stack([positions, positions + 1.0]))
    assert points.shape == (2, 4, 3)
    assert points[1, 0] == pytest.approx(node.cable_0.cable.pullPoint.value)
    assert points[1, 1:] == pytest.approx(positions + 1.0)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TetrahedronFEMForceField", {"method": "large"}),
        ("TetrahedronFEMForceField", {"method": "polar"}),
        ("TetrahedronFEMForceField", {"method": "svd"}),
        ("FastTetrahedralCorotationalForceField", {"method": "qr"}),
        ("FastTetrahedralCorotationalForceField", {"method": "polar"}),
        ("TetrahedronHyperelasticityFEMForceField", {"materialName": "NeoHookean"}),
        ("TetrahedronHyperelasticityFEMForceField", {"materialName": "StVenantKirchhoff"}),
        ("AssumedStrainFEMForceField", {"materialName": "Corotational"}),
        ("AssumedStrainFEMForceField", {"materialName": "MooneyRivlin"}),
    ],
)
def test_a_turned_bar_that_is_pulled_has_the_stress_young_times_strain(
    root, Sofa, box, kind, values
):
    """In a tetrahedron's own frame: 1 % for terms of the next order, of 1e-3 each."""
    points, elements = box(2, 2, 3)
    pulled = points @ np.diag([1.0 - NU * STRETCH, 1.0 - NU * STRETCH, 1.0 + STRETCH]) @ TURN.T
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    body.addObject("MeshTopology", tetrahedra=elements)
    body.addObject("MechanicalObject", name="dofs", position=pulled, rest_position=points)
    body.addObject("UniformMass", totalMass=1.0)
    if kind.startswith("TetrahedronHyper"):
        values = values | {"ParameterSet": [MU, LAM]}
    else:
        values = values | {"youngModulus": E, "poissonRatio": NU}
    body.addObject(kind, **values)
    Sofa.Simulation.init(root)
    (found,) = geometry_of(root).bodies
    assert found.cell_values(pulled)["von_mises"] == pytest.approx(
        np.full(len(elements), E * STRETCH), rel=1e-2
    )
    energy = found.cell_values(pulled)["strain_energy"]
    assert energy == pytest.approx(np.full(len(elements), E * STRETCH**2 / 2.0), rel=2e-2)
    assert found.cell_values(points @ TURN.T)["von_mises"] == pytest.approx(
        np.zeros(len(elements)), abs=1e-9
    )


def test_hexahedra_have_stresses_in_recordings(tmp_path):
    """Those that the force field computes itself, from the recorded positions."""

    def scene(root):
        root.dt = 0.01
        root.gravity = [0.0, -9810.0, 0.0]
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver")
        body.addObject("SparseLDLSolver")
        body.addObject(
            "RegularGridTopology", name="grid", n=[2, 2, 4], min=[0, 0, 0], max=[1, 1, 3]
        )
        body.addObject("MechanicalObject", name="dofs")
        body.addObject("UniformMass", totalMass=1e-4)
        body.addObject("AssumedStrainFEMForceField", name="fem", computeVonMisesStress=True)
        body.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3])

    session = Session(scene)
    with session.recording(tmp_path / "a.mcap"):
        session.step(3)
    record = read_record(tmp_path / "a.mcap")
    (body,) = geometry_in(record).bodies
    kind, cells = body.cells
    assert (kind, cells.shape) == ("hexahedron", (3, 8))
    stress = body.cell_values(record.channels["body/dofs.position"][-1])["von_mises"]
    assert stress.max() > 1e-3
    assert stress == pytest.approx(record.channels["body/fem.vonMisesPerElement"][-1], rel=1e-9)
    assert record.channels["body/fem.strainEnergyPerElement"][-1].min() > 0.0


def test_stresses_that_a_scene_computes_are_recorded(tmp_path, beam):
    """Green's strain beside that of the method: equal for small strains."""

    def scene(root):
        beam(root, cables=1, value=5.0).fem.computeVonMisesStress.value = 2

    session = Session(scene)
    with session.recording(tmp_path / "a.mcap"):
        session.step(3)
    record = read_record(tmp_path / "a.mcap")
    stresses = record.channels["beam/fem.vonMisesPerElement"]
    assert np.array_equal(stresses[-1], session.root.beam.fem.vonMisesPerElement.value)
    (body,) = geometry_in(record).bodies
    ours = body.cell_values(record.channels["beam/dofs.position"][-1])["von_mises"]
    assert ours == pytest.approx(stresses[-1], rel=0.2, abs=0.02 * ours.max())
    assert record.channels["beam/fem.vonMisesPerNode"].shape == (3, len(body.rest))


def test_stresses_that_nobody_asked_for_are_not_recorded(tmp_path, beam):
    session = Session(lambda root: beam(root))
    with session.recording(tmp_path / "a.mcap") as channels:
        assert [channel.name for channel in channels] == ["beam/dofs.position"]


def test_a_recording_without_meshes_says_what_to_do(tmp_path):
    with RecordWriter(tmp_path / "a.mcap", {}) as writer:
        writer.add_channel("x", shape=())
        writer.write(0.1, {"x": 1.0})
    with pytest.raises(RecordError, match="no meshes.*Record the run again: softctl run"):
        geometry_in(read_record(tmp_path / "a.mcap"))
