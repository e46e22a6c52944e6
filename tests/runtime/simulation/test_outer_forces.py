"""Springs above the integrators, forces from outside, and what no integrator reaches."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.simulation import simulation

SPRING = {"indices1": [0], "indices2": [0], "stiffness": [50.0], "damping": [1.0], "length": [1.0]}


def add_body(root, name, x, mass=1.0):
    node = root.addChild(name)
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", name="dofs", position=[[x, 0, 0]])
    node.addObject("UniformMass", totalMass=mass)
    return node


def join(node, **values):
    """A spring between the two bodies."""
    return node.addObject(
        "SpringForceField", object1="@/one/dofs", object2="@/two/dofs", **SPRING, **values
    )


@pytest.fixture
def bodies(root):
    root.gravity = [0, 0, 0]
    root.addObject("DefaultAnimationLoop")
    add_body(root, "one", 0.0, mass=2.0)
    add_body(root, "two", 1.5)
    return root


def test_springs_above_two_integrators_keep_the_momentum(bodies):
    """Forces are equal and opposite: 2 v1 + v2 = 0 to rounding."""
    join(bodies)
    simulation.init(bodies)
    simulation.animateNSteps(bodies, 10, 0.01)
    v1, v2 = (node.dofs.velocity.value[0] for node in (bodies.one, bodies.two))
    assert v1[0] > 0.1
    assert np.abs(2.0 * v1 + v2).max() < 1e-14


def test_springs_that_come_after_an_integrator_are_a_fault(bodies):
    """SOFA clears the force on the body that has moved, and keeps that on the other."""
    late = bodies.addChild("late")
    join(late)
    with pytest.raises(SceneError, match="comes after EulerImplicitSolver '/one/.*which has moved"):
        simulation.init(bodies)


def test_springs_above_the_integrators_do_nothing_in_free_motion(root):
    root.addObject("FreeMotionAnimationLoop")
    for name in ("one", "two"):
        add_body(root, name, 0.0).addObject("LinearSolverConstraintCorrection")
    join(root)
    with pytest.raises(SceneError, match="so does nothing under FreeMotionAnimationLoop"):
        simulation.init(root)


def test_a_force_from_outside_acts_in_one_step(bodies):
    """A force of 3 on a mass of 2 for 0.01: v = 0.015, and no more."""
    simulation.init(bodies)
    bodies.one.dofs.externalForce.value = [[3.0, 0, 0]]
    simulation.animate(bodies, 0.01)
    assert len(bodies.one.dofs.externalForce.value) == 0
    simulation.animate(bodies, 0.01)
    assert bodies.one.dofs.velocity.value[0] == pytest.approx([0.015, 0, 0], abs=1e-15)


def test_a_force_from_outside_may_name_the_first_nodes_alone(root):
    node = add_body(root, "one", 0.0)
    node.dofs.position.value = [[0, 0, 0], [1, 0, 0]]
    root.gravity = [0, 0, 0]
    simulation.init(root)
    node.dofs.externalForce.value = [[1.0, 0, 0]]
    simulation.animate(root, 0.01)
    assert node.dofs.velocity.value[:, 0] == pytest.approx([0.02, 0.0], abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("ConstantForceField", {"totalForce": [1, 0, 0]}),
        ("UniformMass", {"totalMass": 1.0}),
        ("FixedProjectiveConstraint", {"indices": [0]}),
    ],
)
@pytest.mark.parametrize("place", ["/", "/two"])
def test_what_an_integrator_does_not_reach_is_a_fault(bodies, kind, values, place):
    """SOFA says nothing of it, and it has no effect."""
    node = bodies if place == "/" else bodies.two
    node.addObject(kind, name="far", mstate="@/one/dofs", **values)
    with pytest.raises(SceneError, match="not below EulerImplicitSolver '/one/.*has no effect"):
        simulation.init(bodies)


def test_derivatives_refuse_springs_above_the_integrator(root):
    add_body(root, "one", 0.0)
    root.one.dofs.position.value = [[0, 0, 0], [1, 0, 0]]
    root.addObject(
        "SpringForceField", object1="@/one/dofs", object2="@/one/dofs", indices1=[0], indices2=[1]
    )
    simulation.init(root)
    with pytest.raises(SceneError, match="derivatives of a step do not know of that"):
        ImplicitStep(root)


def test_derivatives_refuse_a_force_from_outside(root):
    add_body(root, "one", 0.0)
    simulation.init(root)
    root.one.dofs.externalForce.value = [[1.0, 0, 0]]
    with pytest.raises(SceneError, match="externalForce.*use a ConstantForceField"):
        ImplicitStep(root)


def test_a_force_without_stiffness_below_two_mappings_pushes_the_body(root):
    """v = dt F / m after a step, under a direct solver, whose matrix has no entry of the force."""
    root.gravity = [0, 0, 0]
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    state = body.addObject("MechanicalObject", template="Rigid3d")
    body.addObject("UniformMass", totalMass=2.0)
    corners = body.addChild("corners")
    positions = [[-1, -1, -1], [3, -1, -1], [-1, 3, -1], [-1, -1, 3]]
    corners.addObject("MeshTopology", position=positions, tetrahedra=[[0, 1, 2, 3]])
    corners.addObject("MechanicalObject")
    corners.addObject("RigidMapping")
    point = corners.addChild("point")
    point.addObject("MechanicalObject", position=[[0, 0, 0]])
    point.addObject("BarycentricMapping")
    point.addObject("ConstantForceField", indices=[0], totalForce=[1, 0, 0])
    simulation.init(root)
    simulation.animate(root, 0.01)
    assert state.velocity.value[0] == pytest.approx([0.005, 0, 0, 0, 0, 0], abs=1e-15)
