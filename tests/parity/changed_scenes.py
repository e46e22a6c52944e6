"""Scenes of components that no comparison with SOFA holds, for changed_data.py."""

import importlib.util
from pathlib import Path


def _module(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mechanics, solids, parity = _module("mechanics"), _module("solids"), _module("parity_scenes")
examples = _module("examples")


def alone(build):
    """The scene under a DefaultAnimationLoop."""

    def create(root):
        root.addObject("DefaultAnimationLoop")
        return build(root)

    return create


def beside(kind, **values):
    """The falling beam with a component beside it."""

    def build(root):
        mechanics.beam(root, [mechanics.LDL])
        root.beam.addObject(kind, **values)

    return alone(build)


def sought(*parts):
    """A point on springs under a QPInverseProblemSolver, with components on it."""

    def build(root):
        root.dt, root.gravity = 0.01, [0.0, -9.81, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("QPInverseProblemSolver", epsilon=1e-3)
        node = root.addChild("points")
        node.addObject("EulerImplicitSolver", rayleighMass=0.1)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        places = [[0, 0, 0], [1, 0, 0], [0, 1, 0.2]]
        node.addObject("MechanicalObject", name="dofs", position=places)
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject("RestShapeSpringsForceField", stiffness=[30.0])
        node.addObject("LinearSolverConstraintCorrection")
        for kind, values in parts:
            node.addObject(kind, **values)

    return build


PULL = ("CableActuator", {"indices": [1], "pullPoint": [5, 1, 0], "maxForce": 3.0})
GOAL = ("PositionEffector", {"indices": [1], "effectorGoal": [[1.2, 0, 0]]})


def constrained(kind, **values):
    """The point on springs with a constraint of its own, solved forward."""

    def build(root):
        sought((kind, values))(root)
        root.removeObject(root.QPInverseProblemSolver)
        root.addObject("GenericConstraintSolver", maxIterations=500, tolerance=1e-12)

    return build


def carried(kind, **values):
    """The falling beam, of which springs hold some copied nodes."""

    def build(root):
        mechanics.beam(root, [mechanics.LDL])
        child = root.beam.addChild("copy")
        places = [[0, 0, 20], [10, 0, 20], [0, 10, 30]]
        child.addObject("MechanicalObject", name="dofs", position=places)
        child.addObject("RestShapeSpringsForceField", stiffness=[50.0])
        child.addObject(kind, **values)

    return alone(build)


def swapped(build, values=None, **kinds):
    """A scene with components of other classes, which get more `values`, or others."""

    def create(root):
        add = type(root).addObject

        def add_other(node, kind, *args, **given):
            if kind in kinds:
                given = {k: v for k, v in {**given, **(values or {})}.items() if v is not None}
            return add(node, kinds.get(kind, kind), *args, **given)

        type(root).addObject = add_other
        try:
            return build(root)
        finally:
            type(root).addObject = add

    return create


def of_parity(name, **more):
    """A scene of parity_scenes."""
    create, values = parity.CASES[name]
    return lambda root: create(root, **{**values, **more})


def chosen(kind, **values):
    """The falling beam of which a region is held."""

    def build(root):
        mechanics.beam(root, [mechanics.LDL], clamp=False)
        node = root.beam
        node.addObject(kind, name="region", **values)
        node.addObject("FixedProjectiveConstraint", indices="@region.indices")

    return alone(build)


def within_a_mesh(root):
    """The falling beam, of which what is within a surface is held."""
    points, tetrahedra = mechanics.grid()
    faces = parity.contacts.skin(points, tetrahedra[:6])
    inner = points[:8] * [1.3, 1.4, 1.5] - [1.0, 2.0, 3.5]
    chosen("MeshROI", ROIposition=inner.tolist(), ROItriangles=faces)(root)


def limited(root):
    """A force that follows a value without its jumps."""
    root.dt, root.gravity = 0.01, [0, 0, 0]
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("point")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    start = [1.0, 0.0, 0.0]
    node.addObject(
        "DataVariationLimiter", name="limiter", input=[3.0, 0.5, 0.0], output=start,
        initOutput=False, nbStep=4,
    )
    node.addObject("ConstantForceField", indices=[0], forces="@limiter.output")


def extruded(root):
    """A net of springs along the edges of hexahedra that come of quads."""
    root.dt, root.gravity = 0.01, [3.0, -9.81, 1.0]
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1)
    node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    node.addObject(
        "ExtrudeQuadsAndGenerateHexas",
        name="made",
        surfaceVertices=[[0, 0, 0], [1, 0, 0.2], [1, 1, 0], [0, 1, 0]],
        surfaceQuads=[[0, 1, 2, 3]],
    )
    node.addObject(
        "MeshTopology",
        name="mesh",
        position="@made.extrudedVertices",
        hexahedra="@made.extrudedHexas",
    )
    node.addObject("MechanicalObject", name="dofs", position="@made.extrudedVertices")
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("HexahedronFEMForceField", youngModulus=300.0, poissonRatio=0.3)
    node.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3])


def sensing(kind, actuator="SurfacePressureActuator", name="inflated_to_a_goal"):
    """A scene of an actuator whose node holds another component of the same surface."""

    def build(root):
        of_parity(name)(root)
        found = next(n for n in root.walk() for o in n.objects if type(o).__name__ == actuator)
        found.addObject(kind, triangles=found.objects[0].triangles.value.tolist())

    return build


