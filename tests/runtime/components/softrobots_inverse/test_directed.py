"""SlidingActuator, ForcePointActuator and JointActuator, and goals of bodies and joints."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation

H = 0.01
MASS = [2.0, 1.0, 3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0]
"""Mass 2, moments of inertia 6, 4 and 2."""


@pytest.fixture
def inverse(root):
    """Makes nodes of one kind with actuators and an effector, and inverse control."""

    def make(template, position, *components, epsilon=0.0, mass=1.0):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("QPInverseProblemSolver", name="solver", epsilon=epsilon)
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("MechanicalObject", name="dofs", template=template, position=position)
        node.addObject("UniformMass", vertexMass=mass)
        node.addObject("LinearSolverConstraintCorrection")
        added = [node.addObject(name, **values) for name, values in components]
        simulation.init(root)
        return [node.dofs, *added]

    return make


ORIGIN = [[0.0, 0, 0, 0, 0, 0, 1]]
POINTS = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]]


def goal(position, use, **values):
    return "PositionEffector", {"effectorGoal": position, "useDirections": use, **values}


def step(root, count=1):
    simulation.animateNSteps(root, count)


def test_a_slide_spreads_its_force_and_measures_the_mean_way(inverse, root):
    """lambda is the total force: each of n nodes gets lambda / n; W = h / (n m). The nodes are at
    different ways from rest when the goal is set, of which the mean counts."""
    dofs, slide, effector = inverse(
        "Vec3", POINTS, ("SlidingActuator", {"indices": [0, 1], "direction": [0, 3, 0]}),
        goal([[0, 0, 0]], [0, 1, 0]),
    )  # fmt: skip
    with dofs.position.writeable() as x:
        x[0, 1], x[1, 1] = 0.4, 0.2
    effector.effectorGoal.value = [[0.0, 0.5, 0.0]]
    step(root)
    assert dofs.position.value[:, 1] == pytest.approx([0.5, 0.3, 0.0], abs=1e-12)
    assert slide.direction.value.tolist() == [0.0, 1.0, 0.0]
    assert slide.force.value == pytest.approx(2 * 0.1 / H, rel=1e-9)
    assert slide.displacement.value == pytest.approx(0.4, rel=1e-9)


def test_a_slide_along_x_of_all_nodes_is_the_default(inverse, root):
    dofs, _, _ = inverse("Vec3", POINTS, ("SlidingActuator", {}), goal([[2, 0, 0]], [1, 0, 0]))
    step(root)
    assert dofs.position.value[:, 0] == pytest.approx([2.0, 3.0, 7.0])


@pytest.mark.parametrize(
    ("values", "ways"),
    [
        ({"maxPositiveDisp": 0.3}, [0.3, 0.3]),
        ({"maxDispVariation": 0.2}, [0.2, 0.4]),
        ({"maxForce": 6.0}, [0.06 / 3, 0.06]),
    ],
)
def test_limits_of_a_slide_hold_in_every_step(inverse, root, values, ways):
    """The force moves three nodes of mass 1: h lambda / 3, then on with the speed and again."""
    dofs, _, _ = inverse("Vec3", POINTS, ("SlidingActuator", values), goal([[1, 0, 0]], [1, 0, 0]))
    for way in ways:
        step(root)
        assert dofs.position.value[0, 0] == pytest.approx(way, abs=1e-10)


def test_a_slide_can_go_the_other_way(inverse, root):
    dofs, slide, _ = inverse(
        "Vec3", POINTS, ("SlidingActuator", {"maxNegativeDisp": 0.3}), goal([[-1, 0, 0]], [1, 0, 0])
    )
    step(root)
    assert dofs.position.value[0, 0] == pytest.approx(-0.3, abs=1e-10)
    assert slide.force.value < 0.0


def test_a_slide_turns_a_body_about_an_axis(inverse, root):
    """Both halves are made of length one; the moment is lambda times the axis: W = h / I."""
    dofs, slide, _ = inverse(
        "Rigid3", ORIGIN, ("SlidingActuator", {"direction": [0, 0, 0, 0, 7, 0]}),
        goal([[0, 0, 0, *Rotation.from_rotvec([0, 0.3, 0]).as_quat()]], [0, 0, 0, 0, 1, 0]),
        mass=MASS,
    )  # fmt: skip
    step(root)
    assert Rotation.from_quat(dofs.position.value[0, 3:]).as_rotvec() == pytest.approx(
        [0, 0.3, 0], abs=1e-12
    )
    assert slide.force.value == pytest.approx(0.3 * 4.0 / H, rel=1e-9)


def test_accumulated_displacements_add_up(inverse, root):
    """What a rest position that is moved along would show; the limit counts from the start."""
    dofs, slide, _ = inverse(
        "Vec3", POINTS, ("SlidingActuator", {"accumulateDisp": True, "maxPositiveDisp": 0.5}),
        goal([[1, 0, 0]], [1, 0, 0]),
    )  # fmt: skip
    for expected in (0.5, 0.5):
        dofs.velocity.value = np.zeros((3, 3))
        dofs.rest_position.value = dofs.position.value.copy()
        step(root)
        assert slide.displacement.value == pytest.approx(expected, abs=1e-10)
        assert dofs.position.value[0, 0] == pytest.approx(expected, abs=1e-10)


def test_a_force_along_a_direction_acts_on_each_node(inverse, root):
    """Not shared: lambda on every node, so each moves by h lambda / m."""
    dofs, force, _ = inverse(
        "Vec3", POINTS, ("ForcePointActuator", {"indices": [0, 2], "direction": [0, 0, 2]}),
        goal([[0, 0, 0.5]], [0, 0, 1]),
    )  # fmt: skip
    step(root)
    assert dofs.position.value[:, 2] == pytest.approx([0.5, 0.0, 0.5])
    assert force.force.value == pytest.approx([0.5 / H])


def test_a_force_without_direction_is_free_in_all_of_them(inverse, root):
    dofs, force, _ = inverse(
        "Vec3", POINTS, ("ForcePointActuator", {"indices": [1], "maxForce": 30.0}),
        goal([[1.1, 0.2, 0.9]], [1, 1, 1], indices=[1]),
    )  # fmt: skip
    step(root)
    assert force.force.value == pytest.approx([10.0, 20.0, 30.0])
    assert dofs.position.value[1] == pytest.approx([1.1, 0.2, 0.3])


def test_a_body_has_three_forces_and_three_moments(inverse, root):
    """A turn about a principal axis and a way: W = h / 2 and h / 6."""
    dofs, force, _ = inverse(
        "Rigid3", ORIGIN, ("ForcePointActuator", {"indices": [0]}),
        goal([[1, 2, 3, *Rotation.from_rotvec([0.4, 0, 0]).as_quat()]], [1] * 6),
        mass=MASS,
    )  # fmt: skip
    step(root)
    expected = [2 / H, 4 / H, 6 / H, 0.4 * 6 / H, 0, 0]
    assert force.force.value == pytest.approx(expected, abs=1e-9)
    assert dofs.position.value[0, :3] == pytest.approx([1, 2, 3])


def test_the_force_changes_by_its_rate(inverse, root):
    values = {"indices": [0], "direction": [1, 0, 0], "maxForceVariation": 4.0, "initForce": 1.0}
    _, force, _ = inverse(
        "Vec3", POINTS, ("ForcePointActuator", values), goal([[9, 0, 0]], [1, 0, 0])
    )
    found = []
    for _ in range(3):
        step(root)
        found.append(float(force.force.value[0]))
    assert found == pytest.approx([5.0, 9.0, 13.0])


def test_a_penalty_is_said_to_have_no_effect(inverse, monkeypatch):
    said = []
    monkeypatch.setattr(message, "warning", lambda emitter, text: said.append(text))
    push = ("ForcePointActuator", {"indices": [0], "penalty": 0.1})
    inverse("Vec3", POINTS, push, goal([[0, 0, 0]], [1, 0, 0]))
    assert "'penalty' of ForcePointActuator" in said[0]
    assert "has no effect here" in said[0]


@pytest.mark.parametrize("component", ["SlidingActuator", "ForcePointActuator"])
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"indices": [3]}, "has 3 in 'indices', but there are 3 nodes"),
        ({"indices": [-1]}, "has -1 in 'indices'"),
        ({"direction": [1, 0, 0, 0, 0, 0]}, "'direction' of .* takes 3 numbers, got"),
    ],
)
def test_nodes_and_directions_are_checked(inverse, component, values, problem):
    with pytest.raises(SceneError, match=problem):
        inverse("Vec3", POINTS, (component, values), goal([[0, 0, 0]], [1, 0, 0]))


JOINTS = [[0.1], [0.2], [0.3], [0.4]]


def test_a_joint_reaches_its_goal(inverse, root):
    """The angle counts from initAngle; W = h / m."""
    dofs, joint, _ = inverse(
        "Vec1", JOINTS, ("JointActuator", {"index": 3, "initAngle": 0.4}),
        goal([[0.9]], [1], indices=[3]), mass=2.0,
    )  # fmt: skip
    assert joint.angle.value == pytest.approx(0.0, abs=1e-15)
    step(root)
    assert dofs.position.value[:, 0] == pytest.approx([0.1, 0.2, 0.3, 0.9])
    assert joint.angle.value == pytest.approx(0.5)
    assert joint.effort.value == pytest.approx(0.5 * 2.0 / H)


@pytest.mark.parametrize(
    ("values", "angles"),
    [
        ({"maxAngle": 0.6}, [0.6, 0.6]),
        ({"maxAngleVariation": 0.1}, [0.5, 0.6]),
        ({"maxEffort": 10.0}, [0.5, 0.7]),
        ({"maxEffortVariation": 10.0}, [0.5, 0.8]),
    ],
)
def test_limits_of_a_joint_hold_from_the_first_step_on(inverse, root, values, angles):
    """An effort of 10 adds 10 to the speed of the mass 1: 0.1 in a step, then 0.2; growing by 10
    each step it adds 0.1, then 0.3."""
    dofs, _, _ = inverse(
        "Vec1", JOINTS, ("JointActuator", {"index": 3, **values}), goal([[2.0]], [1], indices=[3])
    )
    for angle in angles:
        step(root)
        assert dofs.position.value[3, 0] == pytest.approx(angle, abs=1e-10)


def test_a_goal_is_approached_at_its_speed_also_in_turns(inverse, root):
    """From where the body is, 0.05 a step; ways and turns count together, here a turn alone."""
    turn = Rotation.from_rotvec([0, 0, 1.0]).as_quat()
    dofs, _, _ = inverse(
        "Rigid3", ORIGIN, ("ForcePointActuator", {"indices": [0]}),
        goal([[0, 0, 0, *turn]], [1] * 6, maxSpeed=5.0), mass=MASS,
    )  # fmt: skip
    step(root, 3)
    assert Rotation.from_quat(dofs.position.value[0, 3:]).as_rotvec() == pytest.approx(
        [0, 0, 0.15], abs=1e-10
    )


def test_a_goal_of_a_body_needs_seven_numbers(inverse):
    with pytest.raises(SceneError, match="takes a list of vectors of 7 numbers"):
        inverse("Rigid3", ORIGIN, goal([[1, 2, 3]], [1] * 6), mass=MASS)


def test_a_force_without_nodes_does_nothing_and_says_so(inverse):
    with pytest.raises(SceneError, match="does nothing without 'indices'"):
        inverse("Vec3", POINTS, ("ForcePointActuator", {}), goal([[1, 0, 0]], [1, 0, 0]))


def test_an_equality_holds_the_coordinate_whatever_its_weight(inverse, root):
    """Its row has no weight: x = 0.4, not 0.2."""
    dofs, *_ = inverse(
        "Vec3", POINTS,
        ("SlidingActuator", {"indices": [2]}),
        ("PositionEquality", {"useDirections": [1, 0, 0], "eqDelta": 0.4, "weight": [2, 2, 2]}),
        goal([[5, 0, 0]], [1, 0, 0], indices=[2]),
    )  # fmt: skip
    step(root)
    assert dofs.position.value[0, 0] == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize(("defects", "angle"), [("0", 0.5), ("1", 0.1)])
def test_a_joint_moves_from_where_it_is(inverse, root, monkeypatch, defects, angle):
    """By 0.1 from 0.4; SOFA's counts the first change from initAngle, and jumps."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    dofs, *_ = inverse(
        "Vec1", JOINTS, ("JointActuator", {"index": 3, "maxAngleVariation": 0.1}),
        goal([[2.0]], [1], indices=[3]),
    )  # fmt: skip
    step(root)
    assert dofs.position.value[3, 0] == pytest.approx(angle, abs=1e-9)


