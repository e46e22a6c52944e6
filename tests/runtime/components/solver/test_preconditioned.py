"""Preconditioned solvers and names of direct ones; motions are compared in parity/mechanics."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation import simulation


def sprung(*solvers, **links):
    """A scene of four nodes on springs of several stiffnesses; links are those of the first."""
    root = Node("root", dt=0.1, gravity=[0.0, -10.0, 0.0])
    node = root.addChild("body")
    for i, (kind, values) in reversed(list(enumerate(solvers))):
        node.addObject(kind, name=f"solver{i}", **values)
    node.addObject("EulerImplicitSolver", linearSolver="@solver0")
    points = np.arange(12.0).reshape(4, 3)
    node.addObject("MechanicalObject", name="dofs", position=points, rest_position=points * 0.9)
    node.addObject("UniformMass", totalMass=2.0)
    node.addObject(
        "SpringForceField",
        indices1=[0, 1, 2],
        indices2=[1, 2, 3],
        stiffness=[50, 5, 500],
        damping=0,
    )
    node.addObject("RestShapeSpringsForceField", points=[0], stiffness=[40])
    return root


def tip(root):
    simulation.init(root)
    simulation.animateNSteps(root, 5)
    return root.body.dofs.position.value.copy()


EXACT = {"iterations": 200, "tolerance": 1e-20}


@pytest.mark.parametrize(
    "inner",
    ["JacobiPreconditioner", "BlockJacobiPreconditioner", "SSORPreconditioner", "SparseLDLSolver"],
)
def test_a_preconditioner_does_not_change_the_solution(inner):
    found = tip(sprung(("PCGLinearSolver", {**EXACT, "preconditioner": "@solver1"}), (inner, {})))
    assert found == pytest.approx(tip(sprung(("SparseLDLSolver", {}))), abs=1e-9)


def test_a_warp_preconditioner_is_the_solver_that_it_names():
    found = tip(
        sprung(
            ("ShewchukPCGLinearSolver", {"iterations": 1, "preconditioner": "@solver1"}),
            ("WarpPreconditioner", {"linearSolver": "@solver2"}),
            ("AsyncSparseLDLSolver", {}),
        )
    )
    assert found == pytest.approx(tip(sprung(("SparseLDLSolver", {}))), abs=1e-9)


def test_minimal_residuals_solve_the_same_system():
    found = tip(sprung(("MinResLinearSolver", {"iterations": 200, "tolerance": 1e-14})))
    assert found == pytest.approx(tip(sprung(("SparseLDLSolver", {}))), abs=1e-9)


@pytest.mark.parametrize(
    "kind",
    ["BTDLinearSolver", "CholeskySolver", "EigenSimplicialLDLT", "EigenSparseQR", "SparseLUSolver"],
)
def test_a_direct_solver_keeps_its_name_and_gives_its_matrix(kind):
    root = sprung((kind, {}))
    tip(root)
    solver = root.body.solver0
    assert solver.getClassName() == kind
    assert solver.A() @ solver.x() == pytest.approx(solver.b(), abs=1e-12)


@pytest.mark.parametrize(
    ("solvers", "message"),
    [
        (
            [
                ("PCGLinearSolver", {"preconditioner": "@solver1"}),
                ("BoxROI", {"box": [0, 0, 0, 1, 1, 1]}),
            ],
            "takes another linear solver as",
        ),
        (
            [
                ("PCGLinearSolver", {"preconditioner": "@solver1"}),
                ("SSORPreconditioner", {"omega": 2.0}),
            ],
            "takes an 'omega' above 0 and below 2, got 2",
        ),
        ([("WarpPreconditioner", {})], "takes a direct linear solver as 'linearSolver'"),
    ],
)
def test_what_cannot_precondition_is_an_error(solvers, message):
    with pytest.raises(SceneError, match=message):
        tip(sprung(*solvers))


def test_a_preconditioner_that_comes_later_is_not_used_as_in_sofa(tolerant, caplog):
    """With few iterations the motion is that of a solver without one."""
    late = sprung(("JacobiPreconditioner", {}), ("PCGLinearSolver", {"preconditioner": "@solver0"}))
    assert "finds no '@solver0' before it" in caplog.text
    late.body.EulerImplicitSolver.findLink("linearSolver").setLinkedBase(late.body.solver1)
    alone = sprung(("PCGLinearSolver", {"iterations": 2}))
    late.body.solver1.iterations.value = 2
    assert tip(late) == pytest.approx(tip(alone), abs=1e-14)


def test_a_preconditioner_alone_solves_no_constraints(root, beam):
    beam(root, cables=1, linear_solver="JacobiPreconditioner")
    simulation.init(root)
    with pytest.raises(SceneError, match="only preconditions a PCGLinearSolver"):
        simulation.animate(root)


def test_a_matrix_without_a_part_is_refused(root):
    root.addObject("MatrixLinearSystem", assembleStiffness=False)
    with pytest.raises(
        SceneError, match="has assembleStiffness=False; here a solver's matrix is always"
    ):
        simulation.init(root)


def test_a_linear_solver_may_stand_below_its_integrator(root):
    """As in SOFA, which takes the first one there or below."""
    root.addObject("EulerImplicitSolver")
    node = root.addChild("body")
    node.addObject("SparseLDLSolver", name="solver")
    node.addObject("MechanicalObject", name="dofs", velocity=[[1, 0, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    simulation.init(root)
    simulation.animate(root)
    assert node.solver.A().diagonal().tolist() == [1.0] * 3
    assert node.dofs.position.value[0].tolist() == [0.01, 0, 0]
