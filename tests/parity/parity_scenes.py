"""Scenes whose motion is recorded, and what of it: run by test_parity.py and make_records.py."""

import itertools
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = os.path.join(HERE, "..", "..", "scenes")
if HERE not in sys.path:
    sys.path.append(HERE)
import bodies  # noqa: E402
import contacts  # noqa: E402
import hyperelastic  # noqa: E402
import surfaces  # noqa: E402


def box(nx, ny, nz, size, hollow=()):
    """Six tetrahedra a cell; positions (n, 3), tetrahedra (m, 4) of positive volume.

    Cells of `hollow` are left out.
    """
    axes = [
        np.linspace(0.0, length, count) for length, count in zip(size, (nx, ny, nz), strict=False)
    ]
    points = np.array([[x, y, z] for z in axes[2] for y in axes[1] for x in axes[0]])
    tetrahedra = []
    for cell in itertools.product(range(nx - 1), range(ny - 1), range(nz - 1)):
        if cell in hollow:
            continue
        for order in itertools.permutations(range(3)):
            corner, path = list(cell), []
            for axis in (None, *order):
                if axis is not None:
                    corner[axis] += 1
                path.append((corner[2] * ny + corner[1]) * nx + corner[0])
            a, b, c, d = points[path]
            if np.dot(np.cross(b - a, c - a), d - a) < 0.0:
                path[1], path[2] = path[2], path[1]
            tetrahedra.append(path)
    return points, np.array(tetrahedra)


def beam(root, method="large", mass="UniformMass", first_order=False, clamp="fixed"):
    """A soft beam of 3 x 3 x 9 nodes, clamped at z = 0, that falls."""
    points, tetrahedra = box(3, 3, 9, (20.0, 20.0, 90.0))
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    node = root.addChild("beam")
    node.addObject(
        "EulerImplicitSolver", firstOrder=first_order, rayleighMass=0.1, rayleighStiffness=0.05
    )
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject(
        "TetrahedronSetTopologyContainer",
        name="mesh",
        position=points.tolist(),
        tetrahedra=tetrahedra.tolist(),
    )
    node.addObject("MechanicalObject", name="dofs")
    if mass == "UniformMass":
        node.addObject("UniformMass", totalMass=0.04)
    else:
        node.addObject("TetrahedronSetGeometryAlgorithms")
        node.addObject(mass, totalMass=0.04)
    young = np.linspace(200.0, 600.0, len(tetrahedra)).tolist()
    node.addObject("TetrahedronFEMForceField", method=method, youngModulus=young, poissonRatio=0.4)
    foot = [i for i, p in enumerate(points) if p[2] < 1e-9]
    if clamp == "fixed":
        node.addObject("FixedProjectiveConstraint", indices=foot)
    elif clamp == "partial":
        node.addObject("PartialFixedProjectiveConstraint", indices=foot, fixedDirections=[1, 1, 1])
    else:
        node.addObject("RestShapeSpringsForceField", points=foot, stiffness=[1e6])
    return node


def falling(root, **options):
    root.addObject("DefaultAnimationLoop")
    beam(root, **options)


