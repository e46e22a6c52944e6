"""An elephant's trunk of silicone with eight cables; its tip follows a path by inverse control.

Robot: a tapered trunk of ten rings, 195 mm long, clamped at its foot and held out level; four
cables run through all rings, four end at the fifth. Mesh: meshes/trunk.vtk (730 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: pulling one long cable bends the trunk to that side; without tension, its weight
lets the tip sag; eight cables for three coordinates of the tip: the energy term shares the load.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, without its contacts.

    softctl run scenes/trunk.py
    softctl run scenes/trunk.py --set path=eight --set young_modulus=1500 --movie trunk.gif
    runSofa -l SofaPython3 scenes/trunk.py --argv path=eight
    softctl train scenes/trunk.py --policy reach.safetensors
    softctl run scenes/trunk.py --set policy=reach.safetensors --movie learnt.gif
    softctl plan scenes/trunk.py --task round --out round.mcap --plot round.png
    softctl run scenes/trunk.py --set plan=round.mcap --movie round.gif
"""

import os

import numpy as np

from sofa_softctl import (
    InverseController,
    SurrogateController,
    add_constraint_solver,
    add_effector,
    goal,
    parameters_from_argv,
)

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.Engine.Select Sofa.Component.IO.Mesh Sofa.Component.LinearSolver.Direct
Sofa.Component.Mapping.Linear Sofa.Component.Mass Sofa.Component.ODESolver.Backward
Sofa.Component.SolidMechanics.FEM.Elastic Sofa.Component.StateContainer
Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 4.5
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
TIP = np.array([0.0, 0.0, 195.0])
RAMP = 0.5
"""Time in which the goal comes from the tip to the path [s]."""


def cable_points(side, rings):
    """Points of the cable on side 0..3 (+y, -x, -y, +x) through the lowest rings, shape (n, 3)."""
    middle = 27.5 + 17.5 * np.arange(rings)
    z = np.concatenate([[0.0], (middle[:, None] + [-3.0, 3.0]).ravel()])
    r = 10.0 - 7.0 * z / TIP[2]
    x, y = [(0, 1), (-1, 0), (0, -1), (1, 0)][side]
    return np.column_stack([x * r, y * r, z])


def goal_on(path, radius, period, lower):
    """The goal of the tip: 'circle', 'eight', 'point', or a CSV file with time, x, y, z."""
    center = TIP - [0.0, 0.0, lower]
    if path == "circle":
        return goal.circle(center, radius, period, ramp=RAMP, start=TIP)
    if path == "eight":
        return goal.figure_eight(center, radius, period, ramp=RAMP, start=TIP)
    if path == "point":
        return goal.point(center + [radius, 0.0, 0.0])
    return goal.from_csv(path)


SURROGATE = {"scale": 6000.0, "tolerance": 0.05, "points": ["/trunk/tip"]}
"""Options of planning: tension of a control of 1, error of the map, and observed points."""
DROP = 0.0065
"""Axial retreat of the tip divided by the square of its lateral displacement [1 / mm]."""


