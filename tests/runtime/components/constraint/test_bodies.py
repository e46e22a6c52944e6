"""Constraints on bodies and joints, and their corrections."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.simulation import simulation

H = 0.01
MASS = [2.0, 1.0, 3.0, 0.1, 0.0, 0.1, 2.0, 0.2, 0.0, 0.2, 1.0]
MOMENT = 2.0 * np.array([[3.0, 0.1, 0.0], [0.1, 2.0, 0.2], [0.0, 0.2, 1.0]])
ARM = np.array([0.5, -1.0, 2.0])


@pytest.fixture
def body(root):
    """Makes a body with a correction."""

    def make(correction="LinearSolverConstraintCorrection", mass=True, **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-14)
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("MechanicalObject", name="dofs", template="Rigid3")
        if mass:
            node.addObject("UniformMass", vertexMass=MASS)
        node.addObject(correction, name="correction", **values)
        return node

    return make


def turned(axis=None, value=None, centre=(0, 0, 0)):
    """A pose that is turned about an axis."""
    vector = np.zeros(3) if axis is None else value * np.eye(3)[axis]
    return [*centre, *Rotation.from_rotvec(vector).as_quat()]


@pytest.mark.parametrize(
    "correction",
    [
        "LinearSolverConstraintCorrection",
        "GenericConstraintCorrection",
        "UncoupledConstraintCorrection",
    ],
)
def test_the_compliance_of_a_carried_point_is_that_of_the_textbook(body, root, correction):
    """W = h (1/m + (r x d) . I^-1 (r x d)) for a point at r along d, in a turned body: without a
    given compliance the uncoupled correction takes the mass, as SOFA's."""
    node = body(correction)
    frame = Rotation.from_rotvec([0.4, -0.2, 0.9])
    node.dofs.position.value = [[0, 0, 0, *frame.as_quat()]]
    point = node.addChild("point")
    point.addObject("MechanicalObject", position=[ARM])
    point.addObject("RigidMapping")
    for use in np.eye(3, dtype=int):
        point.addObject("PositionConstraint", useDirections=use, valueType="force", value=[0.0])
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    turns = np.cross(frame.apply(ARM), np.eye(3))
    expected = H * (np.eye(3) / 2.0 + turns @ np.linalg.solve(MOMENT, turns.T))
    assert root.solver.W() == pytest.approx(expected, rel=1e-12)


def test_j_follows_the_turning_body(body, root):
    """W of the third step is that of the pose then, not that of the first."""
    node = body()
    node.dofs.velocity.value = [[0, 0, 0, 0, 0, 20.0]]
    point = node.addChild("point")
    point.addObject("MechanicalObject", position=[ARM])
    point.addObject("RigidMapping")
    point.addObject("PositionConstraint", useDirections=[1, 0, 0], valueType="force", value=[0.0])
    simulation.init(root)
    simulation.animateNSteps(root, 3)
    turn = np.cross(Rotation.from_rotvec([0, 0, 0.4]).apply(ARM), [1.0, 0, 0])
    expected = H * (0.5 + turn @ np.linalg.solve(MOMENT, turn))
    assert root.solver.W()[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"totalMass": 0.1}, 1.0),
        ({"totalMass": 0.1, "vertexMass": "3 1 [5 0 0,0 6 0,0 0 7]"}, 3.0),
        ({"vertexMass": "3 1 [5 0 0,0 6 0,0 0 7]"}, 3.0),
    ],
)
def test_a_mass_that_comes_after_the_correction_is_not_known_yet(
    body, root, monkeypatch, tolerant, given, seen
):
    """As in SOFA, where totalMass and the inverse inertia count from the init of the mass on;
    compared in SofaGym's CartPole, whose pole of 0.1 is moved by its constraints as one of mass 1.
    """
    said = []
    monkeypatch.setattr(message, "warning", lambda emitter, text: said.append(text))
    node = body("UncoupledConstraintCorrection", mass=False)
    node.addObject("UniformMass", **given)
    for use in np.eye(6, dtype=int)[[0, 3]]:
        node.addObject("PositionConstraint", useDirections=use, valueType="force", value=[0.0])
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    assert root.solver.W() == pytest.approx(H * np.diag([1.0 / seen, 1.0]), rel=1e-12)
    assert any(f"moves the body as one of mass {seen:g}" in text for text in said)


