"""Masses and force fields that nothing moves."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


def add(root):
    node = root.addChild("body")
    node.addObject("MechanicalObject", name="dofs", position=[[1, 2, 3]])
    node.addObject("UniformMass", totalMass=1.0)
    root.gravity = [0, -10, 0]
    return node


def test_a_mass_without_an_integrator_is_a_fault(root):
    add(root)
    with pytest.raises(SceneError, match="no time integrator moves it: add an EulerImplicitSolver"):
        simulation.init(root)


def test_where_scenes_are_tolerated_nothing_moves_there(root, tolerant, caplog):
    """As in SOFA, which says nothing."""
    node = add(root)
    simulation.init(root)
    simulation.animateNSteps(root, 3)
    assert node.dofs.position.value.tolist() == [[1, 2, 3]]
    assert "no time integrator moves it" in caplog.text
