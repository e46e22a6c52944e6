"""MultiStepAnimationLoop: several integrations in a step."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


def oscillator(root, loop, **values):
    root.addObject(loop, name="loop", **values)
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver", rayleighMass=0.2)
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]], velocity=[[1, 2, 3]])
    node.addObject("UniformMass", totalMass=2.0)
    node.addObject("RestShapeSpringsForceField", stiffness=50.0, points=[0])
    child = node.addChild("copy")
    child.addObject("MechanicalObject", name="dofs")
    child.addObject("IdentityMapping")
    return node


def test_parts_of_a_step_are_steps_of_their_own(Sofa, recorder):
    """Two searches of three integrations in 0.06 are six steps of 0.01 of DefaultAnimationLoop;
    controllers see the begin and the end of the whole step once. SOFA v25.06 gave the same
    positions and time."""
    whole, parts = Sofa.Core.Node("root"), Sofa.Core.Node("root")
    body = oscillator(whole, "DefaultAnimationLoop")
    divided = oscillator(parts, "MultiStepAnimationLoop", collisionSteps=2, integrationSteps=3)
    heard = parts.addObject(recorder(name="heard"))
    for root, count, dt in ((whole, 6, 0.01), (parts, 1, 0.06)):
        simulation.init(root)
        simulation.animateNSteps(root, count, dt)
    assert divided.dofs.position.array() == pytest.approx(body.dofs.position.array(), rel=1e-14)
    assert divided.copy.dofs.position.value.tolist() == divided.dofs.position.value.tolist()
    assert parts.time.value == pytest.approx(0.03)  # as in SOFA: of one search's integrations
    events = [kind for kind, _, _ in heard.events]
    assert events.count("AnimateBeginEvent") == events.count("AnimateEndEvent") == 1
    assert events.count("CollisionBeginEvent") == 2
    assert events.count("IntegrateBeginEvent") == 6


def test_less_than_one_part_is_an_error(root):
    oscillator(root, "MultiStepAnimationLoop", integrationSteps=0)
    simulation.init(root)
    with pytest.raises(SceneError, match="takes 1 or more"):
        simulation.animate(root, 0.01)


@pytest.mark.parametrize("parts", [{"collisionSteps": -1}, {"integrationSteps": 0}])
def test_without_a_part_nothing_moves_and_time_stands_still(parts, root, tolerant):
    node = oscillator(root, "MultiStepAnimationLoop", **parts)
    simulation.init(root)
    simulation.animateNSteps(root, 2, 0.01)
    assert root.time.value == 0.0 and not node.dofs.position.value.any()


def test_lagrangian_constraints_do_nothing_and_it_says_so(root, caplog):
    node = oscillator(root, "MultiStepAnimationLoop")
    node.addObject("FixedLagrangianConstraint", indices=[0])
    simulation.init(root)
    assert "does nothing under MultiStepAnimationLoop" in caplog.text
