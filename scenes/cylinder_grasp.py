"""Two flat soft fingers lift a smooth cylinder only by friction, roll it, and set it down.

Robot: two flat pads of silicone on rigid slides, each driven along x, y and z by three motors.
Object: a rigid upright cylinder on three feet, 24 mm across and 50 mm high. Its side is vertical
everywhere, so nothing but friction can carry it. Controlled are three points of the cylinder and,
weakly, the slides; each finger presses with `grip`, less 5 % at most.
Mesh: meshes/pad.vtk (125 nodes), twice.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: two fingers carry at most 2 friction grip, so the cylinder leaves the table where
friction > mass g / (2 grip), 0.37 as the parameters are, and stays on it below, however the fingers
move. In the air they move against each other along z, and it rolls between them by their way over
its radius.

    softctl run scenes/cylinder_grasp.py --movie cylinder.gif
    softctl run scenes/cylinder_grasp.py --set friction=0.36 --plot cylinder.png
    runSofa -l SofaPython3 scenes/cylinder_grasp.py --argv turn=-20
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
DURATION = 3.4
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
GRAVITY = 9810.0
RADIUS, HEIGHT, CONTACT_DISTANCE = 12.0, 50.0, 0.3
AROUND = 72
"""Facets of the cylinder's side, each upright."""
TOUCHING = [[0.0, y, z] for z in np.linspace(-8.0, 8.0, 6) for y in (-5.0, 5.0)]
"""Possible contact points of a pad's front, relative to its middle."""
CYLINDER = np.array([0.0, HEIGHT / 2.0 + CONTACT_DISTANCE, 0.0])
"""Centre of the cylinder on the table y = 0."""
PAD_LENGTH, MOUNT = 12.0, 3.5
"""Length of a pad along x, and how much of its back the rigid slide holds."""
CLEARANCE, CLOSING = 3.0, 3.3
"""Distance between pads and cylinder at the beginning and at the end, and how far they close."""


def circle(radius, height, count):
    """Points on a circle about the cylinder's axis, from its centre, shape (count, 3)."""
    angle = 2.0 * np.pi / count * np.arange(count)
    return np.stack([radius * np.cos(angle), 0.0 * angle + height, radius * np.sin(angle)], axis=-1)


POINTS = circle(RADIUS, HEIGHT / 2.0, 3)
"""The controlled points of the cylinder, from its centre."""
SIDES = {"left": -1.0, "right": 1.0}
"""Fingers, and on which side of the cylinder they are along x."""


def ease(time, start, end):
    """Return a value from 0 to 1 between two times, with zero velocity at both."""
    share = min(max((time - start) / (end - start), 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


class Plan:
    """Goals of the cylinder's points and of the slides, and how hard the cylinder is held."""

    def __init__(self, grasps, grip, lift, turn):
        self.grasps, self.grip, self.lift, self.turn = grasps, grip, lift, np.radians(turn)

    def __call__(self, time):
        share = ease(time, 0.5, 0.8) - ease(time, 2.7, 3.0)
        for grasp in self.grasps:
            grasp.minimum = 0.95 * share * self.grip
            grasp.let_go = not 0.7 < time < 2.7
        closed = ease(time, 0.2, 0.5) - ease(time, 3.0, 3.3)
        up = self.lift * (ease(time, 0.8, 1.4) - ease(time, 2.1, 2.7)) * np.array([0.0, 1.0, 0.0])
        angle = self.turn * ease(time, 1.4, 2.1)
        c, s = np.cos(angle), np.sin(angle)
        rotation = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        slides = []
        for side in SIDES.values():
            away = RADIUS + CONTACT_DISTANCE + PAD_LENGTH + CLEARANCE - CLOSING * closed
            rolled = np.array([side * away, 0.0, -side * RADIUS * angle])
            slides.append(CYLINDER + up + rolled)
        return [*(CYLINDER + up + POINTS @ rotation.T), *slides]


@parameters_from_argv
def createScene(
    root,
    lift=15.0,
    turn=30.0,
    mass=0.03,
    friction=0.6,
    grip=400.0,
    young_modulus=100.0,
    strongest=4000.0,
    follow=0.1,
    lead=4.0,
    energy=1e-4,
    contacts="coulomb",
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, -GRAVITY, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=50, tolerance=1e-6)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject(
        "LocalMinDistance", alarmDistance=0.9, contactDistance=CONTACT_DISTANCE, angleCone=0.01
    )
    root.addObject(
        "CollisionResponse",
        response="FrictionContactConstraint",
        responseParams=f"mu={friction}",
    )
    add_table(root)
    points = add_cylinder(root, mass)
    motors, slides = [], []
    for name, side in SIDES.items():
        driven, slide = add_finger(root, name, side, young_modulus)
        motors += driven
        slides.append(slide)
    grasps = [Grasp("/cylinder", by=f"/{name}", maximum=grip) for name in SIDES]
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=motors,
            names=[f"{name} {axis}" for name in SIDES for axis in "xyz"],
            effectors=[*points, *slides],
            goal=Plan(grasps, grip, lift, turn),
            weight=[1.0] * len(points) + [follow] * len(slides),
            goal_distance=lead,
            energy=energy,
            effort_min=-strongest,
            effort_max=strongest,
            contacts=contacts,
            grasps=grasps,
        )
    )
    return root


