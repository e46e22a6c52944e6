"""A soft arm that hangs from a frame steers a laser beam over a metal plate.

Robot: a bar of silicone, 100 mm long, with a line along each of its four edges and a laser at its
tip. Mesh: meshes/arm.vtk (525 nodes, 1,575 degrees of freedom, as in the paper), or any other of
the same bar, such as one of 5,082 nodes that meshes/arm.py writes: see the last lines below.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the lines bend the arm towards them; the spot moves by some 24 mm for a newton
in one line; a plan made for the projected dynamics leaves the waves along the arm out.
Paper: Jia, Pan, Manocha, "Fast motion planning for high-DOF robot systems using hierarchical
system identification", sections III-B and V, Figs. 3 and 4, Table I.

    softctl plan scenes/laser_arm.py --task circle --out circle.mcap
    softctl plan scenes/laser_arm.py --task circle --task-set radius=80 --out circle.mcap
    softctl run scenes/laser_arm.py --set plan=circle.mcap --movie circle.gif
    softctl run scenes/laser_arm.py --set plan=circle.mcap --set correct=True --plot circle.png
    softctl train scenes/laser_arm.py --surrogate --policy spot.safetensors
    softctl run scenes/laser_arm.py --set policy=spot.safetensors --movie spot.gif
    runSofa -l SofaPython3 scenes/laser_arm.py --argv plan=circle.mcap
    python scenes/meshes/arm.py --nodes 11 11 42 --out fine.vtk
    softctl plan scenes/laser_arm.py --set mesh=$PWD/fine.vtk --task circle --out circle.mcap
"""

import os

import numpy as np

from sofa_softctl import (
    InverseController,
    SurrogateController,
    add_constraint_solver,
    add_effector,
    add_line_stiffness,
    parameters_from_argv,
)

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.Engine.Select Sofa.Component.IO.Mesh Sofa.Component.LinearSolver.Direct
Sofa.Component.Mapping.Linear Sofa.Component.Mass Sofa.Component.ODESolver.Backward
Sofa.Component.SolidMechanics.FEM.HyperElastic Sofa.Component.StateContainer
Sofa.Component.Topology.Container.Constant Sofa.Component.Topology.Container.Dynamic SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 2.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
LENGTH, EDGE = 100.0, 8.0
CORNERS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
"""Positions of the cables, as signs of x and y."""
PLATE = -180.0
"""Height of the plate that the laser cuts."""
BEAM = [[0.0, 0.0, -LENGTH], [0.0, 0.0, -LENGTH - 40.0]]
"""Exit of the beam from the arm at rest, and a second point on the beam."""


SURROGATE = {"scale": 4000.0, "spacing": 0.5, "eta": 0.2, "points": ["/arm/beam"]}
"""Options of planning: tension of a control of 1, the grid, and observed points."""
APPROACH = 0.2
"""Fraction of the time in which the spot moves from the middle to the circle [-]."""


def laser(layout):
    """The spot on the plate, as planning sees it."""
    from sofa_softctl.surrogate import Laser

    exit_point, beam_point = (layout.point(f"/arm/beam.{k}") for k in (0, 1))
    return Laser(base=exit_point, tip=beam_point, normal=(0.0, 0.0, 1.0), offset=PLATE)


