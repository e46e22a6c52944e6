"""stlib3.physics: deformable objects, what holds them, their surfaces; and their actuators."""

import numpy as np
import pytest


@pytest.fixture
def body(root, meshes):
    """A beam under gravity in a scene with constraints."""
    from stlib3.physics.deformable import ElasticMaterialObject

    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-9, maxIterations=1000)
    root.gravity = [0.0, -9810.0, 0.0]
    return root.addChild(
        ElasticMaterialObject(
            root,
            name="beam",
            volumeMeshFileName=str(meshes / "beam.vtk"),
            surfaceMeshFileName=str(meshes / "skin.stl"),
            collisionMesh=str(meshes / "skin.obj"),
            youngModulus=400.0,
            totalMass=0.04,
            translation=[1.0, 2.0, 3.0],
            surfaceColor=[0.0, 0.8, 0.7, 1.0],
        )
    )


def test_an_elastic_object_by_the_words_of_the_originals_examples(root, meshes, caplog):
    """Which the original does not take; there the object is in no node, or has no mesh."""
    from stlib3.physics.deformable import ElasticMaterialObject

    beam = ElasticMaterialObject(
        fromVolumeMesh=str(meshes / "beam.vtk"), withTotalMass=0.5, attachedTo=root, sort="hard"
    )
    assert root.ElasticMaterialObject is beam
    assert beam.mass.totalMass.value == 0.5 and len(beam.loader.tetras.value)
    assert "sort has no effect. It takes: collisionMesh, name, parents, poisson" in caplog.text


FOOT = [-1.0, -1.0, 2.9, 30.0, 30.0, 3.1]
SURFACE = ["MeshTopology MeshTopology", "MechanicalObject MechanicalObject"]
MODELS = [f"{kind}CollisionModel {kind}CollisionModel" for kind in ("Point", "Line", "Triangle")]


def test_an_elastic_object(body, graph):
    assert graph(body) == [
        "EulerImplicitSolver integration",
        "SparseLDLSolver solver",
        "MeshVTKLoader loader",
        "TetrahedronSetTopologyContainer container",
        "MechanicalObject dofs",
        "UniformMass mass",
        "TetrahedronFEMForceField forcefield",
        "LinearSolverConstraintCorrection correction",
        {
            "CollisionModel": [
                "MeshOBJLoader loader",
                *SURFACE,
                *MODELS,
                "BarycentricMapping BarycentricMapping",
            ]
        },
        {
            "VisualModel": [
                "RequiredPlugin RequiredPlugin",
                "MeshSTLLoader loader",
                "OglModel OglModel",
                "BarycentricMapping mapping",
            ]
        },
    ]
    assert body.container.position.value.min(axis=0).tolist() == [1.0, 2.0, 3.0]
    assert body.forcefield.method.value == "large"
    assert (body.mass.totalMass.value, body.forcefield.youngModulus.value[0]) == (0.04, 400.0)
    assert body.poissonRatio.value == 0.3


@pytest.mark.parametrize("solver", ["", "above"])
def test_an_elastic_object_may_be_solved_and_constrained_above(root, meshes, solver):
    from stlib3.physics.deformable import ElasticMaterialObject

    mesh = str(meshes / "beam.vtk")
    made = ElasticMaterialObject(volumeMeshFileName=mesh, solverName=solver, withConstrain=False)
    assert made.getName() == "ElasticMaterialObject"
    assert made.hasObject("solver") == made.hasObject("integration") == (not solver)
    assert not made.hasObject("correction") and len(made.children) == 0


def test_an_elastic_object_without_a_mesh_is_reported(caplog):
    from stlib3.physics.deformable import ElasticMaterialObject

    ElasticMaterialObject()
    assert "An elastic object needs volumeMeshFileName" in caplog.text


def test_a_fixed_box_holds_the_points_in_it(body, root, graph, run):
    """Springs of 1e12: the beam's weight of 400 stretches the nine of its foot by 5e-11."""
    from stlib3.physics.constraints import FixedBox

    box = FixedBox(body, atPositions=FOOT, doVisualization=True)
    assert graph(box) == [
        "BoxROI BoxROI",
        "RestShapeSpringsForceField RestShapeSpringsForceField",
    ]
    assert box.RestShapeSpringsForceField.stiffness.value.tolist() == [1e12]
    before = body.container.position.value.copy()
    run(root)
    moved = np.linalg.norm(body.dofs.position.array() - before, axis=1)
    foot = before[:, 2] == 3.0
    assert moved[foot].max() < 1e-8 < 0.1 < moved[~foot].min()


