"""Scenes of rigid bodies whose motion is recorded; their first child holds the state 'dofs'."""

import numpy as np

POSES = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    [30.0, 5.0, -4.0, 0.5, -0.5, 0.1, 0.7],
    [-20.0, 12.0, 9.0, 0.2, 0.3, -0.4, 0.8],
]
MASS = "0.05 2 [40 3 -2,3 60 5,-2 5 50]"


def poses():
    """Centres and unit quaternions, shape (3, 7)."""
    found = np.array(POSES)
    found[:, 3:] /= np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    return found.tolist()


def bodies(root, correction=None, mass=MASS, solver="SparseLDLSolver", first_order=False):
    """Three bodies that fly and spin; with a correction they can be constrained."""
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    if correction is None:
        root.addObject("DefaultAnimationLoop")
    else:
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", maxIterations=10000, tolerance=1e-13)
    node = root.addChild("bodies")
    node.addObject(
        "EulerImplicitSolver", rayleighMass=0.2, rayleighStiffness=0.01, firstOrder=first_order
    )
    if solver == "CGLinearSolver":
        node.addObject(solver, iterations=200, tolerance=1e-14, threshold=1e-30)
    else:
        node.addObject(solver, template="CompressedRowSparseMatrixMat3x3d")
    speeds = [[5.0, 0.0, 3.0, 4.0, -7.0, 2.0], [0, 0, 9, 0, 0, 20.0], [0.0] * 6]
    node.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=poses(), velocity=speeds
    )
    node.addObject("UniformMass", name="mass", vertexMass=mass)
    if correction is not None:
        node.addObject(correction)
    return node


def sprung(root, angles=True, **options):
    """Springs and angular springs on two of the bodies, one of them turned by controllers of none.

    The rest position is another one, so that the springs turn and pull.
    """
    node = bodies(root, **options)
    rest = np.array(poses())[[1, 2, 0]]
    rest[:, :3] = np.array(POSES)[:, :3] + [1.0, -2.0, 0.5]
    node.dofs.rest_position.value = rest.tolist()
    values = {"angularStiffness": [9e3, 4e3]} if angles else {}
    node.addObject(
        "RestShapeSpringsForceField",
        template="Rigid3",
        points=[0, 1],
        stiffness=[60.0, 90.0],
        **values,
    )
    return node


def held(root):
    """One body held, one held in three of its six directions, one on a spring."""
    node = sprung(root)
    node.addObject("FixedProjectiveConstraint", indices=[2])
    node.addObject(
        "PartialFixedProjectiveConstraint", indices=[1], fixedDirections=[0, 1, 0, 1, 0, 1]
    )


POINTS = [[4.0, 0.0, 1.0], [-3.0, 2.0, 0.5], [0.0, 5.0, -2.0], [1.0, 1.0, 1.0]]


def carried(root, constrained=True, **options):
    """Points on the bodies: springs hold one of each body, a constraint moves one."""
    node = bodies(root, **options)
    child = node.addChild("points")
    anchors = (4.0 * np.array(POINTS)).tolist()
    child.addObject(
        "MechanicalObject", name="dofs", template="Vec3", position=POINTS, rest_position=anchors
    )
    child.addObject("RigidMapping", rigidIndexPerPoint=[0, 1, 2, 0])
    child.addObject("UniformMass", totalMass=0.01)
    child.addObject("RestShapeSpringsForceField", points=[0, 1, 2], stiffness=[200.0])
    if constrained:
        root.addObject("RequiredPlugin", pluginName="SoftRobots")
        for number, value in ((3, 2.0), (1, 1.0)):
            child.addObject(
                "PositionConstraint",
                indices=[number],
                useDirections=[0, 1, 0],
                valueType="displacement",
                value=[value],
            )
    return node


