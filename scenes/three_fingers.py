"""Three rigid fingertips hold a soft beam against gravity, move it, and bend it to a shape.

Robot: three balls of 12 mm, each driven along x, y and z (nine translations), two under the beam
and one on top. Only the beam is controlled, at three points of its surface: the controller finds
forces on the fingertips, which act on the beam only through contacts with friction.
Mesh: meshes/beam.vtk (450 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the contacts below carry the beam's weight and what the finger on top presses
with; the three points follow their goals within a tenth of a millimetre as long as friction holds.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, section IV-B, Fig. 11.

    softctl run scenes/three_fingers.py --movie fingers.gif
    softctl run scenes/three_fingers.py --set bend=10 --plot fingers.png
    runSofa -l SofaPython3 scenes/three_fingers.py --argv bend=10
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
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.IO.Mesh
Sofa.Component.LinearSolver.Direct Sofa.Component.Mapping.Linear Sofa.Component.Mass
Sofa.Component.ODESolver.Backward Sofa.Component.SolidMechanics.FEM.Elastic
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 3.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
RADIUS, HALF_SIDE = 6.0, 6.0
CONTACT_DISTANCE = 0.5
REACH = HALF_SIDE + RADIUS + CONTACT_DISTANCE
"""Distance of a fingertip's centre from the beam's axis in first contact [mm]."""
FINGERTIPS = {
    "left": np.array([-32.0, -REACH, 2.6]),
    "right": np.array([33.0, -REACH, 2.6]),
    "top": np.array([0.7, REACH, -3.1]),
}
END = 45.0
POINTS = np.array([[-END, 6.0, 0.0], [0.0, -6.0, 0.0], [END, 6.0, 0.0]])
"""The controlled points on the beam."""
SETTLE, MOVE = 0.4, 1.2
"""Time to take hold of the beam, and to move from rest to the wanted shape [s]."""


def shape(share, lift, bend, turn):
    """The goals of the three points when a share of the motion is done, shape (3, 3).

    The beam's axis becomes an arc on which the ends rise by `bend`, is turned about z, and lifted.
    """
    curvature = max(2.0 * share * bend / END**2, 1e-9)
    angle = POINTS[:, 0] * curvature
    normal = np.stack([-np.sin(angle), np.cos(angle), 0.0 * angle], axis=-1)
    axis = np.stack([np.sin(angle), 1.0 - np.cos(angle), 0.0 * angle], axis=-1) / curvature
    axis[:, 1] -= share * bend / 2.0
    bent = axis + POINTS[:, 1:2] * normal
    a = np.radians(turn) * share
    about_z = np.array([[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0, 0, 1.0]])
    return bent @ about_z.T + [0.0, lift * share, 0.0]


@parameters_from_argv
def createScene(
    root,
    lift=15.0,
    bend=6.0,
    turn=8.0,
    friction=0.8,
    young_modulus=100.0,
    mass=0.0154,
    start=(0.0, 0.0, 0.0),
    energy=1e-2,
    damping=50.0,
    strongest=600.0,
    contacts="coulomb",
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

    effectors = add_beam(root, young_modulus, mass)
    motors, names = add_fingertips(root, damping, start)

    def goal(time):
        share = min(max(time - SETTLE, 0.0) / MOVE, 1.0)
        return shape(share * share * (3.0 - 2.0 * share), lift, bend, turn)

    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=motors,
            names=names,
            effectors=effectors,
            goal=goal,
            energy=energy,
            effort_min=-strongest,
            effort_max=strongest,
            contacts=contacts,
            grasps=[Grasp("/beam", calibrate=(0.2, SETTLE))],
        )
    )
    return root


def add_beam(root, young_modulus, mass):
    """The beam with its skin; returns its three points as effectors."""
    beam = root.addChild("beam")
    beam.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.05)
    beam.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    beam.addObject("MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "beam.vtk"))
    beam.addObject("MeshTopology", name="mesh", src="@loader")
    beam.addObject("MechanicalObject", name="dofs")
    beam.addObject("UniformMass", totalMass=mass)
    beam.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    beam.addObject("LinearSolverConstraintCorrection")
    skin = beam.addChild("skin")
    skin.addObject("MeshOBJLoader", name="loader", filename=os.path.join(MESHES, "beam_skin.obj"))
    skin.addObject("MeshTopology", name="mesh", src="@loader")
    skin.addObject("MechanicalObject", name="dofs")
    for kind in ("Triangle", "Line", "Point"):
        skin.addObject(f"{kind}CollisionModel")
    skin.addObject("BarycentricMapping")
    effectors = []
    for k, point in enumerate(POINTS):
        node = beam.addChild(f"point_{k}")
        node.addObject("MechanicalObject", name="dofs", position=[point.tolist()])
        effectors.append(add_effector(node))
        node.addObject("BarycentricMapping")
    return effectors


def add_fingertips(root, damping, start):
    """Three balls, `start` off their places.

    Returns:
        Their motors along x, y and z, and what these are called.
    """
    motors, names = [], []
    for name, place in FINGERTIPS.items():
        tip = root.addChild(name)
        tip.addObject("EulerImplicitSolver", rayleighMass=damping)
        tip.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        tip.addObject("MechanicalObject", name="dofs", position=[(place + start).tolist()])
        tip.addObject("UniformMass", totalMass=0.02)
        tip.addObject("SphereCollisionModel", radius=RADIUS, group=1)
        tip.addObject("LinearSolverConstraintCorrection")
        for axis in range(3):
            motors.append(
                tip.addObject(
                    "PositionConstraint",
                    name=f"motor_{'xyz'[axis]}",
                    indices=[0],
                    useDirections=[int(axis == k) for k in range(3)],
                    valueType="force",
                    value=[0.0],
                )
            )
            names.append(f"{name} {'xyz'[axis]}")
    return motors, names