def smooth(share):
    """Return a value from 0 to 1 with zero velocity and acceleration at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def round_a_ball(layout, share, start, aside=30.0, lift=6.0, radius=6.0, over=True):
    """The tip goes aside and up, over or under a ball in its way, and rests.

    `share`: of the time at each instant, shape (K,). `start`: outputs where the trunk hangs.
    """
    from sofa_softctl.surrogate import (
        Effort,
        Following,
        Obstacle,
        Point,
        Smoothness,
        Sphere,
        Task,
    )

    tip = Point(layout.point("/trunk/tip.0"))
    begin = start[list(tip.rows)]

    def points_along(fraction):
        """Return points at fractions of the path, which retreats as the trunk bends, (..., 3)."""
        fraction = np.asarray(fraction)
        return begin + np.stack(
            [aside * fraction, lift * fraction, -DROP * (aside * fraction) ** 2], axis=-1
        )

    path = points_along(smooth(share / 0.8))
    up = np.array([-np.sign(aside) * lift, abs(aside), 0.0]) / np.hypot(aside, lift)
    centre = points_along(0.5) + (-0.5 if over else 0.5) * radius * up
    ball = Sphere(tuple(centre), radius)
    return Task(
        probe=tip,
        outputs=(Following(tip, path, np.where(share > 0.85, 1.0, 1e-2), tolerance=1.0),),
        inputs=(Effort(1e-2), Smoothness(1.0)),
        obstacles=(Obstacle(tip, ball, weight=2.0, margin=1.0),),
        rest=True,
    )


TASKS = {"round": round_a_ball}
"""Tasks of `softctl plan` with this scene."""


def reach(radius=30.0, lower=6.0):
    """The tip goes to a point of a cap around it, up to `radius` aside, and stays."""
    from sofa_softctl.learning import Action, Limits, Observation, Task

    def begin(episode):
        angle = episode.random.uniform(0.0, 2.0 * np.pi)
        distance_aside = radius * np.sqrt(episode.random.uniform())
        aside = distance_aside * np.array([np.cos(angle), np.sin(angle)])
        episode.goal["tip"] = (TIP + [*aside, -DROP * distance_aside**2] - [0.0, lower, 0.0])[None]

    def distance(episode):
        return float(np.linalg.norm(episode.read("/trunk/tip/dofs.position") - episode.goal["tip"]))

    range_of_tip = np.array([80.0, 80.0, 40.0])
    return Task(
        observation=[
            Observation(
                "tip", "/trunk/tip/dofs.position", TIP - range_of_tip, TIP + range_of_tip, "length"
            ),
            Observation("speed", "/trunk/tip/dofs.velocity", -500.0, 500.0, "mm/s"),
            Observation(
                "goal", lambda e: e.goal["tip"], TIP - range_of_tip, TIP + range_of_tip, "length"
            ),
            Observation("pulls", lambda e: e.action, 0.0, 8.0, "length"),
        ],
        action=[
            Action(
                f"/trunk/{kind}_{side}/cable",
                0.0,
                displacement_max,
                60.0,
                idle=0.0,
                drive="displacement",
            )
            for kind, displacement_max in (("long", 8.0), ("short", 4.0))
            for side in ("up", "left", "down", "right")
        ],
        reward=lambda episode: -0.1 * distance(episode),
        begin=begin,
        success=lambda episode: distance(episode) < 3.0,
        limits=Limits(decisions=20, hold=5),
        parameters={"policy": None},
    )


LEARNING = {"reach": reach}
"""Tasks of `softctl train` with this scene."""


@parameters_from_argv
def createScene(
    root,
    path="circle",
    radius=25.0,
    period=4.0,
    lower=6.0,
    young_modulus=2000.0,
    energy=1e-4,
    plan="",
    policy="",
    dt=0.01,
    solver="active-set",
):
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    trunk = root.addChild("trunk")
    trunk.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.1)
    trunk.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    trunk.addObject("MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "trunk.vtk"))
    trunk.addObject("MeshTopology", name="mesh", src="@loader")
    trunk.addObject("MechanicalObject", name="dofs")
    trunk.addObject("UniformMass", totalMass=0.0656)
    trunk.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    trunk.addObject("BoxROI", name="foot", box=[-20, -20, -1, 20, 20, 16])
    trunk.addObject("FixedProjectiveConstraint", indices="@foot.indices")
    trunk.addObject("LinearSolverConstraintCorrection")

    cables = []
    for kind, rings, limit in (("long", 10, 70.0), ("short", 5, 40.0)):
        for side, name in enumerate(("up", "left", "down", "right")):
            node = trunk.addChild(f"{kind}_{name}")
            points = cable_points(side, rings)
            node.addObject("MechanicalObject", name="dofs", position=points.tolist())
            cables.append(
                node.addObject(
                    "CableConstraint",
                    name="cable",
                    indices=list(range(len(points))),
                    hasPullPoint=False,
                    valueType="force",
                    value=[0.0],
                    minForce=0.0,
                    maxPositiveDisp=limit,
                    maxDispVariation=1.0,
                )
            )
            node.addObject("BarycentricMapping")

    tip = trunk.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[TIP.tolist()])
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")

    if plan:
        root.addObject(SurrogateController(root=root, lines=cables, plan=plan))
        return root

    if policy is None:  # an environment drives the cables
        return root
    tip_goal = goal_on(path, radius, period, lower)
    if policy:
        from sofa_softctl.learning import PolicyController

        reached = {"tip": lambda time: tip_goal(time).reshape(1, 3)}
        root.addObject(PolicyController(root=root, policy=policy, task=reach(), goal=reached))
        return root

    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=cables,
            effectors=[effector],
            goal=tip_goal,
            energy=energy,
            solver=solver,
        )
    )
    return root