CASES = {
    "fast_tetrahedra": alone(solids.solid("FastTetrahedralCorotationalForceField")),
    "gravity": beside("Gravity", gravity=[0.0, -5.0, 0.0]),
    "subset": carried("SubsetMapping", indices=[8, 9, 14]),
    "cable_given": sought(
        GOAL, PULL, ("CableEquality", {"indices": [2], "pullPoint": [0, 5, 0], "eqDisp": 0.05})
    ),
    "cable_length_sought": sought(
        PULL, ("CableEffector", {"indices": [2], "pullPoint": [0, 5, 0], "desiredLength": 3.9})
    ),
    "position_given": sought(
        GOAL,
        PULL,
        ("PositionEquality", {"indices": [2], "useDirections": [0, 1, 0], "eqDelta": 1.1}),
    ),
    "center_sought": sought(PULL, ("BarycentricCenterEffector", {"effectorGoal": [[0.5, 0.3, 0]]})),
    "above_a_plane": constrained("UnilateralPlaneConstraint", indices=[0, 1, 2, 0]),
    "lagged_preconditioner": alone(
        mechanics.solved(
            (mechanics.PCG, {"iterations": 9, "tolerance": 1e-9, "preconditioner": "@p"}),
            ("WarpPreconditioner", {"name": "p", "linearSolver": "@q"}),
            ("SparseLDLSolver", {"name": "q"}),
        )
    ),
    "blocks_along_a_chain": alone(mechanics.solved(("BTDLinearSolver", {}))),
    **{
        f"system_{kind}": beside(kind)
        for kind in (
            "MatrixLinearSystem",
            "AssemblingMatrixSystem",
            "ConstantSparsityPatternSystem",
            "CompositeLinearSystem",
            "MatrixFreeSystem",
            "RotationMatrixSystem",
            "ConstantSparsityProjectionMethod",
            "EdgeSetGeometryAlgorithms",
            "PointSetGeometryAlgorithms",
            "QuadSetGeometryAlgorithms",
            "HexahedronSetGeometryAlgorithms",
            "TriangleSetGeometryAlgorithms",
            "HexahedronSetTopologyModifier",
            "PointSetTopologyModifier",
            "MechanicalMatrixMapper",
            "CommunicationController",
        )
    },
    **{
        f"solved_{kind}": alone(mechanics.solved((kind, dict(mechanics.LDL[1]))))
        for kind in (
            "AsyncSparseLDLSolver",
            "SparseCholeskySolver",
            "SparseLUSolver",
            "PrecomputedLinearSolver",
        )
    },
    "solved_ParallelCGLinearSolver": alone(
        mechanics.solved(("ParallelCGLinearSolver", {"iterations": 5, "tolerance": 1e-3}))
    ),
    "parallel_tetrahedra": alone(
        swapped(
            mechanics.solved(mechanics.LDL),
            TetrahedronFEMForceField="ParallelTetrahedronFEMForceField",
        )
    ),
    "parallel_hexahedra": alone(solids.solid("ParallelHexahedronFEMForceField")),
    "parallel_mesh_springs": alone(
        swapped(
            mechanics.CASES["springs_of_a_mesh_by_kind"],
            MeshSpringForceField="ParallelMeshSpringForceField",
        )
    ),
    "parallel_springs": alone(
        swapped(
            mechanics.CASES["force_from_outside"], SpringForceField="ParallelSpringForceField"
        )
    ),
    "contacts_lcp": swapped(
        of_parity("contacts_of_points"),
        {"tolerance": 1e-3, "maxIterations": 30, "mu": 0.3},
        GenericConstraintSolver="LCPConstraintSolver",
    ),
    "contacts_lcp_conjugate": swapped(
        of_parity("contacts_of_points", mu=0.0),
        {"resolutionMethod": "NonsmoothNonlinearConjugateGradient", "newtonIterations": 3},
        GenericConstraintSolver="LCPConstraintSolver",
    ),
    "contacts_nncg": swapped(
        of_parity("contacts_of_points", mu=0.0),
        {"tolerance": 1e-3, "newtonIterations": 3},
        GenericConstraintSolver="NNCGConstraintSolver",
    ),
    "contacts_few_sweeps": swapped(
        of_parity("contacts_of_points"),
        {"tolerance": 1e-3, "maxIterations": 3},
        GenericConstraintSolver="GenericConstraintSolver",
    ),
    "contacts_parallel": swapped(
        of_parity("contacts_of_points"),
        BVHNarrowPhase="ParallelBVHNarrowPhase",
        BruteForceBroadPhase="ParallelBruteForceBroadPhase",
    ),
    "contacts_precomputed": swapped(
        of_parity("contacts_of_points"),
        {"regularizationTerm": 0.01},
        LinearSolverConstraintCorrection="PrecomputedConstraintCorrection",
    ),
    "box_in_a_box": chosen(
        "PairBoxROI", inclusiveBox=[-1, -1, -1, 11, 11, 11], includedBox=[5, 5, -2, 12, 12, 5]
    ),
    "within_a_mesh": within_a_mesh,
    "limited": limited,
    "extruded": extruded,
    "cable_sensed": sought(
        GOAL, PULL, ("CableSensor", {"indices": [2], "pullPoint": [0, 5, 0]})
    ),
    "pressure_sensed": sensing("SurfacePressureSensor"),
    "pressure_given": sensing("SurfacePressureEquality"),
}
