"""Explicit integrators; their motions are compared in parity/mechanics."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.runtime.simulation import simulation

TIME = 0.4


def swung(kind, h, **values):
    """Where a node on a spring of frequency 3 is after TIME, from x = 1 at rest."""
    root = Node("root", dt=h, gravity=[0.0, 0.0, 0.0])
    root.addObject(kind, **values)
    root.addObject("MechanicalObject", name="dofs", position=[[1, 0, 0]], rest_position=[[0, 0, 0]])
    root.addObject("UniformMass", totalMass=2.0)
    root.addObject("RestShapeSpringsForceField", stiffness=[18.0])
    simulation.init(root)
    simulation.animateNSteps(root, round(TIME / h))
    return root.dofs.position.value[0, 0]


@pytest.mark.parametrize(
    ("kind", "values", "order"),
    [
        ("EulerExplicitSolver", {}, 1),
        ("EulerExplicitSolver", {"symplectic": False}, 1),
        ("RungeKutta2Solver", {}, 2),
        ("RungeKutta4Solver", {}, 4),
    ],
)
def test_the_error_falls_with_the_order_of_the_method(kind, values, order):
    """By 2^order when the step is halved; 0.2 for the next term at h = 0.01."""
    errors = [abs(swung(kind, h, **values) - np.cos(3.0 * TIME)) for h in (0.01, 0.005)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


def test_central_differences_damp_by_the_mass():
    """x'' = -r x': after n steps v is ((1/h - r/2) / (1/h + r/2))^n of the first."""
    root = Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])
    root.addObject("CentralDifferenceSolver", rayleighMass=3.0)
    root.addObject("MechanicalObject", name="dofs", velocity=[[1, 0, 0]])
    root.addObject("UniformMass", totalMass=2.0)
    simulation.init(root)
    simulation.animateNSteps(root, 7)
    assert root.dofs.velocity.value[0, 0] == pytest.approx((98.5 / 101.5) ** 7)


@pytest.mark.parametrize("kind", ["EulerExplicitSolver", "RungeKutta4Solver"])
def test_gravity_apart_is_the_same_fall(kind):
    def fallen(**values):
        root = Node("root", dt=0.01, gravity=[0.0, -10.0, 0.0])
        root.addObject("EulerExplicitSolver")
        root.addObject("MechanicalObject", name="dofs")
        root.addObject("UniformMass", totalMass=2.0, **values)
        simulation.init(root)
        simulation.animateNSteps(root, 5)
        return root.dofs.position.value.copy()

    assert fallen(separateGravity=True) == pytest.approx(fallen())


def add(
    root, mass=("UniformMass", {"totalMass": 1.0}), loop=None, kind="EulerExplicitSolver", **values
):
    if loop:
        root.addObject(loop)
    root.addObject(kind, **values)
    root.addObject("PointSetTopologyContainer", position=np.eye(4)[:, :3])
    root.addObject("MechanicalObject", name="dofs", position=np.eye(4)[:, :3])
    root.addObject("RestShapeSpringsForceField")
    if mass:
        root.addObject(mass[0], **mass[1])


def test_a_constrained_loop_refuses_what_constraints_cannot_move(root):
    add(root, loop="FreeMotionAnimationLoop", kind="RungeKutta4Solver")
    with pytest.raises(SceneError, match="does not work with a FreeMotionAnimationLoop"):
        simulation.init(root)


def test_positions_first_are_refused_in_a_constrained_loop(root):
    add(root, loop="FreeMotionAnimationLoop", symplectic=False)
    root.addObject("UncoupledConstraintCorrection", defaultCompliance=1.0)
    simulation.init(root)
    with pytest.raises(SceneError, match="symplectic=False, with which constraints move nothing"):
        simulation.animate(root, 0.01)


@pytest.mark.usefixtures("tolerant")
def test_an_integrator_below_another_moves_nothing_and_says_so(root):
    """As in SOFA, where the upper one's step passes through."""
    add(root, loop="DefaultAnimationLoop")
    root.addChild("inner").addObject("EulerExplicitSolver", name="idle")
    with complaints() as found:
        simulation.init(root)
    assert "'/inner/idle' does nothing" in str(found[0])


def test_a_correction_by_a_matrix_is_refused_where_there_is_none(root):
    add(root, loop="FreeMotionAnimationLoop")
    root.addObject("LinearSolverConstraintCorrection")
    with pytest.raises(SceneError, match="needs a matrix, but EulerExplicitSolver .* has none"):
        simulation.init(root)


def test_a_mass_that_couples_nodes_needs_a_linear_solver(root):
    root.addObject("MeshTopology", position=np.eye(4)[:, :3], tetrahedra=[[3, 0, 1, 2]])
    root.addObject("EulerExplicitSolver")
    root.addObject("MechanicalObject", name="dofs")
    root.addObject("MeshMatrixMass", totalMass=1.0)
    with pytest.raises(SceneError, match="needs a linear solver, such as a SparseLDLSolver, for a"):
        simulation.init(root)


def test_two_masses_are_an_error(root):
    add(root)
    root.addObject("UniformMass", totalMass=1.0)
    with pytest.raises(SceneError, match="needs one mass for .* got 2"):
        simulation.init(root)