def test_without_a_mass_a_body_is_corrected_as_one_of_mass_1(body, root, tolerant, caplog):
    """SOFA goes on with a warning, too; what it then reads is one number short."""
    node = body("UncoupledConstraintCorrection", mass=False, compliance=[0.5])
    node.getObject("EulerImplicitSolver").firstOrder.value = True
    for use in np.eye(6, dtype=int)[[0, 3]]:
        node.addObject("PositionConstraint", useDirections=use, valueType="force", value=[0.0])
    node.addObject("RestShapeSpringsForceField", stiffness=1.0, angularStiffness=1.0)
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    assert root.solver.W() == pytest.approx(H * np.eye(2), rel=1e-12)
    assert "It counts as that of a mass of 1" in caplog.text


def test_a_compliance_cannot_be_that_of_no_mass(body, root, tolerant):
    node = body("UncoupledConstraintCorrection", mass=False)
    node.removeObject(node.correction)
    node.addObject("UniformMass", totalMass=0.0)
    node.addObject("UncoupledConstraintCorrection")
    with pytest.raises(SceneError, match="finds a UniformMass of 0"):
        simulation.init(root)


def test_seven_numbers_are_the_compliance_of_centre_and_turns(body, root):
    """That of the centre, then xx, xy, xz, yy, yz, zz."""
    node = body("UncoupledConstraintCorrection", compliance=[9, 1, 0.2, 0.3, 4, 0.5, 6])
    for use in np.eye(6, dtype=int):
        node.addObject("PositionConstraint", useDirections=use, valueType="force", value=[0.0])
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    expected = np.diag([9.0, 9, 9, 1, 4, 6])
    expected[3, 4] = expected[4, 3] = 0.2
    expected[3, 5] = expected[5, 3] = 0.3
    expected[4, 5] = expected[5, 4] = 0.5
    assert root.solver.W() == pytest.approx(H * expected, rel=1e-13)


def test_without_a_compliance_there_must_be_a_mass(body, root):
    node = body("UncoupledConstraintCorrection", mass=False)
    node.getObject("EulerImplicitSolver").firstOrder.value = True
    with pytest.raises(SceneError, match="needs 'compliance' or 'defaultCompliance', or a Uni"):
        simulation.init(root)


@pytest.mark.usefixtures("tolerant")
@pytest.mark.parametrize("given", [[0.5], [1, 2, 3]])
def test_other_than_seven_numbers_do_not_count(body, root, monkeypatch, given):
    """SOFA's UncoupledConstraintCorrection<Rigid3>::init; the compliance is then 1 / mass."""
    said = []
    monkeypatch.setattr(message, "warning", lambda emitter, text: said.append(text))
    node = body("UncoupledConstraintCorrection", compliance=given)
    node.addObject("PositionConstraint", useDirections=[1, 0, 0, 0, 0, 0], valueType="force")
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    mass = node.getObject("UniformMass").totalMass.value
    assert root.solver.W() == pytest.approx(np.array([[H / mass]]), rel=1e-13)
    assert any(f"has {len(given)} numbers in 'compliance', which do not count" in t for t in said)


@pytest.mark.parametrize(("axis", "value"), [(3, 0.3), (4, -0.2), (5, 1.0), (1, 2.5)])
def test_a_body_is_turned_or_moved_by_the_value(body, root, axis, value):
    """The difference to the first pose, after some steps: axis times angle, or a way. A step
    linearises the turn; about a principal axis alone there is nothing to linearise."""
    node = body()
    node.getObject("UniformMass").vertexMass.value = [2, 1, 3, 0, 0, 0, 2, 0, 0, 0, 1]
    use = np.eye(6, dtype=int)[axis]
    lever = node.addObject("PositionConstraint", useDirections=use, value=[value])
    simulation.init(root)
    simulation.animateNSteps(root, 3)
    expected = turned(axis - 3, value) if axis > 2 else turned(centre=value * np.eye(3)[axis])
    assert node.dofs.position.value[0] == pytest.approx(expected, abs=1e-10)
    assert lever.displacement.value == pytest.approx(value, rel=1e-9)


