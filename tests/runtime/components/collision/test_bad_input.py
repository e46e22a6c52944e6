"""What a scene with contacts may get wrong, and what it is told."""

import itertools

import numpy as np
import pytest

from sofa_softctl.errors import SceneError

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = [t for a, b, c, d in QUADS for t in ([a, b, c], [a, c, d])]
FLOOR = ([[-9.0, -9.0, 0.0], [29.0, -9.0, 0.0], [-9.0, 29.0, 0.0]], [[0, 1, 2]])


def test_bodies_that_start_inside_each_other_are_told(root, detection, surface, flying, run, told):
    """Two unit cubes, shifted by (0.7, 0.75, 0.8): one corner of each in the other, 0.2 deep.
    Each body is told of the other, once."""
    detection(root)
    flying(root, "one", surface)
    flying(root, "two", surface, CORNERS + [0.7, 0.75, 0.8])
    run(root, 3)
    texts = [text for text in told() if "inside" in text]
    assert len(texts) == 2
    assert all("1 of 8 points" in text and "up to 0.2 deep" in text for text in texts)
    assert "'/two/dofs' start inside TriangleCollisionModel '/one/Triangle'" in texts[0]
    assert "Move one of them by more than that plus contactDistance" in texts[0]


@pytest.mark.parametrize("why", ["apart", "group", "nullptr", "not active"])
def test_bodies_that_may_overlap_are_not_told(root, detection, surface, flying, run, told, why):
    """Apart, in a common group, or without response."""
    detection(root, response="nullptr" if why == "nullptr" else "FrictionContactConstraint")
    values = {"group": {"group": [4]}, "not active": {"active": False}}.get(why, {})
    flying(root, "one", surface, **values)
    flying(root, "two", surface, CORNERS + (1.1 if why == "apart" else 0.7), **values)
    run(root, 2)
    assert not [text for text in told() if " start " in text]


@pytest.mark.parametrize("sides", ["open", "both"])
def test_surfaces_without_an_inside_are_told_by_the_edges_through_them(
    root, detection, surface, flying, run, told, sides
):
    """A cube without its last triangle, and one that can be touched from both sides: the corner of
    the other cube lies beyond the three faces that its edges go through."""
    detection(root)
    values = {"bothSide": True} if sides == "both" else {}
    triangles = CUBE[:-1] if sides == "open" else CUBE
    flying(root, "one", surface, CORNERS, triangles, **values)
    flying(root, "two", surface, CORNERS + 0.7, triangles, **values)
    run(root, 2)
    texts = [text for text in told() if " start " in text]
    assert any("1 of 8 points" in text and "up to 0.3 deep" in text for text in texts)


def test_what_swims_in_a_tank_is_not_told(root, detection, surface, flying, run, told):
    """Inside a surface that is touched from both sides, or that faces inwards, and through none of
    its walls."""
    detection(root)
    tank = 10.0 * CORNERS - 4.0
    surface(root.addChild("both"), tank, bothSide=True, simulated=False)
    surface(root.addChild("inwards"), 1.5 * tank, np.array(CUBE)[:, ::-1], simulated=False)
    flying(root, "fish", surface)
    run(root, 2)
    assert not [text for text in told() if " start " in text]


METHODS = ["LocalMinDistance", "MinProximityIntersection", "NewProximityIntersection"]
SHEET = ([[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]], [[0, 1, 2], [0, 2, 3]])
SLAB = (np.array([18.0, 18.0, 2.0]) * CORNERS - [9.0, 9.0, 2.0], CUBE)
SKINS = [("Triangle", "Line", "Point"), ("Point",), ("Line", "Point"), ("Triangle",)]


@pytest.mark.parametrize("depth", [0.0, 0.02, 0.1, 0.6])
@pytest.mark.parametrize("kinds", SKINS, ids="-".join)
@pytest.mark.parametrize("floor", ["one triangle", "two triangles", "closed"])
@pytest.mark.parametrize("method", METHODS)
def test_a_body_that_starts_in_the_floor_is_told(
    root, detection, surface, flying, run, told, method, floor, kinds, depth
):
    """A cube, 0.02 to 0.6 deep: less than contactDistance (0.05), between it and alarmDistance
    (0.2), and deeper than that with its middle below the ground; also exactly on the floor, where
    contacts have no direction."""
    detection(root, method)
    surface(
        root.addChild("floor"),
        *{"one triangle": FLOOR, "two triangles": SHEET, "closed": SLAB}[floor],
        simulated=False,
        moving=False,
    )
    flying(root, "cube", surface, CORNERS - [0.5, 0.4, depth], CUBE, kinds=kinds)
    run(root, 1)
    (text,) = [text for text in told() if " start " in text]
    assert "4 of 8 points of MechanicalObject '/cube/dofs'" in text
    assert "TriangleCollisionModel '/floor/Triangle'" in text
    if depth:
        assert f"up to {depth:.3g} deep" in text
        assert f"plus contactDistance, {depth + 0.05:.3g} in all" in text
        assert ("inside" if floor == "closed" else "on the side that its triangles face") in text
    else:
        assert "exactly on" in text and "by more than contactDistance, 0.05" in text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("floor", [FLOOR, SHEET, SLAB], ids=["one", "two", "closed"])