def add_table(root):
    """One triangle at y = 0."""
    table = root.addChild("table")
    corners = [[-200.0, 0.0, -200.0], [-200.0, 0.0, 600.0], [600.0, 0.0, -200.0]]
    table.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2]])
    table.addObject("MechanicalObject", name="dofs")
    table.addObject("TriangleCollisionModel", group=2, moving=False, simulated=False)


def add_cylinder(root, mass):
    """The rigid cylinder with its side and feet; returns the effectors of its points."""
    cylinder = root.addChild("cylinder")
    cylinder.addObject("EulerImplicitSolver", rayleighMass=0.1)
    cylinder.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    pose = [*CYLINDER.tolist(), 0.0, 0.0, 0.0, 1.0]
    cylinder.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[pose])
    axial, across = RADIUS**2 / 2.0, RADIUS**2 / 4.0 + HEIGHT**2 / 12.0
    inertia = f"[{across} 0 0,0 {axial} 0,0 0 {across}]"
    volume = np.pi * RADIUS**2 * HEIGHT
    cylinder.addObject("UniformMass", vertexMass=f"{mass} {volume} {inertia}")
    cylinder.addObject("LinearSolverConstraintCorrection")

    side = cylinder.addChild("side")
    rims = [circle(RADIUS, height, AROUND) for height in (-HEIGHT / 2.0, HEIGHT / 2.0)]
    a, b = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    triangles = np.concatenate(
        [np.stack([a, a + AROUND, b], -1), np.stack([b, a + AROUND, b + AROUND], -1)]
    )
    side.addObject(
        "MeshTopology", position=np.concatenate(rims).tolist(), triangles=triangles.tolist()
    )
    side.addObject("MechanicalObject", name="dofs")
    for kind in ("Triangle", "Line"):
        side.addObject(f"{kind}CollisionModel", group=[1, 2])
    side.addObject("RigidMapping")
    feet = cylinder.addChild("feet")
    places = circle(RADIUS - 2.0, -HEIGHT / 2.0, 3)
    feet.addObject("MechanicalObject", name="dofs", position=places.tolist())
    feet.addObject("PointCollisionModel", group=1)
    feet.addObject("RigidMapping")
    effectors = []
    for k, point in enumerate(POINTS):
        node = cylinder.addChild(f"point_{k}")
        node.addObject("MechanicalObject", name="dofs", position=[(CYLINDER + point).tolist()])
        effectors.append(add_effector(node))
        node.addObject("RigidMapping", globalToLocalCoords=True)
    return effectors


def add_finger(root, name, side, young_modulus):
    """A flat pad on its slide; returns the motors along x, y and z, and the slide's effector."""
    finger = root.addChild(name)
    finger.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    finger.addObject("GenericConstraintCorrection")
    front = CYLINDER + [side * (RADIUS + CONTACT_DISTANCE + CLEARANCE), 0.0, 0.0]
    loader = finger.addObject(
        "MeshVTKLoader",
        name="loader",
        filename=os.path.join(MESHES, "pad.vtk"),
        rotation=[0.0, 180.0 if side > 0.0 else 0.0, 0.0],
        translation=front.tolist(),
    )
    points = np.array(loader.position.value)
    depth = side * (points[:, 0] - front[0])
    held = depth > PAD_LENGTH - MOUNT
    finger.addObject("MechanicalObject", name="dofs", position=points[~held].tolist())

    slide = finger.addChild("slide")
    place = (front + [side * PAD_LENGTH, 0.0, 0.0]).tolist()
    slide.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[*place, 0.0, 0.0, 0.0, 1.0]]
    )
    slide.addObject("UniformMass", vertexMass="0.05 1 [100 0 0,0 100 0,0 0 100]", rayleighMass=50.0)
    slide.addObject(
        "PartialFixedProjectiveConstraint", indices=[0], fixedDirections=[0, 0, 0, 1, 1, 1]
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
        for axis in range(3)
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
    body.addObject("UniformMass", totalMass=0.0041)
    body.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    touching = body.addChild("touching")
    touching.addObject("MechanicalObject", name="dofs", position=(front + TOUCHING).tolist())
    touching.addObject("PointCollisionModel")
    touching.addObject("BarycentricMapping")
    return motors, effector
