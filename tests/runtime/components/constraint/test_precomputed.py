"""PrecomputedConstraintCorrection: beside the linear solver's, and in closed form."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation

DT, MASS, STIFFNESS, ALPHA, BETA, DECAY = 0.02, 2.0, 300.0, 0.4, 0.05, 7.0
A = MASS * (1.0 + DT * ALPHA) + STIFFNESS * DT * (DT + BETA)
"""Of one node on a spring: (1 + h alpha) M + h (h + beta) K."""


@pytest.fixture
def said(monkeypatch):
    """Warnings, as they come."""
    found = []
    monkeypatch.setattr(message, "warning", lambda sender, text: found.append(text))
    return found


@pytest.fixture
def scene():
    """Makes an empty scene with an integrator in a node `body`."""

    def make(integrator="EulerImplicitSolver", linear_solver="SparseLDLSolver", **values):
        root = Node("root", dt=DT, gravity=[0.0, -9.81, 0.0])
        root.addObject("FreeMotionAnimationLoop", name="loop")
        root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-15)
        body = root.addChild("body")
        body.addObject(integrator, name="integrator", **values)
        body.addObject(linear_solver)
        return body

    return make


@pytest.fixture
def spring(scene):
    """Makes one node on a spring to where it is, pulled along x by a given force."""

    def make(force=0.0, correction="PrecomputedConstraintCorrection", position=(0, 0, 0), **values):
        given = {"rayleighMass": ALPHA, "rayleighStiffness": BETA, **values}
        keys = ("recompute", "rotations", "fileCompliance", "regularizationTerm")
        options = {key: given.pop(key) for key in keys if key in given}
        body = scene(**given)
        body.addObject(
            "MechanicalObject", name="dofs", position=[position], rest_position=[[0, 0, 0]]
        )
        body.addObject("UniformMass", totalMass=MASS)
        body.addObject("RestShapeSpringsForceField", points=[0], stiffness=STIFFNESS)
        pull = {"useDirections": [1, 0, 0], "valueType": "force", "value": force}
        body.addObject("PositionConstraint", name="pull", indices=[0], **pull)
        body.addObject(correction, name="correction", **options)
        root = body.getRoot()
        simulation.init(root)
        return root

    return make


@pytest.fixture
def block(scene):
    """Makes a clamped block of hexahedra whose far corner is held at given displacements."""

    def make(correction, value, **values):
        body = scene(rayleighStiffness=0.02, **values)
        body.getRoot().gravity = [0.0, 0.0, 0.0]
        body.addObject("RegularGridTopology", n=[3, 3, 4], min=[0, 0, 0], max=[2, 2, 3])
        body.addObject("MechanicalObject", name="dofs")
        body.addObject("UniformMass", totalMass=3.0)
        body.addObject(
            "HexahedronFEMForceField", youngModulus=500.0, poissonRatio=0.3, method="large"
        )
        body.addObject("FixedProjectiveConstraint", indices=list(range(9)))
        for index, use in ((35, [1, 0, 0]), (35, [0, 1, 0]), (30, [0, 0, 1])):
            body.addObject("PositionConstraint", indices=[index], useDirections=use, value=value)
        body.addObject(correction, name="correction")
        simulation.init(body.getRoot())
        return body

    return make


def test_the_multiplier_of_one_node_is_that_of_the_textbook(scene):
    """W = h / A for a node on a spring, and the way given is gone: lambda = A (d - x_free) / h."""
    body = scene(rayleighMass=ALPHA, rayleighStiffness=BETA)
    body.addObject("MechanicalObject", name="dofs", velocity=[[0.5, 0, 0]], position=[[0, 0, 0]])
    body.addObject("UniformMass", totalMass=MASS)
    body.addObject("RestShapeSpringsForceField", points=[0], stiffness=STIFFNESS)
    body.addObject("PositionConstraint", indices=[0], useDirections=[1, 0, 0], value=0.25)
    body.addObject("PrecomputedConstraintCorrection")
    root = body.getRoot()
    simulation.init(root)
    simulation.animate(root)
    free = DT * (0.5 - DT * (ALPHA * MASS + (DT + BETA) * STIFFNESS) * 0.5 / A)
    assert root.solver.W() == pytest.approx(np.array([[DT / A]]), rel=1e-14)
    assert root.solver.lambda_force()[0] == pytest.approx(A * (0.25 - free) / DT, rel=1e-13)
    assert body.dofs.position.value[0, 0] == pytest.approx(0.25, rel=1e-13)
    assert body.dofs.velocity.value[0, 0] == pytest.approx(0.25 / DT, rel=1e-13)


def test_the_compliance_of_first_order_is_the_inverse_matrix(spring):
    """As in SOFA, whose velocity by a unit force is then A^-1, with A = M + h K."""
    root = spring(firstOrder=True)
    simulation.animate(root)
    assert root.solver.W()[0, 0] == pytest.approx(1.0 / (MASS + DT * STIFFNESS), rel=1e-14)


def test_a_velocity_that_decays_lessens_the_compliance(spring):
    root = spring(vdamping=DECAY)
    simulation.animate(root)
    assert root.solver.W()[0, 0] == pytest.approx(DT / A * np.exp(-DT * DECAY), rel=1e-14)


def test_a_term_is_added_once_for_each_node_of_a_row(scene):
    """As in SOFA: a row on two nodes gets it twice."""
    body = scene()
    body.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 0, 0]])
    body.addObject("UniformMass", vertexMass=MASS)
    body.addObject("CableConstraint", indices=[0, 1], hasPullPoint=False, value=0.0)
    use = {"useDirections": [0, 1, 0], "valueType": "force", "value": 0.0}
    body.addObject("PositionConstraint", indices=[0], **use)
    body.addObject("PrecomputedConstraintCorrection", regularizationTerm=0.125)
    simulation.init(body.getRoot())
    simulation.animate(body.getRoot())
    expected = np.diag([2.0 * DT / MASS + 0.25, DT / MASS + 0.125])
    assert body.getRoot().solver.W() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("linear_solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_the_first_step_from_rest_is_that_of_the_linear_solver(block, linear_solver):
    """C = h A^-1 with A of the same positions; conjugate gradients are not asked for C."""
    ours = block("PrecomputedConstraintCorrection", 0.3, linear_solver=linear_solver)
    other = block("LinearSolverConstraintCorrection", 0.3)
    for body in (ours, other):
        simulation.animate(body.getRoot())
        assert np.abs(body.dofs.position.value[35, :2] - [2.3, 2.3]) == pytest.approx(0, abs=1e-9)
    assert ours.dofs.position.value == pytest.approx(other.dofs.position.value, abs=1e-12)
    assert ours.dofs.velocity.value == pytest.approx(other.dofs.velocity.value, abs=1e-10)
    lam = [body.getRoot().solver.lambda_force() for body in (ours, other)]
    assert lam[0] == pytest.approx(lam[1], rel=1e-9)


def test_the_compliance_stays_that_of_the_start(block):
    """W of a bent block is that of the first step, while the linear solver's has changed."""
    found = {}
    for kind in ("PrecomputedConstraintCorrection", "LinearSolverConstraintCorrection"):
        root = block(kind, 0.8).getRoot()
        simulation.animate(root)
        first = root.solver.W().copy()
        simulation.animateNSteps(root, 3)
        found[kind] = np.abs(root.solver.W() - first).max() / np.abs(first).max()
    assert found["PrecomputedConstraintCorrection"] == 0.0
    assert found["LinearSolverConstraintCorrection"] > 1e-3


