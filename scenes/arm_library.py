"""A soft arm stands upright, a payload on its tip, and goes from rest to rest in 0.35 s.

Robot: a bar of silicone, 12 x 12 x 100 mm and 15.4 g, clamped at its foot. One cable along its side
-y, 5 mm off the middle, pulls the tip up to 50 mm aside, which turns it by some 55 degrees. The
payload, 3 to 7 g, is a point mass on it. Mesh: meshes/beam.vtk (450 nodes), corotational elements.
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: where the arm leans, weight pulls it further aside. It swings at 1.8 to 2.9 Hz,
by payload and bending, with little damping, only of implicit Euler (dt = 0.005 s). Motions are
planned with a chain of three links, two of which turn, identified from the arm itself: they end
within 1 mm of the goal, where a ramp in the same time misses by up to 7 mm and a step by 26. With
20 % more mass, 10 % less stiffness and 1 g more on the tip than the library is asked with, they
miss by up to 21 mm; `correct` estimates payload and stiffness from the first 0.2 s and replans the
rest: 7 mm.
Paper: Marcucci, Garabini, Gasparri, Artoni, Gabiccini, Bicchi, "Parametric trajectory libraries for
online motion planning with application to soft robots"; its robot is another one, an elastic arm.

    softctl run scenes/arm_library.py --movie arm.gif
    softctl run scenes/arm_library.py --set modulus_error=-0.1 --set correct=true
    softctl run scenes/arm_library.py --set library= --set ends="1024 330" --record ramp.mcap
    softctl library build scenes/arm_library.py --out arm.library
    runSofa -l SofaPython3 scenes/arm_library.py

Without a library the tension goes to `ends`, in mN, each in a ramp that takes as long as a motion.
What is said here is measured by benchmarks/arm_library.py.
"""

import os

import numpy as np

from sofa_softctl import LibraryController, Sofa, add_constraint_solver, parameters_from_argv
from sofa_softctl.errors import SceneError
from sofa_softctl.library import (
    ChainCorrection,
    ChainModel,
    CorrectingLibraryController,
    Frame,
    Limits,
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
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 3.5
FOLDER = os.path.dirname(os.path.abspath(__file__))
MESHES = os.path.join(FOLDER, "meshes")
LIBRARY = os.path.join(FOLDER, "libraries", "arm.library")
"""Library of its motions, built with `softctl library build`."""
LENGTH, MASS, MODULUS, GRAVITY = 100.0, 0.0154, 400.0, 9810.0
FRAME = Frame(base=(-50.0, 0.0, 0.0), along=(1.0, 0.0, 0.0), aside=(0.0, -1.0, 0.0))
AT = (50.0, 80.0, 100.0)
"""Points that are looked at: distances from the foot; the last one is the tip."""
DT = 0.005
MODEL = ChainModel(
    lengths=(9.378, 49.070, 41.552),
    stiffness=(31639.0, 17468.0),
    cubic=(-5939.0, 3025.0),
    damping=(207.4, 0.0),
    arms=(4.227, 5.941),
    shortening=1.476e-5,
    density=MASS / LENGTH,
    gravity=-GRAVITY,
    dt=DT,
    misfit=0.57,
)
"""Model identified by benchmarks/arm_library.py."""
HORIZON = 0.35
"""Duration of a motion [s]."""
PAYLOAD = 0.005
PERIOD = 1.0
"""Time from the start of a motion to the next [s]."""


LIMITS = Limits(tension_max=2000.0, rate_max=30000.0)
AFTER = 0.2
"""Time from the start of a motion to its correction."""
CORRECTION = ChainCorrection(
    MODEL, HORIZON, LIMITS, payload_spread=0.002, stiffness_spread=0.15, noise=0.1, misfit_max=2.0
)
"""Estimates payload and stiffness, and replans."""


def motions():
    """Return the problem: from rest under a tension to rest at another position, with a payload."""
    return chain_problem(
        MODEL,
        horizon=HORIZON,
        tension=(0.0, 1200.0),
        goal=(5.0, 50.0),
        payload=(0.003, 0.007),
        tension_max=LIMITS.tension_max,
        rate_max=5500.0,
        tolerance=1.0,
        units=UNITS,
        intervals=14,
        steps=10,
    )


PROBLEMS = {"motions": motions}
"""Problems of `softctl library build` in this file."""


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


def numbers(name, text):
    """Numbers of a parameter of the scene."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        raise SceneError(f"{name} must be numbers with spaces between; got '{text}'.") from None


def settle(start):
    """Return the time until the first motion, in which the tension slowly reaches its start."""
    return 2.5 if start else 0.25


@parameters_from_argv
def createScene(
    root,
    library=LIBRARY,
    goals="40 15 45",
    start=0.0,
    payload=PAYLOAD,
    asked=PAYLOAD,
    mass_error=0.0,
    modulus_error=0.0,
    correct=False,
    ends="1024 330 1180",
    rise=HORIZON,
):
    """`start`: tension of the first rest; `asked`: the payload that the library is asked with."""
    line = add_standing_arm(root, payload, mass_error, modulus_error)
    settled, share = settle(start), np.linspace(0.0, 1.0, 101)
    times = 0.8 * settled * share
    tensions = start * share**3 * (10.0 + share * (6.0 * share - 15.0))
    if not library:
        lasts = [start, *numbers("ends", ends)]
        begins = settled + PERIOD * np.arange(len(lasts) - 1)
        times = [*times, *np.column_stack([begins, begins + max(rise, DT)]).ravel()]
        tensions = [*tensions, *np.column_stack([lasts[:-1], lasts[1:]]).ravel()]
    root.addObject(Ramp(name="ramp", root=root, line=line, times=times, tensions=tensions))
    if not library:
        return root

    targets = numbers("goals", goals)

    def task(time):
        """Each goal at its time, from the tension that holds the arm now."""
        number = round((time - settled) / PERIOD)
        if not 0 <= number < len(targets) or abs(time - settled - PERIOD * number) > 0.5 * DT:
            return None
        return [line.value.value[0] / DT, targets[number], asked]

    points = root.arm.points.dofs

    def measure():
        """The tip along and aside."""
        return FRAME.coordinates(points.position.value)[-1]

    options = {
        "root": root,
        "lines": [line],
        "library": library,
        "task": task,
        "command": tension_command(MODEL, HORIZON),
        "plant": MODEL.numbers,
        "measure_error": lambda p: abs(measure()[1] - p[1]),
    }
    if not correct:
        root.addObject(LibraryController(**options))
        return root
    root.addObject(
        CorrectingLibraryController(measure=measure, correct=CORRECTION, after=AFTER, **options)
    )
    return root


def add_standing_arm(root, payload=PAYLOAD, mass_error=0.0, modulus_error=0.0):
    """Add the upright arm and return its cable."""
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
