"""Small scenes of solid bodies and of strings of edges, whose motion in SOFA is recorded.

`python tests/parity/solids.py [names]` remakes records/solids.npz with the real SOFA v25.06 on the
Python path.
"""

import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "records", "solids.npz")
STEPS = 20

PLUGINS = """AnimationLoop Constraint.Lagrangian.Correction Constraint.Lagrangian.Model
    Constraint.Lagrangian.Solver
    Constraint.Projective IO.Mesh LinearSolver.Direct LinearSolver.Iterative
    Mapping.Linear Mapping.NonLinear Mass ODESolver.Backward SolidMechanics.FEM.Elastic
    SolidMechanics.Spring StateContainer Topology.Container.Constant Topology.Container.Dynamic
    Topology.Container.Grid"""
HEXAHEDRON = [
    (0, 0, 0),
    (1, 0, 0),
    (1, 1, 0),
    (0, 1, 0),
    (0, 0, 1),
    (1, 0, 1),
    (1, 1, 1),
    (0, 1, 1),
]
TETRAHEDRA = [(0, 5, 1, 6), (0, 1, 3, 6), (1, 3, 6, 2), (6, 3, 0, 7), (6, 7, 0, 5), (7, 5, 4, 0)]


def beam(cells=(2, 1, 3), h=10.0, skew=0.0):
    """Points of a box, at random places where `skew` is not 0, and its hexahedra."""
    n = np.array(cells) + 1
    points = np.stack(np.meshgrid(*map(np.arange, n), indexing="ij"), axis=-1)
    points = points.transpose(2, 1, 0, 3).reshape(-1, 3) * h
    points = points + skew * h * np.random.default_rng(4).uniform(-1.0, 1.0, points.shape)
    corners = np.array(HEXAHEDRON)
    firsts = [(i, j, k) for k in range(cells[2]) for j in range(cells[1]) for i in range(cells[0])]
    hexahedra = [
        [int(p @ [1, n[0], n[0] * n[1]]) for p in np.array(first) + corners] for first in firsts
    ]
    return points, np.array(hexahedra)


def solid(
    kind,
    solver="SparseLDLSolver",
    mass=("UniformMass", {"totalMass": 0.02}),
    skew=0.0,
    **values,
):
    """A scene of a soft beam that bends under its weight, turned at its start."""

    def build(root):
        root.dt = 0.01
        root.gravity = [0.0, -9810.0, 100.0]
        points, hexahedra = beam(skew=skew)
        node = root.addChild("beam")
        node.addObject("EulerImplicitSolver", rayleighStiffness=0.02)
        if solver == "CGLinearSolver":
            node.addObject(solver, iterations=15, tolerance=1e-9, threshold=1e-30)
        else:
            node.addObject(solver, template="CompressedRowSparseMatrixMat3x3d")
        if "Tetra" in kind:
            elements = {"tetrahedra": hexahedra[:, TETRAHEDRA].reshape(-1, 4).tolist()}
        else:
            elements = {"hexahedra": hexahedra.tolist()}
        node.addObject("MeshTopology", position=points.tolist(), **elements)
        turned = points @ np.array([[0.8, 0.6, 0.0], [-0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
        node.addObject(
            "MechanicalObject",
            name="dofs",
            template="Vec3d",
            position=(turned + 0.3 * np.cos(points)).tolist(),
            rest_position=points.tolist(),
        )
        node.addObject(mass[0], **mass[1])
        node.addObject(kind, **{"youngModulus": 300.0, "poissonRatio": 0.4, **values})
        node.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3, 4, 5])
        return node.dofs

    return build


def string(solver="SparseLDLSolver", template="Vec3d", held=False, alpha=0.0, **values):
    """A scene of a chain whose edges are springs, or are held by multipliers; it falls and turns.

    Some edges begin stretched, some pressed together.
    """

    def build(root):
        root.dt = 0.01
        root.gravity = [0.0, -9.81, 1.0]
        if held:
            root.addObject("GenericConstraintSolver", maxIterations=2000, tolerance=1e-14)
        node = root.addChild("string")
        node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=alpha)
        if solver == "CGLinearSolver":
            node.addObject(solver, iterations=15, tolerance=1e-9, threshold=1e-30)
        else:
            node.addObject(solver, template="CompressedRowSparseMatrixMat3x3d")
        if held:
            node.addObject("GenericConstraintCorrection")
        points = np.array([[0.1 * i, 0.02 * (i % 2), 0.0] for i in range(6)])
        turn = [[0.0, 0.0, 0.0, 1.0]] if template == "Rigid3d" else [[]]
        points = [[*point, *turn[0]] for point in points.tolist()]
        edges = [[i, i + 1] for i in range(5)] + [[0, 2]]
        node.addObject("MeshTopology", name="edges", edges=edges)
        node.addObject("MechanicalObject", name="dofs", template=template, position=points)
        node.addObject("UniformMass", totalMass=0.3)
        node.addObject("FixedProjectiveConstraint", indices=[0])
        child = node.addChild("lengths")
        child.addObject("MechanicalObject", name="dofs", template="Vec1d")
        child.addObject("DistanceMapping", topology="@../edges", **values)
        if held:
            child.addObject("UniformLagrangianConstraint", template="Vec1d", iterative=True)
        else:
            child.addObject("RestShapeSpringsForceField", template="Vec1d", stiffness=[200.0])
        return node.dofs

    return build


