"""One fault each in bodies, masses, mappings and joints: each is named, with its cause."""

import os
import re

import numpy as np
import pytest

from sofa_softctl import Session
from sofa_softctl.scene.plausibility.bodies import bodies_of
from sofa_softctl.scene.plausibility.misread import misread_warnings
from sofa_softctl.scene.plausibility.rigid_bodies import rigid_body_warnings
from sofa_softctl.units import Units
from tests.conftest import box_of_tetrahedra
from tests.test_silent_faults import SCENES as OTHER_SCENES
from tests.test_silent_faults import (
    SKIN,
    Scene,
    changed,
    create,
    dropped,
    header,
    in_class,
    moved,
    soft_body,
)

pytestmark = pytest.mark.usefixtures("tolerant")

SIZE = np.array([20.0, 12.0, 30.0])
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * SIZE / 2
FLOOR = np.array([[-300.0, 0.0, -300.0], [-300.0, 0.0, 900.0], [900.0, 0.0, -300.0]])


def mass(inertia, value=0.03):
    rows = ",".join(" ".join(str(entry) for entry in row) for row in np.asarray(inertia).tolist())
    return f"{value} {SIZE.prod()} [{rows}]"


INERTIA = np.diag((SIZE @ SIZE - SIZE**2) / 12.0)


def pipeline(response="FrictionContactConstraint"):
    return [
        ["", "CollisionPipeline", {}],
        ["", "BruteForceBroadPhase", {}],
        ["", "BVHNarrowPhase", {}],
        ["", "CollisionResponse", {"response": response}],
        ["", "LocalMinDistance", {"alarmDistance": 6.0, "contactDistance": 0.5}],
        ["floor", "MeshTopology", {"position": FLOOR, "triangles": [[0, 1, 2]]}],
        ["floor", "MechanicalObject", {"name": "dofs"}],
        ["floor", "TriangleCollisionModel", {"moving": False, "simulated": False}],
    ]


def box():
    """A rigid box (mm, kg, s) that falls onto a floor, turned by 30 degrees."""
    start = [[0.0, 22.0, 0.0, 0.0, 0.0, 0.2588, 0.9659]]
    return [
        *header(),
        *pipeline(),
        ["body", "EulerImplicitSolver", {}],
        ["body", "SparseLDLSolver", {"template": "CompressedRowSparseMatrixMat3x3d"}],
        ["body", "MechanicalObject", {"name": "dofs", "template": "Rigid3", "position": start}],
        ["body", "UniformMass", {"vertexMass": mass(INERTIA)}],
        ["body", "LinearSolverConstraintCorrection", {}],
        ["body/faces", "MeshTopology", {"position": CORNERS, "triangles": SKIN}],
        ["body/faces", "MechanicalObject", {"name": "dofs"}],
        ["body/faces", "TriangleCollisionModel", {}],
        ["body/faces", "LineCollisionModel", {}],
        ["body/faces", "PointCollisionModel", {}],
        ["body/faces", "RigidMapping", {}],
    ]


def block():
    """A soft block (mm, kg, s) with a skin of the same shape above a floor."""
    x, tetrahedra = box_of_tetrahedra(4, 4, 4, size=(20.0, 20.0, 20.0))
    skin = box_of_tetrahedra(2, 2, 2, size=(20.0, 20.0, 20.0))[0]
    up = [0.0, 2.0, 0.0]
    lines = [line for line in soft_body(x + up, tetrahedra) if "ROI" not in line[1]]
    return [
        *header(),
        *pipeline(),
        *(line for line in lines if line[1] != "FixedProjectiveConstraint"),
        ["body/skin", "MeshTopology", {"position": skin + up, "triangles": SKIN}],
        ["body/skin", "MechanicalObject", {"name": "dofs"}],
        ["body/skin", "TriangleCollisionModel", {}],
        ["body/skin", "LineCollisionModel", {}],
        ["body/skin", "PointCollisionModel", {}],
        ["body/skin", "BarycentricMapping", {}],
    ]


def joined():
    """A beam whose end carries a second one."""
    positions, tetrahedra = box_of_tetrahedra(3, 3, 6)
    first = soft_body(positions, tetrahedra)
    second = [["end", *line[1:]] for line in soft_body(positions + [0.0, 0.0, 90.0], tetrahedra)]
    second = [line for line in second if "ROI" not in line[1] and "Projective" not in line[1]]
    at_end = np.flatnonzero(positions[:, 2] > 89.0)
    at_begin = np.flatnonzero(positions[:, 2] < 1.0)
    names = {"object1": "@/body/dofs", "object2": "@/end/dofs"}
    nodes = {"first_point": at_end, "second_point": at_begin}
    joint = ["", "BilateralLagrangianConstraint", {"template": "Vec3"} | names | nodes]
    return [*header(), *first, *second, joint]


class Bodies(Scene):
    """A scene of this file, or of the other one, to which a test does one wrong thing."""

    def __init__(self, kind):
        super().__init__(kind if kind in OTHER_SCENES else "cube")
        self.kind = kind
        if kind in SCENES:
            self.lines, self.gravity = SCENES[kind](), [0.0, -9810.0, 0.0]


SCENES = {"box": box, "block": block, "joined": joined}


def shifted(path, *offset):
    return moved(path, "MeshTopology", "position", lambda x: x + np.array(offset))


