"""A soft ball of twenty cells rolls to a target by their stiffness and the pressure in its cavity.

Robot: a hollow ball of silicone, 80 mm across, its wall cut into twenty cells as the faces of an
icosahedron; jamming makes each cell stiffer or softer, and a pressure inflates the cavity.
Controlled are its centre, and two points of its surface: their goals are their positions on a rigid
ball that rolls from the present pose towards the goal of its centre.
Mesh: meshes/ball.vtk (1008 nodes) with the cell of each tetrahedron in meshes/ball_cells.txt; the
skin is finer (meshes/ball_skin.obj, 642 points), so that it rolls over small facets.
Parameters: the ball rolls by `target` in the direction `heading` [degrees], 0 along x, 90 along z.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: cells that soften behind the contact bulge under the pressure and push the ball
over, stiff ones in front let it settle; it follows its goal by a few millimetres, turning somewhat
about the vertical, and ends within three millimetres of it.
Only for the embedded runtime: no stock component of SOFA gives an actuated Young's modulus its row.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, section IV-A, Figs. 4 and 7.

    softctl run scenes/rolling_ball.py --movie ball.gif
    softctl run scenes/rolling_ball.py --set target=25 --plot ball.png
    softctl run scenes/rolling_ball.py --set target=20 --set heading=135
"""

import os

import numpy as np

from sofa_softctl import (
    InverseController,
    LookAhead,
    add_center_effector,
    add_constraint_solver,
    add_effector,
    parameters_from_argv,
)

UNITS = "mm, kg, s"
DURATION = 7.4
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
RADIUS, CELLS = 40.0, 20
CONTACT_DISTANCE = 1.0
UP = np.array([0.0, 1.0, 0.0])
SETTLE = 0.4
"""Time in which the ball comes to rest on the ground before it is led [s]."""
RAMP = 1.0
"""Time in which the goal's speed rises at the start and falls at the end [s]. A ball whose goal
stops at once rolls on over the next facet, and topples."""
SINK = 0.7
"""Distance of the centre's goal below the centre of the round ball [mm]: at most the sag under its
weight. A higher goal makes it stretch until it topples."""


def goal_travel(time, distance, speed):
    """Return the travel of a goal with ramps of `RAMP` to its speed and to rest at a distance."""
    if distance == 0.0:
        return 0.0
    ramp = min(RAMP, distance / speed)
    end = distance / speed + ramp
    time = min(max(time, 0.0), end)
    slow = min(time, ramp), max(time - end + ramp, 0.0)  # time spent at the start, at the end
    return speed * (time - slow[0] + (slow[0] ** 2 - slow[1] ** 2) / (2.0 * ramp))


def roll_point(point, travel, direction):
    """Return the position of a point after a rigid ball rolls by a length along a unit vector.

    Its part along the axis, which is level and square to `direction`, stays; the rest turns from
    `UP` to `direction`. The point is given from the ball's centre as it was.
    """
    cos, sin = np.cos(travel / RADIUS), np.sin(travel / RADIUS)
    high, along = point @ UP, point @ direction
    rotated = (high * cos - along * sin) * UP + (along * cos + high * sin) * direction
    return point - high * UP - along * direction + rotated + travel * direction


