"""The example of a controller."""

import pytest

from sofa_softctl.offers import CONTROLLERS
from sofa_softctl.testing import check_controller


@pytest.fixture
def GentlePull(load, Sofa):
    load("gentle_pull")
    return CONTROLLERS.find("gentle_pull")


def test_the_controller_passes_the_check_of_plugins(GentlePull):
    check_controller(GentlePull, lambda scene: {"cable": scene.cables[0], "force": 100.0})


def test_the_plugin_pulls_a_cable_with_the_force_that_it_was_asked_for(GentlePull, Sofa):
    """Half way up the ramp half the force: the cable's multiplier is dt times it, to rounding."""
    root = Sofa.Core.Node("root")
    root.dt = 0.01
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver")
    ball = root.addChild("ball")
    ball.addObject("EulerImplicitSolver")
    ball.addObject("SparseLDLSolver")
    ball.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
    ball.addObject("UniformMass", totalMass=1.0)
    ball.addObject("LinearSolverConstraintCorrection")
    cable = ball.addObject(
        "CableConstraint", pullPoint=[10.0, 0.0, 0.0], valueType="force", value=[0.0]
    )
    root.addObject(GentlePull(name="pull", root=root, cable=cable, force=2.0, ramp=0.2))
    Sofa.Simulation.init(root)
    for _ in range(10):
        Sofa.Simulation.animate(root, root.dt.value)
    assert cable.force.value == pytest.approx(0.01 * 1.0, rel=1e-12)
    assert ball.dofs.position.value[0, 0] > 0.0
