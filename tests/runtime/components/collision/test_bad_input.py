"""What a scene with contacts may get wrong, and what it is told."""

import itertools

import numpy as np
import pytest

from sofa_softctl.errors import SceneError

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
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


@pytest.mark.parametrize(
    "why", ["apart", "group", "nullptr", "open", "not active", "touched from both sides"]
)
def test_bodies_that_may_overlap_are_not_told(root, detection, surface, flying, run, told, why):
    """Apart, in a common group, without response, or where no inside is defined."""
    detection(root, response="nullptr" if why == "nullptr" else "FrictionContactConstraint")
    values = {
        "group": {"group": [4]},
        "not active": {"active": False},
        "touched from both sides": {"bothSide": True},
    }.get(why, {})
    shift = 1.1 if why == "apart" else 0.7
    node = flying(root, "one", surface, **values)
    flying(root, "two", surface, CORNERS + shift, **values)
    if why == "open":
        for body in root.children:
            mesh = body.objects[2]
            mesh.triangles.value = mesh.triangles.value[:-1]
    run(root, 2)
    assert node.Triangle.numberOfContacts.value >= 0
    assert not [text for text in told() if "inside" in text]


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
    detection(root, response="PenalityContactForceField")
    flying(root, "one", surface)
    surface(root.addChild("two"), CORNERS + [0.0, 0.0, 1.1])
    with pytest.raises(
        SceneError, match=r"asks for 'PenalityContactForceField' between .*'/two/.* and .*'/one/"
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
    root, detection, surface, flying, run, missing
):
    """As in SOFA: bodies fall through each other."""
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


def one_point(node):
    node.addObject("MechanicalObject", position=[[0, 0, 0]])


def test_radii_must_fit_the_spheres(root, detection, flying, run):
    detection(root)
    node = flying(root, "one", one_point)
    node.addObject("SphereCollisionModel", listRadius=[1.0, 2.0])
    with pytest.raises(SceneError, match="has 2 numbers in 'listRadius' for 1 spheres"):
        run(root, 1)


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
