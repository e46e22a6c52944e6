"""A soft arm with three to eight lines steers a laser beam: planning in many dimensions.

Robot: the bar of silicone of laser_arm.py, 100 mm long, with a laser at its tip. Half of the lines
run to the tip and half end in the middle of the arm, in turn around it; up to four all run to the
tip. Mesh: meshes/arm.vtk (525 nodes), or another of the same bar that meshes/arm.py writes.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: short lines bend only the upper half, so that six or eight lines shape the arm
to an S; a circle of the spot needs two coordinates, and the effort term shares the load.
Paper: Jia, Pan, Manocha, "Fast motion planning for high-DOF robot systems using hierarchical
system identification", whose grids have 2^d corners a cell.

    softctl plan scenes/many_lines.py --set lines=6 --task circle --estimate
    softctl plan scenes/many_lines.py --set lines=8 --task circle --out circle.mcap
    softctl run scenes/many_lines.py --set lines=8 --set plan=circle.mcap
    softctl plan scenes/many_lines.py --set lines=3 --task wander --task-set seed=7
"""

import os

import numpy as np

from sofa_softctl import SurrogateController, add_constraint_solver, parameters_from_argv

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
PLATE = -180.0
"""Height of the plate."""
BEAM = [[0.0, 0.0, -LENGTH], [0.0, 0.0, -LENGTH - 40.0]]
"""Exit of the beam from the arm at rest, and a second point on the beam."""
SURROGATE = {"scale": 4000.0, "spacing": 0.5, "eta": 0.2, "points": ["/arm/beam"]}
"""Options of planning: tension of a control of 1, the grid, and observed points."""
RADIUS, APPROACH = 30.0, 0.2
"""Radius of the circle [mm], and fraction of the time in which the spot moves to it [-]."""


def smooth(share):
    """Return a value from 0 to 1 with zero velocity and acceleration at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def laser(layout):
    """The spot on the plate, as planning sees it."""
    from sofa_softctl.surrogate import Laser

    exit_point, beam_point = (layout.point(f"/arm/beam.{k}") for k in (0, 1))
    return Laser(base=exit_point, tip=beam_point, normal=(0.0, 0.0, 1.0), offset=PLATE)


def circle(layout, share, *, size=RADIUS, center=(0.0, 0.0)):
    """The spot cuts a circle. `share`: share of the time at each instant, shape (K,)."""
    from sofa_softctl.surrogate import Effort, Following, Smoothness, Task

    spot = laser(layout)
    arrived = smooth(share / APPROACH)
    angle = 2.0 * np.pi * smooth((share - APPROACH) / (1.0 - APPROACH))
    x, y = center[0] + size * np.cos(angle), center[1] + size * np.sin(angle)
    path = np.stack((arrived * x, arrived * y, np.full(len(share), PLATE)), axis=1)
    return Task(
        probe=spot,
        outputs=(Following(spot, path, tolerance=0.01 * size),),
        inputs=(Effort(1e-3), Smoothness(0.1)),
    )


def wander(layout, share, *, seed=0, size=50.0):
    """The spot wanders about, up to `size` from the middle, and comes to rest.

    Three sines in each direction, drawn at random. `share`: as for `circle`.
    """
    from sofa_softctl.surrogate import Effort, Following, Smoothness, Task

    spot, random, waves = laser(layout), np.random.default_rng(seed), np.arange(1, 4)
    phase, height = 2.0 * np.pi * random.random((3, 2)), random.normal(size=(3, 2))
    angle = 2.0 * np.pi * waves[:, None, None] * smooth(share)[:, None] + phase[:, None]
    sines = (np.sin(angle) - np.sin(phase)[:, None]) / waves[:, None, None]
    path = np.einsum("wki,wi->ki", sines, height)
    path *= size / np.linalg.norm(path, axis=1).max()
    return Task(
        probe=spot,
        outputs=(
            Following(spot, np.column_stack((path, np.full(len(path), PLATE))), tolerance=1.0),
        ),
        inputs=(Effort(1e-3), Smoothness(0.1)),
    )


TASKS = {"circle": circle, "wander": wander}
"""Tasks of `softctl plan` with this scene."""


def line_ends(lines):
    """Angle around the arm and lowest height of each line, shape (lines, 2)."""
    angle = 0.25 * np.pi + 2.0 * np.pi * np.arange(lines) / lines
    lowest = np.where(np.arange(lines) % 2, -0.5 * LENGTH, 3.0 - LENGTH)
    return np.stack((angle, lowest if lines > 4 else np.full(lines, 3.0 - LENGTH)), axis=1)


@parameters_from_argv
def createScene(
    root,
    plan="",
    lines=6,
    mesh="arm.vtk",
    young_modulus=300.0,
    poisson_ratio=0.4,
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
    pulled = [add_line(arm, k, *end) for k, end in enumerate(line_ends(lines))]
    add_beam(arm, np.array(loader.position.value))
    if plan:
        root.addObject(SurrogateController(root=root, lines=pulled, plan=plan))
    return root


def add_line(arm, number, angle, lowest):
    """A line from the frame down to its lowest point."""
    node = arm.addChild(f"line_{number}")
    x, y = (EDGE * np.sqrt(2.0) * f(angle) for f in (np.cos, np.sin))
    x, y = np.clip([x, y], -EDGE, EDGE)
    path = [[x, y, z] for z in np.linspace(-5.0, lowest, 8)]
    node.addObject("MechanicalObject", name="dofs", position=path)
    line = node.addObject(
        "CableConstraint",
        name="line",
        indices=list(range(len(path))),
        pullPoint=[x, y, 0.0],
        valueType="force",
        value=[0.0],
        minForce=0.0,
    )
    node.addObject("BarycentricMapping")
    return line


def add_beam(arm, positions):
    """The tip and a point ahead of it on the beam, carried by one tetrahedron of the tip."""
    corners = [[-10, -10, -LENGTH], [10, -10, -LENGTH], [0, 10, -LENGTH], [0, 0, 20 - LENGTH]]
    nodes = [int(np.linalg.norm(positions - corner, axis=1).argmin()) for corner in corners]
    holder = arm.addChild("holder")
    holder.addObject("MeshTopology", name="mesh", position=positions.tolist(), tetrahedra=[nodes])
    beam = arm.addChild("beam")
    beam.addObject("MechanicalObject", name="dofs", position=BEAM)
    beam.addObject("BarycentricMapping", input_topology="@../holder/mesh")