@pytest.mark.parametrize(("height", "is_told"), [(0.4, False), (0.02, False), (-0.1, True)])
def test_a_sphere_is_told_when_its_centre_is_in_the_floor(
    root, detection, surface, flying, run, told, method, floor, height, is_told
):
    """With the centre outside, contacts push it out whatever its radius; it is 0.5."""
    detection(root, method)
    surface(root.addChild("floor"), *floor, simulated=False)

    def sphere(node):
        node.addObject("MechanicalObject", name="dofs", position=[[0.1, 0.2, height]])
        node.addObject("SphereCollisionModel", radius=0.5)

    flying(root, "ball", sphere)
    run(root, 1)
    texts = [text for text in told() if " start " in text]
    assert len(texts) == is_told
    if is_told:  # out by its depth, its radius and contactDistance
        assert "up to 0.1 deep" in texts[0] and "0.65 in all" in texts[0]


def test_points_that_a_rigid_body_carries_are_told_however_deep(
    root, detection, surface, flying, run, told
):
    """They have no edges; some lie above the floor, so those below are in it, 0.9 deep and so out
    of the reach of contacts. Those of particles that nothing joins may lie there."""
    detection(root)
    surface(root.addChild("floor"), *SHEET, simulated=False)
    body = flying(root, "body", lambda node: None)
    body.removeObject(next(entry for entry in body.objects if "Mass" in entry.getClassName()))
    body.addObject(
        "MechanicalObject", name="dofs", template="Rigid3", position=[[0, 0, 0, 0, 0, 0, 1]]
    )
    body.addObject("UniformMass", totalMass=1.0)
    pads = body.addChild("pads")
    pads.addObject("MechanicalObject", position=(CORNERS - [0.5, 0.5, 0.9]).tolist())
    pads.addObject("PointCollisionModel")
    pads.addObject("RigidMapping")

    def particles(node):
        node.addObject("MechanicalObject", position=(CORNERS - [0.5, 0.5, 0.9]).tolist())
        node.addObject("PointCollisionModel")

    flying(root, "gas", particles)
    run(root, 1)
    (text,) = [text for text in told() if " start " in text]
    assert "4 of 8 points of MechanicalObject '/body/pads" in text and "up to 0.9 deep" in text


def test_what_hangs_under_a_table_or_beside_it_is_not_told(
    root, detection, surface, flying, run, told
):
    """Wholly behind an open surface out of the reach of contacts, beyond its border, around its
    border, and in front of it."""
    detection(root)
    surface(root.addChild("table"), *SHEET, simulated=False)
    flying(root, "under", surface, CORNERS - [0.0, 0.0, 1.3])
    flying(root, "beside", surface, CORNERS + [9.1, 0.0, -0.5])
    flying(root, "above", surface, CORNERS + [0.0, 0.0, 0.06])
    hook = [[x, y, z] for x, z in ((8, 1), (9.5, 1), (9.5, -1), (8, -1)) for y in (-6, -5)]
    strip = [t for k in (0, 2, 4) for t in ([k, k + 1, k + 2], [k + 1, k + 3, k + 2])]
    flying(root, "hook", surface, hook, strip)
    run(root, 1)
    assert not [text for text in told() if " start " in text]


def test_bars_that_cross_without_points_inside_are_told_once(
    root, detection, surface, flying, run, told
):
    """Two long bars across each other: only edges go through faces."""
    detection(root)
    flying(root, "one", surface, CORNERS * [9.0, 1.0, 1.0] - [4.0, 0.0, 0.0])
    flying(root, "two", surface, CORNERS * [1.0, 9.0, 1.0] - [0.1, 4.0, 0.3])
    run(root, 2)
    (text,) = [text for text in told() if " start " in text]
    assert "edges of MechanicalObject '/" in text and "Move one of them" in text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("points", [False, True])
