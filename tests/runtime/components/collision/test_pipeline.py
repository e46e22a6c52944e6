"""Which models touch, which elements of them, and who is told."""

import itertools

import numpy as np
import pytest

from sofa_softctl.runtime.components.collision.surface import is_closed, joined_nodes
from sofa_softctl.runtime.simulation import simulation

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])


def contacts(pipeline):
    """Number of contacts of each pair of models that touches, by their names."""
    return {entry.getName(): entry.contact_count for entry in pipeline.contacts}


def over_each_other(root, detection, surface, flying, run, *, one=None, two=None, **options):
    """Two cubes, the gap below the alarm distance; the pipeline after a step."""
    pipeline = detection(root, **options)
    flying(root, "one", surface, **(one or {}))
    flying(root, "two", surface, CORNERS + [0.3, 0.2, 1.1], **(two or {}))
    run(root, 1)
    return pipeline


# -- who touches whom ------------------------------------------------------------------------------


@pytest.mark.quick
def test_a_method_is_asked_only_for_models_that_are_near(root, detection, surface, flying, run):
    """DiscreteIntersection raises for triangles, which these never come near."""
    pipeline = detection(root, method="DiscreteIntersection")
    flying(root, "one", surface)
    flying(root, "two", surface, CORNERS + [0.0, 0.0, 50.0])
    run(root, 2)
    assert not pipeline.contacts


@pytest.mark.parametrize(
    ("one", "two", "touch"),
    [
        ({}, {}, True),
        ({"group": [1]}, {}, True),
        ({"group": [1, 2]}, {"group": [3]}, True),
        ({"group": [1, 2]}, {"group": [2, 3]}, False),
        ({"active": False}, {}, False),
        ({"simulated": False}, {}, True),
        ({"simulated": False}, {"simulated": False}, False),
    ],
)
def test_groups_and_switches_say_who_touches(
    root, detection, surface, flying, run, one, two, touch
):
    pipeline = over_each_other(root, detection, surface, flying, run, one=one, two=two)
    assert bool(pipeline.contacts) == touch
    assert (root.one.Triangle.numberOfContacts.value > 0) == touch


def test_a_models_own_response_comes_first(root, detection, surface, flying, run):
    values = {"contactResponse": "FrictionContactConstraint?mu=0.123"}
    pipeline = over_each_other(root, detection, surface, flying, run, one=values)
    assert {entry.mu.value for entry in pipeline.contacts} == {0.123}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("* * FrictionContactConstraint?mu=0.2", {0.2}),
        ("7 * FrictionContactConstraint?mu=0.3 * * FrictionContactConstraint?mu=0.2", {0.3}),
        ("* 7 FrictionContactConstraint?mu=0.3", {0.3}),
        ("8 * FrictionContactConstraint?mu=0.3", {0.5}),
        ("Point Triangle FrictionContactConstraint?mu=0.3 * * nullptr", {0.3}),
        ("* * nullptr", set()),
    ],
)
def test_the_first_rule_that_fits_decides(root, detection, surface, flying, run, rules, expected):
    """By group or name, in either order; without one that fits, the response of all."""
    pipeline = detection(root)
    root.removeObject(root.response)
    root.addObject(
        "RuleBasedContactManager",
        rules=rules,
        response="FrictionContactConstraint",
        responseParams="mu=0.5",
    )
    flying(root, "one", surface, group=[7])
    flying(root, "two", surface, CORNERS + [0.3, 0.2, 1.1])
    run(root, 1)
    assert {entry.mu.value for entry in pipeline.contacts} == expected


def test_a_region_keeps_what_lies_outside_out(root, detection, surface, flying, run):
    pipeline = detection(root)
    root.BruteForceBroadPhase.box = [-1.0, -1.0, -1.0, 2.0, 2.0, 0.5]
    flying(root, "one", surface)
    flying(root, "two", surface, CORNERS + [0.3, 0.2, 1.1])
    run(root, 1)
    assert not pipeline.contacts