def turned(root, correction="LinearSolverConstraintCorrection", direction=4):
    """Constraints on bodies themselves: one is turned, one lifted, one pushed."""
    node = sprung(root, correction=correction)
    root.addObject("RequiredPlugin", pluginName="SoftRobots")
    for index, axis, kind, value in (
        (0, direction, "displacement", 0.3),
        (0, 1, "displacement", 2.0),
        (1, 2, "force", 4.0),
    ):
        use = [0] * 6
        use[axis] = 1
        node.addObject(
            "PositionConstraint",
            template="Rigid3",
            indices=[index],
            useDirections=use,
            valueType=kind,
            value=[value],
        )


def inverse(root, actuators, effector, state="bodies", **values):
    """Actuators on the sprung bodies or on joints, sought for an effector."""
    root.addObject("RequiredPlugin", pluginName=["SoftRobots", "SoftRobots.Inverse"])
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("QPInverseProblemSolver", epsilon=1e-2)
    node = joints_of(root) if state == "joints" else None
    if node is None:
        node = root.addChild("bodies")
        node.addObject("EulerImplicitSolver", rayleighMass=0.2, rayleighStiffness=0.01)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        node.addObject("MechanicalObject", name="dofs", template="Rigid3", position=poses())
        node.addObject("UniformMass", name="mass", vertexMass=MASS)
        node.addObject(
            "RestShapeSpringsForceField",
            template="Rigid3",
            points=[0, 1, 2],
            stiffness=[300.0],
            angularStiffness=[9e4],
        )
        node.addObject("LinearSolverConstraintCorrection")
    for name, data in actuators:
        node.addObject(name, **data)
    node.addObject("PositionEffector", **effector)


def joints_of(root, correction="LinearSolverConstraintCorrection"):
    """Five joints, of which one is held and two have springs.

    Those that are driven start at 0: SOFA's components take it for granted in the first step.
    """
    root.dt = 0.01
    root.gravity = [-3.0, -9810.0, 0.0]
    node = root.addChild("joints")
    node.addObject("EulerImplicitSolver", rayleighMass=0.3, rayleighStiffness=0.02)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixd")
    q = [[0.0], [-0.2], [0.3], [0.7], [0.0]]
    speeds = [[1.0], [0.0], [2.0], [0.0], [-1.0]]
    node.addObject("MechanicalObject", name="dofs", template="Vec1", position=q, velocity=speeds)
    node.addObject("UniformMass", totalMass=0.5)
    node.addObject(
        "RestShapeSpringsForceField", template="Vec1", points=[1, 3, 4], stiffness=[20.0]
    )
    node.addObject("FixedProjectiveConstraint", template="Vec1", indices=[2])
    if correction is not None:
        node.addObject(correction)
    return node


def joints(root, correction=None):
    """Joints under gravity; with a correction three of them are driven."""
    if correction is None:
        root.addObject("DefaultAnimationLoop")
    else:
        root.addObject("RequiredPlugin", pluginName="SoftRobots")
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", maxIterations=10000, tolerance=1e-13)
    node = joints_of(root, correction)
    if correction is not None:
        for index, kind, value in ((0, "displacement", 0.4), (4, "force", 0.02)):
            node.addObject("JointConstraint", index=index, valueType=kind, value=value)


