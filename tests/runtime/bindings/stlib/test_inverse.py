"""softrobots.inverse and softrobots.parts."""

import numpy as np
import pytest


@pytest.fixture
def body(root, meshes):
    from stlib3.physics.constraints import FixedBox
    from stlib3.physics.deformable import ElasticMaterialObject

    root.addObject("FreeMotionAnimationLoop")
    root.addObject("QPInverseProblemSolver")
    mesh = str(meshes / "beam.vtk")
    made = ElasticMaterialObject(
        name="beam", volumeMeshFileName=mesh, youngModulus=400.0, totalMass=0.04
    )
    root.addChild(made)
    FixedBox(made, [-1.0, -1.0, -0.1, 30.0, 30.0, 0.1])
    return made


def test_a_cable_brings_the_tip_to_its_goal(root, body, graph, run):
    """Towards -y, where the cable runs; the limit on its force is the actuator's."""
    from softrobots.inverse.actuators import PullingCable
    from softrobots.inverse.effectors import EffectorGoal, PositionEffector

    goal = EffectorGoal(root, position=[[10.0, 5.0, 90.0]])
    assert graph(goal) == [
        "EulerImplicitSolver EulerImplicitSolver",
        "CGLinearSolver CGLinearSolver",
        "MechanicalObject MechanicalObject",
    ]
    goal.addObject("UncoupledConstraintCorrection")  # it does not move by itself
    cable = PullingCable(
        body,
        cableGeometry=[[10.0, 0.0, 5.0], [10.0, 0.0, 85.0]],
        pullPointLocation=[10.0, 0.0, 0.0],
        minForce=0.0,
        maxForce=1e6,
    )
    assert graph(cable) == [
        "MechanicalObject MechanicalObject",
        "CableActuator CableActuator",
        "BarycentricMapping Mapping",
    ]
    assert (cable.CableActuator.minForce.value, cable.CableActuator.maxForce.value) == (0.0, 1e6)
    effector = PositionEffector(
        body,
        position=[[10.0, 10.0, 90.0]],
        effectorGoal="@../../Goal/MechanicalObject.position",
        directions=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        useDirections=[0, 1, 0],
    )
    assert graph(effector)[1:] == [
        "PositionEffector PositionEffector",
        "BarycentricMapping Mapping",
    ]
    run(root, 40)
    assert effector.MechanicalObject.position.array()[0, 1] == pytest.approx(5.0, abs=0.1)


def test_an_effector_of_a_rigid_body_has_a_rigid_mapping(root, graph):
    from softrobots.inverse.effectors import PositionEffector

    root.addObject("MechanicalObject", template="Rigid3", position=[[0, 0, 0, 0, 0, 0, 1]])
    frame = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    effector = PositionEffector(root, position=frame, effectorGoal=frame, template="Rigid3d")
    assert graph(effector)[2] == "RigidMapping Mapping"


def test_cavities_of_inverse_problems(body, meshes, graph):
    from softrobots.inverse.actuators import PneumaticCavity
    from softrobots.inverse.effectors import VolumeEffector

    hole = str(meshes / "hole.stl")
    cavity = PneumaticCavity(hole, attachedTo=body, minPressure=0.0, maxVolumeGrowthVariation=2.0)
    actuator = cavity.SurfacePressureActuator
    assert (actuator.minPressure.value, actuator.maxVolumeGrowthVariation.value) == (0.0, 2.0)
    assert graph(cavity)[3:] == [
        "SurfacePressureActuator SurfacePressureActuator",
        "BarycentricMapping Mapping",
    ]
    volume = VolumeEffector(hole, attachedAsAChildOf=body)
    assert graph(volume)[3:] == ["VolumeEffector VolumeEffector", "BarycentricMapping Mapping"]


def test_inverse_control_is_there():
    from softrobots import inverse

    assert inverse.isAvailable


@pytest.mark.parametrize("part", ["finger", "bunny"])
def test_parts_without_their_meshes_say_where_these_are(root, part, tmp_path, monkeypatch):
    from softrobots.parts.bunny import Bunny
    from softrobots.parts.finger import Finger

    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="https://github.com/SofaDefrost/SoftRobots"):
        {"finger": Finger, "bunny": Bunny}[part](root)


def test_a_finger_with_meshes_beside_the_scene(root, meshes, graph, monkeypatch, run):
    """In a copy of the plugin SoftRobots, where a scene finds them below 'python3'."""
    from softrobots.parts.finger import Finger

    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-9)
    folder = meshes / "python3/softrobots/parts/finger/mesh"
    folder.mkdir(parents=True)
    (folder / "finger.vtk").write_bytes((meshes / "beam.vtk").read_bytes())
    for name in ("finger", "fingerCollision_part1", "fingerCollision_part2"):
        (folder / f"{name}.stl").write_bytes((meshes / "skin.stl").read_bytes())
    (folder / "cable.json").write_text("[[10.0, 0.0, 5.0], [10.0, 0.0, 85.0]]")
    (meshes / "examples").mkdir()
    monkeypatch.chdir(meshes / "examples")
    box = [-1.0, -1.0, -0.1, 30.0, 30.0, 0.1]
    finger = Finger(root, fixingBox=box, pullPointLocation=[10.0, 0.0, 0.0])
    names = ["VisualModel", "FixedBox", "PullingCable"]
    names += ["CollisionMesh", "CollisionMeshAuto1", "CollisionMeshAuto2"]
    assert [child.getName() for child in finger.children] == names
    run(root, 2)
    value = finger.PullingCable.CableConstraint.value
    for key, pulled in (("+", 1.0), ("-", 0.0), ("-", 0.0), ("x", 0.0)):
        finger.FingerController.onKeypressedEvent({"key": key})
        assert value.value[0] == pulled


def test_a_bunny_with_meshes_in_a_folder(root, meshes, graph, monkeypatch):
    import importlib

    module = importlib.import_module("softrobots.parts.bunny.Bunny")
    (meshes / "Hollow_Bunny_Body_Cavity.obj").write_bytes((meshes / "skin.obj").read_bytes())
    import meshio

    meshio.read(meshes / "beam.vtk").write(meshes / "Hollow_Stanford_Bunny.vtu")
    monkeypatch.setattr(module, "meshpath", str(meshes))
    bunny = module.Bunny(root, translation=[1.0, 2.0, 3.0])
    assert [child.getName() for child in bunny.children] == [
        "VisualModel",
        "FixedBox",
        "Cavity",
        "visu",
    ]
    assert bunny.FixedBox.BoxROI.box.value == pytest.approx(np.array([[-4, -4, -2, 6, -2.5, 8]]))
    assert bunny.Cavity.SurfacePressureConstraint.valueType.value == "pressure"
