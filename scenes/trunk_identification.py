"""A silicone trunk that gets softer or stiffer along its length: how much, and what it weighs.

Robot: the trunk of scenes/trunk.py, 195 mm long, clamped at its foot and held out level, with
eight cables. Here its thirds have a Young's modulus each, and there is less damping. Mesh:
meshes/trunk.vtk (730 nodes).
Units: mm, kg, s, so forces in mN and stresses in kPa.
Physics to expect: the end sags by 30 mm; pulled by one long cable after the other, 0.4 s each, it
goes aside by 20 mm each time. How the trunk bends between the rings shows the moduli relative to
the tensions, and its sag its mass: with 0.5 mm of noise to 1, 1, 2 and 0.5 % (one standard
deviation), when the camera's frame is known.
Paper: none for finite elements: "Parameter identification", whose joints have stiffnesses, wishes
for it; gradients here go through the implicit step of Coevoet, Escande, Duriez 2019, eq. (3).

    softctl run scenes/trunk_identification.py --set upper=1500 --record trunk.mcap
    softctl identify scenes/trunk_identification.py:trunk --data trunk.mcap
    runSofa -l SofaPython3 scenes/trunk_identification.py --argv upper=1500

The cables play `tensions`; recorded tensions take their place where the trunk is identified.
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
DURATION = 2.6
WAIT = 1.0
"""Until the first pull [s]: the trunk sags and comes to rest."""
MESHES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "meshes")
LENGTH = 195.0
REGIONS = {
    "lower": [-20.0, -20.0, -1.0, 20.0, 20.0, 70.0],
    "middle": [-20.0, -20.0, 70.0, 20.0, 20.0, 130.0],
    "upper": [-20.0, -20.0, 130.0, 20.0, 20.0, 196.0],
}
"""Boxes; a tetrahedron belongs to that in which its centre is."""
MARKERS = {
    "foot_up": (0.0, 15.0, 8.0),
    "foot_left": (-15.0, 0.0, 8.0),
    "foot_right": (15.0, 0.0, 2.0),
    **{
        f"ring_{number}_{side}": (x * r, y * r, z)
        for number, z, r in ((3, 62.5, 13.0), (6, 115.0, 11.0), (9, 167.5, 9.0))
        for side, x, y in (("up", 0.0, 1.0), ("right", 1.0, 0.0))
    },
    "end": (0.0, 0.0, LENGTH),
}
"""Positions of glued markers, the first three on the clamp [mm]."""
SIDES = {"up": (0, 1), "left": (-1, 0), "down": (0, -1), "right": (1, 0)}
CABLES = tuple(f"{kind}_{side}" for kind in ("long", "short") for side in SIDES)
PULL, TURN = 2500.0, 0.4
"""Greatest tension [mN], and the time from one cable to the next [s]."""


def cable_points(side, rings):
    """Points of the cable on a side through the lowest rings, shape (n, 3)."""
    middle = 27.5 + 17.5 * np.arange(rings)
    z = np.concatenate([[0.0], (middle[:, None] + [-3.0, 3.0]).ravel()])
    r = 10.0 - 7.0 * z / LENGTH
    x, y = SIDES[side]
    return np.column_stack([x * r, y * r, z])


def tensions(time):
    """Return the tensions of all cables [mN], shape (8,): the long ones in turn, and half as much
    for the opposite short ones."""
    share = time / TURN - np.arange(4)
    long = PULL * np.where((share > 0.0) & (share < 1.0), np.sin(np.pi * share) ** 2, 0.0)
    return np.concatenate([long, 0.5 * long[[2, 3, 0, 1]]])


class Pull(Sofa.Core.Controller):
    """Pulls the cables with `tensions`."""

    def __init__(self, *args, root, cables, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.cables = root, cables

    def onAnimateBeginEvent(self, event):
        dt = self.root.dt.value
        # SOFA's cables take impulses; that of a step is its tension at the end
        for cable, tension in zip(
            self.cables, tensions(self.root.time.value + dt - WAIT), strict=True
        ):
            cable.value.value = [tension * dt]


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
    lower=2000.0,
    middle=2000.0,
    upper=2000.0,
    poisson_ratio=0.45,
    rayleigh_mass=0.1,
    rayleigh_stiffness=0.02,
    total_mass=0.0656,
    dt=0.01,
):
    root.dt = dt
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("RequiredPlugin", pluginName=PLUGINS)
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-6)

    trunk = root.addChild("trunk")
    trunk.addObject(
        "EulerImplicitSolver", rayleighMass=rayleigh_mass, rayleighStiffness=rayleigh_stiffness
    )
    trunk.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    loader = trunk.addObject(
        "MeshVTKLoader", name="loader", filename=os.path.join(MESHES, "trunk.vtk")
    )
    trunk.addObject("MeshTopology", name="mesh", src="@loader")
    trunk.addObject("MechanicalObject", name="dofs")
    trunk.addObject("UniformMass", name="mass", totalMass=total_mass)
    trunk.addObject(
        "TetrahedronFEMForceField",
        name="fem",
        method="large",
        youngModulus=moduli(loader, {"lower": lower, "middle": middle, "upper": upper}),
        poissonRatio=poisson_ratio,
    )
    trunk.addObject("BoxROI", name="foot", box=[-20, -20, -1, 20, 20, 16])
    trunk.addObject("FixedProjectiveConstraint", indices="@foot.indices")
    trunk.addObject("LinearSolverConstraintCorrection")

    cables = []
    for name in CABLES:
        kind, side = name.split("_")
        node = trunk.addChild(name)
        points = cable_points(side, 10 if kind == "long" else 5)
        node.addObject("MechanicalObject", name="dofs", position=points.tolist())
        cables.append(
            node.addObject(
                "CableConstraint",
                name="cable",
                indices=list(range(len(points))),
                hasPullPoint=False,
                valueType="force",
                value=[0.0],
                minForce=0.0,
            )
        )
        node.addObject("BarycentricMapping")

    markers = trunk.addChild("markers")
    markers.addObject("MechanicalObject", name="dofs", position=list(MARKERS.values()))
    markers.addObject("BarycentricMapping")
    root.addObject(Pull(name="pull", root=root, cables=cables))
    return root


def trunk():
    """Moduli of the thirds and the mass, from markers in a camera's frame, and all tensions."""
    from sofa_softctl.identification.fem import (
        Drive,
        FemProblem,
        Marker,
        frame_parameters,
        total_mass,
        young_modulus,
    )

    regions = [
        young_modulus(name, 2000.0, box=box, lower=50.0, upper=5e4, scene_parameter=name)
        for name, box in REGIONS.items()
    ]
    return FemProblem(
        name="trunk",
        scene=__file__,
        wait=WAIT,
        parameters=(
            *regions,
            total_mass(start=0.07, lower=0.01, upper=1.0, scene_parameter="total_mass"),
            *frame_parameters(),
        ),
        drives=tuple(Drive(f"tension_{name}", f"/trunk/{name}/cable") for name in CABLES),
        sensors=tuple(
            Marker(name, state="/trunk/markers", index=index, deviation=0.5)
            for index, name in enumerate(MARKERS)
        ),
        register_by=("foot_up", "foot_left", "foot_right"),
    )


PROBLEMS = {"trunk": trunk}
"""Problems of `softctl identify` in this file."""
