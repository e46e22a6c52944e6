"""A silicone finger that would swing, and comes to rest at once: its cable plays optimal motions.

Robot: the finger of scenes/finger.py, 100 mm long, with one cable along its side -y; without the
Rayleigh damping there, which is so large that nothing swings (0.1 s on its stiffness). Mesh:
meshes/finger.vtk (444 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: after a change of force the finger swings at 5.2 Hz, and loses a third of that
from swing to swing, only by implicit Euler (dt = 0.005 s). Motions from the library take 0.12 s,
less than two thirds of a swing, and leave 0.08 to 0.23 mm of swing; a ramp of the force to the same
value in the same time leaves 1.8 to 4.4 mm, a step 3.0 to 7.6 mm. They are planned with a reduced
model, a single swing, which is identified from the finger itself.
Paper: Marcucci, Garabini, Gasparri, Artoni, Gabiccini, Bicchi, "Parametric trajectory libraries for
online motion planning with application to soft robots"; its robot is another one, an elastic arm.

    softctl library build scenes/finger_library.py --out finger.library --failure-rate 0.1
    softctl run scenes/finger_library.py --set library=finger.library --movie finger.gif
    softctl run scenes/finger_library.py --record ramp.mcap
    softctl run scenes/finger_library.py --set rise=0 --record step.mcap
    python scenes/finger_library.py
    runSofa -l SofaPython3 scenes/finger_library.py --argv library=finger.library

Without a library the force goes to the same values in a ramp that takes as long as a motion, or
in a step. Run by Python, the file identifies the model and prints it.
"""

import os

import numpy as np

from sofa_softctl import (
    LibraryController,
    Sofa,
    add_constraint_solver,
    parameters_from_argv,
)
from sofa_softctl.library import ReducedModel, identify, motion_problem, pull

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
TIP = (-100.0, 0.0, 0.0)
ASIDE = (0.0, -1.0, 0.0)
"""The direction in which the cable moves the tip."""
REST = 1.463
"""The tip's y under gravity, without force."""
JOINTS = (-30.0, -54.0, -78.0)
DT = 0.005
MODEL = ReducedModel(compliance=0.04503, frequency=5.201, damping=0.0731, dt=DT, misfit=0.016)
"""Result of `identify_model` [mm/mN], [Hz]."""
HORIZON = 0.12
"""Duration of a motion [s]."""
TARGETS = (6.0, 18.0, 2.0, 12.0)
"""Lateral rest positions of the tip, relative to that without force [mm]; the first at SETTLE."""
SETTLE, PERIOD = 1.5, 0.75
"""Time in which the finger comes to rest under gravity; from motion to motion."""


def motions():
    """Return the problem: from one rest position to another, with at most 500 mN of tension."""
    return motion_problem(
        MODEL,
        horizon=HORIZON,
        reach=(0.0, 20.0),
        force_max=500.0,
        rate_max=8000.0,
        tolerance=0.05,
        units=UNITS,
    )


PROBLEMS = {"motions": motions}
"""Problems of `softctl library build` in this file."""


def identify_model():
    """Return the reduced model, identified from the swing after a step of the force to 300 mN."""
    from sofa_softctl import Session

    session = Session(still)
    tip = session.root.finger.tip.dofs
    return identify(
        session,
        session.root.finger.cable.cable,
        lambda: tip.position.value[0],
        ASIDE,
        low=100.0,
        high=300.0,
        wait=1.2,
        skip=0.02,
    )


class Ramp(Sofa.Core.Controller):
    """Controller that ramps the force to each target's force in a given time."""

    def __init__(self, *args, root, line, rise, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.line = root, line
        starts = SETTLE + PERIOD * np.arange(len(TARGETS))
        self.times = np.column_stack([starts, starts + max(rise, DT)]).ravel()
        forces = np.array([0.0, *TARGETS]) / MODEL.compliance
        self.forces = np.column_stack([forces[:-1], forces[1:]]).ravel()

    def onAnimateBeginEvent(self, event):
        dt = self.root.dt.value
        force = np.interp(self.root.time.value + dt, self.times, self.forces)
        self.line.value.value = [force * dt]  # SOFA's cables take impulses


@parameters_from_argv
def createScene(root, library="", rise=HORIZON):
    line = still(root)
    if not library:
        root.addObject(Ramp(name="ramp", root=root, line=line, rise=rise))
        return root

    def task(time):
        """Each target at its time, from where the force holds the finger now."""
        number = round((time - SETTLE) / PERIOD)
        if not 0 <= number < len(TARGETS) or abs(time - SETTLE - PERIOD * number) > 0.5 * DT:
            return None
        return [MODEL.compliance * line.value.value[0] / DT, TARGETS[number]]

    tip = root.finger.tip.dofs
    root.addObject(
        LibraryController(
            root=root,
            lines=[line],
            library=library,
            task=task,
            command=pull(MODEL, HORIZON),
            plant=MODEL.plant,
            measure_error=lambda p: abs(REST - tip.position.value[0][1] - p[1]),
            error_max=0.5,
        )
    )
    return root


def still(root):
    """The finger under gravity; its cable."""
    root.dt = DT
    root.gravity = [-9810.0, 0.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    finger = root.addChild("finger")
    finger.addObject("EulerImplicitSolver", rayleighMass=0.0, rayleighStiffness=0.0)
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    finger.addObject("MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "finger.vtk"))
    finger.addObject("MeshTopology", name="mesh", src="@loader")
    finger.addObject("MechanicalObject", name="dofs")
    finger.addObject("UniformMass", totalMass=0.0218)
    finger.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=600.0,
        poissonRatio=0.45,
    )
    finger.addObject("BoxROI", name="base", box=[-13, -11, -10, 1, 11, 10])
    finger.addObject("FixedProjectiveConstraint", indices="@base.indices")
    finger.addObject("LinearSolverConstraintCorrection")

    tip = finger.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[TIP])
    tip.addObject("BarycentricMapping")

    cable = finger.addChild("cable")
    x = [0.0, *(joint + d for joint in JOINTS for d in (7.0, -7.0)), -93.0]
    points = np.column_stack([x, np.full(len(x), -5.5), np.zeros(len(x))])
    cable.addObject("MechanicalObject", name="dofs", position=points.tolist())
    line = cable.addObject(
        "CableConstraint",
        name="cable",
        indices=list(range(len(points))),
        hasPullPoint=False,
        valueType="force",
        value=[0.0],
        minForce=0.0,
    )
    cable.addObject("BarycentricMapping")
    return line


if __name__ == "__main__":
    print(identify_model())
