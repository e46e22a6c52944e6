import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

POINTS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])


@pytest.fixture
def cables(root, integrated, run):
    """Makes four free particles with cables."""

    def make(*cables, rest=None):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", name="solver", tolerance=1e-14)
        node = integrated(root, "body", POINTS)
        if rest is not None:
            node.dofs.rest_position.value = rest
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        added = [node.addObject("CableConstraint", **values) for values in cables]
        run(root)
        return added

    return make


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"indices": [0, 1, 2], "pullPoint": [0, 0, -5]}, 5.0 + 1.0 + 2.0),
        ({"indices": [0, 1, 2], "hasPullPoint": False}, 1.0 + 2.0),
        ({"indices": [3], "pullPoint": [3, 4, 0]}, 4.0),
        ({"pullPoint": [0, 3, 4]}, 5.0),
    ],
)
def test_the_first_length_is_the_one_at_rest(values, expected, cables):
    """Also where the body starts elsewhere."""
    (cable,) = cables(values)
    assert cable.cableInitialLength.value == pytest.approx(expected)
    assert cable.cableLength.value == pytest.approx(expected)


def test_a_body_that_is_not_at_rest_starts_with_a_displacement(cables, root, run):
    """L0 of the rest position, L of the present one: delta_free = L0 - L."""
    (cable,) = cables(
        {"indices": [0, 1], "hasPullPoint": False, "valueType": "force"}, rest=2.0 * POINTS
    )
    run(root, 1)
    assert cable.cableInitialLength.value == 2.0
    assert root.solver.dfree() == pytest.approx([1.0])
    assert cable.displacement.value == pytest.approx(1.0)


def test_a_given_first_length_counts(cables, root, run):
    """cableInitialLength: delta = L0 - L is not 0 at rest."""
    (cable,) = cables({"pullPoint": [0, 3, 4], "cableInitialLength": 7.0, "valueType": "force"})
    run(root, 1)
    assert cable.displacement.value == pytest.approx(2.0)


def test_displacement_and_length_are_those_at_the_start_of_the_step(cables, root, run):
    """One step behind, as in SoftRobots; force is that of the step itself."""
    (cable,) = cables({"pullPoint": [0.0, 0.0, -5.0], "value": 0.5})
    run(root, 1)
    assert (cable.displacement.value, cable.cableLength.value) == (0.0, 5.0)
    assert cable.force.value == pytest.approx(0.5 / 0.01)  # W = h / m = 0.01
    run(root, 1)
    assert cable.displacement.value == pytest.approx(0.5)
    assert cable.cableLength.value == pytest.approx(4.5)


def test_one_of_several_values_is_chosen(cables, root, run):
    """valueIndex, also when it changes."""
    (cable,) = cables({"value": [1.0, 2.0, 3.0], "valueIndex": 2, "valueType": "force"})
    run(root, 1)
    assert cable.force.value == 3.0
    cable.valueIndex.value = 0
    run(root, 1)
    assert cable.force.value == 1.0


def test_a_value_that_does_not_exist_is_an_error(cables, root, run):
    cables({"value": [1.0, 2.0], "valueIndex": 2})
    with pytest.raises(SceneError, match="has valueIndex 2, but 2 values"):
        run(root, 1)


def test_no_values_are_a_zero(cables, root, run):
    """value=[]: no force, nothing moves."""
    (cable,) = cables({"value": [], "valueType": "force", "pullPoint": [0, 0, -5]})
    run(root, 1)
    assert cable.force.value == 0.0
    assert (cable.state.position.array() == POINTS).all()


def test_other_points_count_from_the_next_step_on(cables, root, run):
    """Points that a controller changes between steps, as many as before: the force acts on them,
    and no longer on those of before."""
    (cable,) = cables(
        {"indices": [0, 1], "hasPullPoint": False, "value": 1.0, "valueType": "force"}
    )
    run(root, 1)
    before = cable.state.velocity.array().copy()
    cable.indices.value = [0, 3]
    run(root, 1)
    change = cable.state.velocity.array() - before
    assert change[3] == pytest.approx(-change[0])
    assert np.linalg.norm(change[3]) == pytest.approx(1.0)
    assert not change[[1, 2]].any()


@pytest.mark.parametrize("points", [[1], [1, 2, 3]])
def test_more_or_fewer_points_count_from_the_next_step_on(points, cables, root, run):
    """All of them are pulled, and none of the others."""
    (cable,) = cables({"indices": [0, 1], "value": 1.0, "valueType": "force"})
    cable.indices.value = points
    run(root, 1)
    assert np.flatnonzero(cable.state.velocity.array().any(axis=1)).tolist() == points


def test_a_point_that_does_not_exist_is_an_error_in_a_run_too(cables):
    (cable,) = cables({"indices": [0, 1]})
    with pytest.raises(SceneError, match="'indices' of .* has 4, but there are 4 nodes"):
        cable.indices.value = [0, 4]


def test_the_first_length_is_measured_again_at_reinit(cables):
    """Of other points; without reinit it stays what it was."""
    (cable,) = cables({"indices": [0, 1], "hasPullPoint": False})
    cable.indices.value = [0, 3]
    assert cable.cableInitialLength.value == 1.0
    cable.reinit()
    assert cable.cableInitialLength.value == 3.0


def test_a_cable_that_ends_lets_go(cables, root, run):
    """endTime: from then on there is no row."""
    (cable,) = cables(
        {"pullPoint": [0, 0, -5], "value": 1.0, "valueType": "force", "endTime": 0.02}
    )
    counts = []
    for _ in range(5):
        run(root, 1)
        counts.append(root.solver.currentNumConstraints.value)
    assert counts == [1, 1, 0, 0, 0]  # times 0 and 0.01 at the start of the step
    assert cable.state.velocity.array()[0, 2] == pytest.approx(-2.0)


def test_reset_brings_back_length_force_and_displacement(cables, root, run):
    (cable,) = cables({"pullPoint": [0.0, 0.0, -5.0], "value": 0.5})
    run(root, 3)
    simulation.reset(root)
    assert cable.cableLength.value == 5.0
    assert cable.force.value == cable.displacement.value == 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"indices": []}, "needs at least one point in 'indices'"),
        ({"indices": [0, 4]}, "has 4 in 'indices', but there are 4 nodes"),
        ({"hasPullPoint": False}, "needs at least two points in 'indices' when hasPullPoint"),
    ],
)
def test_a_cable_that_is_none_is_an_error(values, message, cables):
    with pytest.raises(SceneError, match=message):
        cables(values)


def test_a_cable_on_what_does_not_move_is_an_error(root):
    root.addObject("FreeMotionAnimationLoop")
    node = root.addChild("frame")
    node.addObject("MechanicalObject", position=[[0, 0, 0]])
    node.addObject("CableConstraint")
    with pytest.raises(SceneError, match="holds constraints, but no time integrator"):
        simulation.init(root)


def test_a_cable_without_a_pull_point_shows_its_first_point_as_one(cables):
    (cable,) = cables({"indices": [3, 1], "hasPullPoint": False})
    assert cable.pullPoint.value.tolist() == [3.0, 0.0, 0.0]


@pytest.mark.parametrize(("defects", "moves"), [("0", True), ("1", False)])
def test_a_last_point_that_is_named_twice_is_pulled(cables, root, run, monkeypatch, defects, moves):
    """The second time it has no direction, and SOFA forgets the first."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    (cable,) = cables({"indices": [3, 3], "pullPoint": [3, 4, 0], "valueType": "force"})
    cable.value.value = [1.0]
    run(root, 1)
    assert (root.body.dofs.position.value[3, 1] > 0.0) == moves