def pulled(root, value_type="displacement", value=4.0, **options):
    """The beam with two cables, one pulled, one held at no displacement or force."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", maxIterations=1000, tolerance=1e-11)
    node = beam(root, **options)
    node.addObject("LinearSolverConstraintCorrection")
    for name, x, amount in (("left", 3.0, value), ("right", 17.0, 0.0)):
        child = node.addChild(name)
        path = [[x, 10.0, z] for z in (5.0, 30.0, 55.0, 80.0)]
        child.addObject("MechanicalObject", name="dofs", position=path)
        child.addObject(
            "CableConstraint",
            name="cable",
            indices=[0, 1, 2, 3],
            pullPoint=[x, 10.0, 0.0],
            valueType=value_type,
            value=[amount],
            minForce=0.0,
        )
        child.addObject("BarycentricMapping")


def cavity_of(points, tetrahedra):
    """Triangles on the inner boundary of a hollow box, normals out of the cavity."""
    faces = {}
    for a, b, c, d in tetrahedra.tolist():
        for face in ((b, c, d), (a, d, c), (a, b, d), (a, c, b)):
            faces.setdefault(tuple(sorted(face)), []).append(face)
    low, high = points.min(axis=0) + 1e-6, points.max(axis=0) - 1e-6
    inside = ((points > low) & (points < high)).all(axis=1)
    return [
        found[0][::-1]
        for face, found in faces.items()
        if len(found) == 1 and inside[list(face)].all()
    ]


def chamber(root, component, first_order=False, more=(), solver=None, **values):
    """A beam with a cavity off its axis, so that pressure bends it; `component` acts on it.

    more: names and Data of components on the cavity's state besides.
    """
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    if solver is None:
        root.addObject("GenericConstraintSolver", maxIterations=1000, tolerance=1e-11)
    else:
        root.addObject("RequiredPlugin", pluginName="SoftRobots.Inverse")
        root.addObject("QPInverseProblemSolver", **solver)
    hollow = {(1, 1, k) for k in range(1, 9)}
    points, tetrahedra = box(4, 5, 11, (15.0, 20.0, 100.0), hollow)
    node = root.addChild("beam")
    node.addObject(
        "EulerImplicitSolver", firstOrder=first_order, rayleighMass=0.1, rayleighStiffness=0.05
    )
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("UniformMass", totalMass=0.03)
    node.addObject("TetrahedronFEMForceField", youngModulus=400.0, poissonRatio=0.4)
    foot = [i for i, p in enumerate(points) if p[2] < 1e-9]
    node.addObject("FixedProjectiveConstraint", indices=foot)
    node.addObject("LinearSolverConstraintCorrection")
    triangles = cavity_of(points, tetrahedra)
    vertices = sorted({v for triangle in triangles for v in triangle})
    triangles = [[vertices.index(v) for v in triangle] for triangle in triangles]
    child = node.addChild("cavity")
    child.addObject("MeshTopology", name="skin", position=points[vertices], triangles=triangles)
    child.addObject("MechanicalObject", name="dofs")
    child.addObject(component, name="pressure", triangles="@skin.triangles", **values)
    for name, data in more:
        child.addObject(name, **data)
    child.addObject("BarycentricMapping")
    return node


def inflated_inverse(root, goal=(7.5, 14.0, 96.0), volume=None, more=(), **values):
    """The pressure that brings the beam's tip to a goal, or its cavity to a volume."""
    if volume is not None:
        more = (
            *more,
            ("VolumeEffector", {"triangles": "@skin.triangles", "desiredVolume": volume}),
        )
    node = chamber(root, "SurfacePressureActuator", solver={"epsilon": 1e-3}, more=more, **values)
    if volume is None:
        tip = node.addChild("tip")
        tip.addObject("MechanicalObject", name="dofs", position=[[7.5, 10.0, 100.0]])
        tip.addObject("PositionEffector", indices=[0], effectorGoal=[list(goal)])
        tip.addObject("BarycentricMapping", mapForces=False, mapMasses=False)


def stiffened(root, goal=(10.0, 7.0, 90.0)):
    """The moduli of both halves of a sagging beam, so that its tip is at a height.

    In first order, where SoftRobots.Inverse's lambda is the change of the modulus.
    """
    root.dt = 0.01
    root.gravity = [0.0, -9810.0, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("RequiredPlugin", pluginName="SoftRobots.Inverse")
    root.addObject("QPInverseProblemSolver", epsilon=1e-2)
    points, tetrahedra = box(3, 3, 9, (20.0, 20.0, 90.0))
    node = root.addChild("beam")
    node.addObject("EulerImplicitSolver", firstOrder=True)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    sagging = points + np.outer((points[:, 2] / 90.0) ** 2, [0.0, -4.0, 0.0])
    node.addObject("MechanicalObject", name="dofs", rest_position=points, position=sagging)
    node.addObject("UniformMass", totalMass=0.04)
    node.addObject("TetrahedronFEMForceField", youngModulus=300.0, poissonRatio=0.4)
    foot = [i for i, p in enumerate(points) if p[2] < 1e-9]
    node.addObject("FixedProjectiveConstraint", indices=foot)
    node.addObject("LinearSolverConstraintCorrection")
    half = len(tetrahedra) // 2
    for name, part in (("foot", tetrahedra[:half]), ("head", tetrahedra[half:])):
        child = node.addChild(name)
        child.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=part)
        child.addObject("TetrahedronFEMForceField", youngModulus=200.0, poissonRatio=0.4)
        child.addObject(
            "YoungModulusActuator", minYoung=50.0, maxYoung=5000.0, maxYoungVariationRatio=0.2
        )
    tip = node.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[[10.0, 6.0, 90.0]])
    tip.addObject("PositionEffector", indices=[0], effectorGoal=[goal], useDirections=[0, 1, 0])
    tip.addObject("BarycentricMapping", mapForces=False, mapMasses=False)