def test_a_fixed_box_of_given_points(body):
    from stlib3.physics.constraints import FixedBox

    points = [[0.0, 0.0, 3.0], [0.0, 0.0, 9.0]]
    box = FixedBox(body, FOOT, name="Some", position=points, constraintStrength=5.0)
    assert box.RestShapeSpringsForceField.stiffness.value.tolist() == [5.0]
    box.BoxROI.init()
    assert box.getName() == "Some" and box.BoxROI.indices.value.tolist() == [0]


def test_a_fixed_box_as_a_prefab(root, graph, run):
    from stlib3.physics.constraints.fixedbox_prefab import FixedBox

    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    root.addObject("MechanicalObject", position=[[0.5, 0.5, 0.5], [2.0, 2.0, 2.0]])
    root.addObject("UniformMass", totalMass=1.0)
    FixedBox(parent=root)
    run(root, 1)
    assert root.FixedBox.BoxROI.indices.value.tolist() == [0]
    with pytest.raises(TypeError, match="must be given its parent"):
        FixedBox(boxCoords=[0, 0, 0, 1, 1, 1])


def test_a_partially_fixed_box_keeps_some_coordinates(body, root, graph, run):
    from stlib3.physics.constraints import FixedBox, PartiallyFixedBox

    FixedBox(body, FOOT)
    everything = [-1e3, -1e3, -1e3, 1e3, 1e3, 1e3]
    box = PartiallyFixedBox(body, everything, fixedAxis=[0, 1, 0])
    assert graph(box) == [
        "BoxROI BoxROI",
        "PartialFixedProjectiveConstraint PartialFixedProjectiveConstraint",
    ]
    before = body.container.position.value.copy()
    run(root)
    assert body.dofs.position.array() == pytest.approx(before, abs=1e-6)  # gravity is along y


def test_a_part_of_another_material_bends_less(body, root, graph, run):
    from stlib3.physics.constraints import FixedBox, SubTopology

    FixedBox(body, FOOT)
    body.addObject("BoxROI", name="roi", box=[-1e3, -1e3, -1e3, 1e3, 1e3, 1e3])
    part = SubTopology(
        attachedTo=body,
        containerLink="@../container.position",
        boxRoiLink="@../roi.tetrahedraInROI",
        name="stiff",
        youngModulus=1e6,
    )
    assert graph(part) == [
        "TetrahedronSetTopologyContainer container",
        "TetrahedronFEMForceField FEM",
    ]
    before = body.container.position.value.copy()
    run(root)
    assert np.abs(body.dofs.position.array() - before).max() < 0.2  # without the part: 2.9
    assert len(part.container.tetrahedra.value) == len(body.container.tetrahedra.value)


def test_a_part_without_its_links_is_reported(root, caplog):
    from stlib3.physics.constraints import SubTopology

    assert SubTopology(attachedTo=root) is None
    assert "boxRoiLink a link to the elements of a region" in caplog.text


def test_a_collision_mesh(body, meshes, graph, caplog):
    from stlib3.physics.collision import CollisionMesh

    mesh = CollisionMesh(
        body,
        str(meshes / "skin.stl"),
        name="own",
        translation=[1.0, 2.0, 3.0],
        collisionGroup=[1, 2],
        mappingType="BarycentricMapping",
    )
    assert graph(mesh)[0] == "MeshSTLLoader loader"
    assert list(mesh.PointCollisionModel.group.value) == [1, 2]
    assert mesh.loader.position.value.min(axis=0).tolist() == [1.0, 2.0, 3.0]
    assert "BarycentricMapping" not in str(
        graph(CollisionMesh(body, str(meshes / "skin.obj"), name="free", mappingType=None))
    )
    assert CollisionMesh(body, "skin.ply", name="wrong") is None
    assert "must be a surface mesh: .obj, .stl or .vtk, got 'skin.ply'" in caplog.text
    assert CollisionMesh(surfaceMeshFileName="skin.obj") is None


CABLE = [[11.0, 2.0, 8.0], [11.0, 2.0, 88.0]]


def test_a_cable_that_is_pulled_bends_the_beam(body, root, graph, run):
    from softrobots.actuators import PullingCable
    from stlib3.physics.constraints import FixedBox

    FixedBox(body, FOOT)
    root.gravity = [0.0, 0.0, 0.0]
    cable = PullingCable(
        body,
        "PullingCable",
        cableGeometry=[[10.0, 0.0, 5.0], [10.0, 0.0, 85.0]],
        translation=[1.0, 2.0, 3.0],
        pullPointLocation=[11.0, 2.0, 3.0],
        initialValue=5.0,
    )
    assert graph(cable) == [
        "MechanicalObject MechanicalObject",
        "CableConstraint CableConstraint",
        "BarycentricMapping Mapping",
    ]
    constraint = cable.CableConstraint
    assert constraint.hasPullPoint.value and constraint.pullPoint.value.tolist() == [11.0, 2.0, 3.0]
    run(root, 5)
    assert cable.MechanicalObject.rest_position.value == pytest.approx(np.array(CABLE))
    assert constraint.displacement.value == pytest.approx(5.0, abs=1e-2)
    assert constraint.force.value > 0.0


