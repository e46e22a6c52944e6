"""A soft ring with four cables across its hole rolls over flat, sloping and moving ground.

Robot: a ring of silicone, 40 mm across and 10 mm wide, four cables between opposite points of its
rim. Its centre is the only effector: the controller finds which cables to pull so that the ring
leans over the point it stands on, and falls forwards. Mesh: meshes/ring.vtk (720 nodes).
Parameters: `start` turns ring, skin and cables about the ring's axis, in degrees; with a negative
`speed` it rolls backwards; after `distance` the goal stands still.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the ring rolls without sliding, its centre a few millimetres around the goal;
its weight is what the ground's normal forces sum up to; up a slope it rests more on its tension,
and beyond some slope no deformation brings its weight over the contact.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, section IV-A, Figs. 5 and 6.

    softctl run scenes/rolling_ring.py --movie ring.gif
    softctl run scenes/rolling_ring.py --set slope=5
    softctl run scenes/rolling_ring.py --set ground=tilting --set slope=6 --plot ring.png
    softctl run scenes/rolling_ring.py --set start=20 --set speed=-20 --set distance=50
    softctl train scenes/rolling_ring.py --policy roll.safetensors
    softctl run scenes/rolling_ring.py --set policy=roll.safetensors --set start=20
    runSofa -l SofaPython3 scenes/rolling_ring.py --argv slope=5
"""

import math
import os

import numpy as np
import Sofa.Core

from sofa_softctl import (
    InverseController,
    LookAhead,
    add_center_effector,
    add_constraint_solver,
    parameters_from_argv,
)

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Detection.Algorithm
Sofa.Component.Collision.Detection.Intersection Sofa.Component.Collision.Geometry
Sofa.Component.Collision.Response.Contact Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.IO.Mesh
Sofa.Component.LinearSolver.Direct Sofa.Component.Mapping.Linear Sofa.Component.Mass
Sofa.Component.ODESolver.Backward Sofa.Component.SolidMechanics.FEM.Elastic
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 3.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
RADIUS, WIDTH, CABLE_RADIUS = 20.0, 10.0, 16.0
CONTACT_DISTANCE = 1.0
SETTLE = 0.3
"""Time in which the ring comes to rest on the ground before it is led [s]."""
GROUNDS = ("slope", "hill", "tilting")


def direction(angle):
    """Along the ground and away from it, for a slope in degrees."""
    a = np.radians(angle)
    return np.array([np.cos(a), np.sin(a), 0.0]), np.array([-np.sin(a), np.cos(a), 0.0])


def profile(ground, slope):
    """Return the corners of the ground in the plane of motion, shape (n, 3).

    'slope': a plane of that slope. 'hill': flat, up, flat, and down again. 'tilting': flat, and
    turned while the ring rolls.
    """
    if ground == "hill":
        up, _ = direction(slope)
        down, _ = direction(-slope)
        steps = [[140.0, 0.0, 0.0], 60.0 * up, [40.0, 0.0, 0.0], 60.0 * down, [200.0, 0.0, 0.0]]
        return np.cumsum([[-120.0, 0.0, 0.0], *steps], axis=0)
    along, _ = direction(slope if ground == "slope" else 0.0)
    return np.array([-120.0 * along, 400.0 * along])


def add_ground(root, corners):
    """A strip of rectangles, each of two triangles, along the corners."""
    ground = root.addChild("ground")
    sides = [corners + [0.0, 0.0, z] for z in (-40.0, 50.0)]
    points = np.stack(sides, axis=1).reshape(-1, 3)
    triangles = []
    for k in range(len(corners) - 1):
        a, b, c, d = 2 * k, 2 * k + 1, 2 * k + 2, 2 * k + 3
        triangles += [[a, b, d], [a, d, c]]
    ground.addObject("MeshTopology", position=points.tolist(), triangles=triangles)
    ground.addObject("MechanicalObject", name="dofs", position=points.tolist())
    for kind in ("Triangle", "Line", "Point"):
        ground.addObject(f"{kind}CollisionModel", simulated=False)
    return ground