def posed(*numbers):
    return changed("body", "MechanicalObject", position=[list(numbers)])


def lifted(root):
    with root.floor.dofs.position.writeable() as x:
        x[:, 1] += 2.0


def by_penalty(scene):
    scene.set("", "CollisionResponse", response="PenalityContactForceField")


def joined_by(kind, **values):
    def change(scene):
        line = scene.line("", "BilateralLagrangianConstraint")
        given = line[2]
        line[1], line[2] = kind, {name: given[name] for name in ("object1", "object2")} | values
        line[2] |= {"indices1": given["first_point"], "indices2": given["second_point"]}

    return change


def sprung(length=90.0, to=0.0, **values):
    """Two beams in a line; springs in place of a constraint join their ends at z = 0 and `to`."""

    def change(scene):
        scene.drop("", "BilateralLagrangianConstraint")
        nodes = [np.flatnonzero(np.abs(BEAM[:, 2] - z) < 1.0) for z in (0.0, to)]
        rows = [[i, j, 50.0, 0.1, length] for i, j in zip(*nodes, strict=True)]
        links = {"object1": "@/body/dofs", "object2": "@/end/dofs"}
        scene.add("", "SpringForceField", **links | {"spring": rows} | values)

    return change


def under_one_solver(scene):
    joined_by("AttachProjectiveConstraint", twoWay=False)(scene)
    scene.drop("end", "LinearSolverConstraintCorrection")
    scene.drop("body", "LinearSolverConstraintCorrection")
    for kind in ("EulerImplicitSolver", "SparseLDLSolver"):
        scene.drop("end", kind)
        line = scene.line("body", kind)
        scene.lines.remove(line)
        scene.lines.insert(2, ["", *line[1:]])


def at_one_corner(scene):
    """Points at the ends of both beams, of which one pair is joined."""
    names = {"body": [0.0, 0.0, 90.0], "end": [0.0, 0.0, 90.0]}
    corners = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [9.0, 9.0, 0.0], [0.0, 9.0, 0.0]])
    for path, offset in names.items():
        scene.add(f"{path}/face", "MechanicalObject", name="dofs", position=corners + offset)
        scene.add(f"{path}/face", "BarycentricMapping")
    links = {"object1": "@/body/face/dofs", "object2": "@/end/face/dofs"}
    line = scene.line("", "BilateralLagrangianConstraint")
    scene.lines.remove(line)
    scene.lines.append([*line[:2], line[2] | links | {"first_point": [0], "second_point": [0]}])


