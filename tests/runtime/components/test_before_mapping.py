"""What stands before the mapping that gives its state the nodes, as everything in SOFA may.

SOFA reads positions at rest beyond the state's memory then, where a 0 lies; after the mapping they
are 0 as well. So it is equal to the same component after the mapping, but where SOFA counts nodes.
"""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime import components  # noqa: F401  (the table of components)
from sofa_softctl.runtime.behavior.mechanics import ForceField, Mass
from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation

CUBE = [[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)]
SKIN = {"triangles": [[0, 1, 3], [0, 3, 2]], "quads": [[0, 1, 3, 2], [4, 5, 7, 6], [2, 3, 7, 6]]}
VALUES = {
    "ConicalForceField": {"coneCenter": [0, 9, 0], "coneHeight": [0, -20, 0], "coneAngle": 1},
    "ConstantForceField": {"indices": [3], "forces": [0, 1, 0]},
    "DiagonalMass": {"vertexMass": [0.5] * 8},
    "DiagonalVelocityDampingForceField": {"dampingCoefficient": [[1, 2, 3]]},
    "EdgePressureForceField": {"edgeIndices": [1], "pressure": [0, 1, 0]},
    "EllipsoidForceField": {"vradius": [3, 3, 3], "center": [0, 0.5, 0]},
    "LinearForceField": {"points": [3], "times": [0, 1], "forces": [[0, 1, 0]] * 2},
    "MeshSpringForceField": {"stiffness": 5.0},
    "ParallelMeshSpringForceField": {"stiffness": 5.0},
    "PlaneForceField": {"d": 0.5},
    "PolynomialRestShapeSpringsForceField": {
        "points": [3],
        "polynomialStiffness": [5, 2],
        "polynomialDegree": [2],
    },
    "QuadPressureForceField": {"quadList": [0], "pressure": [0, 1, 0]},
    "RestShapeSpringsForceField": {"points": [3], "stiffness": 5},
    "SphereForceField": {"radius": 3.0, "center": [0, 0.5, 0]},
    "SurfacePressureForceField": {"pressure": 1.0},
    "TrianglePressureForceField": {"triangleList": [0], "pressure": [0, 1, 0]},
    "UniformMass": {"totalMass": 2.0, "indices": [3, 5]},
    "UniformVelocityDampingForceField": {"dampingCoefficient": 3},
    "VectorSpringForceField": {"useTopology": True},
}
BY_SIZE_AT_REST = {
    "EdgePressureForceField",
    "QuadPressureForceField",
    "TrianglePressureForceField",
}
"""Their forces are 0 where the elements have no size at rest."""
SPRING = {"spring": [[0, 3, 5, 0.1, 0.5]]}
ON_REST = ("FEM", "Corotational", "Hyperelasticity")
"""Parts of names of elasticity, which is an error where all nodes are at one place at rest."""
KINDS = sorted(
    {
        kind.__name__
        for kind in factory.components().values()
        if issubclass(kind, ForceField | Mass) and "Vec3" in kind.acts_on
    }
)


def is_elastic(kind):
    return any(part in kind for part in ON_REST)


@pytest.fixture
def skin(tolerant):
    """Makes a cube of springs with a mapped copy, in which the mapping stands at a place."""

    def make(kind, values, place):
        root = Node("root", dt=0.01, gravity=[1.0, -9.81, 0.5])
        root.addObject("DefaultAnimationLoop")
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver")
        body.addObject("SparseLDLSolver")
        body.addObject("RegularGridTopology", n=[2, 2, 2], min=[0, 0, 0], max=[1, 1, 1])
        body.addObject("MechanicalObject", name="dofs")
        body.addObject("UniformMass", totalMass=1.0)
        body.addObject("MeshSpringForceField", stiffness=100.0)
        child = body.addChild("skin")
        child.addObject("MeshTopology", **SKIN)
        child.addObject("MechanicalObject", name="dofs")
        if place == "after":
            child.addObject("IdentityMapping")
        field = child.addObject(kind, name="field", **values)
        if place == "before":
            child.addObject("IdentityMapping")
        return root, field

    return make


