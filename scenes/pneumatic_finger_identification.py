"""A finger of bellows cast in two pours of silicone: how stiff is each, by pressure and markers?

Robot: the finger of scenes/pneumatic_finger.py, 87 mm long, that hangs down along -z, with one
chamber. Here its half at the clamp and that at the tip have a Young's modulus each, and there is
less damping. Mesh: meshes/pneumatic_finger.vtk (1080 nodes).
Units: mm, kg, s, so pressures and stresses in kPa.
Physics to expect: blown up twice, to 10 and 16 kPa, the finger's tip goes by 9 and 15 mm towards -y
and comes back; of NeoHookean silicone, whose walls get stiffer as they stretch, by 6 and 9 mm.
Without noise the moduli are found to 0.05 %. With 0.5 mm of it, in 2 s at 50 Hz, and 0.1 kPa of the
pressure, to 1.6 and 3 % (one standard deviation), the markers' frame among the unknowns.
Paper: none for finite elements: "Parameter identification", whose joints have stiffnesses, wishes
for it; gradients here go through the implicit step of Coevoet, Escande, Duriez 2019, eq. (3).

    softctl run scenes/pneumatic_finger_identification.py --set base=130 --record finger.mcap
    softctl identify scenes/pneumatic_finger_identification.py:finger --data finger.mcap
    softctl run scenes/pneumatic_finger_identification.py --set material=NeoHookean --record n.mcap
    softctl identify scenes/pneumatic_finger_identification.py:neo_hookean --data n.mcap
    runSofa -l SofaPython3 scenes/pneumatic_finger_identification.py --argv base=130

The chamber plays `pressure`; recorded pressures take its place where the finger is identified.
"""

import os
from dataclasses import replace

import numpy as np

from sofa_softctl import Sofa, add_constraint_solver, parameters_from_argv

PLUGINS = """
Sofa.Component.AnimationLoop Sofa.Component.Constraint.Lagrangian.Correction
Sofa.Component.Constraint.Lagrangian.Solver Sofa.Component.Constraint.Projective
Sofa.Component.Engine.Select Sofa.Component.IO.Mesh Sofa.Component.LinearSolver.Direct
Sofa.Component.Mapping.Linear Sofa.Component.Mass Sofa.Component.ODESolver.Backward
Sofa.Component.SolidMechanics.FEM.Elastic Sofa.Component.SolidMechanics.FEM.HyperElastic
Sofa.Component.StateContainer Sofa.Component.Topology.Container.Constant SoftRobots
""".split()
"""Plugins that SOFA needs for this scene."""
UNITS = "mm, kg, s"
DURATION = 2.5
WAIT = 0.5
"""Until it is blown up [s]: the finger comes to rest."""
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
REGIONS = {
    "base": [-11.0, -11.0, -45.0, 11.0, 11.0, 1.0],
    "tip": [-11.0, -11.0, -88.0, 11.0, 11.0, -45.0],
}
"""Boxes; a tetrahedron belongs to that in which its centre is."""
MARKERS = {
    "foot_left": (-6.0, -10.0, -1.5),
    "foot_right": (6.0, -10.0, -1.5),
    "foot_front": (0.0, 10.0, -1.5),
    **{
        f"{name}_{side}": (0.0, y, z)
        for name, z in (("first", -22.5), ("second", -46.5), ("third", -70.5))
        for side, y in (("back", -10.0), ("front", 10.0))
    },
    "end": (0.0, 0.0, -87.0),
}
"""Positions of glued markers, the first three on the clamp [mm]."""
POISSON = 0.45


def pressure(time):
    """Two pulses of 1 s, from time 0 on [kPa]."""
    return (10.0 if time < 1.0 else 16.0) * np.sin(np.pi * max(time, 0.0)) ** 2


