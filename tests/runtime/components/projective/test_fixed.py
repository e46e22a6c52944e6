import numpy as np
import pytest

from sofa_softctl.errors import SceneError

POINTS = np.arange(12.0).reshape(4, 3)
VELOCITY = np.array([[1.0, 2.0, 3.0]] * 4)


@pytest.fixture
def held(root, integrated, run):
    """Makes four nodes that fall and have a velocity, some of them held."""

    def make(kind="FixedProjectiveConstraint", loop="DefaultAnimationLoop", **values):
        root.gravity = [0.0, -10.0, 0.0]
        root.addObject(loop)
        node = integrated(root, "body", POINTS)
        if loop == "FreeMotionAnimationLoop":
            node.addObject("LinearSolverConstraintCorrection")
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("RestShapeSpringsForceField", name="springs", stiffness=3.0)
        node.addObject(kind, name="clamp", **values)
        run(root)
        node.dofs.velocity.value = VELOCITY
        return node

    return make


PARTIAL = "PartialFixedProjectiveConstraint"


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("FixedProjectiveConstraint", {}, [0, 1, 2]),
        ("FixedProjectiveConstraint", {"indices": [3, 1]}, [3, 4, 5, 9, 10, 11]),
        ("FixedProjectiveConstraint", {"indices": []}, []),
        ("FixedProjectiveConstraint", {"fixAll": True}, list(range(12))),
        (PARTIAL, {"indices": [2]}, [6, 7, 8]),
        (PARTIAL, {"indices": [2, 3], "fixedDirections": [0, 1, 0]}, [7, 10]),
        (PARTIAL, {"fixAll": True, "fixedDirections": [1, 0, 0]}, [0, 3, 6, 9]),
    ],
)
def test_the_chosen_directions_of_the_chosen_nodes_are_held(
    kind, values, expected, held, root, run
):
    """Their rows and columns of A are those of the identity, and their velocity does not change."""
    node = held(kind, **values)
    run(root, 1)
    A, free = node.linear_solver.A().toarray(), np.setdiff1d(np.arange(12), expected)
    assert (A[expected] == np.eye(12)[expected]).all()
    assert (A[:, expected] == np.eye(12)[:, expected]).all()
    assert A[free, free] == pytest.approx(1.0 + 1e-4 * 3.0)
    changed = node.dofs.velocity.array() != VELOCITY
    assert not changed.ravel()[expected].any()
    assert changed.ravel()[free].all()


def test_a_held_node_drifts_with_its_velocity_as_in_sofa(held, root, run):
    """Without constraints x += h v0 in every step: nothing clears the velocity."""
    node = held(indices=[1])
    run(root, 10)
    assert node.dofs.position.array()[1] == pytest.approx(POINTS[1] + 0.1 * VELOCITY[1])


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("FixedProjectiveConstraint", "activate_projectVelocity"),
        (PARTIAL, "projectVelocity"),
    ],
)
def test_a_held_node_stops_when_its_velocity_is_projected(kind, option, held, root, run):
    """From the end of the first step on; it has then moved by h v0."""
    node = held(kind, indices=[1], **{option: True})
    run(root, 10)
    assert node.dofs.position.array()[1] == pytest.approx(POINTS[1] + 0.01 * VELOCITY[1])
    assert not node.dofs.velocity.array()[1].any()


def test_a_held_node_stands_still_where_there_are_constraints(held, root, run):
    """FreeMotionAnimationLoop projects the free velocity."""
    node = held(loop="FreeMotionAnimationLoop", indices=[1])
    run(root, 10)
    assert (node.dofs.position.array()[1] == POINTS[1]).all()


def test_what_is_held_may_change_between_steps(held, root, run):
    """From node 1 to nodes 0 and 2: the solver takes it over, and node 1 falls by A^-1 b."""
    node = held(indices=[1])
    run(root, 1)
    node.clamp.indices.value = [0, 2]
    before = node.dofs.velocity.array().copy()
    run(root, 1)
    changed = (node.dofs.velocity.array() != before).all(axis=1)
    assert changed.tolist() == [False, True, False, True]
    solver = node.linear_solver
    assert solver.x() == pytest.approx(np.linalg.solve(solver.A().toarray(), solver.b()))


def test_a_held_direction_may_change_between_steps(held, root, run):
    node = held(PARTIAL, indices=[1], fixedDirections=[1, 1, 1])
    run(root, 1)
    node.clamp.fixedDirections.value = [1, 0, 1]
    before = node.dofs.velocity.array().copy()
    run(root, 1)
    assert (node.dofs.velocity.array() != before)[1].tolist() == [False, True, False]


def test_several_constraints_add_up(held, root, run):
    """x of node 1 by one, y of it by another."""
    node = held(PARTIAL, indices=[1], fixedDirections=[1, 0, 0])
    node.addObject(PARTIAL, name="second", indices=[1], fixedDirections=[0, 1, 0])
    node.second.init()
    run(root, 1)
    changed = node.dofs.velocity.array() != VELOCITY
    assert changed[1].tolist() == [False, False, True]


def test_a_node_that_does_not_exist_is_an_error(held):
    with pytest.raises(SceneError, match="has 4 in 'indices', but there are 4 nodes"):
        held(indices=[1, 4])


def test_an_end_time_lets_go(held, root, run):
    """From it on the node falls as the others do, whose springs have begun to hold them."""
    node = held(endTime=0.015)
    run(root, 2)
    assert node.dofs.velocity.value[0] == pytest.approx(VELOCITY[0])
    run(root, 1)
    gained = node.dofs.velocity.value[0] - VELOCITY[0]
    stretch = 0.03 * VELOCITY[0]
    assert gained == pytest.approx(0.01 * ([0, -10, 0] - 3.0 * stretch), rel=0.01)