@parameters_from_argv
def createScene(
    root,
    target=40.0,
    heading=0.0,
    speed=10.0,
    friction=0.8,
    softest=25.0,
    stiffest=400.0,
    young_modulus=80.0,
    weakest=2.0,
    strongest=5.0,
    energy=0.1,
    lead=1.0,
    height_weight=0.1,
    point_weight=0.2,
    contacts="coulomb",
    look_ahead=True,
    dt=0.02,
):
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
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
    add_ground(root)
    ball, loader = add_ball(root, young_modulus)
    actuators = add_actuators(ball, softest, stiffest)

    direction = np.array([np.cos(np.radians(heading)), 0.0, np.sin(np.radians(heading))])
    effectors, points = [add_center_effector(ball, np.array(loader.position.value))], []
    for k, point in enumerate(RADIUS * np.array([UP, direction])):
        node = ball.addChild(f"point_{k}")
        points.append(node.addObject("MechanicalObject", name="dofs", position=[point.tolist()]))
        effectors.append(add_effector(node))
        node.addObject("BarycentricMapping")

    def goal(time):
        """The centre's, led in time; the points', from where the ball is now."""
        goal_offset = goal_travel(time - SETTLE, target, speed) * direction
        centre = ball.dofs.position.value.mean(axis=0)
        way = goal_offset - centre
        way -= (way @ UP) * UP
        distance = np.linalg.norm(way)
        travel, towards = min(distance, 0.5 * lead), way / max(distance, 1e-9)
        return [
            goal_offset - SINK * UP,
            *(centre + roll_point(p.position.value[0] - centre, travel, towards) for p in points),
        ]

    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=actuators,
            names=["pressure", *(f"cell {cell}" for cell in range(CELLS))],
            effectors=effectors,
            goal=goal,
            weight=[[1.0, height_weight, 1.0], [point_weight] * 3, [point_weight] * 3],
            goal_distance=lead,
            energy=energy,
            effort_min=weakest,
            effort_max=strongest,
            contacts=contacts,
            look_ahead=LookAhead() if look_ahead else None,
        )
    )
    return root


def add_ground(root):
    """A flat rectangle below the ball, wide enough for 60 mm to any side."""
    ground = root.addChild("ground")
    y = -RADIUS - CONTACT_DISTANCE
    corners = [[-150.0, y, -151.0], [-150.0, y, 150.0], [400.0, y, 150.0], [400.0, y, -151.0]]
    ground.addObject("MeshTopology", position=corners, triangles=[[0, 1, 2], [0, 2, 3]])
    ground.addObject("MechanicalObject", name="dofs")
    for kind in ("Triangle", "Line", "Point"):
        ground.addObject(f"{kind}CollisionModel", moving=False, simulated=False)


def add_ball(root, young_modulus):
    """The ball with its skin; returns its node and the mesh."""
    ball = root.addChild("ball")
    ball.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    ball.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    file = os.path.join(MESHES, "ball.vtk")
    loader = ball.addObject("MeshVTKLoader", name="loader", filename=file)
    ball.addObject("MeshTopology", name="mesh", src="@loader")
    ball.addObject("MechanicalObject", name="dofs")
    ball.addObject("UniformMass", totalMass=0.184)
    ball.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    ball.addObject("LinearSolverConstraintCorrection")
    skin = ball.addChild("skin")
    file = os.path.join(MESHES, "ball_skin.obj")
    skin.addObject("MeshOBJLoader", name="loader", filename=file)
    skin.addObject("MeshTopology", name="mesh", src="@loader")
    skin.addObject("MechanicalObject", name="dofs")
    for kind in ("Triangle", "Line", "Point"):
        skin.addObject(f"{kind}CollisionModel")
    skin.addObject("BarycentricMapping")
    return ball, loader


def add_actuators(ball, softest, stiffest):
    """The pressure of the cavity, then the stiffness of each cell."""
    cavity = ball.addChild("cavity")
    file = os.path.join(MESHES, "ball_cavity.obj")
    cavity.addObject("MeshOBJLoader", name="loader", filename=file)
    cavity.addObject("MeshTopology", name="mesh", src="@loader")
    cavity.addObject("MechanicalObject", name="dofs")
    actuators = [
        cavity.addObject(
            "SurfacePressureConstraint",
            name="pressure",
            triangles="@mesh.triangles",
            valueType="pressure",
            value=[0.0],
        )
    ]
    cavity.addObject("BarycentricMapping")
    cells = np.loadtxt(os.path.join(MESHES, "ball_cells.txt"), dtype=int)
    for cell in range(CELLS):
        actuators.append(
            ball.addObject(
                "YoungModulusActuator",
                name=f"cell_{cell}",
                forceField="@fem",
                elements=np.flatnonzero(cells == cell).tolist(),
                minYoung=softest,
                maxYoung=stiffest,
                maxYoungVariationRatio=0.2,
            )
        )
    return actuators