def test_a_state_beside_others_is_corrected_alone(scene):
    """Rows on one state of two move that one; the other keeps to its own correction."""
    body = scene()
    for name, kind in (
        ("soft", "PrecomputedConstraintCorrection"),
        ("other", "UncoupledConstraintCorrection"),
    ):
        node = body.addChild(name)
        node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 0, 0]])
        node.addObject("UniformMass", vertexMass=MASS)
        node.addObject(kind, **({"compliance": [0.5, 0.5]} if name == "other" else {}))
        use = {"useDirections": [1, 0, 0], "valueType": "force", "value": 3.0}
        node.addObject("PositionConstraint", indices=[1], **use)
    root = body.getRoot()
    root.gravity = [0.0, 0.0, 0.0]
    simulation.init(root)
    simulation.animate(root)
    assert root.solver.W() == pytest.approx(np.diag([DT / MASS, DT * 0.5]), rel=1e-14)
    moved = root.solver.W() @ root.solver.lambda_force()
    for way, node in zip(moved, (body.soft, body.other), strict=True):
        expected = [[0, 0, 0], [1.0 + way, 0, 0]]
        assert node.dofs.position.value == pytest.approx(np.array(expected), rel=1e-14)


def test_a_state_on_which_nothing_acts_has_no_part_in_the_matrix(scene):
    """Such as a target below the same integrator: the matrix is singular with its rows."""
    body = scene(linear_solver="CGLinearSolver")
    body.addChild("target").addObject("MechanicalObject", template="Rigid3", name="dofs")
    node = body.addChild("node")
    node.addObject("MechanicalObject", position=[[0, 0, 0]])
    node.addObject("UniformMass", vertexMass=MASS)
    use = {"useDirections": [1, 0, 0], "valueType": "force", "value": 3.0}
    node.addObject("PositionConstraint", indices=[0], **use)
    node.addObject("PrecomputedConstraintCorrection")
    simulation.init(body.getRoot())
    simulation.animate(body.getRoot())
    assert body.getRoot().solver.W() == pytest.approx(np.array([[DT / MASS]]), rel=1e-14)
    assert body.target.dofs.position.value.tolist() == [[0, 0, 0, 0, 0, 0, 1]]


