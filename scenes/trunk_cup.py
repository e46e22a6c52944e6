"""A trunk with a hook holds a soft cup and tilts it: the cup is controlled, not the trunk.

Robot: an arm of silicone that ends in a hook around the cup, eight cables: four through arm and
hook, four through the arm. Object: a cup of soft plastic with four controlled points; the hook's
form carries it, friction keeps it from turning in the hook. Meshes: meshes/gripper_trunk.vtk (720
nodes), meshes/cup.vtk (1296 nodes).
Parameters: the cup is put into the hook `start` off its place, and led along an arc of `tilt`
degrees plus `shift`, out and back in `period`.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the long inner cable closes the hook; the arm bends upwards and takes the cup
along, 60 mm and 40 degrees in the vertical plane; the sum of the normal forces never falls below
what held the cup at the start (section III-E of the paper).
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, section IV-B, Figs. 8 to 10, Table I.

    softctl run scenes/trunk_cup.py --movie cup.gif
    softctl run scenes/trunk_cup.py --set contacts=sticking --plot cup.png
    runSofa -l SofaPython3 scenes/trunk_cup.py --argv tilt=20

The commands on another plant, as on a real robot that nobody modelled exactly; nothing corrects
them there, as on the paper's robot:

    softctl run scenes/trunk_cup.py --record held.mcap
    softctl run scenes/trunk_cup.py --set commands=held.mcap \
        --set trunk_mesh=gripper_trunk_coarse.vtk --set trunk_modulus=2800 --set friction=0.8
"""

import os

import numpy as np

from sofa_softctl import (
    FrictionWithoutCreep,
    Grasp,
    InverseController,
    Playback,
    add_constraint_solver,
    add_effector,
    parameters_from_argv,
)

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Collision.Detection.Algorithm
Sofa.Component.Collision.Detection.Intersection Sofa.Component.Collision.Geometry
Sofa.Component.Collision.Response.Contact Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.Engine.Select Sofa.Component.IO.Mesh
Sofa.Component.LinearSolver.Direct Sofa.Component.Mapping.Linear Sofa.Component.Mass
Sofa.Component.ODESolver.Backward Sofa.Component.SolidMechanics.FEM.Elastic
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 5.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
ARM, WRAP, ARM_SHARE = 120.0, np.radians(285.0), 0.48
WIDTH, GRIP = (18.0, 9.0), 20.4
CUP = np.array([ARM, -22.5, GRIP + 0.5 * (WIDTH[0] + ARM_SHARE * (WIDTH[1] - WIDTH[0]))])
"""Middle of the cup's bottom."""
CUP_POINTS = [[20.3, 30.0, 0.0], [-20.3, 30.0, 0.0], [0.0, 5.0, 18.0], [0.0, 5.0, -18.0]]
"""The controlled points, from the middle of the cup's bottom."""
ENERGY = {"coulomb": 0.005, "sticking": 0.2}
"""Weight of the actuators' energy. Without the friction cone nothing else keeps the trunk from
using friction that the next trunk does not have."""
HANGING, SETTLE, CALIBRATE = 0.5, 0.9, (0.7, 0.9)
"""Times at which the cup hangs in the hook, begins to move, and its hold is measured [s]."""


def along_trunk(share, inward=0.0, up=0.0):
    """Points of the trunk at a share of its sections, off its centre line by shares of its width.

    `inward` is towards the cup, `up` along y. The centre line is an arm along x and a hook that
    turns towards +z around the cup's axis.
    """
    share = np.asarray(share, dtype=float)
    width = np.interp(share, [0.0, 1.0], WIDTH)
    angle = np.maximum(share - ARM_SHARE, 0.0) / (1.0 - ARM_SHARE) * WRAP
    radius = np.where(angle > 0.0, GRIP + 0.5 * width, CUP[2]) - inward * width
    x = ARM * np.minimum(share / ARM_SHARE, 1.0) + radius * np.sin(angle)
    z = CUP[2] - radius * np.cos(angle)
    return np.stack([x, up * width, z], axis=-1)


def bend_to_arc(angle, length, shortening):
    """Return the motion of an object at the end of an arm that bends upwards to an arc.

    Args:
        angle: Angle of the arc [rad].
        length: Length of the part of the arm that bends, from its end.
        shortening: Compression by the bending cables per radian.

    Returns:
        Rotation (3, 3) about z, and the end's position.
    """
    a = max(angle, 1e-9)
    turn = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]])
    radius = length * (1.0 - shortening * a) / a
    return turn, [ARM - length, 0.0, 0.0] + radius * np.array([np.sin(a), 1.0 - np.cos(a), 0.0])


class Path:
    """Goals of the cup's points: where the hook came to hold them, then as if the arm bent.

    At first they are the positions in the mesh. The cup sags in the soft hook, and the path starts
    from its position at the time HANGING, so that it stays in the robot's workspace.
    """

    def __init__(self, states, tilt, period, flexible, shortening, shift):
        self.states, self.tilt, self.period = states, np.radians(tilt), period
        self.arm, self.shift = (flexible, shortening), np.array(shift)
        self.first = np.array([state.position.value[0] for state in states])
        self.start = None

    def __call__(self, time):
        if time < HANGING:
            self.start = None
            return self.first
        if self.start is None:
            self.start = np.array([state.position.value[0] for state in self.states])
        phase = 2.0 * np.pi * max(time - SETTLE, 0.0) / self.period
        share = 0.5 * (1.0 - np.cos(phase))
        turn, end = bend_to_arc(self.tilt * share, *self.arm)
        return (self.start - [ARM, 0.0, 0.0]) @ turn.T + end + share * self.shift

    def snapshot(self):
        return self.start

    def restore(self, snapshot):
        self.start = snapshot


