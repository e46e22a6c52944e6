"""A gripper with two soft fingers takes a rigid box from a table, carries it, and puts it down.

Robot: two fingers of polyurethane with three joints and a cable each, on one palm, whose middle is
part of a rigid wrist that three motors move along x, y and z. Object: a box of 60 x 30 x 30 mm, a
rigid body on a table. Controlled are four points of the box, the wrist, and a point of each
fingertip; the efforts of cables and motors are found through the contacts of fingers, box, table.
Mesh: meshes/gripper.vtk (784 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the fingers close until their normal forces sum up to the wanted grip, which is
more than the box's weight over the friction; only friction lifts it off the table; it stays within
two millimetres of its path, and is let go when the table carries its weight again.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, sections III-E and V, where a gripper that is
led to an object and then leads it is what is to come.

    softctl run scenes/gripper.py --movie gripper.gif
    softctl run scenes/gripper.py --set mass=0.04 --set grip=900 --plot gripper.png
    runSofa -l SofaPython3 scenes/gripper.py --argv lift=30
"""

import os

import numpy as np

from sofa_softctl import (
    Grasp,
    InverseController,
    add_constraint_solver,
    add_effector,
    parameters_from_argv,
)

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Detection.Algorithm
Sofa.Component.Collision.Detection.Intersection Sofa.Component.Collision.Geometry
Sofa.Component.Collision.Response.Contact Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.IO.Mesh Sofa.Component.LinearSolver.Direct Sofa.Component.Mapping.Linear
Sofa.Component.Mapping.NonLinear Sofa.Component.Mass Sofa.Component.ODESolver.Backward
Sofa.Component.SolidMechanics.FEM.Elastic Sofa.Component.StateContainer
Sofa.Component.Topology.Container.Constant Sofa.Component.Topology.Container.Dynamic SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 4.4
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
SIZE, CONTACT_DISTANCE = np.array([60.0, 30.0, 30.0]), 0.5
BOX = np.array([0.0, SIZE[1] / 2.0 + CONTACT_DISTANCE, 0.0])
"""Centre of the box on the table y = 0."""
CORNERS = SIZE / 2.0 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
TRIANGLES = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip
"""The box's surface, outwards."""
POINTS = CORNERS[[1, 2, 4, 7]]
"""The controlled points of the box, from its centre."""
TIP = -84.75
"""Height of a fingertip's middle below the palm."""
CABLE = [-12.5, -20.5, -34.0, -42.0, -55.5, -63.5, -77.0, -90.0]
"""Heights of a cable's points: on either side of each joint, at the root and in the tip."""
PALM = 103.0
"""Height of the palm when the fingers are around the box."""
HOVER = 40.0
"""Height above the grasp at which the palm begins and ends [mm]."""


def on_finger(heights, depth, z=0.0):
    """Points of the right finger at heights below the palm, some depth behind its inner face."""
    y = np.atleast_1d(heights)
    return np.stack([24.5 + 11.5 / 73.0 * (-12.0 - y) + depth, y, z + 0.0 * y], axis=-1)


