"""How many nodes a state has, and where they start; all numbers are SOFA v25.06's own."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

POINTS = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]


@pytest.fixture
def dofs(root):
    """Makes a state, by a topology where points for one are given."""

    def make(topology=None, **values):
        if topology:
            root.addObject("PointSetTopologyContainer", position=topology)
        state = root.addObject("MechanicalObject", **values)
        simulation.init(root)
        return state

    return make


def test_size_makes_nodes_at_the_origin(dofs):
    state = dofs(size=3)
    assert state.position.value.tolist() == state.rest_position.value.tolist() == [[0.0] * 3] * 3
    assert state.size.value == 3


def test_size_makes_bodies_that_are_not_turned(dofs):
    assert dofs(size=2, template="Rigid3d").position.value.tolist() == [[0, 0, 0, 0, 0, 0, 1]] * 2


def test_a_state_of_which_nothing_is_said_has_one_node(dofs):
    assert dofs().position.value.tolist() == [[0.0, 0.0, 0.0]]


def test_a_state_of_no_positions_has_no_nodes(dofs):
    assert dofs(position=[]).size.value == 0


def test_a_negative_size_is_an_error(dofs):
    with pytest.raises(SceneError, match="takes a 'size' of 0 nodes or more, got -2"):
        dofs(size=-2)


def test_size_cuts_what_is_given_with_it(dofs, tolerant):
    state = dofs(size=1, position=[[1, 2, 3], [4, 5, 6]])
    assert state.position.value.tolist() == [[1, 2, 3]]
    assert "has a 'size' of 1 nodes, but 2 in 'position'" in state.getLoggedMessagesAsString()


def test_size_leaves_the_topology_aside(dofs):
    assert dofs(topology=POINTS, size=2).position.value.tolist() == [[0.0] * 3] * 2


def test_positions_come_from_the_topology_unless_that_is_switched_off(root, dofs):
    assert dofs(topology=POINTS).position.value.tolist() == POINTS


def test_without_use_of_the_topology_there_is_one_node(dofs):
    assert dofs(topology=POINTS, useTopology=False).position.value.tolist() == [[0.0] * 3]


def test_velocities_that_are_missing_are_zero(dofs):
    state = dofs(position=POINTS, velocity=[[1, 2, 3]])
    assert state.velocity.value.tolist() == [[1, 2, 3], [0, 0, 0], [0, 0, 0]]


def test_one_velocity_is_that_of_all_points_of_a_topology(dofs):
    state = dofs(topology=POINTS, velocity=[[1, 2, 3]])
    assert state.velocity.value.tolist() == [[1, 2, 3]] * 3


def test_a_given_rest_position_is_not_transformed(dofs):
    state = dofs(
        position=POINTS, rest_position=[[1, 1, 1]] * 3, translation=[10, 0, 0], rotation=[0, 0, 90]
    )
    assert state.rest_position.value.tolist() == [[1, 1, 1]] * 3
    expected = [[10, 1, 0], [8, 0, 0], [10, 0, 3]]
    assert state.position.value == pytest.approx(np.array(expected), abs=1e-14)


def test_a_rest_position_alone_makes_as_many_nodes_at_the_origin(dofs):
    state = dofs(rest_position=POINTS)
    assert state.position.value.tolist() == [[0.0] * 3] * 3
    assert state.rest_position.value.tolist() == POINTS


def test_the_second_transformation_leaves_the_rest_position(dofs):
    state = dofs(
        position=POINTS, translation2=[10, 0, 0], rotation2=[0, 0, 90], translation=[0, 0, 5]
    )
    expected = [[10, 1, 5], [8, 0, 5], [10, 0, 8]]
    assert state.position.value == pytest.approx(np.array(expected), abs=1e-14)
    assert state.rest_position.value.tolist() == [[1, 0, 5], [0, 2, 5], [0, 0, 8]]
    assert (state.reset_position.value == state.position.value).all()


def test_the_short_spellings_of_the_second_transformation(dofs):
    state = dofs(position=[[1, 0, 0]], rz2=90, dx2=10)
    assert state.position.value == pytest.approx(np.array([[10.0, 1.0, 0.0]]), abs=1e-14)


def test_the_rest_position_may_be_a_scaled_one(dofs):
    state = dofs(position=POINTS, restScale=0.5)
    assert state.position.value.tolist() == POINTS
    assert state.rest_position.value.tolist() == [[0.5, 0, 0], [0, 1, 0], [0, 0, 1.5]]


@pytest.mark.parametrize("scale", ["2", 2, 2.0, [2]])
def test_one_scale_is_that_of_all_axes(dofs, scale):
    assert dofs(position=POINTS, scale=scale).position.value.tolist() == [
        [2, 0, 0],
        [0, 4, 0],
        [0, 0, 6],
    ]


def test_bodies_keep_their_orientation_when_the_rest_position_is_scaled(dofs):
    body = [2, 4, 6, 0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    state = dofs(template="Rigid3d", position=[body], restScale=0.5)
    assert state.rest_position.value.tolist() == [[1, 2, 3, *body[3:]]]
