"""Nodes held by multipliers; their motions are compared in parity/mechanics."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    BLOCK,
    gauss_seidel,
    row_parameters,
)
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def held(root):
    """Makes two nodes, or joints, that fall."""

    def make(kind, template="Vec3d", solver="GenericConstraintSolver", **values):
        root.gravity = [-10.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject(solver, maxIt=1000, tolerance=1e-14)
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("GenericConstraintCorrection")
        width = 3 if template == "Vec3d" else 1
        node.addObject(
            "MechanicalObject", name="dofs", template=template, position=np.ones((2, width))
        )
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject(kind, name="constraint", **values)
        simulation.init(root)
        simulation.animateNSteps(root, 3)
        return node.dofs.position.value

    return make


@pytest.mark.parametrize("solver", ["GenericConstraintSolver", "NNCGConstraintSolver"])
def test_fixed_nodes_stay_at_rest(solver, held):
    found = held("FixedLagrangianConstraint", solver=solver, indices=[1])
    assert found[1] == pytest.approx(np.ones(3), abs=1e-12)
    assert found[0, 0] == pytest.approx(1.0 - 10.0 * 1e-4 * 6)


@pytest.mark.parametrize(("rest", "value"), [(True, 1.0), (False, 0.0)])
def test_joints_stay_at_rest_or_at_zero(rest, value, held):
    found = held("UniformConstraint", "Vec1d", constrainToRestPos=rest)
    assert found == pytest.approx(np.full((2, 1), value), abs=1e-12)


def test_nodes_of_one_state_are_joined(held):
    found = held("BilateralInteractionConstraint", first_point=[0], second_point=[1])
    assert found[0] == pytest.approx(found[1], abs=1e-14)
    assert found[0, 0] == pytest.approx(1.0 - 10.0 * 1e-4 * 6)


def test_a_constraint_that_is_switched_off_has_no_rows(held):
    found = held(
        "BilateralLagrangianConstraint", first_point=[0], second_point=[1], activate=False,
        rest_vector=[[1, 1, 1]],
    )  # fmt: skip
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize(
    ("kind", "template", "values", "message"),
    [
        ("FixedLagrangianConstraint", "Vec3d", {"indices": [2]}, "has 2 in 'indices', but .* 2"),
        (
            "BilateralLagrangianConstraint",
            "Vec3d",
            {"first_point": [0], "second_point": [5]},
            "has 5 in 'second_point', but .* has 2 nodes",
        ),
        ("StopperLagrangianConstraint", "Vec1d", {"index": 2}, "has index 2, but there are 2"),
        (
            "BilateralLagrangianConstraint",
            "Vec3d",
            {"first_point": [0], "second_point": [1], "load": 2.0},
            "takes a 'load' from 0 to 1, got 2",
        ),
    ],
)
def test_what_does_not_fit_is_a_fault(kind, template, values, message, held):
    with pytest.raises(SceneError, match=message):
        held(kind, template, **values)


def test_a_block_is_solved_at_once():
    """W lambda + delta_free = 0 after one sweep, however the rows are coupled."""
    random = np.random.default_rng(0)
    half = random.normal(size=(3, 3))
    W, free, lam = half @ half.T, random.normal(size=3), np.zeros(3)
    parameters = np.tile(row_parameters(BLOCK, 1.0), (3, 1))
    sweeps, _ = gauss_seidel(W, free, parameters, 1.0, 1e-12, 5, lam)
    assert W @ lam + free == pytest.approx(np.zeros(3), abs=1e-12)
    assert sweeps == 2  # the second one finds that nothing changes


def test_the_contact_solver_refuses_what_is_no_contact(held):
    with pytest.raises(SceneError, match="is no contact, but LCPConstraintSolver"):
        held("FixedLagrangianConstraint", solver="LCPConstraintSolver", indices=[1])


def test_other_nodes_than_in_the_last_step_start_from_zero(Sofa, root):
    """Held nodes may be those of a region that moves: two in the first step, one in the second."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-12, maxIterations=100)
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    body.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 0, 0]])
    body.addObject("UniformMass", totalMass=2.0)
    body.addObject("LinearSolverConstraintCorrection")
    held = body.addObject("FixedLagrangianConstraint", indices=[0, 1])
    root.gravity = [0.0, 0.0, -1.0]
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    held.indices = [1]
    Sofa.Simulation.animate(root, 0.01)
    height = body.dofs.position.value[:, 2]
    assert abs(height[1]) < 1e-12  # held
    assert abs(height[0] + 1e-4) < 1e-12  # g dt^2: falls for one step


@pytest.mark.parametrize("name", ["minW", "maxF"])
def test_contacts_are_neither_left_out_nor_cut(root, name):
    root.addObject("LCPConstraintSolver", **{name: 1.0})
    with pytest.raises(SceneError, match=f"does not support '{name}'"):
        simulation.init(root)