def ease(time, start, end):
    """Return a value from 0 to 1 between two times, with zero velocity at both."""
    share = min(max((time - start) / (end - start), 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


class Plan:
    """Goals of the box's points and of the two fingertips, and the grip force.

    The fingertips' goals move with the box's while they hold it, a little inside its faces.
    """

    def __init__(self, grasp, grip, lift, carry):
        self.grasp, self.grip, self.lift = grasp, grip, lift
        self.carry = np.array([carry, 0.0, 0.0])

    def __call__(self, time):
        closed = ease(time, 0.7, 1.1) - ease(time, 3.3, 3.5)
        self.grasp.minimum = self.grip * (ease(time, 1.1, 1.5) - ease(time, 3.1, 3.3))
        self.grasp.let_go = not 1.4 < time < 3.1
        height = self.lift * (ease(time, 1.5, 2.1) - ease(time, 2.5, 3.1))
        box = BOX + [0.0, height, 0.0] + ease(time, 1.7, 2.8) * self.carry
        above = HOVER * (1.0 - ease(time, 0.1, 0.7) + ease(time, 3.7, 4.2))
        palm = box + [0.0, PALM - BOX[1] + above, 0.0]
        open_gap = on_finger(TIP, 0.0)[0, 0]
        gap = open_gap + closed * (SIZE[0] / 2.0 - 1.0 - open_gap)
        return [*(box + POINTS), palm, palm + [-gap, TIP, 0.0], palm + [gap, TIP, 0.0]]


def add_table(root):
    """A plane of two triangles at y = 0."""
    table = root.addChild("table")
    corners = [[-80.0, 0.0, -61.0], [-80.0, 0.0, 60.0], [150.0, 0.0, 60.0], [150.0, 0.0, -61.0]]
    table.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    table.addObject("MechanicalObject", name="dofs")
    table.addObject("TriangleCollisionModel", moving=False, simulated=False)


def add_box(root, mass):
    """The rigid box; returns its node and the effectors of its four points."""
    box = root.addChild("box")
    box.addObject("EulerImplicitSolver", rayleighMass=0.1)
    box.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    pose = [*BOX.tolist(), 0.0, 0.0, 0.0, 1.0]
    box.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[pose])
    x, y, z = ((SIZE**2).sum() - SIZE**2) / 12.0
    inertia = f"[{x} 0 0,0 {y} 0,0 0 {z}]"
    box.addObject("UniformMass", vertexMass=f"{mass} {SIZE.prod()} {inertia}")
    box.addObject("LinearSolverConstraintCorrection")
    skin = box.addChild("skin")
    skin.addObject("MeshTopology", position=CORNERS.tolist(), triangles=TRIANGLES)
    skin.addObject("MechanicalObject", name="dofs")
    for kind in ("Triangle", "Point"):
        skin.addObject(f"{kind}CollisionModel")
    skin.addObject("RigidMapping")
    effectors = []
    for k, point in enumerate(POINTS):
        node = box.addChild(f"point_{k}")
        node.addObject("MechanicalObject", name="dofs", position=[(BOX + point).tolist()])
        effectors.append(add_effector(node))
        node.addObject("RigidMapping", globalToLocalCoords=True)
    return effectors


def add_gripper(root, young_modulus):
    """Fingers and wrist.

    Returns:
        The node of the whole body, the motors, the wrist's effector, and where the palm is.
    """
    gripper = root.addChild("gripper")
    gripper.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    gripper.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    gripper.addObject("GenericConstraintCorrection")
    shift = [0.0, PALM + HOVER, 0.0]
    file = os.path.join(MESHES, "gripper.vtk")
    loader = gripper.addObject("MeshVTKLoader", name="loader", filename=file, translation=shift)
    points = np.array(loader.position.value)
    stiff = (points[:, 1] > shift[1] - 8.1) & (np.abs(points[:, 0]) < 21.1)
    gripper.addObject("MechanicalObject", name="dofs", position=points[~stiff].tolist())

    wrist = gripper.addChild("wrist")
    pose = [[*shift, 0.0, 0.0, 0.0, 1.0]]
    wrist.addObject("MechanicalObject", name="dofs", template="Rigid3", position=pose)
    wrist.addObject("UniformMass", vertexMass="0.5 1 [400 0 0,0 400 0,0 0 400]", rayleighMass=50.0)
    wrist.addObject(
        "PartialFixedProjectiveConstraint", indices=[0], fixedDirections=[0, 0, 0, 1, 1, 1]
    )
    middle = wrist.addChild("middle")
    middle.addObject("MechanicalObject", name="dofs", position=[shift])
    middle.addObject("RigidMapping", globalToLocalCoords=True)
    motors = [
        middle.addObject(
            "PositionConstraint",
            name=f"motor_{'xyz'[axis]}",
            indices=[0],
            useDirections=[int(axis == k) for k in range(3)],
            valueType="force",
            value=[0.0],
        )
        for axis in range(3)
    ]
    effector = add_effector(middle)
    palm = wrist.addChild("palm")
    palm.addObject("MechanicalObject", name="dofs", position=points[stiff].tolist())
    palm.addObject("RigidMapping", globalToLocalCoords=True)
    body = palm.addChild("whole")
    body.addObject("MeshTopology", name="mesh", src="@../../../loader")
    body.addObject("MechanicalObject", name="dofs")
    pairs = np.stack([stiff, np.where(stiff, np.cumsum(stiff), np.cumsum(~stiff)) - 1], axis=-1)
    body.addObject(
        "SubsetMultiMapping",
        template="Vec3,Vec3",
        input=["@/gripper/dofs", "@/gripper/wrist/palm/dofs"],
        output="@./dofs",
        indexPairs=pairs.astype(int).ravel().tolist(),
    )
    body.addObject("UniformMass", totalMass=0.0613)
    body.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    return body, motors, effector, np.array(shift)


def add_fingers(body, shift):
    """Add contact points, cables and an effector to both fingers."""
    cables, effectors = [], []
    for side, name in ((-1.0, "left"), (1.0, "right")):
        pads = body.addChild(f"pads_{name}")
        mirror = np.array([side, 1.0, 1.0])
        places = [on_finger([-91.0, -78.5], 0.0, z) for z in (-8.0, 8.0)]
        places = shift + mirror * np.concatenate(places)
        pads.addObject("MechanicalObject", name="dofs", position=places.tolist())
        pads.addObject("PointCollisionModel")
        pads.addObject("BarycentricMapping")
        tip = body.addChild(f"tip_{name}")
        place = shift + mirror * on_finger(TIP, 0.0)
        tip.addObject("MechanicalObject", name="dofs", position=place.tolist())
        effectors.append(add_effector(tip))
        tip.addObject("BarycentricMapping")
        node = body.addChild(f"cable_{name}")
        path = shift + mirror * on_finger(CABLE, 2.5)
        node.addObject("MechanicalObject", name="dofs", position=path.tolist())
        cables.append(
            node.addObject(
                "CableConstraint",
                name="cable",
                indices=list(range(len(path))),
                hasPullPoint=False,
                valueType="force",
                value=[0.0],
                minForce=0.0,
                maxPositiveDisp=20.0,
                maxDispVariation=1.0,
            )
        )
        node.addObject("BarycentricMapping")
    return cables, effectors


def grip(lift=40.0):
    """The gripper comes down, takes the box and lifts it by `lift`."""
    from sofa_softctl.learning import Action, Limits, Observation, Task

    low, high = [-60.0, 0.0, -60.0], [60.0, 100.0, 60.0]

    def height(episode):
        return float(episode.read("/box/dofs.position")[0, 1] - BOX[1])

    def reward(episode):
        gap = np.linalg.norm(
            episode.read("/gripper/wrist/middle/dofs.position")[0]
            - episode.read("/box/dofs.position")[0, :3]
            - [0.0, PALM - BOX[1], 0.0]
        )
        return 0.1 * min(height(episode), lift) - 0.01 * float(gap)

    cables = [f"/gripper/wrist/palm/whole/cable_{side}/cable" for side in ("left", "right")]
    motors = {"x": (-20.0, 20.0), "y": (-HOVER - 5.0, lift), "z": (-10.0, 10.0)}
    return Task(
        observation=[
            Observation("box", lambda e: e.read("/box/dofs.position")[0, :3], low, high, "length"),
            Observation("turned", lambda e: e.read("/box/dofs.position")[0, 3:], -1.0, 1.0),
            Observation(
                "wrist",
                "/gripper/wrist/middle/dofs.position",
                [-60.0, 50.0, -60.0],
                [60.0, 250.0, 60.0],
                "length",
            ),
            Observation("driven", lambda e: e.action, -50.0, 50.0, "length"),
        ],
        action=[
            *(
                Action(
                    f"/gripper/wrist/middle/motor_{axis}",
                    *ends,
                    rate=150.0,
                    drive="displacement",
                )
                for axis, ends in motors.items()
            ),
            *(Action(cable, 0.0, 15.0, 100.0, idle=0.0, drive="displacement") for cable in cables),
        ],
        reward=reward,
        success=lambda episode: height(episode) > 0.9 * lift,
        limits=Limits(decisions=40, hold=5),
        parameters={"policy": None},
    )


LEARNING = {"grip": grip}
"""Tasks of `softctl train` with this scene."""


@parameters_from_argv
def createScene(
    root,
    lift=50.0,
    carry=70.0,
    mass=0.03,
    grip=700.0,
    friction=0.8,
    young_modulus=5000.0,
    strongest=20000.0,
    energy=2e-3,
    contacts="coulomb",
    policy="",
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=50, tolerance=1e-6)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("LocalMinDistance", alarmDistance=3.0, contactDistance=CONTACT_DISTANCE)
    root.addObject(
        "CollisionResponse",
        response="FrictionContactConstraint",
        responseParams=f"mu={friction}",
    )
    add_table(root)
    points = add_box(root, mass)
    body, motors, middle, shift = add_gripper(root, young_modulus)
    cables, tips = add_fingers(body, shift)
    if policy is None:  # an environment drives motors and cables
        return root
    if policy:
        from sofa_softctl.learning import PolicyController

        root.addObject(PolicyController(root=root, policy=policy, task=grip()))
        return root

    grasp = Grasp("/box", by="/gripper", slip_tolerance=5.0)
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=[*motors, *cables],
            effectors=[*points, middle, *tips],
            goal=Plan(grasp, grip, lift, carry),
            weight=[[0.2] * 3] * len(points) + [[1.0] * 3] + [[0.2, 0.0, 0.0]] * len(tips),
            energy=energy,
            effort_min=[-strongest] * len(motors) + [0.0] * len(cables),
            effort_max=[strongest] * len(motors) + [np.inf] * len(cables),
            contacts=contacts,
            grasps=[grasp],
        )
    )
    return root
