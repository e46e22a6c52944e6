"""A silicone finger that is not the same everywhere: how stiff is each of its joints?

Robot: the finger of scenes/finger.py, 100 mm long, that hangs down along -x, with one cable along
its side -y. Here each of its three parts, of one joint each, has its own Young's modulus, as
after casting in three pours, and there is less damping. Mesh: meshes/finger.vtk (444 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: pulled twice, by 300 and 450 mN, the finger's end goes by 14 and 20 mm towards -y
and comes back; a soft part bends more than the others, which markers on both sides show. Without
noise the moduli are found to 4 digits: the finger of a record still swings by 0.03 mm after WAIT,
while the model rests. With 0.5 mm of it, in 2 s at 100 Hz, to 2, 4 and 2 % (one standard
deviation), when the camera's frame is known.
Paper: none for finite elements: "Parameter identification", whose joints have stiffnesses, wishes
for it; gradients here go through the implicit step of Coevoet, Escande, Duriez 2019, eq. (3).

    softctl run scenes/finger_identification.py --set base=500 --record finger.mcap
    softctl identify scenes/finger_identification.py:finger --data finger.mcap
    runSofa -l SofaPython3 scenes/finger_identification.py --argv base=500

The cable plays `tension`; recorded tensions take its place where the finger is identified.
"""

import os

import numpy as np

from sofa_softctl import Sofa, add_constraint_solver, parameters_from_argv

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
DURATION = 2.5
WAIT = 0.5
"""Until the first pull [s]: the finger comes to rest."""
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
SIZE = [1.0, 20.0, 20.0]
REGIONS = {
    "base": [-42.0, -20.0, -20.0, *SIZE],
    "middle": [-66.0, -20.0, -20.0, -42.0, 20.0, 20.0],
    "tip": [-101.0, -20.0, -20.0, -66.0, 20.0, 20.0],
}
"""Boxes; a tetrahedron belongs to that in which its centre is."""
MARKERS = {
    "foot_left": (-6.0, 9.0, -6.0),
    "foot_right": (-6.0, 9.0, 6.0),
    "foot_low": (-2.0, -9.0, 0.0),
    **{
        f"{name}_{side}": (x, y, 0.0)
        for name, x in (("first", -42.0), ("second", -66.0), ("third", -90.0))
        for side, y in (("back", 7.5), ("front", -7.5))
    },
    "end": (-100.0, 0.0, 0.0),
}
"""Positions of glued markers, the first three on the clamp [mm]."""
CABLE = [0.0, -23.0, -37.0, -47.0, -61.0, -71.0, -85.0, -93.0]


def tension(time):
    """Two pulls of 1 s, from time 0 on [mN]."""
    return (300.0 if time < 1.0 else 450.0) * np.sin(np.pi * max(time, 0.0)) ** 2


class Pull(Sofa.Core.Controller):
    """Pulls the cable with `tension`."""

    def __init__(self, *args, root, cable, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.cable = root, cable

    def onAnimateBeginEvent(self, event):
        dt = self.root.dt.value
        # SOFA's cables take impulses; that of a step is its tension at the end
        self.cable.value.value = [tension(self.root.time.value + dt - WAIT) * dt]


def moduli(loader, values):
    """Young's modulus of each tetrahedron."""
    centres = np.array(loader.position.value)[np.array(loader.tetrahedra.value)].mean(axis=1)
    values_of_elements = np.zeros(len(centres))
    for name, box in REGIONS.items():
        values_of_elements[((centres >= box[:3]) & (centres <= box[3:])).all(axis=1)] = values[name]
    return values_of_elements.tolist()


@parameters_from_argv
def createScene(
    root,
    base=600.0,
    middle=600.0,
    tip=600.0,
    poisson_ratio=0.45,
    rayleigh_mass=0.1,
    rayleigh_stiffness=0.02,
    total_mass=0.0218,
    dt=0.01,
):
    root.dt = dt
    root.gravity = [-9810.0, 0.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    finger = root.addChild("finger")
    finger.addObject(
        "EulerImplicitSolver", rayleighMass=rayleigh_mass, rayleighStiffness=rayleigh_stiffness
    )
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    loader = finger.addObject(
        "MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "finger.vtk")
    )
    finger.addObject("MeshTopology", name="mesh", src="@loader")
    finger.addObject("MechanicalObject", name="dofs")
    finger.addObject("UniformMass", name="mass", totalMass=total_mass)
    finger.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=moduli(loader, {"base": base, "middle": middle, "tip": tip}),
        poissonRatio=poisson_ratio,
    )
    finger.addObject("BoxROI", name="clamp", box=[-13, -11, -10, 1, 11, 10])
    finger.addObject("FixedProjectiveConstraint", indices="@clamp.indices")
    finger.addObject("LinearSolverConstraintCorrection")

    cable = finger.addChild("cable")
    points = np.column_stack([CABLE, np.full(len(CABLE), -5.5), np.zeros(len(CABLE))])
    cable.addObject("MechanicalObject", name="dofs", position=points.tolist())
    actuator = cable.addObject(
        "CableConstraint",
        name="cable",
        indices=list(range(len(points))),
        hasPullPoint=False,
        valueType="force",
        value=[0.0],
        minForce=0.0,
    )
    cable.addObject("BarycentricMapping")

    markers = finger.addChild("markers")
    markers.addObject("MechanicalObject", name="dofs", position=list(MARKERS.values()))
    markers.addObject("BarycentricMapping")
    root.addObject(Pull(name="pull", root=root, cable=actuator))
    return root


def finger():
    """Moduli of the three parts, from markers in a camera's frame, and the tension."""
    from sofa_softctl.identification.fem import (
        Drive,
        FemProblem,
        Marker,
        frame_parameters,
        young_modulus,
    )

    regions = [
        young_modulus(name, 600.0, box=box, lower=10.0, upper=1e4, scene_parameter=name)
        for name, box in REGIONS.items()
    ]
    return FemProblem(
        name="finger",
        scene=__file__,
        wait=WAIT,
        parameters=(*regions, *frame_parameters()),
        drives=(Drive("tension", "/finger/cable/cable"),),
        sensors=tuple(
            Marker(name, state="/finger/markers", index=index, deviation=0.5)
            for index, name in enumerate(MARKERS)
        ),
        register_by=("foot_left", "foot_right", "foot_low"),
    )


PROBLEMS = {"finger": finger}
"""Problems of `softctl identify` in this file."""