def test_contacts_end_when_bodies_part(root, detection, surface, flying, run):
    """They stand in the graph while they touch, and are gone afterwards, also after a reset."""
    pipeline = over_each_other(root, detection, surface, flying, run)
    assert contacts(pipeline)
    held = [entry for entry in root.objects if "Unilateral" in entry.getClassName()]
    assert held == pipeline.contacts
    root.two.dofs.velocity = [[0.0, 0.0, 50.0]] * 8
    run(root, 3)
    assert not contacts(pipeline)
    assert not [entry for entry in root.objects if "Unilateral" in entry.getClassName()]
    simulation.reset(root)
    run(root, 1)
    assert contacts(pipeline)


def test_after_a_reset_contacts_are_found_anew(root, detection, surface, flying, run):
    """In the order of the scene, whichever were first before, and by the present rules."""
    pipeline = detection(root, mu=0.5)
    places = {"one": np.zeros(3), "two": [0.3, 0.2, 1.1], "three": [-1.1, 0.25, 0.35]}
    for name, place in places.items():
        flying(root, name, surface, CORNERS + place, kinds=("Line",))
    run(root)
    root.two.dofs.position.value = CORNERS + [0.3, 0.2, 5.0]
    run(root, 1)
    (beside,) = pipeline.contacts
    root.two.dofs.position.value = CORNERS + [0.3, 0.2, 1.1]
    run(root, 1)
    assert [contact.mu.value for contact in pipeline.contacts] == [0.5, 0.5]
    assert pipeline.contacts[0] is beside
    root.response.responseParams.value = "mu=0.125"
    simulation.reset(root)
    assert pipeline.contacts == []
    run(root, 1)
    assert [contact.mu.value for contact in pipeline.contacts] == [0.125, 0.125]
    assert pipeline.contacts[1].models == beside.models


def test_the_same_scene_gives_the_same_contacts(root, detection, surface, flying, run):
    """A reset brings back the same numbers, bit for bit."""
    pipeline = over_each_other(root, detection, surface, flying, run)
    root.gravity = [0.0, 0.0, -10.0]
    found = []
    for _ in range(2):
        simulation.reset(root)
        run(root, 30)
        found.append((contacts(pipeline), root.two.dofs.position.value.copy()))
    assert found[0][0] == found[1][0]
    assert np.array_equal(found[0][1], found[1][1])


# -- self-collision -------------------------------------------------------------------------------


def meeting(root, surface, flying, apart, **values):
    """Two cubes thrown at each other, as two bodies or as one."""
    x = np.concatenate([CORNERS, CORNERS @ np.diag([1.0, 0.9, 0.8]) + [1.2, 0.25, 0.3]])
    v = np.repeat([[3.0, 0.0, 0.0], [-2.0, 0.4, 0.0]], 8, axis=0)
    if apart:
        nodes = [flying(root, name, surface, x[k : k + 8]) for name, k in (("one", 0), ("two", 8))]
        for node, k in zip(nodes, (0, 8), strict=True):
            node.dofs.velocity = v[k : k + 8].tolist()
        return lambda: np.concatenate([node.dofs.position.value for node in nodes])
    node = flying(root, "both", surface, x, np.concatenate([CUBE, CUBE + 8]), **values)
    node.dofs.velocity = v.tolist()
    return lambda: node.dofs.position.value.copy()


@pytest.mark.parametrize("method", ["LocalMinDistance", "MinProximityIntersection"])
def test_a_body_of_two_parts_touches_itself_as_two_bodies_do(
    root, detection, surface, flying, run, method
):
    """The rows of both sides lie on one state. The two scenes differ in the order of rows; 1e-9
    is what the iteration (1e-12) leaves of it over 20 steps."""
    places = []
    for apart in (True, False):
        for child in list(root.children):
            root.removeChild(child)
        for entry in list(root.objects):
            root.removeObject(entry)
        pipeline = detection(root, method, mu=0.3)
        if method == "LocalMinDistance":
            root.method.angleCone = 0.2
        place = meeting(root, surface, flying, apart, selfCollision=True)
        simulation.init(root)
        pushed = 0
        for _ in range(20):
            run(root, 1)
            pushed += sum((entry.force[:, 0] > 0.0).sum() for entry in pipeline.contacts)
        assert pushed > 0
        places.append(place())
    assert places[0] == pytest.approx(places[1], abs=1e-9)


