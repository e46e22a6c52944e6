import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

GRAVITY = np.array([1.0, -9.81, 0.5])


@pytest.fixture
def four_nodes(root, integrated, run):
    """Makes a UniformMass on four nodes."""

    def make(**values):
        node = integrated(root, "body", np.zeros((4, 3)))
        mass = node.addObject("UniformMass", **values)
        run(root)
        return mass

    return make


def weight(mass):
    force = np.zeros((4, 3))
    mass.add_gravity(force, GRAVITY)
    return force


def test_the_total_mass_is_shared_by_all_nodes(four_nodes):
    mass = four_nodes(totalMass=6.0)
    assert mass.vertexMass.value == 1.5
    assert weight(mass) == pytest.approx(np.tile(1.5 * GRAVITY, (4, 1)))


def test_the_mass_of_a_node_adds_up_to_the_total(four_nodes):
    mass = four_nodes(vertexMass=0.5)
    assert mass.totalMass.value == 2.0
    assert weight(mass).sum(axis=0) == pytest.approx(2.0 * GRAVITY)


def test_the_total_mass_wins_over_that_of_a_node_with_a_warning(four_nodes, tolerant, caplog):
    assert four_nodes(totalMass=6.0, vertexMass=100.0).vertexMass.value == 1.5
    assert "has both 'totalMass' and 'vertexMass': only 'totalMass' counts" in caplog.text


@pytest.mark.parametrize("span", [[1, 3], [0, 0]])
def test_a_range_up_to_the_last_node_or_of_the_first_alone_is_none_as_in_sofa(span, four_nodes):
    assert four_nodes(totalMass=6.0, localRange=span).vertexMass.value == 1.5


@pytest.mark.parametrize("where", [{"indices": [1, 3]}, {"localRange": [1, 2]}])
def test_only_the_chosen_nodes_share_the_mass(where, four_nodes, dense):
    """Their weight is the whole weight; the others have no inertia at all."""
    mass = four_nodes(totalMass=6.0, **where)
    chosen = where.get("indices", [1, 2])
    assert mass.vertexMass.value == 3.0
    assert weight(mass).sum(axis=0) == pytest.approx(6.0 * GRAVITY)
    assert np.flatnonzero(np.diag(dense(mass))[::3]).tolist() == chosen


def test_the_matrix_does_what_the_product_does(four_nodes, dense, product):
    """factor m I, both ways."""
    mass = four_nodes(totalMass=6.0)
    v = np.arange(12.0).reshape(4, 3)
    assert dense(mass, 2.0) == pytest.approx(3.0 * np.eye(12))
    assert product(mass, v, 2.0) == pytest.approx(3.0 * v)


def test_a_new_total_counts_after_reinit(four_nodes):
    mass = four_nodes(totalMass=6.0)
    mass.totalMass.value = 10.0
    mass.reinit()
    assert weight(mass).sum(axis=0) == pytest.approx(10.0 * GRAVITY)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "has no mass: give totalMass or vertexMass"),
        ({"totalMass": 0.0}, "needs a positive mass, got 0"),
        ({"vertexMass": -2.0}, "needs a positive mass, got -8"),
        ({"totalMass": 1.0, "indices": [4]}, "has 4 in 'indices', but there are 4 nodes"),
    ],
)
def test_a_mass_that_is_none_is_an_error(values, message, four_nodes):
    with pytest.raises(SceneError, match=message):
        four_nodes(**values)


def test_no_mass_at_all_is_a_warning_and_nothing_weighs(four_nodes, tolerant, caplog):
    """As in SOFA, where visual targets are bodies of mass 0; a mass below 0 is an error."""
    mass = four_nodes(totalMass=0.0)
    assert "needs a positive mass, got 0. As in SOFA its nodes have no inertia" in caplog.text
    assert mass.vertexMass.value == 0.0
    assert not weight(mass).any()


def test_a_body_without_mass_has_no_moment_of_inertia(root, tolerant):
    node = root.addChild("body")
    node.addObject("MechanicalObject", template="Rigid3")
    mass = node.addObject("UniformMass", totalMass=0.0)
    simulation.init(root)
    assert not mass.moments.any() and not mass.masses.any()
    assert mass.vertexMass.value == "0 1 [1 0 0,0 1 0,0 0 1]"


def test_a_mass_without_nodes_is_an_error(root):
    node = root.addChild("body")
    node.addObject("MechanicalObject", position=[])
    node.addObject("UniformMass", totalMass=1.0)
    with pytest.raises(SceneError, match="MechanicalObject., which has no nodes"):
        simulation.init(root)


def test_a_mass_that_changes_in_a_run_counts_from_then_on(four_nodes):
    mass = four_nodes(totalMass=6.0)
    mass.totalMass.value = 10.0
    assert mass.vertexMass.value == 2.5
    assert weight(mass) == pytest.approx(np.tile(2.5 * GRAVITY, (4, 1)))


def test_the_mass_that_was_not_given_follows(four_nodes, tolerant):
    """As in SOFA: what was given first counts."""
    mass = four_nodes(vertexMass=0.5)
    mass.totalMass.value = 100.0
    assert mass.totalMass.value == 2.0
    mass.vertexMass.value = 0.75
    assert mass.totalMass.value == 3.0
    with pytest.raises(SceneError, match="needs a positive mass"):
        mass.vertexMass.value = -1.0
