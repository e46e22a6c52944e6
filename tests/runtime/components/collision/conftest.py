import itertools

import numpy as np
import pytest

QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = [t for a, b, c, d in QUADS for t in ([a, b, c], [a, c, d])]
CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))


@pytest.fixture(scope="session")
def detection():
    """Adds to a scene what finds and solves contacts."""

    def add(root, method="MinProximityIntersection", mu=0.5, alarm=0.2, contact=0.05,
            response="FrictionContactConstraint", **values):  # fmt: skip
        """The pipeline."""
        root.addObject("FreeMotionAnimationLoop")
        root.addObject(
            "GenericConstraintSolver", name="solver", tolerance=1e-12, maxIterations=5000
        )
        pipeline = root.addObject("CollisionPipeline", name="pipeline")
        root.addObject("BruteForceBroadPhase")
        root.addObject("BVHNarrowPhase")
        root.addObject(
            method, name="method", alarmDistance=alarm, contactDistance=contact, **values
        )
        root.addObject(
            "CollisionResponse", name="response", response=response, responseParams=f"mu={mu}"
        )
        return pipeline

    return add


@pytest.fixture(scope="session")
def surface():
    """Adds surfaces that touch."""

    def add(node, positions=CORNERS, triangles=CUBE, kinds=("Triangle", "Line", "Point"), **values):
        """Mesh, state `dofs` and models named `Triangle`, `Line`, `Point`: a unit cube."""
        positions = np.asarray(positions, float).tolist()
        node.addObject("MeshTopology", position=positions, triangles=np.asarray(triangles).tolist())
        node.addObject("MechanicalObject", name="dofs", position=positions)
        for kind in kinds:
            node.addObject(f"{kind}CollisionModel", name=kind, **values)
        return node

    return add


@pytest.fixture(scope="session")
def flying():
    """Adds bodies without elasticity: each node a mass of its own."""

    def add(parent, name, surface, *positions, held=(), **values):
        """The node, with the surface in itself."""
        node = parent.addChild(name)
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        surface(node, *positions, **values)
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        if len(held):
            node.addObject("FixedProjectiveConstraint", indices=list(held))
        return node

    return add


@pytest.fixture
def told(caplog):
    """Texts of the warnings so far."""
    return lambda: [record.getMessage() for record in caplog.records]