def test_skins_of_triangles_alone_are_told_where_nothing_tests_them(
    root, detection, surface, flying, run, told, method, points
):
    """LocalMinDistance and MinProximityIntersection test points against triangles, not triangles
    against triangles: without points the cube falls through the floor."""
    pipeline = detection(root, method)
    root.gravity = [0.0, 0.0, -10.0]
    surface(root.addChild("floor"), *SHEET, kinds=("Triangle",), simulated=False)
    kinds = ("Triangle", "Point") if points else ("Triangle",)
    flying(root, "cube", surface, CORNERS + [0.0, 0.0, 0.1], CUBE, kinds=kinds)
    run(root, 3)
    missed = not points and method != "NewProximityIntersection"
    assert bool(pipeline.contacts) != missed
    texts = [text for text in told() if "go through each other" in text]
    assert len(texts) == missed
    assert all("Add a PointCollisionModel" in text for text in texts)


def test_triangles_without_area_are_left_out_and_told(root, detection, surface, run, told):
    detection(root)
    node = root.addChild("floor")
    points = [*FLOOR[0], [10.0, -9.0, 0.0]]
    surface(node, points, [[0, 1, 2], [0, 3, 1]])
    run(root, 1)
    (text,) = [text for text in told() if "no area" in text]
    assert "leaves out 1 of 2 triangles" in text
    assert "first triangle 1 = [0, 3, 1]" in text
    assert len(node.Triangle.elements) == 1


def test_two_obstacles_push_nothing(root, detection, surface, run):
    """Contacts with nothing to move: rows without compliance, and no force, no motion."""
    pipeline = detection(root)
    one = surface(root.addChild("one"))
    two = surface(root.addChild("two"), CORNERS + [0.1, 0.2, 1.01])
    run(root, 3)
    assert sum(entry.contact_count for entry in pipeline.contacts) > 0
    assert all((entry.force == 0.0).all() for entry in pipeline.contacts)
    assert one.dofs.position.value.tolist() == CORNERS.tolist()
    assert np.isfinite(two.dofs.position.value).all()


@pytest.mark.parametrize("method", ["ProjectedGaussSeidel", "NonsmoothNonlinearConjugateGradient"])
def test_a_body_that_cannot_move_gets_a_finite_answer(
    root, detection, surface, flying, run, method
):
    """All nodes held, between two obstacles that want it elsewhere."""
    pipeline = detection(root)
    root.solver.resolutionMethod = method
    body = flying(root, "body", surface, held=range(8))
    surface(root.addChild("above"), CORNERS + [0.1, 0.2, 1.01], simulated=False)
    surface(root.addChild("below"), CORNERS + [0.1, 0.2, -1.01], simulated=False)
    run(root, 3)
    assert sum(entry.contact_count for entry in pipeline.contacts) > 0
    assert all(np.isfinite(entry.force).all() for entry in pipeline.contacts)
    assert body.dofs.position.value.tolist() == CORNERS.tolist()


def test_distances_that_contradict_each_other_are_an_error(root, detection, run):
    detection(root, alarm=0.1, contact=0.2)
    with pytest.raises(SceneError, match=r"contactDistance=0\.2 and alarmDistance=0\.1: give"):
        run(root, 1)


def test_a_response_that_is_not_built_is_an_error(root, detection, surface, flying, run):
    detection(root, response="StickContactForceField")
    flying(root, "one", surface)
    surface(root.addChild("two"), CORNERS + [0.0, 0.0, 1.1])
    with pytest.raises(
        SceneError, match=r"asks for 'StickContactForceField' between .*'/two/.* and .*'/one/"
    ):
        run(root, 1)


@pytest.mark.parametrize("mu", ["-0.1", "rough", "inf", "nan"])
def test_friction_is_a_number_that_is_not_negative(root, detection, surface, flying, run, mu):
    detection(root, mu=mu)
    flying(root, "one", surface)
    surface(root.addChild("two"), CORNERS + [0.0, 0.0, 1.1])
    with pytest.raises(SceneError, match=f"got mu='{mu}': give a number >= 0"):
        run(root, 1)


@pytest.mark.parametrize("missing", ["BruteForceBroadPhase", "BVHNarrowPhase", "response"])
def test_without_a_part_of_the_pipeline_there_are_no_contacts(
    root, detection, surface, flying, run, missing, told
):
    """As in SOFA: bodies fall through each other, and a warning names the part."""
    pipeline = detection(root)
    for entry in list(root.objects):
        if missing in (entry.getClassName(), entry.getName()):
            root.removeObject(entry)
    root.gravity = [0.0, 0.0, -10.0]
    body = flying(root, "one", surface)
    surface(root.addChild("two"), CORNERS - [0.0, 0.0, 1.06], simulated=False)
    run(root, 20)
    assert not pipeline.contacts
    assert body.dofs.position.value[:, 2].max() < 0.9
    part = "CollisionResponse" if missing == "response" else missing
    (text,) = (text for text in told() if "finds no contacts, since its node has no" in text)
    assert text.endswith(f"Add {part}.")


