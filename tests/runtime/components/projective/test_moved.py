"""Nodes that are moved, or kept on lines; their motions are compared in parity/mechanics."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.derivatives.implicit_step import check_step
from sofa_softctl.runtime.simulation import simulation, snapshot

POINTS = np.arange(12.0).reshape(4, 3)


@pytest.fixture
def body(root, integrated):
    """Makes four nodes on springs with a constraint."""

    def make(kind, linear_solver="SparseLDLSolver", **values):
        node = integrated(root, "body", POINTS, linear_solver)
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("RestShapeSpringsForceField", stiffness=3.0)
        node.addObject(kind, name="constraint", **values)
        simulation.init(root)
        return node

    return make


MOVED = {"indices": [1], "keyTimes": [0.0, 1.0], "movements": [[0, 0, 0], [1, 2, 3]]}


def test_a_moved_node_is_where_its_path_was_at_the_start_of_the_step(body, root):
    """As in SOFA, which places it before the time goes on; its velocity is that of the path."""
    node = body("LinearMovementProjectiveConstraint", **MOVED)
    simulation.animateNSteps(root, 5)
    assert node.dofs.position.value[1] == pytest.approx(POINTS[1] + 0.04 * np.array([1, 2, 3]))
    assert node.dofs.velocity.value[1].tolist() == [1, 2, 3]


def test_the_older_names_are_known(body):
    node = body("LinearMovementConstraint", **MOVED)
    assert node.constraint.getClassName() == "LinearMovementProjectiveConstraint"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("LinearMovementProjectiveConstraint", MOVED),
        (
            "LinearVelocityProjectiveConstraint",
            {"indices": [1], "keyTimes": [0, 1], "velocities": [[0, 0, 0], [1, 2, 3]]},
        ),
    ],
)
def test_reset_and_snapshots_bring_the_motion_back(kind, values, body, root):
    node = body(kind, **values)
    simulation.animateNSteps(root, 3)
    kept = snapshot.take_snapshot(root)
    simulation.animateNSteps(root, 3)
    later = node.dofs.position.value.copy()
    snapshot.put_back(root, kept)
    simulation.animateNSteps(root, 3)
    assert (node.dofs.position.value == later).all()
    simulation.reset(root)
    simulation.animateNSteps(root, 6)
    assert node.dofs.position.value == pytest.approx(later, abs=1e-14)


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            "LinearMovementProjectiveConstraint",
            {"indices": [4], "keyTimes": [0, 1], "movements": [[0, 0, 0]] * 2},
            "has 4 in 'indices', but there are 4 nodes",
        ),
        (
            "LinearMovementProjectiveConstraint",
            {"keyTimes": [0, 1], "movements": [[0, 0, 0]]},
            "has 2 'keyTimes' and 1 'movements': give as many",
        ),
        (
            "LinearVelocityProjectiveConstraint",
            {"keyTimes": [1, 0], "velocities": [[0, 0, 0]] * 2},
            "needs ascending 'keyTimes'",
        ),
        (
            "PartialLinearMovementProjectiveConstraint",
            {**MOVED, "movedDirections": [1, 1, 1, 0, 0, 0]},
            "has 6 'movedDirections', but a node moves in 3",
        ),
        ("LineProjectiveConstraint", {}, "does not work with SparseLDLSolver"),
        ("PlaneProjectiveConstraint", {}, "does not work with SparseLDLSolver"),
        ("AffineMovementProjectiveConstraint", {}, "does not work with SparseLDLSolver"),
        (
            "FixedPlaneProjectiveConstraint",
            {"direction": [0.6, 0.8, 0]},
            "does not work with SparseLDLSolver",
        ),
        (
            "FixedPlaneProjectiveConstraint",
            {"direction": [0, 0, 2]},
            "needs a 'direction' of length 1",
        ),
        ("OscillatorProjectiveConstraint", {"oscillators": [1, 2]}, "takes 9 numbers for each"),
        (
            "AttachProjectiveConstraint",
            {"indices1": [0], "indices2": [1, 2]},
            "has 1 indices1, but 2 indices2",
        ),
        (
            "AttachProjectiveConstraint",
            {"indices1": [0], "indices2": [9]},
            "has 9 in 'indices2', but there are 4 nodes",
        ),
        ("AttachProjectiveConstraint", {"lastDir": [0, 0, 1]}, "does not support 'lastDir'"),
    ],
)
def test_what_cannot_be_done_is_an_error(kind, values, message, body):
    with pytest.raises(SceneError, match=message):
        body(kind, **values)


def test_a_moved_node_is_not_differentiated(body, root):
    body("LinearMovementProjectiveConstraint", **MOVED)
    loop = simulation.loop_of(root)
    with pytest.raises(SceneError, match="whose derivative is not known; it is known of Fixed"):
        check_step(loop, loop.systems[0])


def test_points_that_are_attached_both_ways_share_a_weighted_part_of_their_forces(root, integrated):
    """Each gets half the weight of what the other has more: here 0.25 * 0.5 and 0.25 * 0.8."""
    one, two = (integrated(root, name, POINTS) for name in ("one", "two"))
    attached = root.addObject(
        "AttachProjectiveConstraint",
        object1=one.dofs.getLinkPath(),
        object2=two.dofs.getLinkPath(),
        indices1=[0, 3],
        indices2=[2, 1],
        twoWay=True,
        responseFactor=0.25,
        velocityFactor=0.75,
        positionFactor=0.5,
        constraintFactor=[1.0, 1.6],
    )
    for node in (one, two):
        node.addObject("UniformMass", vertexMass=1.0)
    simulation.init(root)
    before = {id(one.dofs): POINTS.copy(), id(two.dofs): 10.0 * POINTS}
    after = {key: force.copy() for key, force in before.items()}
    attached.project_response(lambda state: after[id(state)])
    first, second = before[id(one.dofs)], before[id(two.dofs)]
    step = (second[[2, 1]] - first[[0, 3]]) * [[0.125], [0.2]]
    first[[0, 3]] += step
    second[[2, 1]] -= step
    assert after[id(one.dofs)] == pytest.approx(first)
    assert after[id(two.dofs)] == pytest.approx(second)


@pytest.mark.usefixtures("tolerant")
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("LinearMovementProjectiveConstraint", MOVED),
        (
            "LinearVelocityProjectiveConstraint",
            {"indices": [1], "keyTimes": [0, 1], "velocities": [[0, 0, 0], [1, 2, 3]]},
        ),
    ],
)
def test_nodes_that_are_let_go_are_said_once(body, root, caplog, kind, values):
    body(kind, **values)
    simulation.animateNSteps(root, 100)
    assert "lets its nodes go" not in caplog.text
    simulation.animateNSteps(root, 5)
    assert caplog.text.count("lets its nodes go at t = 1") == 1


@pytest.mark.parametrize("values", [{"restRotations": True}, {"lastFreeRotation": True}])
def test_attached_bodies_turn_by_their_rest_or_the_last_one_not_at_all(values, root):
    """The next body lies along y in the frame of each, which is a quarter of a turn from x."""
    turn = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]
    y = np.array([-np.sin(0.4), np.cos(0.4), 0.0])
    poses = {"one": [[k, 5, 0, 0, 0, 0, 1] for k in range(3)]}
    poses["two"] = [[*(k * y), *turn] for k in range(3)]
    for name, position in poses.items():
        node = root.addChild(name)
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("MechanicalObject", name="dofs", template="Rigid3", position=position)
        node.addObject("UniformMass", totalMass=1.0)
    links = {"object1": "@/one/dofs", "object2": "@/two/dofs"}
    root.addObject(
        "AttachProjectiveConstraint", **links, indices1=[0, 1], indices2=[1, 2], **values
    )
    simulation.init(root)
    simulation.animate(root, 0.01)
    back = [0.0, 0.0, -np.sqrt(0.5), np.sqrt(0.5)]
    second, third = (back, [0, 0, 0, 1]) if "restRotations" in values else ([0, 0, 0, 1], turn)
    now = root.two.dofs.position.value
    assert now[1:, :3] == pytest.approx(np.array([[0, 5, 0], [1, 5, 0]]))
    assert now[1:, 3:] == pytest.approx(np.array([second, third]))
