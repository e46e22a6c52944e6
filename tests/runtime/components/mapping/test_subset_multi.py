"""SubsetMultiMapping: nodes of several states make one."""

import numpy as np
import pytest

from sofa_softctl.errors import LinkError, SceneError
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.testing import check_mapping

PAIRS = [1, 0, 0, 2, 0, 0, 1, 1, 1, 1]
FIRST, SECOND = np.arange(9.0).reshape(3, 3), 100.0 + np.arange(6.0).reshape(2, 3)


@pytest.fixture
def collected(root):
    """Makes two states below one integrator, and one that collects their nodes."""

    def make(template="Vec3", states=(FIRST, SECOND), child="Vec3", **values):
        node = root.addChild("robot")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver", name="solver")
        node.addObject("GenericConstraintCorrection")
        for name, x in zip("ab", states, strict=True):
            part = node.addChild(name)
            part.addObject("MechanicalObject", name="dofs", template=template, position=x)
            part.addObject("UniformMass", totalMass=float(len(x)))
        both = node.a.addChild("both")
        node.b.addChild(both)
        both.addObject("MechanicalObject", name="dofs", template=child)
        given = {"indexPairs": PAIRS, "input": "@/robot/a/dofs @/robot/b/dofs"} | values
        both.addObject("SubsetMultiMapping", name="mapping", output="@./dofs", **given)
        simulation.init(root)
        return node, both

    return make


EXPECTED = np.array([SECOND[0], FIRST[2], FIRST[0], SECOND[1], SECOND[1]])


@pytest.mark.parametrize(
    "paths", ["@/robot/a/dofs @/robot/b/dofs", ["@/robot/a/dofs", "@/robot/b/dofs"]]
)
def test_the_follower_gets_size_places_and_velocities(collected, root, paths):
    node, both = collected(input=paths)
    assert (both.dofs.position.value == EXPECTED).all()
    node.b.dofs.velocity.value = SECOND
    simulation.loop_of(root).propagate()
    assert both.dofs.velocity.value[:, 0].tolist() == [100.0, 0.0, 0.0, 103.0, 103.0]


def test_velocities_and_forces_are_carried_by_the_derivative_of_the_places(collected):
    """A node that drives twice gets both forces."""
    check_mapping(collected()[1].mapping)


def test_springs_on_the_follower_hold_each_driver(collected, root):
    """A = M + h^2 J^T K J: nodes 0 and 2 of the first have one spring, those of the second one
    and two."""
    node, both = collected()
    both.addObject("RestShapeSpringsForceField", stiffness=[500.0])
    both.init()
    simulation.animateNSteps(root, 1)
    counts = np.repeat([1, 0, 1, 1, 2], 3)
    assert node.solver.A().toarray() == pytest.approx(np.diag(1.0 + 0.01**2 * 500.0 * counts))


@pytest.mark.parametrize(
    ("template", "child"), [("Rigid3", "Rigid3"), ("Rigid3", "Vec3"), ("Vec1", "Vec1")]
)
def test_bodies_and_joints_can_be_collected(collected, template, child):
    """Of bodies also the centres alone."""
    width = {"Rigid3": 7, "Vec1": 1}[template]
    states = [np.tile(np.eye(width)[-1], (count, 1)) for count in (3, 2)]
    for k, x in enumerate(states):
        x[:, 0] += 10 * k + np.arange(len(x))
    _, both = collected(template, states, child)
    whole = np.array([states[1][0], states[0][2], states[0][0], states[1][1], states[1][1]])
    size = {"Rigid3": 7, "Vec3": 3, "Vec1": 1}[child]
    assert (both.dofs.position.value == whole[:, :size]).all()
    random = np.random.default_rng(0)
    outs = [np.zeros((3, states[0].shape[1] - (width == 7))), np.zeros((2, width - (width == 7)))]
    force = random.normal(size=(5, both.dofs.deriv_size))
    both.mapping.add_jt_to(force, outs)
    for number, out in enumerate(outs):
        J = both.mapping.jacobian(number).toarray()
        padded = np.zeros(J.shape[0])
        padded[: force.size] = force.ravel()
        assert (J.T @ padded)[: out.size] == pytest.approx(out.ravel(), abs=1e-15)


def test_a_constraint_on_the_follower_acts_on_its_driver(root, collected):
    """W of a row on node i is h / m of the driver's node: both masses are known."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", name="constraints")
    node, both = collected()
    node.b.getObject("UniformMass").totalMass.value = 8.0
    node.b.getObject("UniformMass").reinit()
    for number in (1, 4):
        both.addObject("PositionConstraint", indices=[number], useDirections=[1, 0, 0], value=[0.5])
    simulation.init(root)
    simulation.animateNSteps(root, 1)
    assert root.constraints.W() == pytest.approx(np.diag([0.01 / 1.0, 0.01 / 4.0]))
    assert node.a.dofs.position.value[2] == pytest.approx([6.5, 7.0, 8.0])
    assert node.b.dofs.position.value[1] == pytest.approx([103.5, 104.0, 105.0])


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"indexPairs": [0, 1, 1]}, "has 3 numbers in 'indexPairs'"),
        ({"indexPairs": []}, "has 0 numbers in 'indexPairs'"),
        ({"indexPairs": [0, 0, 2, 0]}, "names node 0 of driver 2 .* have 3, 2 nodes"),
        ({"indexPairs": [1, 2]}, "names node 2 of driver 1 .* have 3, 2 nodes"),
        ({"input": ""}, "needs 'input'"),
    ],
)
def test_pairs_that_name_nothing_are_an_error(collected, values, problem):
    with pytest.raises(SceneError, match=problem):
        collected(**values)


def test_a_path_that_leads_nowhere_is_named(collected):
    with pytest.raises(LinkError, match=r"'input' of SubsetMultiMapping .* '@/robot/c/dofs'"):
        collected(input="@/robot/a/dofs @/robot/c/dofs")


def test_drivers_of_two_integrators_are_an_error(root):
    for name in "ab":
        node = root.addChild(name)
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver")
        node.addObject("MechanicalObject", name="dofs", position=FIRST)
        node.addObject("UniformMass", totalMass=1.0)
    both = root.a.addChild("both")
    both.addObject("MechanicalObject", name="dofs")
    both.addObject("SubsetMultiMapping", input="@/a/dofs @/b/dofs", indexPairs=[0, 0, 1, 0])
    with pytest.raises(SceneError, match="which another time integrator moves"):
        simulation.init(root)