def test_a_cable_without_a_pull_point(body):
    from softrobots.actuators import PullingCable

    constraint = PullingCable(body, cableGeometry=CABLE, valueType="force").CableConstraint
    assert not constraint.hasPullPoint.value
    assert constraint.valueType.value == "force" and constraint.indices.value.tolist() == [0, 1]


def test_a_cavity_that_is_blown_up(body, root, meshes, graph, run):
    from softrobots.actuators import PneumaticCavity
    from stlib3.physics.constraints import FixedBox

    FixedBox(body, FOOT)
    cavity = PneumaticCavity(
        str(meshes / "hole.stl"),
        attachedAsAChildOf=body,
        name="cavity",
        translation=[1.0, 2.0, 3.0],
        initialValue=1.0,
        valueType="pressure",
    )
    assert graph(cavity) == [
        "MeshSTLLoader MeshLoader",
        "MeshTopology topology",
        "MechanicalObject MechanicalObject",
        "SurfacePressureConstraint SurfacePressureConstraint",
        "BarycentricMapping Mapping",
    ]
    run(root, 5)
    pressure = cavity.SurfacePressureConstraint
    assert pressure.pressure.value == pytest.approx(1.0)
    assert pressure.cavityVolume.value > pressure.initialCavityVolume.value


def test_cavities_in_a_node_that_is_there(body, meshes, caplog):
    from softrobots.actuators import PneumaticCavity

    own = body.addChild("own")
    mesh = str(meshes / "hole.stl")
    assert PneumaticCavity(mesh, attachedTo=own, name=None) is own
    assert not caplog.records
    assert PneumaticCavity(mesh) is None
    assert "must be given the node of the body" in caplog.text
    assert PneumaticCavity("hole.vtk", attachedAsAChildOf=body) is None
    assert "must be a .stl or .obj file, got 'hole.vtk'" in caplog.text


def test_a_cavity_that_is_measured(body, root, meshes, graph, run, caplog):
    from softrobots.sensors import PneumaticSensor, StringSensor
    from stlib3.physics.constraints import FixedBox

    FixedBox(body, FOOT)
    sensor = PneumaticSensor(
        str(meshes / "hole.stl"), attachedAsAChildOf=body, translation=[1.0, 2.0, 3.0]
    )
    assert graph(sensor)[3:] == [
        "BarycentricMapping Mapping",
        "SurfacePressureSensor SurfacePressureSensor",
    ]
    assert sensor.getName() == "PneumaticSensor"
    PneumaticSensor(str(meshes / "hole.stl"), body, name="blown", initialValue=2.0)
    assert "initialValue=2.0 and valueType='volumeGrowth' have no effect" in caplog.text
    with pytest.raises(NotImplementedError, match="cableInitialLength and cableLength"):
        StringSensor(body)


def test_what_is_shown(root, meshes, graph, caplog):
    from stlib3.visuals import VisualModel

    shown = root.addChild(VisualModel(visualMeshPath=str(meshes / "skin.obj"), scale=[2.0] * 3))
    shown.showGrid(size=50.0)
    assert graph(shown)[1:] == [
        "MeshOBJLoader loader",
        "OglModel OglModel",
        "VisualGrid VisualGrid",
    ]
    VisualModel(visualMeshPath="skin.ply")
    assert "made of .stl or .obj files, got 'skin.ply'" in caplog.text


def test_a_turned_box_picks_points(root):
    from stlib3.components import addOrientedBoxRoi

    points = [[0.0, 0.0, 0.0], [5.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
    roi = addOrientedBoxRoi(
        root, points, name="roi", eulerRotation=[0.0, 90.0, 0.0], scale=[2, 2, 12]
    )
    roi.init()
    assert roi.indices.value.tolist() == [0, 1]


def test_points_of_an_object_in_boxes(body):
    from splib3.numerics import getOrientedBoxFromTransform
    from stlib3.tools import BoxFilter

    boxes = [getOrientedBoxFromTransform([1.0, 2.0, z], scale=[1.0, 1.0, 1.0]) for z in (3.0, 93.0)]
    first, last = BoxFilter(body, body, boxes).getIndices()
    assert body.dofs.position.array()[first].tolist() == [[1.0, 2.0, 3.0]]
    assert body.dofs.position.array()[last].tolist() == [[1.0, 2.0, 93.0]]