@pytest.mark.parametrize(("defects", "reached"), [("0", 0.2), ("1", 0.7)])
def test_a_shift_below_one_is_limited(inverse, root, monkeypatch, defects, reached):
    """SOFA compares the whole part of the distance, 0 for 0.7."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    near = {"limitShiftToTarget": True, "maxShiftToTarget": 0.2}
    dofs, *_ = inverse(
        "Vec3", POINTS, ("SlidingActuator", {"indices": [0]}),
        goal([[0.7, 0, 0]], [1, 0, 0], **near),
    )  # fmt: skip
    step(root)
    assert dofs.position.value[0, 0] == pytest.approx(reached, abs=1e-9)


def test_lists_of_another_length_go_on_as_in_sofa(inverse, caplog):
    """With a warning: the first numbers count, and of nodes those that have a goal."""
    with warnings_as_errors(False):
        _, slide, effector = inverse(
            "Vec3", POINTS,
            ("SlidingActuator", {"indices": [0], "direction": [0, 2, 0, 1]}),
            goal([[1, 0, 0]], [0, 1], indices=[2, 1]),
        )  # fmt: skip
    assert slide.direction.value.tolist() == [0, 1, 0]
    assert effector.useDirections.value.tolist() == [False, True, False]
    assert effector.indices.value.tolist() == [2]
    problems = ("takes 3 numbers", "takes 3 or 6 or 1 times 1 or 0", "has 2 nodes but 1 goals")
    assert [part in text for part, text in zip(problems, caplog.messages, strict=True)] == [
        True
    ] * 3


def test_a_cable_without_points_or_value_pulls_at_the_first(root, caplog):
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver")
    body = root.addChild("other")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    dofs = body.addObject("MechanicalObject", position=POINTS)
    body.addObject("UniformMass", totalMass=1.0)
    body.addObject("LinearSolverConstraintCorrection")
    pull = {"indices": [], "value": [0.2], "pullPoint": [0, 5, 0], "valueIndex": -1}
    with warnings_as_errors(False):
        cable = body.addObject("CableConstraint", **pull)
        simulation.init(root)
        step(root)
    assert cable.valueIndex.value == 0
    assert dofs.position.value[0, 1] == pytest.approx(0.2, abs=1e-6)
    assert "needs at least one point in 'indices'. It is point 0." in caplog.text
    assert "has valueIndex 4294967295, but 1 values. The first one counts." in caplog.text
