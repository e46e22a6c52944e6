"""IdentityMapping and SubsetMapping: the follower's nodes are nodes of the driver."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.testing import check_mapping

POINTS = np.arange(15.0).reshape(5, 3)


@pytest.fixture
def follower(root, integrated):
    """Makes a state that follows five nodes."""

    def make(kind, position=None, **values):
        node = integrated(root, "body", POINTS)
        node.addObject("UniformMass", totalMass=1.0)
        child = node.addChild("follower")
        given = {} if position is None else {"position": np.asarray(position).tolist()}
        child.addObject("MechanicalObject", name="dofs", **given)
        mapping = child.addObject(kind, **values)
        simulation.init(root)
        return node.dofs, child.dofs, mapping

    return make


@pytest.mark.parametrize(
    ("kind", "values", "nodes"),
    [
        ("IdentityMapping", {}, [0, 1, 2, 3, 4]),
        ("SubsetMapping", {"indices": [3, 1, 3]}, [3, 1, 3]),
        ("SubsetMapping", {"first": 1, "last": 3}, [1, 2, 3]),
    ],
)
def test_the_follower_gets_the_size_the_places_and_the_velocities(
    kind, values, nodes, follower, root
):
    """At init and after a motion."""
    driver, child, _ = follower(kind, **values)
    assert child.size.value == len(nodes)
    assert (child.position.array() == POINTS[nodes]).all()
    driver.position.value = 2.0 * POINTS
    driver.velocity.value = POINTS + 7.0
    simulation.loop_of(root).propagate()
    assert (child.position.array() == 2.0 * POINTS[nodes]).all()
    assert (child.velocity.array() == POINTS[nodes] + 7.0).all()


@pytest.mark.parametrize(
    ("kind", "values"), [("IdentityMapping", {}), ("SubsetMapping", {"indices": [3, 1, 3]})]
)
def test_velocities_and_forces_are_carried_by_the_derivative_of_the_places(kind, values, follower):
    """A node that drives twice gets both forces."""
    check_mapping(follower(kind, **values)[2])


def test_without_indices_a_subset_finds_its_nodes_by_their_places(follower):
    """The nearest one within the radius."""
    _, child, mapping = follower("SubsetMapping", position=POINTS[[4, 2]] + 1e-6)
    assert mapping.weights()[1].tolist() == [4, 2]
    assert (child.position.array() == POINTS[[4, 2]]).all()


def test_nodes_that_a_subset_adds_rest_at_zero(follower):
    """As in SOFA: the rest position of the others is what the scene gives."""
    _, child, _ = follower("SubsetMapping", position=[[7.0, 8.0, 9.0]], indices=[2, 0])
    assert child.rest_position.value.tolist() == [[7, 8, 9], [0, 0, 0]]
    assert (child.position.array() == POINTS[[2, 0]]).all()


def test_a_place_without_a_node_is_an_error(follower):
    with pytest.raises(SceneError, match="no driving node within 1e-05 of 1 nodes, first node 1"):
        follower("SubsetMapping", position=POINTS[[4, 2]] + [[0, 0, 0], [0, 0.1, 0]])


def test_a_larger_radius_finds_it(follower):
    _, _, mapping = follower("SubsetMapping", position=POINTS[[4, 2]] + 0.1, radius=0.2)
    assert mapping.weights()[1].tolist() == [4, 2]


def test_a_node_that_does_not_exist_is_an_error(follower):
    with pytest.raises(SceneError, match="names node 5, but the driver has 5"):
        follower("SubsetMapping", indices=[0, 5])


def test_a_mapping_without_a_state_above_is_an_error(root):
    child = root.addChild("follower")
    child.addObject("MechanicalObject", position=[[0, 0, 0]])
    child.addObject("IdentityMapping")
    with pytest.raises(SceneError, match="needs a MechanicalObject in a node above it"):
        simulation.init(root)


@pytest.mark.parametrize("asked", [False, True])
def test_the_rest_position_is_mapped_when_asked_for(asked, root, integrated):
    """Otherwise those of a state that has no positions of its own are 0, as in SOFA."""
    node = integrated(root, "body", POINTS)
    node.dofs.rest_position.value = 3.0 * POINTS
    node.addObject("UniformMass", totalMass=1.0)
    child = node.addChild("follower")
    child.addObject("MechanicalObject", name="dofs")
    child.addObject("SubsetMapping", indices=[3, 1], applyRestPosition=asked)
    simulation.init(root)
    assert (child.dofs.position.array() == POINTS[[3, 1]]).all()
    assert (child.dofs.rest_position.array() == (3.0 if asked else 0.0) * POINTS[[3, 1]]).all()


def test_indices_that_are_found_are_shown(follower):
    """Of a range, and by their places."""
    _, _, mapping = follower("SubsetMapping", first=1, last=9)
    assert mapping.indices.value.tolist() == [1, 2, 3, 4]


def test_a_negative_first_node_is_beyond_the_last_one_and_so_is_node_0(follower, tolerant, caplog):
    _, _, mapping = follower("SubsetMapping", first=-2, last=2)
    assert "'first' of SubsetMapping" in caplog.text
    assert mapping.indices.value.tolist() == [0, 1, 2]
