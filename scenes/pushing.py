"""Two soft fingertips push a box along the floor to a place and an angle, by sliding friction.

Robot: two tapered fingertips of silicone on rigid slides, each driven along x and z by two motors.
Object: a rigid box of 40 x 20 x 40 mm that stands on three feet, so that each foot's share of the
weight is known, whatever the fingers do. Controlled are three points of the box and, weakly, the
two slides: the controller finds the motors' forces through the contacts of fingers, box and floor.
Mesh: meshes/fingertip.vtk (63 nodes), twice.
Parameters: the box shall end `distance` away, turned by `turn` degrees; it begins `aside` along z
and turned by `askew` degrees, off the path it is led on. `friction` is the floor's.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the box moves only while its feet slide, which takes friction times its weight;
each finger's share of the push decides how the box turns. It comes to rest within half a millimetre
and two degrees of its goal, and stays there when the fingers draw back, as a floor with friction
does not give way to nothing.

    softctl run scenes/pushing.py --movie pushing.gif
    softctl run scenes/pushing.py --set distance=15 --set turn=-20 --plot pushing.png
    softctl run scenes/pushing.py --set aside=2 --set askew=3 --set friction=0.8
    runSofa -l SofaPython3 scenes/pushing.py --argv friction=0.3
"""

import os

import numpy as np

from sofa_softctl import (
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
DURATION = 3.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
SIZE, FEET_RADIUS, CONTACT_DISTANCE = np.array([40.0, 20.0, 40.0]), 16.0, 0.5
BOX = np.array([0.0, SIZE[1] / 2.0 + CONTACT_DISTANCE, 0.0])
"""Centre of the box on the floor y = 0."""
CORNERS = SIZE / 2.0 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
TRIANGLES = [
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
    [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
]  # fmt: skip
"""The box's surface, outwards."""
FEET = [
    [FEET_RADIUS * np.cos(a), -SIZE[1] / 2.0, FEET_RADIUS * np.sin(a)]
    for a in 2.0 * np.pi / 3.0 * np.arange(3)
]
POINTS = np.array([[20.0, 0.0, 0.0], [-10.0, 0.0, 17.0], [-10.0, 0.0, -17.0]])
"""The controlled points of the box, from its centre."""
HEIGHT, APART = 6.0, 24.0
"""Height of the fingers above the floor, and distance between them [mm]."""
LENGTH, MOUNT = 24.0, 9.0
"""Length of a fingertip, and how much of its back the rigid slide holds."""
CLEARANCE = 3.0
"""Distance between fingers and box at the beginning and at the end."""
TOUCH, PUSH, LEAVE = 0.3, 2.0, 0.4
"""Time to come to the box, to push it, and to draw back from it [s]."""


def ease(time, start, duration):
    """Return a value from 0 to 1 within some time, with zero velocity at both ends."""
    share = min(max((time - start) / duration, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


def about_y(angle):
    """Rotation about the vertical, shape (3, 3)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def pose(share, distance, turn):
    """The box's rotation and centre after a share of an arc, which it follows without drifting.

    The arc begins along x, and turns by `turn` radians until its end is `distance` away.
    """
    angle = share * turn
    away = distance * (np.sin(angle / 2.0) / np.sin(turn / 2.0) if turn else share)
    return about_y(angle), BOX + about_y(angle / 2.0) @ [away, 0.0, 0.0]


class Plan:
    """Goals of the box's points, and of the slides that follow them."""

    def __init__(self, distance, turn):
        self.distance, self.turn = distance, np.radians(turn)

    def __call__(self, time):
        rotation, centre = pose(ease(time, TOUCH, PUSH), self.distance, self.turn)
        away = CLEARANCE * (1.0 - ease(time, 0.0, TOUCH) + ease(time, TOUCH + PUSH, LEAVE))
        slides = [
            centre + rotation @ (place - BOX - [away, 0.0, 0.0]) - [LENGTH, 0.0, 0.0]
            for place in touching_places()
        ]
        return [*(centre + POINTS @ rotation.T), *slides]


def touching_places():
    """Return the positions of the fingers' fronts in first contact with the box at its start."""
    x = -SIZE[0] / 2.0 - CONTACT_DISTANCE
    return [np.array([x, HEIGHT, z]) for z in (-APART / 2.0, APART / 2.0)]


@parameters_from_argv
def createScene(
    root,
    distance=20.0,
    turn=30.0,
    aside=0.0,
    askew=0.0,
    mass=0.03,
    friction=0.5,
    finger_friction=0.5,
    young_modulus=200.0,
    strongest=3000.0,
    follow=0.1,
    lead=1.0,
    energy=1e-4,
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=50, tolerance=1e-6)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject(
        "LocalMinDistance", alarmDistance=2.0, contactDistance=CONTACT_DISTANCE, angleCone=0.01
    )
    root.addObject(
        "RuleBasedContactManager",
        response="FrictionContactConstraint",
        responseParams=f"mu={finger_friction}",
        rules=f"* floor FrictionContactConstraint?mu={friction}",
    )
    add_floor(root)
    points = add_box(root, mass, about_y(np.radians(askew)), BOX + [0.0, 0.0, aside])
    motors, slides = [], []
    for name, place in zip(("left", "right"), touching_places(), strict=True):
        front = place - [CLEARANCE, 0.0, 0.0]
        driven, slide = add_finger(root, name, front, young_modulus)
        motors += driven
        slides.append(slide)
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=motors,
            names=[f"{name} {axis}" for name in ("left", "right") for axis in "xz"],
            effectors=[*points, *slides],
            goal=Plan(distance, turn),
            weight=[[1.0, 0.0, 1.0]] * len(points) + [[follow, 0.0, follow]] * len(slides),
            goal_distance=lead,
            energy=energy,
            effort_min=-strongest,
            effort_max=strongest,
        )
    )
    return root


def add_floor(root):
    """One triangle at y = 0, so that nothing slides over an edge inside the floor."""
    floor = root.addChild("floor")
    corners = [[-300.0, 0.0, -300.0], [-300.0, 0.0, 900.0], [900.0, 0.0, -300.0]]
    floor.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2]])
    floor.addObject("MechanicalObject", name="dofs")
    floor.addObject("TriangleCollisionModel", name="floor", group=2, moving=False, simulated=False)