class Blow(Sofa.Core.Controller):
    """Blows the chamber up with `pressure`."""

    def __init__(self, *args, root, chamber, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.chamber = root, chamber

    def onAnimateBeginEvent(self, event):
        dt = self.root.dt.value
        # SOFA's pressures are impulses; that of a step is its pressure at the end
        self.chamber.value.value = [pressure(self.root.time.value + dt - WAIT) * dt]


def moduli(loader, values):
    """Young's modulus of each tetrahedron."""
    centres = np.array(loader.position.value)[np.array(loader.tetrahedra.value)].mean(axis=1)
    values_of_elements = np.zeros(len(centres))
    for name, box in REGIONS.items():
        values_of_elements[((centres >= box[:3]) & (centres <= box[3:])).all(axis=1)] = values[name]
    return values_of_elements


def add_elasticity(finger, material, young):
    """Elasticity with the moduli at rest `young`, one for each tetrahedron."""
    if material == "corotational":
        return finger.addObject(
            "TetrahedronFEMForceField",
            name="fem",
            method="large",
            youngModulus=young.tolist(),
            poissonRatio=POISSON,
        )
    mu = young / (2.0 * (1.0 + POISSON))
    lame = young * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
    return finger.addObject(
        "TetrahedronHyperelasticityFEMForceField",
        name="fem",
        materialName=material,
        ParameterSet=np.column_stack([mu, lame]).ravel().tolist(),
    )


@parameters_from_argv
def createScene(
    root,
    base=150.0,
    tip=150.0,
    material="corotational",
    rayleigh_stiffness=0.03,
    total_mass=0.0295,
    dt=0.02,
):
    root.dt = dt
    root.gravity = [0.0, 0.0, -9810.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    finger = root.addChild("finger")
    finger.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=rayleigh_stiffness)
    finger.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    file = os.path.join(MESHES, "pneumatic_finger.vtk")
    loader = finger.addObject("MeshVTKLoader", name="loader", filename=file)
    finger.addObject("MeshTopology", name="mesh", src="@loader")
    finger.addObject("MechanicalObject", name="dofs")
    finger.addObject("UniformMass", name="mass", totalMass=total_mass)
    add_elasticity(finger, material, moduli(loader, {"base": base, "tip": tip}))
    finger.addObject("BoxROI", name="top", box=[-11, -11, -1, 11, 11, 1])
    finger.addObject("FixedProjectiveConstraint", indices="@top.indices")
    finger.addObject("LinearSolverConstraintCorrection")

    chamber = finger.addChild("chamber")
    file = os.path.join(MESHES, "pneumatic_finger_chamber.obj")
    chamber.addObject("MeshOBJLoader", name="loader", filename=file)
    chamber.addObject("MeshTopology", name="mesh", src="@loader")
    chamber.addObject("MechanicalObject", name="dofs")
    cavity = chamber.addObject(
        "SurfacePressureConstraint",
        name="pressure",
        triangles="@mesh.triangles",
        valueType="pressure",
        value=[0.0],
    )
    chamber.addObject("BarycentricMapping")

    markers = finger.addChild("markers")
    markers.addObject("MechanicalObject", name="dofs", position=list(MARKERS.values()))
    markers.addObject("BarycentricMapping")
    root.addObject(Blow(name="blow", root=root, chamber=cavity))
    return root


def finger(**scene_parameters):
    """Moduli of both halves, from markers in a camera's frame, and the pressure."""
    from sofa_softctl.identification.fem import (
        FemProblem,
        Marker,
        PressureDrive,
        frame_parameters,
        young_modulus,
    )

    regions = [
        young_modulus(name, 150.0, box=box, lower=20.0, upper=2000.0, scene_parameter=name)
        for name, box in REGIONS.items()
    ]
    return FemProblem(
        name="finger",
        scene=__file__,
        scene_parameters=scene_parameters,
        wait=WAIT,
        parameters=(*regions, *frame_parameters()),
        drives=(PressureDrive("pressure", "/finger/chamber/pressure", deviation=0.1),),
        sensors=tuple(
            Marker(name, state="/finger/markers", index=index, deviation=0.5)
            for index, name in enumerate(MARKERS)
        ),
        register_by=("foot_left", "foot_right", "foot_front"),
    )


def neo_hookean():
    """The same of a finger of NeoHookean silicone."""
    return replace(finger(material="NeoHookean"), name="neo_hookean")


PROBLEMS = {"finger": finger, "neo_hookean": neo_hookean}
"""Problems of `softctl identify` in this file."""