def smooth(share):
    """Return a value from 0 to 1 with zero velocity and acceleration at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def circle(layout, share, radius=20.0, x=0.0, y=0.0):
    """The spot cuts a circle around (x, y). `share`: of the time at each instant, shape (K,)."""
    from sofa_softctl.surrogate import Effort, Following, Smoothness, Task

    come = smooth(share / APPROACH)
    angle = 2.0 * np.pi * smooth((share - APPROACH) / (1.0 - APPROACH))
    around = np.stack([x + radius * np.cos(angle), y + radius * np.sin(angle)])
    path = [*(come * around), np.full(len(share), PLATE)]
    spot = laser(layout)
    return Task(
        probe=spot,
        outputs=(Following(spot, np.stack(path, axis=1), tolerance=0.01 * radius),),
        inputs=(Effort(1e-3), Smoothness(0.1)),
    )


def obstacles(layout, share):
    """Return the task: cross the plate around two discs that must not be burnt."""
    from sofa_softctl.surrogate import Effort, Following, Obstacle, Smoothness, Sphere, Task

    spot = laser(layout)
    arrived = share > 0.9
    path = np.outer(smooth(share / 0.9), [0.0, 25.0, 0.0]) + [0.0, 0.0, PLATE]
    discs = [Sphere((x, y, PLATE), r) for x, y, r in ((2.0, 9.0, 5.0), (-6.0, 18.0, 4.0))]
    return Task(
        probe=spot,
        outputs=(Following(spot, path, np.where(arrived, 1.0, 1e-3), tolerance=0.5),),
        inputs=(Effort(1e-3), Smoothness(10.0)),
        obstacles=tuple(Obstacle(spot, disc, weight=10.0, margin=1.0) for disc in discs),
        rest=True,
    )


TASKS = {"circle": circle, "obstacles": obstacles}
"""Tasks of `softctl plan` with this scene."""


def spot(radius=25.0):
    """The spot comes to a point of the plate within `radius` of its middle, and stays there."""
    from sofa_softctl.learning import Action, Limits, Observation, Task

    def begin(episode):
        r, angle = radius * np.sqrt(episode.random.uniform()), episode.random.uniform(0, 2 * np.pi)
        episode.goal["spot"] = np.array([[r * np.cos(angle), r * np.sin(angle), PLATE]])
        episode.memory["asked"] = episode.action

    def place(episode):
        return hit(*episode.read("/arm/beam/dofs.position"))[0][:2]

    def spot_error(episode):
        return episode.goal["spot"][0, :2] - place(episode)

    def distance(episode):
        return float(np.linalg.norm(spot_error(episode)))

    def reward(episode):
        """Near, and calm: pulls that change shake the arm in ways that its map leaves out."""
        d, before = distance(episode), episode.memory["asked"]
        episode.memory["asked"] = episode.action
        change = np.mean(((episode.action - before) / 1500.0) ** 2)
        return np.exp(-((d / 2.0) ** 2)) - d / radius - 1.0 - 5.0 * change

    return Task(
        observation=[
            Observation("goal", lambda e: e.goal["spot"][0, :2], -radius, radius, "length"),
            Observation("spot_error", spot_error, -2.0 * radius, 2.0 * radius, "length"),
            Observation("speed", spot_speed, -1000.0, 1000.0, "mm/s"),
            Observation("pulls", lambda e: e.action, 0.0, 1500.0, "force"),
        ],
        action=[
            Action(f"/arm/line_{k}/line", 0.0, 1500.0, rate=5000.0, drive="force") for k in range(4)
        ],
        reward=reward,
        begin=begin,
        success=lambda episode: distance(episode) < 1.0,
        limits=Limits(decisions=50, hold=2, settle=150),
        parameters={"policy": None},
    )


def spot_speed(episode):
    """Velocity of the spot along x and y."""
    (tip, beam_point), velocity = (
        episode.read(f"/arm/beam/dofs.{name}") for name in ("position", "velocity")
    )
    now = hit(tip, beam_point)[0]
    soon = hit(*(np.array([tip, beam_point]) + 1e-6 * velocity))[0]
    return (soon - now)[:2] / 1e-6


LEARNING = {"spot": spot}
"""Tasks of `softctl train` with this scene."""


def hit(tip, beam_point):
    """Return the point of the plate on the ray from the tip through a point, and its distance.

    The distance is relative to the distance of the two points: the spot moves faster by it.
    """
    distance = (PLATE - tip[2]) / (beam_point[2] - tip[2])
    return tip + distance * (beam_point - tip), distance


class Aim:
    """Goal of the second beam point, corrected by the error of the spot."""

    def __init__(self, beam, plan):
        self.beam, self.plan = beam, plan

    def __call__(self, time):
        tip, beam_point = self.beam.position.value
        spot, distance = hit(tip, beam_point)
        return beam_point + (self.plan.spot(time) - spot) / distance


@parameters_from_argv
def createScene(
    root,
    plan="",
    correct=False,
    mesh="arm.vtk",
    young_modulus=300.0,
    poisson_ratio=0.4,
    energy=1e-6,
    policy="",
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, 0.0, -9810.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    arm = root.addChild("arm")
    arm.addObject("EulerImplicitSolver", rayleighMass=0.0, rayleighStiffness=0.0)
    arm.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    loader = arm.addObject("MeshVTKLoader", name="loader", filename=os.path.join(MESHES, mesh))
    arm.addObject("TetrahedronSetTopologyContainer", name="mesh", src="@loader")
    arm.addObject("MechanicalObject", name="dofs")
    arm.addObject("UniformMass", totalMass=0.0428)
    shear = young_modulus / (2.0 * (1.0 + poisson_ratio))
    bulk = 2.0 * shear * poisson_ratio / (1.0 - 2.0 * poisson_ratio)
    arm.addObject(
        "TetrahedronHyperelasticityFEMForceField",
        name="elasticity",
        materialName="StableNeoHookean",
        ParameterSet=[shear, bulk],
    )
    arm.addObject("BoxROI", name="frame", box=[-11, -11, -1, 11, 11, 1])
    arm.addObject("FixedProjectiveConstraint", indices="@frame.indices")
    arm.addObject("LinearSolverConstraintCorrection")

    lines = []
    for number, (x, y) in enumerate(CORNERS):
        node = arm.addChild(f"line_{number}")
        path = [[EDGE * x, EDGE * y, z] for z in np.linspace(-5.0, 3.0 - LENGTH, 8)]
        node.addObject("MechanicalObject", name="dofs", position=path)
        lines.append(
            node.addObject(
                "CableConstraint",
                name="line",
                indices=list(range(len(path))),
                pullPoint=[EDGE * x, EDGE * y, 0.0],
                valueType="force",
                value=[0.0],
                minForce=0.0,
            )
        )
        node.addObject("BarycentricMapping")

    beam = add_beam(arm, np.array(loader.position.value))
    if policy != "":  # None: an environment drives the lines
        for line in lines:  # steps know what their tension does to their directions
            add_line_stiffness(root, line)
    if policy:
        from sofa_softctl.learning import PolicyController

        goal = {"spot": [[15.0, 10.0, PLATE]]}
        root.addObject(PolicyController(root=root, policy=policy, task=spot(), goal=goal))
        return root
    if not plan:
        return root
    pulled = [] if correct else lines
    surrogate = root.addObject(SurrogateController(root=root, lines=pulled, plan=plan))
    if not correct:
        return root
    for line in lines:
        add_line_stiffness(root, line)
    effector = add_effector(beam.getContext(), 1)
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=lines,
            effectors=[effector],
            goal=Aim(beam, surrogate),
            weight=[[1.0, 1.0, 0.0]],
            energy=energy,
        )
    )
    return root


def add_beam(arm, positions):
    """The tip and a point ahead of it on the beam, carried by one tetrahedron of the tip."""
    corners = [[-10, -10, -LENGTH], [10, -10, -LENGTH], [0, 10, -LENGTH], [0, 0, 20 - LENGTH]]
    nodes = [int(np.linalg.norm(positions - corner, axis=1).argmin()) for corner in corners]
    holder = arm.addChild("holder")
    holder.addObject("MeshTopology", name="mesh", position=positions.tolist(), tetrahedra=[nodes])
    beam = arm.addChild("beam")
    dofs = beam.addObject("MechanicalObject", name="dofs", position=BEAM)
    beam.addObject("BarycentricMapping", input_topology="@../holder/mesh")
    return dofs
