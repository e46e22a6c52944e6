"""A silicone finger with one cable, whose tip follows a goal as well as one cable allows.

Robot: a finger that hangs down along -x, 100 mm long, with three notches on its side -y; the cable
runs along that side from the base to the fingertip and closes them. Mesh: meshes/finger.vtk
(444 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the tip moves on a curve, so of a goal in the plane it reaches the nearest point
of that curve; a cable can only pull.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, without its contacts.

    softctl run scenes/finger.py
    softctl run scenes/finger.py --set bend=20 --plot finger.png
    softctl run scenes/finger.py --set silicone="Dragon Skin 30"
    runSofa -l SofaPython3 scenes/finger.py --argv bend=20
    softctl train scenes/finger.py --policy finger.safetensors
    softctl run scenes/finger.py --set policy=finger.safetensors
    softctl plan scenes/finger.py --task bend --out bend.mcap --plot bend.png
    softctl run scenes/finger.py --set plan=bend.mcap --movie bend.gif
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
Sofa.Component.AnimationLoop Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.Engine.Select Sofa.Component.IO.Mesh Sofa.Component.LinearSolver.Direct
Sofa.Component.Mapping.Linear Sofa.Component.Mass Sofa.Component.ODESolver.Backward
Sofa.Component.SolidMechanics.FEM.Elastic Sofa.Component.StateContainer
Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 2.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
TIP = np.array([-100.0, 0.0, 0.0])
JOINTS = (-30.0, -54.0, -78.0)
ARC = 32.0
"""Radius of the goal's arc [mm]; `bend` must stay below it."""

STRESSES_AT_TWICE = {"Dragon Skin 10": 22.0, "Dragon Skin 20": 49.0, "Dragon Skin 30": 86.0}
"""Engineering stress of a strip that is stretched to twice its length, the "100 % modulus" of the
maker's data sheet (Smooth-On, ASTM D-412) [psi]."""
PSI = 6.894757
"""Pounds per square inch [kPa]."""


def young_modulus_of(silicone):
    """Return 3 mu [kPa] of a neo-Hookean strip, whose stress is mu (s - 1 / s^2) at s = 2."""
    return 3.0 * STRESSES_AT_TWICE[silicone] * PSI / (2.0 - 1.0 / 2.0**2)


def cable_points():
    """Points of the cable from base to tip, shape (8, 3)."""
    x = [0.0, *(joint + d for joint in JOINTS for d in (7.0, -7.0)), -93.0]
    return np.column_stack([x, np.full(len(x), -5.5), np.zeros(len(x))])


def arc(y):
    """The tip `y` aside, on an arc near the one that it can reach, shape (..., 3)."""
    y = np.asarray(y)
    return TIP + np.stack([ARC - np.sqrt(ARC**2 - y**2), -y, 0.0 * y], axis=-1)


SURROGATE = {"scale": 600.0, "points": ["/finger/tip"]}
"""Options of planning: tension of a control of 1, and observed points."""


def bend_and_back(layout, share, bend=15.0):
    """The tip goes aside and back. `share`: of the time at each instant, shape (K,)."""
    from sofa_softctl.surrogate import Effort, Following, Point, Smoothness, Task

    tip = Point(layout.point("/finger/tip.0"))
    path = arc(bend * np.sin(np.pi * share) ** 2)
    return Task(
        probe=tip,
        outputs=(Following(tip, path, tolerance=2.0),),
        inputs=(Effort(1e-3), Smoothness(0.1)),
    )


TASKS = {"bend": bend_and_back}
"""Tasks of `softctl plan` with this scene."""


def bend_to(far=15.0):
    """The tip goes to where a bend between 0 and `far` brings it, and stays."""
    from sofa_softctl.learning import Action, Limits, Observation, Task

    def begin(episode):
        episode.goal["tip"] = arc(far * episode.random.uniform())[None]

    def distance(episode):
        return float(
            np.linalg.norm(episode.read("/finger/tip/dofs.position") - episode.goal["tip"])
        )

    return Task(
        observation=[
            Observation("tip", "/finger/tip/dofs.position", TIP - 40.0, TIP + 40.0, "length"),
            Observation("goal", lambda e: e.goal["tip"], TIP - 40.0, TIP + 40.0, "length"),
            Observation("pulled", lambda e: e.action, 0.0, 20.0, "length"),
        ],
        action=[Action("/finger/cable/cable", low=0.0, drive="displacement")],
        reward=lambda episode: -0.1 * distance(episode),
        begin=begin,
        success=lambda episode: distance(episode) < 2.0,  # the arc is up to 0.7 off its curve
        limits=Limits(decisions=20, hold=5),
        parameters={"policy": None},
    )


LEARNING = {"bend": bend_to}
"""Tasks of `softctl train` with this scene."""


@parameters_from_argv
def createScene(
    root,
    bend=15.0,
    period=1.0,
    young_modulus=600.0,
    silicone="",
    mass=0.0218,
    energy=0.0,
    plan="",
    policy="",
    dt=0.01,
):
    root.dt = dt
    root.gravity = [-9810.0, 0.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    finger = root.addChild("finger")
    finger.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.1)
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    finger.addObject("MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "finger.vtk"))
    finger.addObject("MeshTopology", name="mesh", src="@loader")
    finger.addObject("MechanicalObject", name="dofs")
    finger.addObject("UniformMass", totalMass=mass)
    if silicone:  # its modulus holds on any mesh, with elements that do not lock
        from sofa_softctl import add_elasticity

        young = young_modulus_of(silicone)
        add_elasticity(finger, young_modulus=young, poisson_ratio=0.49, name="fem")
    else:  # a modulus that fits this mesh and SOFA's elements
        finger.addObject(
            "TetrahedronFEMForceField",
            name="fem",
            method="large",
            youngModulus=young_modulus,
            poissonRatio=0.45,
        )
    finger.addObject("BoxROI", name="base", box=[-13, -11, -10, 1, 11, 10])
    finger.addObject("FixedProjectiveConstraint", indices="@base.indices")
    finger.addObject("LinearSolverConstraintCorrection")

    cable = finger.addChild("cable")
    points = cable_points()
    cable.addObject("MechanicalObject", name="dofs", position=points.tolist())
    actuator = cable.addObject(
        "CableConstraint",
        name="cable",
        indices=list(range(len(points))),
        hasPullPoint=False,
        valueType="force",
        value=[0.0],
        minForce=0.0,
        maxPositiveDisp=20.0,
        maxDispVariation=0.5,
    )
    cable.addObject("BarycentricMapping")

    tip = finger.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[TIP.tolist()])
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")

    if plan:
        from sofa_softctl import SurrogateController

        root.addObject(SurrogateController(root=root, lines=[actuator], plan=plan))
        return root

    def goal(time):
        """Aside by `bend` and back once a period."""
        return arc(bend * np.sin(np.pi * time / period) ** 2)

    if policy is None:  # an environment drives the cable
        return root
    if policy:
        from sofa_softctl.learning import PolicyController

        reached = {"tip": lambda time: goal(time)[None]}
        root.addObject(PolicyController(root=root, policy=policy, task=bend_to(), goal=reached))
        return root

    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=[actuator],
            effectors=[effector],
            goal=goal,
            energy=energy,
        )
    )
    return root
