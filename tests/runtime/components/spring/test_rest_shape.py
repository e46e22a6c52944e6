import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.testing import check_force_field


@pytest.fixture
def springs(root, integrated, run):
    """Makes springs on five nodes that are away from their rest positions."""

    def make(external=None, kind="RestShapeSpringsForceField", **values):
        random = np.random.default_rng(0)
        node = integrated(root, "body", random.uniform(-1.0, 1.0, (5, 3)))
        node.dofs.rest_position.value = random.uniform(-1.0, 1.0, (5, 3))
        node.addObject("UniformMass", totalMass=1.0)
        if external is not None:
            root.addObject("MechanicalObject", name="target", position=external.tolist())
            values["external_rest_shape"] = "@/target"
        field = node.addObject(kind, **values)
        run(root)
        return field

    return make


def force_of(field):
    force = np.zeros((5, 3))
    field.add_force(force)
    return force


def stretch(field):
    return field.state.position.array() - field.state.rest_position.array()


def test_the_force_is_stiffness_times_displacement(springs):
    """f = -k (x - x_rest) on all nodes; k = 100 unless it is given, as in SOFA."""
    assert force_of(springs(stiffness=7.0)) == pytest.approx(-7.0 * stretch(springs(stiffness=7.0)))


def test_the_default_stiffness_is_100(springs):
    field = springs()
    assert force_of(field) == pytest.approx(-100.0 * stretch(field))


def test_only_the_listed_points_are_held(springs):
    field = springs(points=[3, 1], stiffness=2.0)
    expected = np.zeros((5, 3))
    expected[[1, 3]] = -2.0 * stretch(field)[[1, 3]]
    assert force_of(field) == pytest.approx(expected)


def test_a_missing_stiffness_is_the_first(springs, tolerant):
    """Entry i of the list belongs to the i-th listed point; beyond its end entry 0 counts."""
    field = springs(points=[4, 0, 2], stiffness=[2.0, 3.0])
    k = np.array([3.0, 0.0, 2.0, 0.0, 2.0])[:, None]
    assert force_of(field) == pytest.approx(-k * stretch(field))


@pytest.mark.parametrize("values", [{"stiffness": 7.0}, {"points": [3, 1], "stiffness": 2.0}])
def test_product_and_matrix_are_minus_the_derivative_of_the_force(values, springs):
    """With one stiffness; the force being linear, differences leave rounding only."""
    check_force_field(springs(**values), tolerance=1e-11)


def test_the_matrix_takes_stiffnesses_by_node_number_as_sofa_does(
    springs, dense, product, tolerant
):
    """Points 4, 0, 2 with stiffnesses 2, 3: force and product by place, matrix by number."""
    field = springs(points=[4, 0, 2], stiffness=[2.0, 3.0])
    assert np.diag(dense(field))[::3].tolist() == [2.0, 0.0, 2.0, 0.0, 2.0]
    assert product(field, np.ones((5, 3)))[:, 0] == pytest.approx([3.0, 0.0, 2.0, 0.0, 2.0])


def test_the_matrix_does_not_know_directions_as_in_sofa(springs, dense, product):
    """activeDirections: force and product act along x alone, the matrix along all."""
    field = springs(stiffness=2.0, activeDirections=[1, 0, 0, 1, 1, 1, 1])
    along = np.array([1.0, 0.0, 0.0])
    assert force_of(field) == pytest.approx(-2.0 * stretch(field) * along)
    assert product(field, np.ones((5, 3))) == pytest.approx(np.tile(2.0 * along, (5, 1)))
    assert dense(field) == pytest.approx(2.0 * np.eye(15))


def test_springs_to_another_state_follow_it(springs):
    """x_rest is the present position of the external state, in the order of its nodes."""
    target = np.arange(15.0).reshape(5, 3)
    field = springs(external=target, stiffness=2.0)
    x = field.state.position.array()
    assert force_of(field) == pytest.approx(-2.0 * (x - target))
    field.external.position.value = target + 1.0
    assert force_of(field) == pytest.approx(-2.0 * (x - target - 1.0))


def test_external_points_choose_the_other_ends(springs):
    target = np.arange(6.0).reshape(2, 3)
    field = springs(external=target, points=[2, 4], external_points=[1, 0], stiffness=2.0)
    x = field.state.position.array()
    assert force_of(field)[[2, 4]] == pytest.approx(-2.0 * (x[[2, 4]] - target[[1, 0]]))


