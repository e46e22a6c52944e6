"""Scenes of components that no comparison with SOFA holds, for changed_data.py."""

import importlib.util
from pathlib import Path


def load(name):
    """A module of this folder."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mechanics, solids = load("mechanics"), load("solids")


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


CASES = {
    "fast_tetrahedra": alone(solids.solid("FastTetrahedralCorotationalForceField")),
    "gravity": beside("Gravity", gravity=[0.0, -5.0, 0.0]),
    "subset": carried("SubsetMapping", indices=[8, 9, 14]),
    "cable_given": sought(
        GOAL, PULL, ("CableEquality", {"indices": [2], "pullPoint": [0, 5, 0], "eqDisp": 0.05})
    ),
    "cable_length_sought": sought(
        PULL, ("CableEffector", {"indices": [1], "pullPoint": [0, 5, 0], "desiredLength": 4.9})
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
    "cable_sensed": sought(GOAL, PULL, ("CableSensor", {"indices": [2], "pullPoint": [0, 5, 0]})),
    "goal_that_moves_slowly": sought(
        (
            "PositionEffector",
            {
                "indices": [1],
                "effectorGoal": [[1.4, 0.3, 0]],
                "limitShiftToTarget": True,
                "maxShiftToTarget": 0.05,
            },
        ),
        PULL,
    ),
    "center_that_moves_slowly": sought(
        PULL,
        (
            "BarycentricCenterEffector",
            {
                "effectorGoal": [[0.5, 0.3, 0]],
                "limitShiftToTarget": True,
                "maxShiftToTarget": 0.01,
            },
        ),
    ),
    "length_that_moves_slowly": sought(
        PULL,
        (
            "CableEffector",
            {
                "indices": [1],
                "pullPoint": [0, 5, 0],
                "desiredLength": 3.0,
                "limitShiftToTarget": True,
                "maxShiftToTarget": 0.01,
            },
        ),
    ),
    "pulled_within_limits": sought(
        GOAL,
        (
            "CableActuator",
            {
                "indices": [1],
                "pullPoint": [5, 1, 0],
                "maxPositiveDisp": 0.01,
                "maxNegativeDisp": 0.01,
                "maxDispVariation": 0.001,
                "minForce": 0.0,
            },
        ),
    ),
    "pushed_within_limits": sought(
        GOAL,
        (
            "ForcePointActuator",
            {"indices": [1], "direction": [1, 0, 0], "maxForce": 0.01, "minForce": -0.01},
        ),
    ),
    "slid_within_limits": sought(
        GOAL,
        (
            "SlidingActuator",
            {
                "indices": [1],
                "direction": [1, 0, 0],
                "maxForce": 0.05,
                "minForce": -0.05,
                "maxPositiveDisp": 0.01,
                "maxDispVariation": 0.002,
            },
        ),
    ),
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
}
