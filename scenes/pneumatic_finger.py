"""A silicone finger with one chamber; its tip goes aside as the pressure rises, by inverse control.

Robot: a bar of 20 x 20 x 90 mm that hangs down along -z, clamped at its top; a chamber of
12 x 4 x 70 mm runs beside its side +y. Mesh: meshes/pneumatic_finger.vtk (1080 nodes).
Units: mm, kg, s, so pressures in kPa and volumes in mm^3.
Physics to expect: the pressure stretches the side of the chamber, so the finger bends away from it,
towards -y; one pressure for one coordinate of the tip, which it follows exactly. The volume that
the chamber takes is 1 to 2 ml: what a syringe pump has to deliver.
Paper: Coevoet, Escande, Duriez, "Soft robots locomotion and manipulation control using FEM
simulation and quadratic programming", RoboSoft 2019, without its contacts.

    softctl run scenes/pneumatic_finger.py
    softctl run scenes/pneumatic_finger.py --set bend=10 --plot finger.png
    softctl bridge check hardware/pneumatic_syringe.toml --scene scenes/pneumatic_finger.py
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
DURATION = 4.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
TIP = np.array([0.0, 0.0, -87.0])
SAG = 4.0
"""Sag, slightly more than from weight only, since gaps are on one side [mm]."""


@parameters_from_argv
def createScene(
    root, bend=15.0, period=4.0, young_modulus=150.0, strongest=25.0, largest=2000.0, dt=0.02
):
    root.dt = dt
    root.gravity = [0.0, 0.0, -9810.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    finger = root.addChild("finger")
    finger.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=0.03)
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    file = os.path.join(MESHES, "pneumatic_finger.vtk")
    finger.addObject("MeshVTKLoader", name="loader", filename=file)
    finger.addObject("MeshTopology", name="mesh", src="@loader")
    finger.addObject("MechanicalObject", name="dofs")
    finger.addObject("UniformMass", totalMass=0.0295)
    finger.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=young_modulus,
        poissonRatio=0.45,
    )
    finger.addObject("BoxROI", name="top", box=[-11, -11, -1, 11, 11, 1])
    finger.addObject("FixedProjectiveConstraint", indices="@top.indices")
    finger.addObject("LinearSolverConstraintCorrection")

    chamber = finger.addChild("chamber")
    file = os.path.join(MESHES, "pneumatic_finger_chamber.obj")
    chamber.addObject("MeshOBJLoader", name="loader", filename=file)
    chamber.addObject("MeshTopology", name="mesh", src="@loader")
    chamber.addObject("MechanicalObject", name="dofs")
    actuator = chamber.addObject(
        "SurfacePressureConstraint",
        name="pressure",
        triangles="@mesh.triangles",
        valueType="pressure",
        value=[0.0],
    )
    chamber.addObject("BarycentricMapping")

    tip = finger.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[TIP.tolist()])
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")

    def goal(time):
        """Towards -y by `bend` and back once a period; the other coordinates do not count."""
        return TIP - [0.0, SAG + bend * np.sin(np.pi * time / period) ** 2, 0.0]

    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=[actuator],
            effectors=[effector],
            goal=goal,
            weight=[[0.0, 1.0, 0.0]],
            energy=0.0,
            effort_min=0.0,
            effort_max=strongest,
            effort_rate=0.3,
            displacement_min=0.0,
            displacement_max=largest,
        )
    )
    return root