def add_box(root, mass, rotation, centre):
    """The rigid box with its faces and feet; returns the effectors of its points."""
    box = root.addChild("box")
    box.addObject("EulerImplicitSolver", rayleighMass=0.1)
    box.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    half = 0.5 * np.arctan2(rotation[0, 2], rotation[0, 0])
    start = [*centre, 0.0, np.sin(half), 0.0, np.cos(half)]
    box.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[np.array(start).tolist()]
    )
    x, y, z = ((SIZE**2).sum() - SIZE**2) / 12.0
    inertia = f"[{x} 0 0,0 {y} 0,0 0 {z}]"
    box.addObject("UniformMass", vertexMass=f"{mass} {SIZE.prod()} {inertia}")
    box.addObject("LinearSolverConstraintCorrection")
    faces = box.addChild("faces")
    faces.addObject("MeshTopology", position=CORNERS.tolist(), triangles=TRIANGLES)
    faces.addObject("MechanicalObject", name="dofs")
    faces.addObject("TriangleCollisionModel", group=[1, 2])
    faces.addObject("RigidMapping")
    feet = box.addChild("feet")
    feet.addObject("MechanicalObject", name="dofs", position=FEET)
    feet.addObject("PointCollisionModel", group=1)
    feet.addObject("RigidMapping")
    effectors = []
    for k, point in enumerate(centre + POINTS @ rotation.T):
        node = box.addChild(f"point_{k}")
        node.addObject("MechanicalObject", name="dofs", position=[point.tolist()])
        effectors.append(add_effector(node))
        node.addObject("RigidMapping", globalToLocalCoords=True)
    return effectors


def add_finger(root, name, front, young_modulus):
    """A soft fingertip on its slide; returns the motors along x and z, and the slide's effector."""
    finger = root.addChild(name)
    finger.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    finger.addObject("GenericConstraintCorrection")
    loader = finger.addObject(
        "MeshVTKLoader",
        name="loader",
        filename=os.path.join(MESHES, "fingertip.vtk"),
        translation=front.tolist(),
    )
    points = np.array(loader.position.value)
    held = points[:, 0] < front[0] - LENGTH + MOUNT
    finger.addObject("MechanicalObject", name="dofs", position=points[~held].tolist())

    slide = finger.addChild("slide")
    place = (front - [LENGTH, 0.0, 0.0]).tolist()
    slide.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[*place, 0.0, 0.0, 0.0, 1.0]]
    )
    slide.addObject("UniformMass", vertexMass="0.1 1 [100 0 0,0 100 0,0 0 100]", rayleighMass=50.0)
    slide.addObject(
        "PartialFixedProjectiveConstraint", indices=[0], fixedDirections=[0, 1, 0, 1, 1, 1]
    )
    middle = slide.addChild("middle")
    middle.addObject("MechanicalObject", name="dofs", position=[place])
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
        for axis in (0, 2)
    ]
    effector = add_effector(middle)
    back = slide.addChild("back")
    back.addObject("MechanicalObject", name="dofs", position=points[held].tolist())
    back.addObject("RigidMapping", globalToLocalCoords=True)
    body = back.addChild("whole")
    body.addObject("MeshTopology", name="mesh", src="@../../../loader")
    body.addObject("MechanicalObject", name="dofs")
    pairs = np.stack([held, np.where(held, np.cumsum(held), np.cumsum(~held)) - 1], axis=-1)
    body.addObject(
        "SubsetMultiMapping",
        template="Vec3,Vec3",
        input=[f"@/{name}/dofs", f"@/{name}/slide/back/dofs"],
        output="@./dofs",
        indexPairs=pairs.astype(int).ravel().tolist(),
    )
    body.addObject("UniformMass", totalMass=0.0026)
    body.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    tip = body.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[front.tolist()])
    tip.addObject("PointCollisionModel")
    tip.addObject("BarycentricMapping")
    return motors, effector
