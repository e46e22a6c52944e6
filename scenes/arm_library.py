"""A soft arm stands upright with a payload on its tip, and is brought from rest to rest by one cable.

Robot: a bar of silicone, 12 x 12 x 100 mm and 15.4 g, clamped at its foot; a cable along its side
-y, 5 mm off its middle, bends it by up to 70 degrees. The payload, 3 to 7 g, is a point mass on the
tip. Mesh: meshes/beam.vtk (450 nodes), corotational tetrahedra, no Rayleigh damping.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: upright, weight pulls the arm further aside where it leans: with 7 g, 55 % of what
its springs hold. It swings at 1.8 to 2.9 Hz, by payload and bending, and is hardly damped, by implicit
Euler alone (dt = 0.005 s).
"""

import os

import numpy as np

from sofa_softctl import LibraryController, Sofa, add_constraint_solver, parameters_from_argv
from sofa_softctl.library import (
    ChainModel,
    Frame,
    chain_problem,
    tension_command,
)

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.Engine.Select Sofa.Component.IO.Mesh Sofa.Component.LinearSolver.Direct
Sofa.Component.Mapping.Linear Sofa.Component.Mass Sofa.Component.ODESolver.Backward
Sofa.Component.SolidMechanics.FEM.Elastic Sofa.Component.StateContainer
Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""What SOFA has to load for this scene."""
UNITS = "mm, kg, s"
DURATION = 6.0
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
LENGTH, MASS, MODULUS, GRAVITY = 100.0, 0.0154, 400.0, 9810.0
FRAME = Frame(base=(-50.0, 0.0, 0.0), along=(1.0, 0.0, 0.0), aside=(0.0, -1.0, 0.0))
AT = (50.0, 80.0, 100.0)
"""Points that are looked at: distances from the foot; the last one is the tip."""
DT = 0.005
MODEL = ChainModel(
    lengths=(11.83, 48.16, 40.01),
    stiffness=(29368.0, 17329.0),
    cubic=(-4568.0, 3913.0),
    damping=(193.8, 0.0),
    arms=(4.279, 5.749),
    shortening=1.364e-5,
    density=MASS / LENGTH,
    gravity=-GRAVITY,
    dt=DT,
    misfit=0.57,
)
"""What `identified` gives."""
HORIZON = 0.35
"""Of a motion."""
PAYLOAD = 0.005
SETTLE, PERIOD = 1.5, 1.0
"""Time in which the arm is brought to its start; from motion to motion."""


def motions():
    """From rest under one tension to rest at another place, with a payload."""
    return chain_problem(
        MODEL,
        horizon=HORIZON,
        tension=(0.0, 1200.0),
        goal=(5.0, 50.0),
        payload=(0.003, 0.007),
        tension_max=2000.0,
        rate_max=30000.0,
        tolerance=1.0,
        units=UNITS,
        intervals=14,
        steps=10,
    )


PROBLEMS = {"motions": motions}
"""What `softctl library build` can build a library of with this file."""


class Ramp(Sofa.Core.Controller):
    """Brings the tension to a value within a time."""

    def __init__(self, *args, root, line, times, tensions, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.line, self.times, self.tensions = root, line, times, tensions

    def onAnimateBeginEvent(self, event):
        dt = self.root.dt.value
        tension = np.interp(self.root.time.value + dt, self.times, self.tensions)
        if self.root.time.value < self.times[-1] + 0.5 * dt:
            self.line.value.value = [tension * dt]  # SOFA's cables take impulses


@parameters_from_argv
def createScene(
    root,
    library="",
    goals="40",
    start=0.0,
    payload=PAYLOAD,
    asked=PAYLOAD,
    mass_error=0.0,
    modulus_error=0.0,
    ends="",
    rise=HORIZON,
):
    line = standing(root, payload, mass_error, modulus_error)
    share = np.linspace(0.0, 1.0, 101)
    times, tensions = 0.7 * SETTLE * share, start * share**2 * (3.0 - 2.0 * share)
    if not library:
        last = start
        for number, end in enumerate(float(each) for each in ends.split()):
            begin = SETTLE + PERIOD * number
            times = [*times, begin, begin + max(rise, DT)]
            tensions = [*tensions, last, end]
            last = end
        root.addObject(Ramp(name="ramp", root=root, line=line, times=times, tensions=tensions))
        return root
    root.addObject(Ramp(name="ramp", root=root, line=line, times=times, tensions=tensions))
    targets = [float(each) for each in goals.split()]

    def task(time):
        """Each goal at its time, from the tension that holds the arm now."""
        number = round((time - SETTLE) / PERIOD)
        if not 0 <= number < len(targets) or abs(time - SETTLE - PERIOD * number) > 0.5 * DT:
            return None
        return [line.value.value[0] / DT, targets[number], asked]

    root.addObject(
        LibraryController(
            root=root,
            lines=[line],
            library=library,
            task=task,
            command=tension_command(MODEL, HORIZON),
        )
    )
    return root


def standing(root, payload=PAYLOAD, mass_error=0.0, modulus_error=0.0):
    """The arm upright; its cable."""
    root.dt = DT
    root.gravity = [-GRAVITY, 0.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    arm = root.addChild("arm")
    arm.addObject("EulerImplicitSolver", rayleighMass=0.0, rayleighStiffness=0.0)
    arm.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    arm.addObject("MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "beam.vtk"))
    arm.addObject("MeshTopology", name="mesh", src="@loader")
    arm.addObject("MechanicalObject", name="dofs")
    arm.addObject("UniformMass", totalMass=MASS * (1.0 + mass_error))
    arm.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=MODULUS * (1.0 + modulus_error),
        poissonRatio=0.4,
    )
    arm.addObject("BoxROI", name="foot", box=[-51, -7, -7, -49, 7, 7])
    arm.addObject("FixedProjectiveConstraint", indices="@foot.indices")
    arm.addObject("LinearSolverConstraintCorrection")

    load = arm.addChild("payload")
    load.addObject("MechanicalObject", name="dofs", position=[[50.0, 0.0, 0.0]])
    load.addObject("UniformMass", totalMass=payload)
    load.addObject("BarycentricMapping")

    points = arm.addChild("points")
    places = [[distance - 50.0, 0.0, 0.0] for distance in AT]
    points.addObject("MechanicalObject", name="dofs", position=places)
    points.addObject("BarycentricMapping")

    cable = arm.addChild("cable")
    x = np.linspace(-50.0, 46.0, 17)
    path = np.column_stack([x, np.full(len(x), -5.0), np.zeros(len(x))])
    cable.addObject("MechanicalObject", name="dofs", position=path.tolist())
    line = cable.addObject(
        "CableConstraint",
        name="cable",
        indices=list(range(len(path))),
        hasPullPoint=False,
        valueType="force",
        value=[0.0],
        minForce=0.0,
    )
    cable.addObject("BarycentricMapping")
    return line