@parameters_from_argv
def createScene(
    root,
    tilt=46.0,
    period=4.0,
    flexible=100.0,
    shortening=0.045,
    friction=0.9,
    trunk_modulus=2600.0,
    cup_modulus=5000.0,
    cup_mass=0.016,
    start=(0.0, 0.0, 0.0),
    shift=(0.0, 0.0, 0.0),
    energy=None,
    share=0.6,
    contacts="coulomb",
    trunk_mesh="gripper_trunk.vtk",
    commands="",
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=1000 if commands else 50, tolerance=1e-6)
    for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
        root.addObject(kind)
    root.addObject("LocalMinDistance", alarmDistance=3.0, contactDistance=0.5)
    root.addObject(
        "CollisionResponse",
        response="FrictionContactConstraint",
        responseParams=f"mu={friction}",
    )

    if energy is None:
        energy = ENERGY[contacts]
    cables = add_trunk(root, trunk_mesh, trunk_modulus, controlled=not commands)
    place = CUP + start
    states, effectors = add_cup(root, place, cup_modulus, cup_mass, controlled=not commands)
    if commands:
        root.addObject(FrictionWithoutCreep(root=root))
        root.addObject(Playback(root=root, actuators=cables, commands=commands))
        return root
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=cables,
            effectors=effectors,
            goal=Path(states, tilt, period, flexible, shortening, shift),
            energy=energy,
            contacts=contacts,
            grasps=[Grasp("/cup", calibrate=CALIBRATE, share=share)],
        )
    )
    return root


def add_trunk(root, mesh, modulus, controlled):
    """The arm with its hook; returns the cables, which take displacements if not controlled."""
    trunk = root.addChild("trunk")
    trunk.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.1)
    trunk.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    file = os.path.join(MESHES, mesh)
    trunk.addObject("MeshVTKLoader", name="loader", filename=file)
    trunk.addObject("MeshTopology", name="mesh", src="@loader")
    trunk.addObject("MechanicalObject", name="dofs")
    trunk.addObject("UniformMass", totalMass=0.0515)
    trunk.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=modulus,
        poissonRatio=0.45,
    )
    trunk.addObject("BoxROI", name="foot", box=[-1, -20, -20, 1, 20, 20])
    trunk.addObject("FixedProjectiveConstraint", indices="@foot.indices")
    trunk.addObject("LinearSolverConstraintCorrection")
    pads = trunk.addChild("pads")
    shares = np.linspace(ARM_SHARE + 0.04, 0.98, 9)
    points = [along_trunk(shares, inward=0.5, up=up) for up in (-0.3, 0.0, 0.3)]
    pads.addObject("MechanicalObject", name="dofs", position=np.concatenate(points).tolist())
    pads.addObject("PointCollisionModel")
    pads.addObject("BarycentricMapping")

    cables = []
    for kind, end in (("long", 0.97), ("short", ARM_SHARE)):
        for side, (inward, up) in {
            "up": (0.0, 0.36),
            "down": (0.0, -0.36),
            "in": (0.36, 0.0),
            "out": (-0.36, 0.0),
        }.items():
            node = trunk.addChild(f"{kind}_{side}")
            path = along_trunk(np.linspace(0.0, end, 24 if kind == "long" else 12), inward, up)
            node.addObject("MechanicalObject", name="dofs", position=path.tolist())
            cables.append(
                node.addObject(
                    "CableConstraint",
                    name="cable",
                    indices=list(range(len(path))),
                    hasPullPoint=False,
                    valueType="force" if controlled else "displacement",
                    value=[0.0],
                    minForce=0.0,
                    maxPositiveDisp=40.0,
                    maxDispVariation=1.0 if controlled else 1e3,
                )
            )
            node.addObject("BarycentricMapping")
    return cables


def add_cup(root, place, modulus, mass, controlled):
    """The cup, the middle of its bottom at a place.

    Returns:
        The states of its four points, and if controlled their effectors.
    """
    cup = root.addChild("cup")
    cup.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.1)
    cup.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    file = os.path.join(MESHES, "cup.vtk")
    cup.addObject("MeshVTKLoader", name="loader", filename=file, translation=place.tolist())
    cup.addObject("MeshTopology", name="mesh", src="@loader")
    cup.addObject("MechanicalObject", name="dofs")
    cup.addObject("UniformMass", totalMass=mass)
    cup.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=modulus,
        poissonRatio=0.4,
    )
    cup.addObject("LinearSolverConstraintCorrection")
    skin = cup.addChild("skin")
    file = os.path.join(MESHES, "cup_skin.obj")
    skin.addObject("MeshOBJLoader", name="loader", filename=file, translation=place.tolist())
    skin.addObject("MeshTopology", name="mesh", src="@loader")
    skin.addObject("MechanicalObject", name="dofs")
    skin.addObject("TriangleCollisionModel")
    skin.addObject("BarycentricMapping")
    effectors, states = [], []
    for k, point in enumerate(CUP_POINTS):
        node = cup.addChild(f"point_{k}")
        position = [(place + point).tolist()]
        states.append(node.addObject("MechanicalObject", name="dofs", position=position))
        if controlled:
            effectors.append(add_effector(node))
        node.addObject("BarycentricMapping")
    return states, effectors