def moved(root, steps=3):
    """Positions of the body after some steps."""
    simulation.init(root)
    simulation.animateNSteps(root, steps)
    return root.body.dofs.position.value.copy()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not is_elastic(kind)])
def test_a_force_field_or_mass_before_the_mapping_moves_as_after_it(skin, kind):
    values = VALUES.get(kind, SPRING if "Spring" in kind and "Bending" not in kind else {})
    before = skin(kind, values, "before")
    if kind == "MeshMatrixMass":  # it reads positions themselves
        with pytest.raises(SceneError, match="field.*Add it after the mapping"):
            moved(before[0])
        return
    after = moved(skin(kind, values, "after")[0])
    bare = moved(skin("RestShapeSpringsForceField", {"stiffness": 0}, "after")[0])
    assert (abs(after - bare).max() == 0.0) == (kind in BY_SIZE_AT_REST)
    assert moved(before[0]) == pytest.approx(after, abs=1e-14)


def test_a_uniform_mass_before_the_mapping_is_all_at_the_first_node(skin, caplog):
    """As in SOFA, which counts the nodes at that moment."""
    root, mass = skin("UniformMass", {"totalMass": 2.0}, "before")
    simulation.init(root)
    assert mass.masses[:, 0].tolist() == [2.0] + [0.0] * 7
    assert "the other nodes: only 1 of them has mass, as in SOFA" in caplog.text


def test_a_force_on_all_nodes_before_the_mapping_acts_on_those_so_far(tolerant, root, caplog):
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("CGLinearSolver", iterations=5, tolerance=1e-12, threshold=1e-12)
    body.addObject("MechanicalObject", name="dofs", position=CUBE)
    body.addObject("UniformMass", totalMass=1.0)
    child = body.addChild("skin")
    child.addObject("MechanicalObject", name="dofs")
    field = child.addObject("ConstantForceField", totalForce=[0, 2, 0])
    child.addObject("IdentityMapping")
    simulation.init(root)
    assert field.indices.value.tolist() == [0]
    assert "it has 1: these count, as in SOFA" in caplog.text


@pytest.mark.parametrize("mapping", ["SubsetMapping", "SubsetMultiMapping", "RigidMapping"])
def test_every_mapping_that_gives_nodes_gives_them_ahead(root, mapping):
    """The last of the nodes falls onto a plane below it; its depth at first is 0.5."""
    body, kind = root.addChild("body"), "Rigid3" if mapping == "RigidMapping" else "Vec3"
    body.addObject("EulerImplicitSolver")
    body.addObject("CGLinearSolver", iterations=50, tolerance=1e-12, threshold=1e-12)
    places = [[0, 2, 0], [1, 2, 0], [2, -0.5, 0]]
    poses = [[*place, 0, 0, 0, 1] for place in places]
    body.addObject(
        "MechanicalObject",
        name="dofs",
        template=kind,
        position=poses if kind == "Rigid3" else places,
    )
    body.addObject("UniformMass", totalMass=3.0)
    child = body.addChild("skin")
    child.addObject("MechanicalObject", name="dofs", template="Vec3")
    plane = child.addObject("PlaneForceField", stiffness=10.0)
    given = {
        "SubsetMapping": {"indices": [0, 2]},
        "SubsetMultiMapping": {"input": "@../dofs", "indexPairs": [0, 0, 0, 2]},
        "RigidMapping": {"initialPoints": [[0, 0, 0], [0, 0, 0]], "rigidIndexPerPoint": [0, 2]},
    }
    child.addObject(mapping, **given[mapping])
    simulation.init(root)
    force = np.zeros((2, 3))
    plane.add_force(force)
    assert force == pytest.approx(np.array([[0, 0, 0], [0, 5.0, 0]]))