def test_directions_of_a_body_have_two_halves_of_length_one(body, root):
    node = body()
    screw = np.eye(6)
    screw[2] = [0, 0, 2, 0, 0, 5]
    lever = node.addObject("PositionConstraint", directions=screw, useDirections=[0, 0, 1, 0, 0, 0])
    simulation.init(root)
    assert lever.directions.value[2].tolist() == [0, 0, 1, 0, 0, 1]
    assert [part.tolist() for part in lever.build()] == [[0, 0], [0, 1], [[0, 0, 1], [0, 0, 1]]]


def test_directions_that_do_not_fit_are_an_error(body, root):
    body().addObject("PositionConstraint", useDirections=[1, 0, 0])
    with pytest.raises(SceneError, match=r"has 3 'useDirections', but a node .* has 6"):
        simulation.init(root)


@pytest.fixture
def joints(root):
    """Makes five joints with one JointConstraint."""

    def make(start=0.0, **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-14)
        node = root.addChild("joints")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        position = np.full((5, 1), start)
        node.addObject("MechanicalObject", name="dofs", template="Vec1", position=position)
        node.addObject("UniformMass", totalMass=10.0)
        node.addObject("LinearSolverConstraintCorrection")
        node.addObject("JointConstraint", name="drive", index=4, **values)
        simulation.init(root)
        return node

    return make


def test_a_joint_moves_by_the_value_from_where_it_was(joints, root):
    """From the first step on; W = h / m."""
    node = joints(start=0.7, value=0.25)
    simulation.animateNSteps(root, 1)
    assert node.dofs.position.value[:, 0] == pytest.approx([0.7] * 4 + [0.95], abs=1e-14)
    assert root.solver.W() == pytest.approx(np.array([[H / 2.0]]))
    assert node.drive.force.value == pytest.approx(0.25 / (H / 2.0))
    assert node.drive.displacement.value == pytest.approx(0.25)


def test_sofas_first_step_takes_a_joint_to_be_at_zero(joints, root, monkeypatch):
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", "1")
    node = joints(start=0.7, value=0.25)
    simulation.animateNSteps(root, 1)
    assert node.dofs.position.value[4, 0] == pytest.approx(0.7 + 0.7 + 0.25)


def test_a_joint_is_driven_by_the_force(joints, root):
    """lambda / m is the change of the speed."""
    node = joints(valueType="force", value=3.0)
    simulation.animateNSteps(root, 2)
    assert node.dofs.velocity.value[4, 0] == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("values", "moved"),
    [
        ({"value": 0.5, "maxDisplacement": 0.2}, 0.2),
        ({"value": -0.5, "minDisplacement": -0.1}, -0.1),
        ({"value": 0.5, "maxForce": 20.0}, 20.0 * H / 2.0),
        ({"value": -0.5, "minForce": -20.0}, -20.0 * H / 2.0),
        ({"value": 90.0, "valueType": "force", "maxForce": 20.0}, 20.0 * H / 2.0),
        ({"value": 90.0, "valueType": "force", "maxDisplacement": 0.2}, 0.2),
        ({"value": 0.5, "maxDisplacement": 0.1, "minDisplacement": 0.2}, 0.2),
    ],
)
def test_limits_of_a_joint_hold(joints, root, values, moved):
    node = joints(**values)
    simulation.animateNSteps(root, 1)
    assert node.dofs.position.value[4, 0] == pytest.approx(moved)


def test_a_joint_that_does_not_exist_is_an_error(joints, root):
    node = joints()
    with pytest.raises(SceneError, match="names joint 5 in 'index', but there are 5 joints"):
        node.addObject("JointConstraint", index=5).init()


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"compliance": [0, 1, 0, 0, 1, 0, 1]}, "needs positive compliances, got 0"),
        ({"compliance": [1, -2, 0, 0, 1, 0, 1]}, "needs positive compliances, got -2"),
        ({"defaultCompliance": 0.0}, "needs positive compliances, got 0"),
    ],
)
def test_a_compliance_that_is_not_positive_is_a_fault(body, root, values, problem):
    """SOFA: "this will cause the constraint resolution to diverge"."""
    body("UncoupledConstraintCorrection", **values)
    with pytest.raises(SceneError, match=problem):
        simulation.init(root)
