"""A soft arm of two materials bends in a plane, pulled by a line along each of its edges.

Robot: five plates of stiff silicone, 40 mm wide, and between them four joints, half as wide and
fifteen times softer; it hangs 65 mm along -z. The lines run through the plates at their left and
right edge. All motion is in the plane x-z (plane strain). Mesh: meshes/planar_arm.vtk (220 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: a line bends the arm towards it, by some 8 degrees for 100 mN, nearly all of it
in the joints; both together shorten it. The lines run along the plates, so that the arm does not
buckle under them. Steps take the lines' forces as they are at their start, without the stiffness
that lines give: pulled by more than some 700 mN in all, the arm flutters in steps of 10 ms, where
its equilibria are stable.
Paper: Jia, Pan, Manocha, "Fast motion planning for high-DOF robot systems using hierarchical
system identification", the 2D soft robot arm of section III-B, |u| = 2.

    softctl plan scenes/planar_arm.py --task reach --instants 60 --out reach.mcap
    softctl run scenes/planar_arm.py --set plan=reach.mcap --movie reach.gif
    runSofa -l SofaPython3 scenes/planar_arm.py --argv plan=reach.mcap
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
DURATION = 1.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
LENGTH, EDGE = 65.0, 20.0
"""Length of the arm, and distance of its cables from the middle [mm]."""
PLATE, JOINT = 5.0, 10.0
"""Lengths of a plate and of a joint; plates are at both ends."""
TIP = [0.0, 0.0, -LENGTH]

SURROGATE = {"scale": 600.0, "spacing": 0.5, "eta": 0.2, "reach": 0.05, "points": ["/arm/tip"]}
"""Options of planning: tension of a control of 1, the grid, and observed points."""


def smooth(share):
    """Return a value from 0 to 1 with zero velocity and acceleration at both ends."""
    s = np.clip(share, 0.0, 1.0)
    return s * s * s * (10.0 + s * (6.0 * s - 15.0))


def reach(layout, share, aside=16.0, up=4.0):
    """Return the task: the tip moves to a point aside, higher than a single cable can lift it.

    So both have to pull. `share`: of the time at each instant, shape (K,).
    """
    from sofa_softctl.surrogate import Effort, Following, Point, Smoothness, Task

    tip = Point(layout.point("/arm/tip.0"))
    way = smooth(share / 0.8)
    path = np.outer(way, [aside, 0.0, up]) + TIP
    weight = np.where(share > 0.8, 1.0, 1e-2)
    return Task(
        probe=tip,
        outputs=(Following(tip, path, weight),),
        inputs=(Effort(0.01), Smoothness(1.0)),
        rest=True,
    )


TASKS = {"reach": reach}
"""Tasks of `softctl plan` with this scene."""


@parameters_from_argv
def createScene(
    root,
    plan="",
    stiff_modulus=1500.0,
    soft_modulus=100.0,
    poisson_ratio=0.4,
    gravity=-9810.0,
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, 0.0, gravity]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    arm = root.addChild("arm")
    arm.addObject("EulerImplicitSolver", rayleighMass=0.0, rayleighStiffness=0.0)
    arm.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    file = os.path.join(MESHES, "planar_arm.vtk")
    loader = arm.addObject("MeshVTKLoader", name="loader", filename=file)
    arm.addObject("TetrahedronSetTopologyContainer", name="mesh", src="@loader")
    arm.addObject("MechanicalObject", name="dofs")
    arm.addObject("UniformMass", totalMass=0.0096)
    add_materials(arm, loader, {"stiff": stiff_modulus, "soft": soft_modulus}, poisson_ratio)
    arm.addObject("BoxROI", name="frame", box=[-21, -3, -1, 21, 3, 1])
    arm.addObject("FixedProjectiveConstraint", indices="@frame.indices")
    arm.addObject("PartialFixedProjectiveConstraint", fixAll=True, fixedDirections=[0, 1, 0])
    arm.addObject("LinearSolverConstraintCorrection")
    lines = [add_line(arm, name, x) for name, x in (("left", -EDGE), ("right", EDGE))]
    tip = arm.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[TIP])
    tip.addObject("BarycentricMapping")
    if plan:
        root.addObject(SurrogateController(root=root, lines=lines, plan=plan))
    return root


def add_materials(arm, loader, moduli, poisson_ratio):
    """Each material is a force field on the tetrahedra of its parts."""
    tetrahedra = np.array(loader.tetrahedra.value)
    depth = -np.array(loader.position.value)[tetrahedra, 2].mean(axis=1)
    soft = depth % (PLATE + JOINT) > PLATE
    for name, chosen in (("stiff", ~soft), ("soft", soft)):
        shear = moduli[name] / (2.0 * (1.0 + poisson_ratio))
        bulk = 2.0 * shear * poisson_ratio / (1.0 - 2.0 * poisson_ratio)
        part = arm.addChild(name)
        part.addObject(
            "TetrahedronSetTopologyContainer",
            name="mesh",
            position="@../loader.position",
            tetrahedra=tetrahedra[chosen].tolist(),
        )
        part.addObject(
            "TetrahedronHyperelasticityFEMForceField",
            name="elasticity",
            materialName="StableNeoHookean",
            ParameterSet=[shear, bulk],
        )


def add_line(arm, name, x):
    """A line at an edge, through each plate but the first, from which it is pulled."""
    node = arm.addChild(name)
    tops = np.arange(PLATE + JOINT, LENGTH, PLATE + JOINT)
    path = [[x, 0.0, -(top + inside)] for top in tops for inside in (0.0, PLATE)]
    node.addObject("MechanicalObject", name="dofs", position=path)
    line = node.addObject(
        "CableConstraint",
        name="line",
        indices=list(range(len(path))),
        pullPoint=[x, 0.0, -PLATE],
        valueType="force",
        value=[0.0],
        minForce=0.0,
    )
    node.addObject("BarycentricMapping")
    return line