@pytest.mark.parametrize("switch", [False, True])
def test_a_body_touches_itself_only_when_asked(root, detection, surface, flying, run, switch):
    pipeline = detection(root)
    meeting(root, surface, flying, False, selfCollision=switch)
    run(root, 2)
    assert bool(pipeline.contacts) == switch


def test_neighbours_do_not_touch(root, detection, surface, flying, run):
    """A cube of which all is nearer than the alarm distance: opposite edges of a face would touch,
    but each has a node that an edge joins to the other."""
    pipeline = detection(root, alarm=1.05)
    flying(root, "one", surface, selfCollision=True)
    run(root, 1)
    assert contacts(pipeline) == {}


def test_triangles_with_a_common_edge_do_not_touch(root, detection, surface, flying, run):
    """A strip of six triangles, the last of which lies back over the first; the one before it has
    a node that an edge joins to the first."""
    x = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0.5, 2, 0.2]]
    x += [[0.2, 0.2, 0.15], [0.4, 0.2, 0.15], [0.2, 0.4, 0.15]]
    strip = [[0, 1, 2], [1, 3, 2], [3, 4, 2], [4, 5, 3], [5, 6, 4], [6, 7, 5]]
    pipeline = detection(root, "NewProximityIntersection")
    flying(root, "one", surface, x, strip, kinds=("Triangle",), selfCollision=True)
    run(root, 1)
    (entry,) = pipeline.contacts
    assert {tuple(pair) for pair in entry.near.element.tolist()} == {(5, 0)}


def test_nodes_are_joined_by_chains_of_edges():
    """A path 0 - 1 - 2 - 3: within 0, 1 and 2 edges."""
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    for chain in (0, 1, 2):
        found = {divmod(code, 4) for code in joined_nodes(4, edges, chain).tolist()}
        expected = {(i, j) for i in range(4) for j in range(4) if abs(i - j) <= chain}
        assert found == expected


def test_a_surface_is_closed_when_each_edge_has_two_sides_turned_alike():
    assert is_closed(CUBE)
    assert not is_closed(CUBE[1:])
    turned = CUBE.copy()
    turned[0] = turned[0, ::-1]
    assert not is_closed(turned)
    assert not is_closed(np.empty((0, 3), np.int64))


# -- listeners ------------------------------------------------------------------------------------


def test_a_listener_tells_the_contacts_of_the_step_before(root, detection, surface, flying, run):
    """Distances less the contact distance; elements and points by model, in the order in which
    the listener names them."""
    pipeline = detection(root, "LocalMinDistance")
    one, two = flying(root, "one", surface), flying(root, "two", surface, CORNERS + [0.3, 0.2, 1.1])
    ears = [
        root.addObject("ContactListener", collisionModel1=a.getLinkPath(), **more)
        for a, more in (
            (one.Triangle, {}),
            (two.Point, {"collisionModel2": one.Triangle.getLinkPath()}),
            (two.Point, {"collisionModel2": one.Point.getLinkPath()}),
        )
    ]
    run(root, 1)
    entry = next(c for c in pipeline.contacts if c.models == (one.Triangle, two.Point))
    near = entry.near
    assert [ear.getNumberOfContacts() for ear in ears] == [0, 0, 0]
    run(root, 1)
    assert len(near.distance) > 0
    assert [ear.getNumberOfContacts() for ear in ears] == [len(near.distance)] * 2 + [0]
    assert ears[0].getDistances() == pytest.approx((near.distance - 0.05).tolist())
    data = ears[1].getContactData()
    assert data["collisionElementsModel1"] == near.element[:, 1].tolist()
    assert np.array(data["collisionPointsModel2"]) == pytest.approx(near.point[:, 0])
    assert ears[0].getContactElements()[0] == (0, near.element[0, 0], 1, near.element[0, 1])
    assert ears[1].getContactElements()[0] == (1, near.element[0, 0], 0, near.element[0, 1])


def test_the_clock_has_a_phase_for_collisions(root, detection, surface, flying, run):
    over_each_other(root, detection, surface, flying, run)
    assert simulation.loop_of(root).clock.seconds["collision"] > 0.0