class Tilt(Sofa.Core.Controller):
    """Turns the ground about the z axis between two slopes and back, as a platform that moves."""

    def __init__(self, *args, root, ground, slope, period, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.ground, self.slope, self.period = root, ground, slope, period
        self.flat = np.array(ground.dofs.position.value)

    def onAnimateBeginEvent(self, event):
        time = self.root.time.value + self.root.dt.value
        share = np.sin(2.0 * np.pi * max(time - SETTLE, 0.0) / self.period)
        along, up = direction(self.slope * share)
        x, y = self.flat[:, :1], self.flat[:, 1:2]
        turned = x * along + y * up + self.flat * [0.0, 0.0, 1.0]
        self.ground.dofs.position.value = turned


def point(x):
    """Return the position of the ring's centre above a point of flat ground, shape (1, 3)."""
    return np.array([[x, RADIUS + CONTACT_DISTANCE, WIDTH / 2.0]])


def roll(near=20.0, far=50.0):
    """The ring rolls to a point `near` to `far` ahead or behind, from any start angle."""
    from sofa_softctl.learning import Action, Limits, Observation, Task

    centre, spoke = "/ring/parts/centre/dofs", "/ring/cable_0/dofs"

    def begin(episode):
        side = episode.random.choice([-1.0, 1.0])
        episode.goal["centre"] = point(side * episode.random.uniform(near, far))
        episode.memory["ahead"] = signed_distance(episode)

    def signed_distance(episode):
        return float((episode.goal["centre"] - episode.read(f"{centre}.position"))[0, 0])

    def cable_direction(episode):
        """Twice the angle of the first cable, which looks the same after half a turn."""
        first, last = episode.read(f"{spoke}.position")
        x, y, _ = first - last
        return np.array([x * x - y * y, 2.0 * x * y]) / (x * x + y * y)

    def lean(episode):
        """`cable_direction`, with the sign of the goal's side."""
        return np.clip(0.2 * signed_distance(episode), -1.0, 1.0) * cable_direction(episode)

    def is_at_goal(episode):
        return abs(signed_distance(episode)) < 3.0

    def reward(episode):
        """Return the decrease of the distance, plus a bonus for each decision at the goal."""
        before, episode.memory["ahead"] = episode.memory["ahead"], signed_distance(episode)
        return 0.1 * (abs(before) - abs(episode.memory["ahead"])) + 0.05 * is_at_goal(episode)

    def baseline(episode):
        """Inverse control that leads the centre to the goal."""
        x = float(episode.goal["centre"][0, 0])
        return {"policy": "", "speed": math.copysign(25.0, x), "distance": abs(x)}

    return Task(
        observation=[
            Observation("ahead", signed_distance, -60.0, 60.0, "length"),
            Observation(
                "height", lambda e: e.read(f"{centre}.position")[0, 1], 5.0, 25.0, "length"
            ),
            Observation("speed", lambda e: e.read(f"{centre}.velocity")[0, :2], -150, 150, "mm/s"),
            Observation("turned", cable_direction, -1.0, 1.0),
            Observation("leaning", lean, -1.0, 1.0),
            Observation("pulls", lambda e: e.action, 0.0, 14.0, "length"),
        ],
        action=[
            Action(f"/ring/cable_{angle}/cable", 0.0, 14.0, 150.0, idle=0.0, drive="displacement")
            for angle in (0, 45, 90, 135)
        ],
        reward=reward,
        begin=begin,
        success=is_at_goal,
        limits=Limits(decisions=60, hold=4, settle=round(SETTLE / 0.01)),
        parameters={"policy": None},
        randomize={"start": (0.0, 180.0)},
        baseline=baseline,
    )


LEARNING = {"roll": roll}
"""Tasks of `softctl train` with this scene."""


@parameters_from_argv
def createScene(
    root,
    ground="slope",
    slope=0.0,
    speed=20.0,
    distance=math.inf,
    start=0.0,
    friction=0.8,
    young_modulus=80.0,
    mass=0.0059,
    energy=0.05,
    lead=1.0,
    period=2.0,
    contacts="coulomb",
    look_ahead=False,
    policy="",
    dt=0.01,
):
    if ground not in GROUNDS:
        raise ValueError(f"ground must be one of {', '.join(GROUNDS)}; got '{ground}'.")
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=50, tolerance=1e-6)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject(
        "LocalMinDistance", alarmDistance=4.0, contactDistance=CONTACT_DISTANCE, angleCone=0.01
    )
    root.addObject(
        "CollisionResponse",
        response="FrictionContactConstraint",
        responseParams=f"mu={friction}",
    )
    obstacle = add_ground(root, profile(ground, slope))
    if ground == "tilting":
        root.addObject(Tilt(name="tilt", root=root, ground=obstacle, slope=slope, period=period))

    along, up = direction(slope if ground == "slope" else 0.0)
    centre = (RADIUS + CONTACT_DISTANCE) * up + [0.0, 0.0, WIDTH / 2.0]
    cables, effector = add_ring(root, centre, start, mass, young_modulus)

    if policy is None:  # an environment drives the cables
        return root
    if policy:
        from sofa_softctl.learning import PolicyController

        reached = {"centre": point(math.copysign(min(distance, 50.0), speed))}
        root.addObject(PolicyController(root=root, policy=policy, task=roll(), goal=reached))
        return root

    def goal(time):
        travel = min(abs(speed) * max(time - SETTLE, 0.0), distance)
        return centre + math.copysign(travel, speed) * along

    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=cables,
            effectors=[effector],
            goal=goal,
            weight=[[1.0, 0.0 if ground != "slope" else 1.0, 1.0]],
            goal_distance=lead,
            energy=energy,
            motor_speed=150.0,
            contacts=contacts,
            look_ahead=LookAhead() if look_ahead else None,
        )
    )
    return root