def test_points_may_change_between_steps(springs, dense):
    """The pattern of the matrix has room for all nodes."""
    field = springs(points=[1], stiffness=2.0)
    field.points.value = [0, 4]
    force = force_of(field)
    assert np.flatnonzero(force.any(axis=1)).tolist() == [0, 4]
    assert np.diag(dense(field))[::3].tolist() == [2.0, 0.0, 0.0, 0.0, 2.0]


def test_a_point_that_does_not_exist_is_an_error(springs):
    with pytest.raises(SceneError, match="has 5 in 'points', but there are 5 nodes"):
        springs(points=[1, 5])


KINDS = ["RestShapeSpringsForceField", "PolynomialRestShapeSpringsForceField"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("given", "count"),
    [({"external_points": [1]}, 1), ({}, 2)],
)
def test_springs_without_as_many_external_nodes_are_left_out_as_in_sofa(
    springs, tolerant, dense, kind, given, count
):
    external = np.zeros((2, 3))
    with complaints() as found:
        field = springs(external=external, kind=kind, points=[0, 1, 2], **given)
    assert f"holds 3 points, but pulls to {count} nodes of MechanicalObject" in str(found[0])
    assert not force_of(field).any()
    assert not dense(field).any()


def test_springs_to_more_external_nodes_than_points_are_left_out_as_in_sofa(springs, tolerant):
    with complaints() as found:
        field = springs(external=np.zeros((5, 3)), points=[0, 1])
    assert "holds 2 points, but pulls to 5 nodes" in str(found[0])
    assert not force_of(field).any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_external_state_that_gets_its_nodes_later_is_waited_for(root, integrated, run, kind):
    node = integrated(root, "body", np.eye(3))
    node.addObject("UniformMass", totalMass=1.0)
    field = node.addObject(kind, external_rest_shape="@../late/dofs")
    late = root.addChild("late")
    late.addObject("MechanicalObject", name="dofs", position=np.zeros((3, 3)))
    run(root)
    force = np.zeros((3, 3))
    field.add_force(force)
    assert np.flatnonzero(force.diagonal()).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_an_external_shape_that_is_nowhere_is_told_of(springs, tolerant, kind):
    """As in SOFA, which goes on with the nodes' own rest positions, whatever external_points."""
    with complaints() as found:
        field = springs(
            kind=kind, external_rest_shape="@nowhere/at", points=[2, 4], external_points=[1, 0]
        )
    assert "links to '@nowhere/at', which does not exist" in str(found[0])
    assert "the springs pull to the nodes' own rest positions" in str(found[0])
    force, way = force_of(field), stretch(field)
    sizes = np.linalg.norm(force, axis=1) * np.linalg.norm(way, axis=1)
    assert np.flatnonzero(sizes).tolist() == [2, 4]
    assert -(force * way).sum(axis=1) == pytest.approx(sizes)


def test_an_external_shape_that_is_nowhere_is_an_error_where_it_is_strict(springs):
    with pytest.raises(SceneError, match="links to '@nowhere/at', which does not exist"):
        springs(external_rest_shape="@nowhere/at")


def test_springs_hold_the_nodes_that_a_mapping_brings(root, integrated, run):
    """The states have three nodes and one when springs are initialised, then two and three."""
    node = integrated(root, "body", [[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    child = node.addChild("part")
    child.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    field = child.addObject("RestShapeSpringsForceField")
    child.addObject("SubsetMapping", indices=[0, 2])
    more = node.addChild("more")
    more.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])
    grown = more.addObject("RestShapeSpringsForceField")
    more.addObject("SubsetMapping", indices=[0, 1, 2])
    run(root)
    assert field.nodes.tolist() == [0, 1]
    assert grown.nodes.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("RestShapeSpringsForceField", {"stiffness": 100.0}),
        (
            "PolynomialRestShapeSpringsForceField",
            {"polynomialStiffness": 100.0, "polynomialDegree": 1, "initialLength": 1.0},
        ),
    ],
)
def test_numbers_that_count_when_none_are_given_are_shown(kind, shown, springs):
    field = springs(kind=kind)
    assert {name: field.findData(name).value.tolist() for name in shown} == {
        name: [value] for name, value in shown.items()
    }
