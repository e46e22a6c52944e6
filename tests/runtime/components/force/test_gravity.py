"""Gravity in a part of the graph."""

import pytest

from sofa_softctl.runtime.simulation import simulation

H = 0.01


@pytest.fixture
def falling(root):
    """Makes a point of mass that falls, in a node below another."""
    root.dt = H
    root.gravity = [0.0, -10.0, 0.0]

    def make(name):
        node = root.addChild(name)
        below = node.addChild("below")
        below.addObject("EulerImplicitSolver")
        below.addObject("SparseLDLSolver")
        below.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        below.addObject("UniformMass", totalMass=2.0)
        return node

    return make


def test_a_node_and_those_below_it_have_a_gravity_of_their_own(root, falling):
    """v = g n h after n steps of implicit Euler."""
    plain, other = falling("plain"), falling("other")
    other.addObject("Gravity", gravity=[3.0, 20.0, 0.0])
    simulation.init(root)
    simulation.animateNSteps(root, 4)
    assert plain.below.dofs.velocity.value[0] == pytest.approx([0.0, -40.0 * H, 0.0], rel=1e-14)
    assert other.below.dofs.velocity.value[0] == pytest.approx([12.0 * H, 80.0 * H, 0.0], rel=1e-14)


def test_a_change_counts_from_the_end_of_its_step_on(root, falling):
    """As a change of the root's gravity in SOFA: nodes take over what is above them at the end."""
    node = falling("body")
    gravity = node.addObject("Gravity", gravity=[0.0, 10.0, 0.0])
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    gravity.gravity.value = [0.0, 0.0, 0.0]
    simulation.animateNSteps(root, 2)
    assert node.below.dofs.velocity.value[0] == pytest.approx([0.0, 20.0 * H, 0.0], rel=1e-14)


def test_without_it_a_node_has_its_parents_again(root, falling):
    node = falling("body")
    gravity = node.addObject("Gravity", gravity=[0.0, 10.0, 0.0])
    simulation.init(root)
    node.removeObject(gravity)
    simulation.animateNSteps(root, 2)
    assert node.gravity.toList() == node.below.gravity.toList() == [[0.0, -10.0, 0.0]]
