"""QPInverseProblemSolver: changes of limits and of rows between steps."""

import numpy as np
import pytest


@pytest.fixture
def pushed(root, integrated, run):
    """Makes a free particle of mass 1 that two actuators push along x to a far goal."""

    def make(**values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("QPInverseProblemSolver", name="solver", epsilon=1e-9)
        node = integrated(root, "body", np.zeros((1, 3)))
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        path = {"indices": [0], "pullPoint": [100.0, 0.0, 0.0], "minForce": 0.0}
        cables = [
            node.addObject("CableActuator", name=name, **(path | values)) for name in ("a", "b")
        ]
        node.addObject("PositionEffector", indices=[0], effectorGoal=[[50.0, 0.0, 0.0]])
        run(root)
        return cables

    return make


def test_a_limit_that_a_script_sets_holds_from_the_next_step_on(pushed, root, run):
    first, second = pushed(maxForce=2.0)
    run(root, 2)
    assert [first.force.value, second.force.value] == pytest.approx([2.0, 2.0], rel=1e-6)
    first.maxForce.value = 1.0
    run(root, 1)
    assert [first.force.value, second.force.value] == pytest.approx([1.0, 2.0], rel=1e-6)


def test_a_limit_begins_at_its_time(pushed, root, run):
    """The first step reaches the goal; then the cables would have to push."""
    first, _ = pushed(constrainAtTime=0.005)
    run(root, 1)
    assert first.force.value > 10.0
    run(root, 1)
    assert first.force.value == pytest.approx(0.0, abs=1e-6)


def test_a_largest_change_counts_from_the_last_step(pushed, root, run):
    """The cable comes in by at most 0.1 in each step, whatever it did before."""
    first, _ = pushed(maxDispVariation=0.1)
    for step in range(1, 4):
        run(root, 1)
        assert first.displacement.value == pytest.approx(0.1 * step, rel=1e-6)


def test_an_actuator_that_ends_leaves_the_others(pushed, root, run):
    first, second = pushed(maxForce=2.0)
    run(root, 1)
    assert root.solver.info.value.tolist() == [3.0, 2.0]
    first.endTime.value = 0.015
    run(root, 2)
    assert root.solver.info.value.tolist() == [3.0, 1.0]
    assert second.force.value == pytest.approx(2.0, rel=1e-6)