def joined(root, box, value=3.0):
    """A soft beam whose end is part of a rigid body, through SubsetMultiMapping; a constraint acts.

    The nodes of the soft part and one body are independent; the body carries the other nodes of the
    beam; both make the state of the force field. Recorded are the nodes of the soft part.
    """
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName="SoftRobots")
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=10000, tolerance=1e-13)
    points, tetrahedra = box(3, 3, 7, (20.0, 20.0, 60.0))
    end = [i for i, p in enumerate(points) if p[2] > 45.0]
    free = [i for i in range(len(points)) if i not in end]
    robot = root.addChild("robot")
    robot.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.02)
    robot.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    robot.addObject("GenericConstraintCorrection")
    robot.addObject("MechanicalObject", name="dofs", position=points[free])
    foot = [k for k, i in enumerate(free) if points[i, 2] < 1e-9]
    robot.addObject("FixedProjectiveConstraint", indices=foot)
    rigid = robot.addChild("rigid")
    rigid.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[10, 10, 55, 0, 0, 0, 1]]
    )
    rigid.addObject("UniformMass", vertexMass="0.01 1 [60 0 0,0 60 0,0 0 70]")
    carried = rigid.addChild("carried")
    carried.addObject("MechanicalObject", name="dofs", position=points[end])
    carried.addObject("RigidMapping", globalToLocalCoords=True)
    whole = carried.addChild("whole")
    whole.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    whole.addObject("MechanicalObject", name="dofs", template="Vec3")
    pairs = [(1, end.index(i)) if i in end else (0, free.index(i)) for i in range(len(points))]
    whole.addObject(
        "SubsetMultiMapping",
        template="Vec3,Vec3",
        input=["@/robot/dofs", "@/robot/rigid/carried/dofs"],
        output="@./dofs",
        indexPairs=np.ravel(pairs),
    )
    whole.addObject("UniformMass", totalMass=0.04)
    whole.addObject("TetrahedronFEMForceField", youngModulus=300.0, poissonRatio=0.4)
    for number in (end[0], free[-1]):
        whole.addObject(
            "PositionConstraint",
            indices=[number],
            useDirections=[1, 0, 0],
            valueType="displacement",
            value=[value],
        )
    return robot


SLIDES = [
    ("SlidingActuator", {"template": "Rigid3", "indices": [0], "direction": [0, 2, 0, 0, 0, 0]}),
    (
        "SlidingActuator",
        {
            "template": "Rigid3",
            "indices": [0],
            "direction": [0, 0, 0, 0, 0, 3],
            "maxForce": 200.0,
            "maxPositiveDisp": 0.2,
        },
    ),
]
FORCES = [
    (
        "ForcePointActuator",
        {"template": "Rigid3", "indices": [0], "direction": [0, 1, 0, 0, 0, 0], "maxForce": 9.0},
    ),
    ("ForcePointActuator", {"template": "Rigid3", "indices": [0], "maxForce": 200.0}),
]
JOINTS = [
    ("JointActuator", {"template": "Vec1", "index": 0, "maxAngleVariation": 0.02}),
    ("JointActuator", {"template": "Vec1", "index": 4, "maxEffort": 0.05}),
]
GOAL = {
    "template": "Rigid3",
    "indices": [0],
    "effectorGoal": [[1.0, 3.0, 0.0, 0.0, 0.0, 0.2, 0.98]],
    "useDirections": [0, 1, 0, 0, 0, 1],
}

CASES = {
    "bodies_flying": (bodies, {}),
    "bodies_flying_first_order": (bodies, {"first_order": True}),
    "bodies_sprung": (sprung, {}),
    "bodies_sprung_cg": (sprung, {"solver": "CGLinearSolver"}),
    "bodies_held": (held, {}),
    "bodies_carrying": (carried, {"constrained": False}),
    "bodies_pulled": (carried, {"correction": "LinearSolverConstraintCorrection"}),
    "bodies_pulled_generic": (carried, {"correction": "GenericConstraintCorrection"}),
    "bodies_pulled_uncoupled": (carried, {"correction": "UncoupledConstraintCorrection"}),
    "bodies_turned": (turned, {}),
    "bodies_turned_uncoupled": (turned, {"correction": "UncoupledConstraintCorrection"}),
    "bodies_slid_to_a_goal": (inverse, {"actuators": SLIDES, "effector": GOAL}),
    "bodies_forced_to_a_goal": (inverse, {"actuators": FORCES, "effector": GOAL}),
    "joints": (joints, {}),
    "joints_driven": (joints, {"correction": "LinearSolverConstraintCorrection"}),
    "joints_driven_uncoupled": (joints, {"correction": "UncoupledConstraintCorrection"}),
    "joints_to_a_goal": (
        inverse,
        {
            "state": "joints",
            "actuators": JOINTS,
            "effector": {"template": "Vec1", "indices": [0, 4], "effectorGoal": [[0.9], [0.2]]},
        },
    ),
}
"""Scene and its parameters, by name."""