COROTATIONAL = "TetrahedralCorotationalFEMForceField"
HEXAHEDRA = "HexahedronFEMForceField"
UPDATED = {"updateStiffnessMatrix": True}
PLASTIC = {"plasticMaxThreshold": 60.0, "plasticYieldThreshold": 1.0, "plasticCreep": 0.2}

CASES = {
    "corotational_small": solid(COROTATIONAL, method="small"),
    "corotational_large": solid(COROTATIONAL),
    "corotational_polar": solid(COROTATIONAL, method="polar", skew=0.1),
    "corotational_by_products": solid(COROTATIONAL, "CGLinearSolver", skew=0.1),
    "corotational_of_factors": solid(COROTATIONAL, localStiffnessFactor=[1.0, 3.0]),
    "corotational_updated": solid(COROTATIONAL, **UPDATED),
    "corotational_polar_updated": solid(COROTATIONAL, method="polar", **UPDATED),
    "tetrahedra_polar_updated": solid("TetrahedronFEMForceField", method="polar", **UPDATED),
    "plastic_small": solid("TetrahedronFEMForceField", method="small", **PLASTIC),
    "plastic_large": solid("TetrahedronFEMForceField", method="large", **PLASTIC),
    "plastic_polar": solid("TetrahedronFEMForceField", method="polar", skew=0.1, **PLASTIC),
    "plastic_svd": solid("TetrahedronFEMForceField", method="svd", skew=0.1, **PLASTIC),
    "hexahedra_small": solid(HEXAHEDRA, method="small"),
    "hexahedra_large": solid(HEXAHEDRA),
    "hexahedra_polar": solid(HEXAHEDRA, method="polar"),
    "hexahedra_nearly_straight": solid(HEXAHEDRA, skew=2e-4),
    "hexahedra_askew": solid(HEXAHEDRA, skew=0.15),
    "hexahedra_askew_polar": solid(HEXAHEDRA, skew=0.15, method="polar"),
    "hexahedra_by_products": solid(HEXAHEDRA, "CGLinearSolver", skew=0.1),
    "hexahedra_of_moduli": solid(
        HEXAHEDRA, youngModulus=[200.0, 600.0, 400.0], poissonRatio=[0.3, 0.1]
    ),
    "hexahedra_updated": solid(HEXAHEDRA, skew=0.15, **UPDATED),
    "hexahedra_polar_updated": solid(HEXAHEDRA, method="polar", skew=0.15, **UPDATED),
    "hexahedra_diagonal_mass": solid(
        HEXAHEDRA, mass=("DiagonalMass", {"massDensity": 3e-6}), skew=0.15
    ),
    "hexahedra_matrix_mass": solid(
        HEXAHEDRA, mass=("MeshMatrixMass", {"totalMass": 0.02}), skew=0.15
    ),
    "hexahedra_lumped_mass": solid(
        HEXAHEDRA, mass=("MeshMatrixMass", {"massDensity": 3e-6, "lumping": True}), skew=0.15
    ),
    "string": string(),
    "string_exact": string(geometricStiffness="Exact"),
    "string_without_stiffness": string(geometricStiffness="None"),
    "string_by_products": string("CGLinearSolver"),
    "string_of_rest_lengths": string(restLengths=[0.09, 0.11, 0.1, 0.12, 0.08, 0.2]),
    "string_of_distances": string(computeDistance=True, applyRestPosition=True),
    "string_damped": string(alpha=0.05, restLengths=[0.09, 0.11, 0.1, 0.12, 0.08, 0.2]),
    "string_of_bodies": string(template="Rigid3d"),
    "string_held": string(held=True),
    "velocities_held": string(held=True),
}


def run(Sofa, name, steps=STEPS):
    """Positions of the watched state after each step, shape (steps, n, width)."""
    root = Sofa.Core.Node("root")
    root.addObject(
        "RequiredPlugin", pluginName=[f"Sofa.Component.{plugin}" for plugin in PLUGINS.split()]
    )
    if name.endswith("_held"):
        first = name.startswith("velocities")
        root.addObject("FreeMotionAnimationLoop", solveVelocityConstraintFirst=first)
    else:
        root.addObject("DefaultAnimationLoop")
    state = CASES[name](root)
    Sofa.Simulation.init(root)
    positions = []
    for _ in range(steps):
        Sofa.Simulation.animate(root, root.dt.value)
        positions.append(np.array(state.position.value))
    return np.array(positions)


def main():
    import Sofa
    import SofaRuntime  # noqa: F401

    records = dict(np.load(RECORD)) if os.path.exists(RECORD) else {}
    for name in sys.argv[1:] or CASES:
        records[name] = run(Sofa, name)
        print(name, records[name].shape, np.abs(records[name][-1] - records[name][0]).max())
    np.savez_compressed(RECORD, **{name: records[name] for name in CASES if name in records})


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # SOFA's bindings abort when Python cleans up after them