def test_a_node_that_is_held_at_the_start_has_no_compliance(scene):
    """Also when it is let go later, as in SOFA."""
    body = scene()
    body.addObject("MechanicalObject", position=[[0, 0, 0]])
    body.addObject("UniformMass", vertexMass=MASS)
    clamp = body.addObject("FixedProjectiveConstraint", indices=[0])
    use = {"useDirections": [1, 0, 0], "valueType": "force", "value": 3.0}
    body.addObject("PositionConstraint", indices=[0], **use)
    body.addObject("PrecomputedConstraintCorrection")
    simulation.init(body.getRoot())
    clamp.indices.value = []
    simulation.animate(body.getRoot())
    assert body.getRoot().solver.W() == pytest.approx(np.zeros((1, 1)), abs=0.0)


def test_a_graph_that_changes_leaves_the_compliance(block):
    body = block("PrecomputedConstraintCorrection", 0.8)
    root = body.getRoot()
    simulation.animateNSteps(root, 2)
    before = root.solver.W().copy()
    other = body.addChild("another")
    other.addObject("MechanicalObject", position=[[9, 9, 9]])
    other.addObject("UniformMass", totalMass=1.0)
    other.addObject("UncoupledConstraintCorrection", compliance=[1.0])
    other.init()
    simulation.animate(root)
    assert root.solver.W() == pytest.approx(before, rel=1e-14)


def test_own_gravity_is_no_force_at_the_start(spring, said):
    spring()
    assert said == []


def test_forces_at_the_start_are_warned_of(spring, said):
    """SOFA would count them in the compliance: h / A (1 + f) in place of h / A."""
    root = spring(position=(0.01, 0, 0))
    assert "forces up to 3 act at the start" in said[0]
    simulation.animate(root)
    assert root.solver.W()[0, 0] == pytest.approx(DT / A, rel=1e-14)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"rotations": True}, "has rotations=True, which has no effect"),
        ({"fileCompliance": "a.comp"}, "reads no compliance from 'a.comp'"),
    ],
)
def test_what_has_no_effect_is_warned_of(spring, said, values, problem):
    with warnings_as_errors(False):
        spring(**values)
    assert problem in said[0]
    with pytest.raises(SceneError, match=problem):
        spring(**values)


def test_another_integrator_is_an_error(scene):
    body = scene("EulerExplicitSolver")
    body.addObject("MechanicalObject", position=[[0, 0, 0]])
    body.addObject("UniformMass", totalMass=MASS)
    body.addObject("PrecomputedConstraintCorrection")
    with pytest.raises(SceneError, match=r"needs an EulerImplicitSolver \(in SOFA too\)"):
        simulation.init(body.getRoot())
