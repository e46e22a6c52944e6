"""SlidingLagrangianConstraint; its motion is compared in parity/mechanics."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def rail(root, integrated):
    """A free node of mass 1 at a place, and a rail from (0, 0, 0) to (4, 0, 0) that stays."""

    def make(place, **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", tolerance=1e-14)
        node = integrated(root, "body", [place])
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        rail = root.addChild("rail")
        ends = rail.addObject("MechanicalObject", name="ends", position=[[0, 0, 0], [4, 0, 0]])
        given = {"axis_2": 1, **values}
        slides = root.addObject(
            "SlidingLagrangianConstraint",
            object1=node.dofs.getLinkPath(),
            object2=ends.getLinkPath(),
            **given,
        )
        simulation.init(root)
        return node.dofs, slides

    return make


def test_a_node_on_the_rail_falls_along_it_alone(rail, root):
    """What pulls it off the axis in the free motion is taken back."""
    root.gravity = [1.0, 0.0, 0.0]
    dofs, _ = rail([2.0, 0.0, 0.0])
    root.gravity.value = [1.0, -7.0, 3.0]
    dofs.velocity.value = [[0.5, 0.0, 0.0]]
    simulation.animateNSteps(root, 1)
    assert dofs.position.value[0] == pytest.approx([2.0 + 0.01 * 0.51, 0.0, 0.0], abs=1e-12)
    assert dofs.velocity.value[0] == pytest.approx([0.51, 0.0, 0.0], abs=1e-12)


def test_a_node_on_the_rail_is_held_there_against_other_constraints(rail, root):
    """No direction leads from the axis to it, so any two across hold it."""
    dofs, slides = rail([2.0, 0.0, 0.0])
    root.body.addObject(
        "CableConstraint", pullPoint=[3.0, 4.0, 0.0], valueType="force", value=[5.0]
    ).init()
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    along = 5.0 / 17.0**0.5
    assert dofs.velocity.value[0] == pytest.approx([along, 0.0, 0.0], abs=1e-12)
    assert slides.force.value == pytest.approx([0.0, -4.0 * along, 0.0], abs=1e-12)


def test_nothing_pulls_a_node_that_rests_on_the_rail(rail, root):
    dofs, slides = rail([2.0, 0.0, 0.0])
    simulation.animateNSteps(root, 1)
    assert dofs.position.value[0].tolist() == [2.0, 0.0, 0.0]
    assert slides.force.value.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("place", "end"), [(-0.5, 0.0), (4.5, 4.0)])
def test_a_node_beyond_an_end_is_brought_back_to_it(rail, root, place, end):
    """By lambda = way / (h h / m) along the rail, times h: the force Data is a multiplier."""
    dofs, slides = rail([place, 0.0, 0.0])
    simulation.animateNSteps(root, 1)
    assert dofs.position.value[0] == pytest.approx([end, 0.0, 0.0], abs=1e-12)
    assert slides.force.value == pytest.approx([(end - place) / 0.01, 0.0, 0.0])
    assert slides.row_count == 3


@pytest.mark.parametrize(("place", "meets", "end"), [(-0.5, -0.25, 0), (4.5, 4.25, 1)])
def test_a_rail_beyond_whose_end_a_node_is_comes_to_meet_it_with_that_end_alone(
    root, integrated, place, meets, end
):
    """Of two equal masses each goes half of the way; nothing joins the rail's other end to them."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-14)
    given = {"point": [[place, 0, 0]], "rail": [[0, 0, 0], [4, 0, 0]]}
    for name, places in given.items():
        node = integrated(root, name, places)
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
    root.addObject(
        "SlidingLagrangianConstraint", object1="@/point/dofs", object2="@/rail/dofs", axis_2=1
    )
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    expected = [0.0, 4.0]
    expected[end] = meets
    assert root.point.dofs.position.value[0] == pytest.approx([meets, 0.0, 0.0], abs=1e-12)
    assert root.rail.dofs.position.value[:, 0] == pytest.approx(expected, abs=1e-12)


def test_a_node_beyond_an_end_may_go_back_by_itself(rail, root):
    """The end only pushes."""
    dofs, slides = rail([-0.001, 0.0, 0.0])
    dofs.velocity.value = [[0.05, 0.0, 0.0]]
    simulation.animateNSteps(root, 1)
    assert slides.row_count == 3
    assert dofs.position.value[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert dofs.velocity.value[0, 0] == pytest.approx(0.1)
    simulation.animateNSteps(root, 1)
    assert slides.row_count == 2
    assert dofs.velocity.value[0, 0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sliding_point": 1}, "has node 1 as 'sliding_point', but .*body/dofs.* has 1 nodes"),
        ({"axis_1": -1}, "has node -1 as 'axis_1', but .*rail/ends.* has 2 nodes"),
        ({"axis_2": 0}, "slides along no segment: nodes 0 and 0 of .*rail/ends"),
    ],
)
def test_nodes_that_make_no_rail_are_faults(rail, values, message):
    with pytest.raises(SceneError, match=message):
        rail([1.0, 0.0, 0.0], **values)


def test_points_alone_slide(root):
    root.addObject("MechanicalObject", name="dofs", template="Rigid3", position=np.eye(7)[6:])
    root.addObject("SlidingLagrangianConstraint", object1="@dofs", object2="@dofs")
    with pytest.raises(SceneError, match="acts on states of template Vec3, but .* has Rigid3d"):
        simulation.init(root)
