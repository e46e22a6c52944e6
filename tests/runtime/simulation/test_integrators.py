"""Integrators of a scene: each part of it has one."""

import pytest

from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation


def weight(node, name):
    node.addObject("EulerImplicitSolver", name=name)
    node.addObject("CGLinearSolver", name=f"{name}_cg")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "'/b/second' does nothing: EulerImplicitSolver '/b/first' is in its node"),
        ("below", "'/b/below/second' does nothing (in SOFA neither): EulerImplicitSolver '/b/f"),
    ],
)
def test_of_two_integrators_one_counts_and_that_is_said(place, message, root, caplog):
    """Free fall for two steps: v = 2 g dt, whatever stands there twice."""
    root.gravity = [0.0, -10.0, 0.0]
    root.addObject("DefaultAnimationLoop")
    body = root.addChild("b")
    weight(body, "first")
    part = body if place == "." else body.addChild(place)
    weight(part, "second")
    part.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])
    part.addObject("UniformMass", totalMass=1.0)
    with warnings_as_errors(False):
        simulation.init(root)
    for _ in range(2):
        simulation.animate(root, 0.1)
    assert message in caplog.text
    assert part.dofs.velocity.value[0].tolist() == pytest.approx([0.0, -2.0, 0.0])