def add_ring(root, centre, start, mass, young_modulus):
    """The ring with its skin, turned by `start` degrees about its axis.

    Returns:
        The cables, and the centre as an effector.
    """
    ring = root.addChild("ring")
    ring.addObject("EulerImplicitSolver", rayleighMass=0.02, rayleighStiffness=0.02)
    ring.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    shift = (centre - [0.0, 0.0, WIDTH / 2.0]).tolist()
    loader = ring.addObject(
        "MeshVTKLoader",
        name="loader",
        filename=os.path.join(MESHES, "ring.vtk"),
        rotation=[0.0, 0.0, start],
        translation=shift,
    )
    ring.addObject("MeshTopology", name="mesh", src="@loader")
    ring.addObject("MechanicalObject", name="dofs")
    ring.addObject("UniformMass", totalMass=mass)
    ring.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    ring.addObject("LinearSolverConstraintCorrection")

    skin = ring.addChild("skin")
    skin.addObject(
        "MeshOBJLoader",
        name="loader",
        filename=os.path.join(MESHES, "ring_skin.obj"),
        rotation=[0.0, 0.0, start],
        translation=shift,
    )
    skin.addObject("MeshTopology", name="mesh", src="@loader")
    skin.addObject("MechanicalObject", name="dofs")
    for kind in ("Triangle", "Line", "Point"):
        skin.addObject(f"{kind}CollisionModel")
    skin.addObject("BarycentricMapping")

    cables = []
    for k in range(4):
        node = ring.addChild(f"cable_{45 * k}")
        a = np.radians(start + 45.0 * k)
        spoke = CABLE_RADIUS * np.array([np.cos(a), np.sin(a), 0.0])
        node.addObject(
            "MechanicalObject",
            name="dofs",
            position=[(centre + spoke).tolist(), (centre - spoke).tolist()],
        )
        cables.append(
            node.addObject(
                "CableConstraint",
                name="cable",
                indices=[0, 1],
                hasPullPoint=False,
                valueType="force",
                value=[0.0],
                minForce=0.0,
                maxPositiveDisp=14.0,
                maxDispVariation=1.5,
            )
        )
        node.addObject("BarycentricMapping")
    effector = add_center_effector(ring, np.array(loader.position.value))
    return cables, effector
