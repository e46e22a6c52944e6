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


def carried(root, stiffness="None", constrained=True, **options):
    """Points on the bodies: springs hold one of each body, a constraint moves one."""
    node = bodies(root, **options)
    child = node.addChild("points")
    anchors = (4.0 * np.array(POINTS)).tolist()
    child.addObject(
        "MechanicalObject", name="dofs", template="Vec3", position=POINTS, rest_position=anchors
    )
    child.addObject("RigidMapping", rigidIndexPerPoint=[0, 1, 2, 0], geometricStiffness=stiffness)
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


def joined(root, box, value=3.0):
    """A soft beam whose end is part of a rigid body, through SubsetMultiMapping; a constraint acts.

    The soft nodes that are free, and one body, are independent; the body carries the others of the
    beam's nodes; both make the state of the force field.
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
    soft = robot.addChild("soft")
    soft.addObject("MechanicalObject", name="dofs", position=points[free])
    foot = [k for k, i in enumerate(free) if points[i, 2] < 1e-9]
    soft.addObject("FixedProjectiveConstraint", indices=foot)
    rigid = robot.addChild("rigid")
    rigid.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[10, 10, 55, 0, 0, 0, 1]]
    )
    rigid.addObject("UniformMass", vertexMass="0.01 1 [60 0 0,0 60 0,0 0 70]")
    carried = rigid.addChild("carried")
    carried.addObject("MechanicalObject", name="dofs", position=points[end])
    carried.addObject("RigidMapping", globalToLocalCoords=True)
    whole = carried.addChild("whole")
    soft.addChild(whole)
    whole.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    whole.addObject("MechanicalObject", name="dofs", template="Vec3")
    pairs = [(1, end.index(i)) if i in end else (0, free.index(i)) for i in range(len(points))]
    whole.addObject(
        "SubsetMultiMapping",
        template="Vec3,Vec3",
        input=["@/robot/soft/dofs", "@/robot/rigid/carried/dofs"],
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


CASES = {
    "bodies_flying": (bodies, {}),
    "bodies_flying_first_order": (bodies, {"first_order": True}),
    "bodies_sprung": (sprung, {}),
    "bodies_sprung_cg": (sprung, {"solver": "CGLinearSolver"}),
    "bodies_held": (held, {}),
    "bodies_carrying": (carried, {"constrained": False}),
    "bodies_carrying_stabilized": (carried, {"constrained": False, "stiffness": "Stabilized"}),
    "bodies_pulled": (carried, {"correction": "LinearSolverConstraintCorrection"}),
    "bodies_pulled_generic": (carried, {"correction": "GenericConstraintCorrection"}),
    "bodies_pulled_stabilized": (
        carried,
        {"correction": "LinearSolverConstraintCorrection", "stiffness": "Stabilized"},
    ),
}
"""Scene and its parameters, by name."""