def own(name):
    """A scene of the project, by the name of its file."""

    def create(root, **options):
        import importlib.util

        spec = importlib.util.spec_from_file_location(name, os.path.join(SCENES, f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.createScene(root, **options)

    return create


CASES = {
    "falling_small": (falling, {"method": "small"}),
    "falling_large": (falling, {"method": "large"}),
    "falling_polar": (falling, {"method": "polar"}),
    "falling_svd": (falling, {"method": "svd"}),
    "falling_first_order": (falling, {"first_order": True}),
    "falling_lumped_mass": (falling, {"mass": "DiagonalMass"}),
    "falling_consistent_mass": (falling, {"mass": "MeshMatrixMass"}),
    "falling_partial_clamp": (falling, {"clamp": "partial"}),
    "falling_spring_clamp": (falling, {"clamp": "springs"}),
    "pulled_displacement": (pulled, {}),
    "pulled_force": (pulled, {"value_type": "force", "value": 3.0}),
    "pulled_force_first_order": (
        pulled,
        {"value_type": "force", "value": 300.0, "first_order": True},
    ),
    "inflated_pressure": (chamber, {"component": "SurfacePressureConstraint", "value": [0.5]}),
    "inflated_pressure_first_order": (
        chamber,
        {"component": "SurfacePressureConstraint", "value": [50.0], "first_order": True},
    ),
    "inflated_growth": (
        chamber,
        {
            "component": "SurfacePressureConstraint",
            "valueType": "volumeGrowth",
            "value": [300.0],
            "maxVolumeGrowthVariation": 30.0,
        },
    ),
    "inflated_to_a_goal": (inflated_inverse, {}),
    "inflated_to_a_volume": (inflated_inverse, {"volume": 3500.0, "maxPressure": 0.4}),
    "inflated_within_limits": (
        inflated_inverse,
        {"minPressure": 0.0, "maxVolumeGrowth": 250.0, "maxVolumeGrowthVariation": 40.0},
    ),
    "stiffened": (stiffened, {}),
    "trunk": (own("trunk"), {}),
    "finger": (own("finger"), {}),
}
"""Scene and its parameters, by name."""
CASES |= bodies.CASES | {"bodies_joined": (bodies.joined, {"box": box})} | contacts.cases(box)
CASES |= hyperelastic.cases(box) | surfaces.cases(box)

INVERSE = (
    *("inflated_to_a_goal", "inflated_to_a_volume", "inflated_within_limits", "stiffened"),
    *(name for name, (create, _) in bodies.CASES.items() if create is bodies.inverse),
    *surfaces.INVERSE,
)
"""Those whose records need the plugin SoftRobots.Inverse."""

STEPS = (1, 5, 20, 40)
"""Steps after which positions are recorded; for the project's own scenes also after OWN_STEPS."""
OWN_STEPS = (*STEPS, 200)


def run(Sofa, name):
    """Positions of the body after the recorded steps, shape (number of steps, n, 3)."""
    create, options = CASES[name]
    steps = OWN_STEPS if name in ("trunk", "finger") else STEPS
    root = Sofa.Core.Node("root")
    create(root, **options)
    Sofa.Simulation.init(root)
    body = root.children[0].getObject("dofs")
    found = []
    for step in range(1, max(steps) + 1):
        Sofa.Simulation.animate(root, root.dt.value)
        if step in steps:
            found.append(np.array(body.position.value))
    return np.array(found)