def with_turned_box(scene):
    pose = [[0.0, 22.0, 0.0, 0.0, 0.7071, 0.0, 0.7071]]
    scene.add("lid", "EulerImplicitSolver")
    scene.add("lid", "SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    scene.add("lid", "MechanicalObject", name="dofs", template="Rigid3", position=pose)
    scene.add("lid", "UniformMass", vertexMass=mass(INERTIA))
    scene.add("lid", "LinearSolverConstraintCorrection")
    links = {"object1": "@/body/dofs", "object2": "@/lid/dofs"}
    nodes = {"first_point": [0], "second_point": [0]}
    scene.add("", "BilateralLagrangianConstraint", template="Rigid3", **links, **nodes)


def on_springs(stiffness):
    def change(scene):
        scene.drop("body", "FixedProjectiveConstraint")
        springs = {"points": "@foot.indices", "stiffness": stiffness}
        scene.add("body", "RestShapeSpringsForceField", **springs)

    return change


def conjugate_gradients(**values):
    def change(scene):
        line = scene.line("body", "SparseLDLSolver")
        line[1], line[2] = "CGLinearSolver", values

    return change


def bent(scene):
    scene.set("body", "TetrahedronFEMForceField", method="small", youngModulus=60.0)
    scene.gravity = [0.0, -9810.0, 0.0]


def alone(scene):
    """The first of two beams, without the second one."""
    joint = "BilateralLagrangianConstraint"
    scene.lines = [line for line in scene.lines if line[0] != "end" and line[1] != joint]


def without_middle(tetrahedra):
    height = BEAM[tetrahedra][:, :, 2].mean(axis=1)
    return tetrahedra[(height < 30.0) | (height > 60.0)]


def base_turned(scene):
    x = np.asarray(scene.line("body/skin", "MeshTopology")[2]["position"])
    is_base = x[np.asarray(SKIN)][:, :, 1].max(axis=1) < 3.0
    return np.where(is_base[:, None], np.asarray(SKIN)[:, [0, 2, 1]], SKIN)


def falling_floor(scene):
    scene.set("floor", "TriangleCollisionModel", moving=True, simulated=True)
    scene.add("floor", "UniformMass", totalMass=1.0)
    for kind in ("EulerImplicitSolver", "SparseLDLSolver", "UncoupledConstraintCorrection"):
        scene.add("floor", kind)


def resting(pose):
    """A controller that moves what springs of a rigid body pull to."""

    def move(root):
        root.body.dofs.rest_position = [pose(root.time.value)]

    return in_class("onAnimateBeginEvent", move)


KINDS = ("Triangle", "Line", "Point")
FAULTS = {
    # Surfaces of bodies
    "skin less than an element beside": (
        "block",
        shifted("body/skin", 0.0, 4.0, 0.0),
        "has the shape of the mesh of '/body', .* and stands [0, 4, 0] beside it",
        0,
    ),
    "skin turned": (
        "block",
        moved(
            "body/skin",
            "MeshTopology",
            "position",
            lambda x: (x - 10.0) @ [[0.9, 0.0, 0.436], [0.0, 1.0, 0.0], [-0.436, 0.0, 0.9]] + 10.0,
        ),
        "is turned against it: it reaches from",
        0,
    ),
    "skin of another size": (
        "block",
        moved("body/skin", "MeshTopology", "position", lambda x: 0.5 * (x - 10.0) + 10.0),
        "has the shape of the mesh of '/body', .* and is 0.5 times as large",
        0,
    ),
    "numbers of another mesh": (
        "joined",
        lambda scene: (
            scene.add("body/copy", "MeshTopology", position=BEAM[:27], triangles=[[0, 1, 26]]),
            scene.add("body/copy", "MechanicalObject", name="dofs"),
            scene.add("body/copy", "SubsetMapping", indices=list(range(0, 54, 2))),
        ),
        "Are 'indices' those of another mesh",
        0,
    ),
    "state beside its mesh": (
        "joined",
        changed("body", "MechanicalObject", translation=[0.0, 0.0, 8.0]),
        "lies [0, 0, 8] from its mesh '/body/mesh' .* would hold 9 nodes of the mesh in place of 0",
        0,
    ),
    "points at the end unused": (
        "joined",
        moved("body", "MeshTopology", "position", lambda x: np.vstack([x, [[9.0, 9.0, 50.0]]])),
        "the last 1 of its 55 points belong to no element",
        0,
    ),
    "rest in metres": (
        "joined",
        changed("body", "MechanicalObject", restScale=0.001),
        "'/body/dofs' is 90 long at the start, and 0.09 at rest",
        0,
    ),
    "two pieces": (
        "joined",
        lambda scene: (
            alone(scene),
            moved("body", "MeshTopology", "tetrahedra", without_middle)(scene),
        ),
        "share no node with those that are fixed: the mesh is of several pieces",
        0,
    ),
    "mass of one node": (
        "joined",
        changed("body", "UniformMass", indices=[0]),
        "gives mass to 1 of 54 nodes by its 'indices', and 53 nodes of elements have none",
        0,
    ),
    "mass again on the skin": (
        "block",
        lambda scene: scene.add("body/skin", "UniformMass", totalMass=0.04),
        "gives the body of '/body' its totalMass=0.04 a second time",
        0,
    ),
    "materials of two kinds": (
        "joined",
        lambda scene: scene.add("body", "FastTetrahedralCorotationalForceField", youngModulus=9.0),
        "acts on what TetrahedronFEMForceField '/body/TetrahedronFEMForceField' acts on already",
        0,
    ),
    "no material": (
        "block",
        dropped("body", "TetrahedronFEMForceField"),
        "has 162 elements with mass, and no force field gives them stiffness",
        0,
    ),
    "fixed in no direction": (
        "joined",
        lambda scene: scene.add(
            "body", "PartialFixedProjectiveConstraint", indices=[0], fixedDirections=[0, 0, 0]
        ),
        "fixes no direction",
        0,
    ),
    # Rigid bodies
    "points in the world's axes": (
        "box",
        shifted("body/faces", 0.0, 22.0, 0.0),
        "are taken in the body's axes, and would fit in the world's. Give globalToLocalCoords=True",
        0,
    ),
    "points in the body's axes": (
        "box",
        changed("body/faces", "RigidMapping", globalToLocalCoords=True),
        "are taken in the world's axes, and would fit in the body's. Leave globalToLocalCoords out",
        0,
    ),
    "no inertia": (
        "box",
        changed("body", "UniformMass", vertexMass="0.03"),
        "are 1 1 1 [length^2], and those of the surface that it carries 87 108 45.3",
        0,
    ),
    "inertia times the mass": (
        "box",
        changed("body", "UniformMass", vertexMass=mass(0.03 * INERTIA)),
        "do not multiply it by the mass",
        0,
    ),
    "inertia in other units": (
        "box",
        changed("body", "UniformMass", vertexMass=mass(1e6 * INERTIA)),
        "it turns too slowly",
        0,
    ),
    "inertia of no body": (
        "box",
        changed("body", "UniformMass", vertexMass=mass(np.diag([40.0, 40.0, 120.0]))),
        "no body has the inertia of its vertexMass",
        0,
    ),
    "w first": ("box", posed(0, 22, 0, 0.9659, 0, 0, 0.2588), "Is it in the order w x y z", 0),
    # Joints
    "attached to itself": (
        "joined",
        changed("", "BilateralLagrangianConstraint", object1="@/end/dofs"),
        "'object1' and 'object2' both lead to '/end/dofs'",
        0,
    ),
    "a node joined to itself": (
        "joined",
        changed(
            "",
            "BilateralLagrangianConstraint",
            object1="@/end/dofs",
            first_point=[0, 1],
            second_point=[0, 1],
        ),
        "it joins node 0 of '/end/dofs' to itself",
        0,
    ),
    "a joint without nodes": (
        "joined",
        changed("", "BilateralLagrangianConstraint", second_point=[]),
        "joins nothing: 'first_point' has 9 nodes, and 'second_point' has 0",
        0,
    ),
    "joined twice": (
        "joined",
        lambda scene: scene.lines.append(
            ["", scene.lines[-1][1], {**scene.lines[-1][2], "name": "again"}]
        ),
        "joins what '/BilateralLagrangianConstraint' joins already",
        0,
    ),
    "attachment between solvers": (
        "joined",
        joined_by("AttachProjectiveConstraint"),
        "'/AttachProjectiveConstraint' does not hold: 9 of its 9 pairs",
        40,
    ),
    "springs too soft": (
        "joined",
        lambda scene: (dropped("", "BilateralLagrangianConstraint")(scene), on_springs(0.1)(scene)),
        "Its stiffnesses are 0.9 in sum, and the body weighs 392",
        40,
    ),
    "springs in metres": (
        "joined",
        sprung(length=0.09),
        "start 90 long (median of 9), and their rest lengths are 0.09: .* in another unit",
        0,
    ),
    "springs without lengths": (
        "joined",
        sprung(length=0.0),
        "start 90 long (median of 9), and their rest lengths are 0: .* Without 'lengths'",
        0,
    ),
    "springs between exchanged objects": (
        "joined",
        sprung(180.0, 90.0, object1="@/end/dofs", object2="@/body/dofs"),
        "With object1 and object2 exchanged they would fit",
        0,
    ),
    "springs of another mesh": (
        "joined",
        sprung(72.0, 90.0),
        "start 180 long (median of 9), .* Are they nodes of another mesh",
        0,
    ),
    "springs that let a body turn": (
        "box",
        lambda scene: scene.add("body", "RestShapeSpringsForceField", stiffness=1e7),
        "turns with the default angularStiffness of 100 alone",
        0,
    ),
    "springs in one direction": (
        "joined",
        lambda scene: (
            scene.drop("", "BilateralLagrangianConstraint"),
            scene.add(
                "end",
                "RestShapeSpringsForceField",
                points=list(range(9)),
                stiffness=100.0,
                external_rest_shape="@/body/dofs",
                external_points=list(range(45, 54)),
            ),
        ),
        "is one-way: it pulls towards '/body/dofs', which moves and feels no force from it",
        0,
    ),
    "attached in one direction": (
        "joined",
        under_one_solver,
        "has twoWay=False: '/end' follows '/body', which carries nothing",
        0,
    ),
    "joined at one point": (
        "joined",
        at_one_corner,
        "joins 1 of 4 pairs of nodes that coincide: the bodies turn about it",
        0,
    ),
    "joined bodies that start turned": (
        "box",
        with_turned_box,
        "start turned by 94 degrees against each other",
        0,
    ),
    # Links to regions, motions
    "numbers of nodes for triangles": (
        "block",
        lambda scene: (
            scene.add("body/skin", "BoxROI", name="top", box=[-1, 21, -1, 21, 23, 21]),
            scene.add(
                "body/skin",
                "TrianglePressureForceField",
                triangleList="@top.indices",
                pressure=[0.0, -0.01, 0.0],
            ),
        ),
        "are numbers of nodes. Use '@/body/skin/top.triangleIndices'",
        0,
    ),
    "region of another body": (
        "block",
        lambda scene: (
            scene.add("body/skin", "BoxROI", name="top", box=[-1, 21, -1, 21, 23, 21]),
            scene.add("body", "FixedProjectiveConstraint", indices="@skin/top.indices"),
        ),
        "a region among 8 other points: '/body/dofs' has 64 nodes",
        0,
    ),
    "all elements that a region looks at": (
        "joined",
        lambda scene: (
            scene.add("body", "BoxROI", name="stiff", box=[-1, -1, 30, 99, 99, 60]),
            scene.add(
                "body/part", "MeshTopology", position=BEAM, tetrahedra="@../stiff.tetrahedra"
            ),
            scene.add("body/part", "MechanicalObject", name="dofs"),
            scene.add("body/part", "TetrahedronFEMForceField", youngModulus=9000.0),
            scene.add("body/part", "IdentityMapping"),
        ),
        "they would count twice. Use '@/body/stiff.tetrahedraInROI'",
        0,
    ),
    "movements that are places": (
        "joined",
        lambda scene: scene.add(
            "end",
            "LinearMovementProjectiveConstraint",
            indices=[53],
            keyTimes=[0.0, 1.0],
            movements=[[0.0, 0.0, 180.0], [0.0, 0.0, 170.0]],
        ),
        "its first movement at time 0 is 180 long, .* Movements are displacements",
        0,
    ),
    "times in milliseconds": (
        "joined",
        lambda scene: scene.add(
            "body", "LinearForceField", points=[53], times=[0, 500], forces=[[0, 0, 0], [0, 0, 1]]
        ),
        "its times end at 500, and the run at 0.05: it has hardly begun",
        5,
    ),
    "a probe without a mapping": (
        "joined",
        lambda scene: (
            scene.add("probe", "MechanicalObject", name="dofs", position=[[0.0, 0.0, 90.0]]),
            scene.add("probe", "Monitor", indices=[0]),
        ),
        "records what never moves: '/probe/dofs' has neither an integrator nor a mapping",
        5,
    ),
    "a velocity that nothing reads": (
        "joined",
        lambda scene: (
            scene.add("probe", "MechanicalObject", name="dofs", position=[[0.0, 0.0, 90.0]]),
            in_class(
                "onAnimateBeginEvent",
                lambda root: setattr(root.probe.dofs, "velocity", [[1.0, 0.0, 0.0]]),
            )(scene),
        ),
        "'velocity' of MechanicalObject '/probe/dofs' changes, and its position does not",
        5,
    ),
    # Contacts, solvers, materials
    "a tolerance of half a body": (
        "block",
        changed("", "GenericConstraintSolver", tolerance=10.0),
        "accepts an error of tolerance=10, and the smallest body is 20 long",
        0,
    ),
    "no triangles to touch": (
        "block",
        moved("body/skin", "MeshTopology", "triangles", lambda t: t[:0]),
        "TriangleCollisionModel '/body/skin/TriangleCollisionModel' finds no triangles",
        0,
    ),
    "penalty too soft": (
        "block",
        by_penalty,
        "Contacts by penalty do not hold: up to 4 points at once went through",
        40,
    ),
    "sunk into the floor": (
        "block",
        by_penalty,
        "At the end 4 of 8 points of '/body/skin' are on the wrong side of TriangleCollisionModel",
        6,
    ),
    "each node by its mass": (
        "block",
        lambda scene: (
            scene.drop("body", "LinearSolverConstraintCorrection"),
            scene.add("body", "UncoupledConstraintCorrection"),
        ),
        "moves each node of '/body' by its mass alone",
        0,
    ),
    "damped for seconds": (
        "block",
        changed("body", "EulerImplicitSolver", rayleighStiffness=10.0),
        "1e+03 steps of dt=0.01: it creeps",
        0,
    ),
    "stops before it has solved": (
        "joined",
        conjugate_gradients(iterations=5, tolerance=1e-2, threshold=1e-2),
        "CGLinearSolver '/body/CGLinearSolver' leaves .* of the load unsolved",
        20,
    ),
    # Bodies that fall
    "a floor that it passes by its group": (
        "block",
        lambda scene: (
            scene.set("floor", "TriangleCollisionModel", group=3),
            *(scene.set("body/skin", f"{kind}CollisionModel", group=3) for kind in KINDS),
            scene.add("wall", "MeshTopology", position=FLOOR - 400.0, triangles=[[0, 1, 2]]),
            scene.add("wall", "MechanicalObject", name="dofs"),
            scene.add("wall", "TriangleCollisionModel", moving=False, simulated=False),
            moved("floor", "MeshTopology", "position", lambda x: 0.05 * x)(scene),
            moved("wall", "MeshTopology", "position", lambda x: 0.05 * x)(scene),
        ),
        "has left the scene.*has group=3, as the body's models do, so the two do not touch",
        40,
    ),
    "a floor in metres": (
        "block",
        moved("floor", "MeshTopology", "position", lambda x: 0.0003 * x),
        "is 0.36 long, and the smallest body that may touch it 20: is it in another unit?",
        0,
    ),
    "a plane that faces away": (
        "block",
        lambda scene: scene.add("body", "PlaneForceField", normal=[0.0, -1.0, 0.0], d=0.0),
        "has 64 of 64 nodes behind it at the start, up to 22 deep",
        0,
    ),
    "a falling body of first order": (
        "block",
        changed("body", "EulerImplicitSolver", firstOrder=True),
        "so '/body' has no inertia",
        0,
    ),
    "a clamp of mapped nodes": (
        "block",
        lambda scene: scene.add("body/skin", "FixedProjectiveConstraint", indices=[0]),
        "holds nodes that a mapping moves, so it has no effect",
        0,
    ),
    # Numbers that are read in another way
    "springs of a mapped state without positions": (
        "block",
        lambda scene: (
            scene.add("body/ends", "MechanicalObject", name="dofs"),
            scene.add("body/ends", "SubsetMapping", indices=[1, 2]),
            scene.add("body/ends", "RestShapeSpringsForceField", stiffness=1.0),
        ),
        "works with the rest positions of '/body/ends/dofs', which are all 0",
        0,
    ),
    "friction of a penalty": (
        "block",
        lambda scene: (
            scene.set("", "CollisionResponse", responseParams="mu=0.7"),
            by_penalty(scene),
        ),
        "has responseParams='mu=0.7', and contacts by penalty have no friction",
        0,
    ),
    "a sphere without radius": (
        "block",
        lambda scene: (
            scene.add("body/ball", "MechanicalObject", name="dofs", position=[[10.0, 12.0, 10.0]]),
            scene.add("body/ball", "SphereCollisionModel"),
            scene.add("body/ball", "BarycentricMapping"),
            scene.set("body", "MechanicalObject", scale=2.0),
        ),
        "takes the default, 1, and the body is .* long: give its radius",
        0,
    ),
    "turned by radians": (
        "joined",
        changed("end", "MechanicalObject", rotation=[0.0, 0.0, 0.5236]),
        "has rotation=0 0 0.5236, .* and degrees are expected: give 0 0 30",
        0,
    ),
    "moved by degrees": (
        "box",
        lambda scene: scene.add(
            "body",
            "LinearMovementProjectiveConstraint",
            template="Rigid3",
            indices=[0],
            keyTimes=[0.0, 1.0],
            movements=[[0.0] * 6, [0.0] * 5 + [45.0]],
        ),
        "turns by 45 in 'movements', and radians are expected, 7.16 turns",
        0,
    ),
    "nearly incompressible": (
        "joined",
        changed("body", "TetrahedronFEMForceField", poissonRatio=0.4995),
        "has poissonRatio=0.4995, at which linear tetrahedra lock",
        0,
    ),
    "Poisson's ratio as a modulus": (
        "joined",
        lambda scene: (
            scene.drop("body", "TetrahedronFEMForceField"),
            scene.add(
                "body",
                "TetrahedronHyperelasticityFEMForceField",
                materialName="NeoHookean",
                ParameterSet=[600.0, 0.4],
            ),
        ),
        "the second number looks like Poisson's ratio .* would be 214.286 857.143",
        0,
    ),
    "a force on points without a mapping": (
        "joined",
        lambda scene: (
            scene.add("body/plate", "MechanicalObject", name="dofs", position=[[9.0, 9.0, 90.0]]),
            scene.add("body/plate", "ConstantForceField", totalForce=[0.0, 0.0, 1.0]),
        ),
        "has neither mass nor stiffness, and a force acts on it: map it to the body of '/body'",
        0,
    ),
    # Files
    "a monitor of nothing": (
        "joined",
        lambda scene: scene.add("body", "Monitor", indices=[3], fileName="never"),
        "'/body/Monitor' writes nothing: give ExportPositions=True",
        0,
    ),
    "an exporter of no step": (
        "joined",
        lambda scene: scene.add("body", "VTKExporter", filename="never", tetras=True),
        "'/body/VTKExporter' writes no file: give exportEveryNumberOfSteps",
        0,
    ),
    "an exporter of the mesh at rest": (
        "joined",
        lambda scene: scene.add(
            "body",
            "VTKExporter",
            filename="never",
            tetras=True,
            position="@mesh.position",
            exportEveryNumberOfSteps=500,
        ),
        "writes the points of '/body/mesh', which do not move",
        0,
    ),
    "a file that has its start alone": (
        "joined",
        lambda scene: scene.add("body", "WriteState", filename=os.devnull, period=500.0),
        "'/body/WriteState' has period=500, more than the run of 5",
        5,
    ),
    "linear and turned": ("joined", bent, "method='small', which is for small turns", 40),
    # Loads, and what bears them
    "a force for each node": (
        "joined",
        lambda scene: scene.add(
            "body", "ConstantForceField", indices=[45, 46, 47, 48], forces=[[0.0, 20000.0, 0.0]]
        ),
        "Each of its 4 nodes gets the force of 'forces', 4 times it",
        20,
    ),
    "held along two axes": (
        "joined",
        lambda scene: (
            scene.drop("body", "FixedProjectiveConstraint"),
            scene.lines.remove(scene.lines[-1]),
            scene.add(
                "body",
                "PartialFixedProjectiveConstraint",
                indices="@foot.indices",
                fixedDirections=[1, 0, 1],
            ),
        ),
        "leaves all nodes free along y, nothing else holds the body there",
        0,
    ),
    "numbers of a grid": (
        "block",
        lambda scene: (
            scene.drop("body", "MeshTopology"),
            scene.drop("body", "TetrahedronFEMForceField"),
            scene.lines.insert(
                next(k for k, line in enumerate(scene.lines) if line[0] == "body"),
                [
                    "body",
                    "RegularGridTopology",
                    {"n": [5, 3, 3], "min": [0] * 3, "max": [9] * 3},
                ],
            ),
            scene.add("body", "HexahedronFEMForceField", youngModulus=400.0),
            scene.add("body", "FixedProjectiveConstraint", indices=list(range(9))),
        ),
        "fixes the nodes 0 to 8, as many as the end of the grid along x has",
        0,
    ),
    "flattened by its weight": (
        "block",
        changed("body", "TetrahedronFEMForceField", youngModulus=0.4),
        "has youngModulus=0.4, and the body's own weight presses on its underside with 0.981",
        0,
    ),
    "sags by another unit of the modulus": (
        "joined",
        changed("body", "TetrahedronFEMForceField", youngModulus=0.4),
        "; with 1000 times the stiffness by .*. Is the modulus",
        0,
    ),
    # Contacts, and bodies that leave
    "a plate that is said not to move": (
        "block",
        lambda scene: (
            moved("floor", "MeshTopology", "position", lambda x: x - [0.0, 90.0, 0.0])(scene),
            in_class("onAnimateBeginEvent", lifted)(scene),
        ),
        "has moving=False, and its points moved by 6",
        3,
    ),
    "gravity along the floor": (
        "block",
        lambda scene: scene.__setattr__("gravity", [-9810.0, 0.0, 0.0]),
        "has left the scene.*Nothing that it can touch is below it, as gravity goes, [-9810, 0, 0]",
        60,
    ),
    "through a floor that faces down": (
        "block",
        lambda scene: scene.set("floor", "MeshTopology", triangles=[[0, 2, 1]]),
        "has left the scene.*The warning of '/floor/TriangleCollisionModel' says why, probably",
        60,
    ),
    "over the edge": (
        "block",
        lambda scene: scene.set(
            "body", "MechanicalObject", position="@mesh.position", velocity=[[9e3, 0.0, 0.0]] * 64
        ),
        "has left the scene.*It went over the edge: are its speed",
        40,
    ),
    "a tolerance of metres": (
        "block",
        lambda scene: scene.set("", "GenericConstraintSolver", tolerance=0.35),
        "accepts an error of tolerance=0.35, and the smallest body is 20 long",
        0,
    ),
    "forces that each step computes": (
        "joined",
        in_class(
            "onAnimateBeginEvent",
            lambda root: root.body.dofs.__setattr__("force", [[0.0, 9.0, 0.0]] * len(BEAM)),
        ),
        "force of '/body/dofs' is computed anew in every step: setting it changes nothing",
        2,
    ),
    # Right in form, and wrong
    "a skin whose base faces inwards": (
        "block",
        lambda scene: scene.set("body/skin", "MeshTopology", triangles=base_turned(scene)),
        "has left the scene.*its triangles are not turned alike: at 4 edges",
        40,
    ),
    "a floor that falls as well": (
        "block",
        falling_floor,
        "'/body' has left the scene.*'/floor' fell along, for nothing holds it",
        60,
    ),
    "soft springs of a rigid body": (
        "box",
        lambda scene: scene.add("body", "RestShapeSpringsForceField", stiffness=1.0),
        "does not hold: 1 of its 1 pairs.*and the body weighs 294",
        20,
    ),
    "springs of what is fixed as well": (
        "box",
        lambda scene: (
            scene.add("body", "RestShapeSpringsForceField", stiffness=1e5, angularStiffness=1e7),
            scene.add("body", "FixedProjectiveConstraint", indices=[0]),
            resting(lambda t: [40.0 * t, 22.0, 0.0, 0.0, 0.0, 0.2588, 0.9659])(scene),
        ),
        "the places that it pulls to changed by 3.6, and its nodes followed by 0: something holds",
        60,
    ),
    "a turn in another order": (
        "box",
        lambda scene: (
            scene.add("body", "RestShapeSpringsForceField", stiffness=1e5, angularStiffness=1e7),
            resting(lambda t: [0.0, 22.0, 0.0, 0.9659, 0.0, 0.0, 0.2588])(scene),
        ),
        "rest_position of '/body/dofs' turns by 151 degrees in a step",
        1,
    ),
    "a clamp on a line": (
        "joined",
        lambda scene: (alone(scene), scene.set("body", "BoxROI", box=[-1, -1, -1, 61, 1, 1])),
        "fixes 3 nodes, all on the line from [0, 0, 0] to [",
        0,
    ),
    "a grid upside down": (
        "cube",
        changed("body", "RegularGridTopology", min=[-0.2, 0.5, -0.2], max=[0.2, 0.1, 0.2]),
        "all 27 hexahedra are inside out",
        0,
    ),
    "a plane within a body": (
        "block",
        lambda scene: scene.add("body", "PlaneForceField", normal=[0.0, 1.0, 0.0], d=10.0),
        "has 32 of 64 nodes behind it at the start, up to 8 deep",
        0,
    ),
    "a file of the mesh": (
        "joined",
        lambda scene: scene.add("body", "STLExporter", exportEveryNumberOfSteps=50),
        "writes the points of '/body/mesh', which do not move",
        0,
    ),
    "a file after the run": (
        "box",
        lambda scene: scene.add("body/faces", "VTKExporter", exportEveryNumberOfSteps=500),
        "more than the run of 1.1, so that it writes at most the start",
        110,
    ),
    "a motor that is switched off": (
        "finger",
        lambda scene: (
            scene.__setattr__("options", None),
            scene.set("body/cable", "CableConstraint", valueType="displacement", value=[5.0]),
            in_class(
                "onAnimateBeginEvent", lambda root: root.body.cable.__setattr__("activated", False)
            )(scene),
        ),
        "imposes a displacement of 5.*its node has activated=False and lets no more",
        10,
    ),
    "a weight on springs of another unit": (
        "joined",
        lambda scene: (sprung()(scene), scene.set("end", "UniformMass", totalMass=400.0)),
        "'/end' has left the scene.*Its weight of 3.92e+06 stretches ",
        60,
    ),
    "points on the first of two frames": (
        "box",
        lambda scene: scene.set(
            "body", "MechanicalObject", position=[[0, 22, 0, 0, 0, 0, 1], [0, 90, 0, 0, 0, 0, 1]]
        ),
        "hangs all its points on frame 0, the default, and nothing hangs on the others of the 2",
        0,
    ),
    "a force on each of all nodes": (
        "joined",
        lambda scene: (
            alone(scene),
            scene.add("body", "ConstantForceField", forces=[[0.0, 900.0, 0.0]]),
        ),
        "Each of its 54 nodes gets the force of 'forces', 54 times it in sum",
        40,
    ),
}
BEAM = box_of_tetrahedra(3, 3, 6)[0]


def region_first(scene):
    line = scene.line("body", "BoxROI")
    scene.lines.remove(line)
    scene.lines.insert(next(k for k, entry in enumerate(scene.lines) if entry[0] == "body"), line)


def stiffer_part(scene):
    """Elements of a part, in a node whose mesh names all nodes of the body but the last ones."""
    scene.add("body", "BoxROI", name="stiff", box=[-1.0, -1.0, -1.0, 41.0, 41.0, 40.0])
    mesh = {"position": "@../mesh.position", "tetrahedra": "@../stiff.tetrahedraInROI"}
    scene.add("body/part", "MeshTopology", **mesh)
    scene.add("body/part", "MechanicalObject", name="dofs")
    scene.add("body/part", "TetrahedronFEMForceField", youngModulus=900.0, poissonRatio=0.4)
    scene.add("body/part", "IdentityMapping")


RIGHT = {
    "a region before its mesh": ("joined", region_first),
    "a part of the body": ("joined", stiffer_part),
    "springs that a body follows": (
        "box",
        lambda scene: (
            scene.add("body", "RestShapeSpringsForceField", stiffness=1e5, angularStiffness=1e7),
            resting(lambda t: [40.0 * t, 22.0, 0.0, 0.0, 0.0, 0.2588, 0.9659])(scene),
        ),
    ),
    "a file of points that a mapping moves": (
        "joined",
        lambda scene: (
            scene.add("body/tip", "MechanicalObject", position=[[10.0, 10.0, 90.0]]),
            scene.add("body/tip", "BarycentricMapping"),
            scene.add("body/tip", "VTKExporter", exportEveryNumberOfSteps=50),
        ),
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_of_a_right_scene_nothing_is_said(name, caplog):
    assert Bodies(name).said(caplog, 30) == ""


def test_springs_with_lengths_of_their_own_need_no_rest_positions(caplog):
    """Of a mapped state without positions the rest positions are 0, which these never read."""
    scene = Bodies("block")
    scene.add("body/ends", "MechanicalObject", name="dofs")
    scene.add("body/ends", "SubsetMapping", indices=[1, 2])
    springs = {"stiffness": [1.0], "damping": [0.0], "lengths": [5.0]}
    ends = {"springsIndices1": [0], "springsIndices2": [1]}
    scene.add("body/ends", "SpringForceField", **ends, **springs)
    assert "rest positions" not in scene.said(caplog, 0)


def test_springs_at_their_rest_lengths_are_no_fault(caplog):
    scene = Bodies("joined")
    sprung()(scene)
    assert "rest lengths" not in scene.said(caplog, 0)


@pytest.mark.parametrize("name", RIGHT)
def test_of_what_looks_like_a_fault_nothing_is_said(name, caplog):
    kind, change = RIGHT[name]
    scene = Bodies(kind)
    change(scene)
    assert scene.said(caplog, 10) == ""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name, caplog):
    kind, change, expected, steps = FAULTS[name]
    scene = Bodies(kind)
    change(scene)
    pattern = re.escape(expected).replace(r"\.\*", ".*")
    assert re.search(pattern, scene.said(caplog, steps))


def test_solvers_without_a_body_are_no_fault():
    def create_scene(root):
        root.addObject("DefaultAnimationLoop")
        root.addObject("EulerImplicitSolver")
        root.addObject("SparseLDLSolver")

    with Session(create_scene, backend="embedded") as session:
        session.step()


def test_a_default_modulus_is_named_where_units_are_declared():
    scene = Bodies("joined")
    del scene.line("body", "TetrahedronFEMForceField")[2]["youngModulus"]
    create_scene = create("joined", scene.lines, [], scene.gravity, {})
    with Session(create_scene, backend="embedded") as session:
        assert not misread_warnings(session.root, None)
        texts = misread_warnings(session.root, Units.parse("mm, kg, s"))
    assert ["has no youngModulus and takes the default, 5000" in text for _, text in texts] == [
        True
    ]


def test_the_gravity_of_a_node_below_the_root_is_named(tmp_path, caplog):
    file = tmp_path / "hanging.scn"
    nodes = "<Node name='still' gravity='0 0 0'/><Node name='same' gravity='0 -9 0'/>"
    file.write_text(f"<Node name='root' gravity='0 -9 0'><DefaultAnimationLoop/>{nodes}</Node>")
    with Session(file, backend="embedded"):
        pass
    (record,) = caplog.records
    assert "node '/still' has gravity='0 0 0', and" in record.getMessage()


def test_a_file_that_moves_what_an_integrator_moves_is_named(tmp_path, caplog):
    scene, file = Bodies("joined"), tmp_path / "beam.state"
    numbers = " ".join(f"{x:g}" for x in BEAM.ravel())
    file.write_text("".join(f"T= {time}\n  X= {numbers}\n" for time in (0.0, 0.05)))
    scene.add("body", "ReadState", filename=str(file))
    said = scene.said(caplog, 0)
    assert "'/body/ReadState' sets the positions of '/body' at 2 times up to 0.05" in said


def test_the_gravity_that_a_script_gives_to_a_node_below_the_root_is_named(caplog):
    def create_scene(root):
        child = root.addChild("same", gravity=[0.0, -9.0, 0.0])
        child.addChild("hanging").gravity = [0.0, 0.0, -9.0]
        root.gravity = [0.0, -9.0, 0.0]

    with Session(create_scene, backend="embedded"):
        pass
    (text,) = [r.getMessage() for r in caplog.records if "gravity" in r.getMessage()]
    assert "node '/same/hanging' has gravity='0 0 -9', and" in text


def test_a_mass_of_no_material_in_the_volume_of_a_rigid_body_is_named(caplog):
    scene = Bodies("box")
    scene.set("body", "UniformMass", vertexMass=mass(INERTIA, 30.0))
    create_scene = create("box", scene.lines, [], scene.gravity, {})
    with Session(create_scene, backend="embedded") as session:
        texts = rigid_body_warnings(bodies_of(session.root), Units.parse("mm, kg, s"))
    assert any("a density of 0.00417: in kg/mm^3 that is 4.17e+06" in text for _, text in texts)