def test_the_old_name_of_the_two_phases_adds_both(root, detection, surface, flying, run):
    pipeline = detection(root)
    for name in ("BruteForceBroadPhase", "BVHNarrowPhase"):
        root.removeObject(root.getObject(name))
    root.addObject("BruteForceDetection")
    root.gravity = [0.0, 0.0, -10.0]
    body = flying(root, "one", surface)
    surface(root.addChild("two"), CORNERS - [0.0, 0.0, 1.06], simulated=False)
    run(root, 20)
    assert pipeline.contacts
    assert body.dofs.position.value[:, 2].min() > -0.02


def one_point(node):
    node.addObject("MechanicalObject", position=[[0, 0, 0]])


def test_radii_must_fit_the_spheres(root, detection, flying, run):
    detection(root)
    node = flying(root, "one", one_point)
    node.addObject("SphereCollisionModel", listRadius=[1.0, 2.0])
    with pytest.raises(SceneError, match="has 2 numbers in 'listRadius' for 1 spheres"):
        run(root, 1)


def test_spheres_without_a_radius_have_the_common_one(root, detection, flying, run, tolerant):
    """As in SOFA: `listRadius` may be too short."""
    detection(root)
    node = flying(
        root,
        "one",
        lambda node: node.addObject("MechanicalObject", position=[[0, 0, 0], [9, 0, 0]]),
    )
    spheres = node.addObject("SphereCollisionModel", listRadius=[2.0], radius=0.5)
    run(root, 1)
    assert spheres.find_reach().tolist() == [2.0, 0.5]


def test_lines_without_a_mesh_are_an_error(root, detection, flying, run):
    detection(root)
    node = flying(root, "one", one_point)
    node.addObject("LineCollisionModel")
    with pytest.raises(SceneError, match="needs a topology in its node or above"):
        run(root, 1)


def test_bodies_touch_with_points_that_are_mapped_onto_them(root, detection, run):
    """A collision model beside a Rigid3 state: what to do instead."""
    detection(root)
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", template="Rigid3", position=[[0, 0, 0, 0, 0, 0, 1]])
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("LinearSolverConstraintCorrection")
    node.addObject("PointCollisionModel")
    with pytest.raises(SceneError, match="template Rigid3d: put the model into a child node with"):
        run(root, 1)


def test_a_rule_of_two_words_is_an_error(root, run):
    with pytest.raises(SceneError, match="other than three words in 'rules': 'two words'"):
        root.addObject("RuleBasedContactManager", rules="* * nullptr two words")
        run(root, 1)


def test_what_is_no_rule_is_not_used(root, run, tolerant):
    root.addObject("RuleBasedContactManager", rules="default")
    run(root, 1)


def test_five_hundred_contacts_carry_the_weight(root, detection, surface, flying, run):
    """A sheet of 23 x 23 nodes that land together, without friction: each carries its own m g."""
    pipeline = detection(root, mu=0.0)
    root.gravity = [0.0, 0.0, -10.0]
    side = 23
    x, y = (a.ravel() for a in np.meshgrid(np.arange(side), np.arange(side), indexing="ij"))
    sheet = np.stack([0.2 * x, 0.2 * y, 0.0 * x + 0.06], axis=1)
    body = flying(root, "sheet", surface, sheet, [[0, 1, side]], kinds=("Point",))
    surface(root.addChild("floor"), *FLOOR, simulated=False, moving=False)
    run(root, 20)
    force = np.concatenate([entry.force[:, 0] for entry in pipeline.contacts]) / 0.01
    assert len(force) == side**2 > 500
    assert force == pytest.approx(10.0, abs=1e-9)
    assert body.dofs.position.value[:, 2] == pytest.approx(0.05, abs=1e-12)


@pytest.mark.parametrize("values", [{"moving": False}, {"moving": False, "simulated": False}])
def test_a_body_that_moves_but_is_said_to_rest_is_told(
    root, detection, surface, flying, run, told, tolerant, values
):
    """One that is not simulated either is an obstacle."""
    detection(root)
    flying(root, "one", surface, **values)
    run(root, 2)
    texts = [text for text in told() if "has moving=False, but MechanicalObject" in text]
    assert len(texts) == (0 if "simulated" in values else 3)  # triangles, lines, points
