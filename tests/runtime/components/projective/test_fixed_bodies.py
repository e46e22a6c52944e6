"""FixedProjectiveConstraint and PartialFixedProjectiveConstraint on bodies and joints."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def held(root):
    """Makes two bodies, or four joints, that fall and are pushed."""

    def make(component, template="Rigid3", **values):
        root.gravity = [1.0, -9.81, 2.0]
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        if template == "Rigid3":
            position, speed = [[0, 0, 0, 0, 0, 0, 1]] * 2, [[0, 0, 0, 1, 2, 3]] * 2
        else:
            position, speed = [[0.0]] * 4, [[0.0]]
        node.addObject(
            "MechanicalObject", name="dofs", template=template, position=position, velocity=speed
        )
        node.addObject("UniformMass", totalMass=2.0)
        node.addObject(component, **values)
        simulation.init(root)
        simulation.animateNSteps(root, 3)
        return node.dofs

    return make


def test_a_held_body_gains_no_speed(held):
    """Nor does it lose any, as in SOFA; the other one falls."""
    dofs = held("FixedProjectiveConstraint", indices=[1])
    assert dofs.velocity.value[1].tolist() == [0, 0, 0, 1, 2, 3]
    assert dofs.velocity.value[0] == pytest.approx([0.03, -0.2943, 0.06, 1, 2, 3])


def test_each_of_six_directions_can_be_held(held):
    dofs = held("PartialFixedProjectiveConstraint", indices=[0], fixedDirections=[1, 0, 1, 1, 0, 0])
    assert dofs.velocity.value[0] == pytest.approx([0.0, -0.2943, 0.0, 1, 2, 3])


def test_without_directions_all_six_are_held(held):
    dofs = held("PartialFixedProjectiveConstraint", indices=[0])
    assert dofs.velocity.value[0].tolist() == [0, 0, 0, 1, 2, 3]


def test_held_directions_can_be_stopped(held):
    dofs = held(
        "PartialFixedProjectiveConstraint",
        indices=[0],
        fixedDirections=[0, 0, 0, 1, 0, 1],
        projectVelocity=True,
    )
    assert dofs.velocity.value[0] == pytest.approx([0.03, -0.2943, 0.06, 0, 2, 0])


def test_joints_of_one_row_are_held_one_by_one(held):
    dofs = held("FixedProjectiveConstraint", "Vec1", indices=[1, 3])
    assert dofs.velocity.value[:, 0] == pytest.approx(np.array([0.03, 0.0, 0.03, 0.0]))


@pytest.mark.parametrize(
    ("template", "directions", "width"), [("Rigid3", [1, 1, 1], 6), ("Vec1", [1, 0, 1], 1)]
)
def test_directions_that_do_not_fit_are_an_error(held, template, directions, width):
    problem = f"has 3 'fixedDirections', but a node .* moves in {width}"
    with pytest.raises(SceneError, match=problem):
        held("PartialFixedProjectiveConstraint", template, fixedDirections=directions)


def test_directions_that_are_held_by_default_are_shown(held, root):
    held("PartialFixedProjectiveConstraint", indices=[0], name="clamp")
    assert root.body.clamp.fixedDirections.value.tolist() == [True] * 6
