"""Cables that pull on areas of a surface: methods sphere and geodesic."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.constraint.cable_areas import Surface, area_around
from sofa_softctl.runtime.simulation import simulation

FOLDED = Surface(
    x=np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 0, 1], [1, 0, 1], [0, 0, 1], [9, 9, 9]]),
    edges=np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]),
    triangles=np.array([[0, 1, 2], [3, 4, 5]]),
)
"""A strip of edges that turns back one above the start, and a vertex of no edge."""


def area(radius, along, vertex=0, **values):
    inside, shares = area_around(
        FOLDED, vertex, radius, along_edges=along, origin=FOLDED.x[vertex], **values
    )
    return dict(zip(inside.tolist(), shares.tolist(), strict=True))


def test_along_edges_the_other_side_is_far():
    """At distances 0 and 1 of the radius 1.5: 1.5 and 0.5, of 2."""
    assert area(1.5, along=True) == pytest.approx({0: 0.75, 1: 0.25})


def test_straight_what_edges_lead_to_within_the_radius_counts():
    """From vertex 1: itself, 0, 2 and beyond it 3, at sqrt 2, and 4 at 1."""
    found = area(1.5, along=False, vertex=1)
    shares = {0: 0.5, 1: 1.5, 2: 0.5, 3: 1.5 - 2**0.5, 4: 0.5, 5: 1.5 - 2**0.5}
    total = sum(shares.values())
    assert found == pytest.approx({vertex: share / total for vertex, share in shares.items()})


def test_straight_but_led_to_only_from_outside_the_radius_does_not_count():
    """Vertex 5 is 1 away from vertex 0, but every way to it goes over vertices that are farther."""
    assert area(1.2, along=False) == pytest.approx({0: 1.2 / 1.4, 1: 0.2 / 1.4})


FLAT = Surface(
    x=np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]]),
    edges=np.array([[0, 1], [1, 2], [2, 0]]),
    triangles=np.array([[0, 1, 2]]),
)


@pytest.mark.parametrize(
    ("center", "place"),
    [
        ([0.5, 0.5, 0.3], [0.5, 0.5, 0.0]),
        ([-1.0, 0.4, 0.0], [0.0, 0.4, 0.0]),
        ([-1.0, -2.0, 0.0], [0.0, 0.0, 0.0]),
        ([1.5, 1.0, 0.0], [1.25, 0.75, 0.0]),
    ],
)
def test_a_center_counts_from_its_place_on_the_surface(center, place):
    """In the triangle, on an edge, at a corner, on the side across."""
    corners, along, away = FLAT.project(np.array(center), 0)
    assert corners.tolist() == [0, 1, 2]
    assert away == pytest.approx(np.linalg.norm(np.subtract(center, place)))
    assert along == pytest.approx(np.linalg.norm(FLAT.x - place, axis=1))


def test_shares_of_a_center_add_up_to_one():
    inside, shares = area_around(
        FLAT, 0, 3.0, along_edges=True, origin=FLAT.x[0], center=np.array([0.5, 0.5, 0.3])
    )
    assert inside.tolist() == [0, 1, 2]
    assert shares[1] == pytest.approx(shares[2])
    assert shares[0] > shares[1] > 0.0
    assert shares.sum() == pytest.approx(1.0)


def test_straight_distances_are_those_from_the_vertex_next_to_the_center():
    """0, 2 and 2 from vertex 0, whatever the center's own place."""
    inside, shares = area_around(
        FLAT, 0, 3.0, along_edges=False, origin=FLAT.x[0], center=np.array([0.5, 0.2, 0.3])
    )
    assert inside.tolist() == [0, 1, 2]
    assert shares == pytest.approx([0.6, 0.2, 0.2])


@pytest.fixture
def pulled(root, integrated):
    """Four free particles of mass 1, the corners of a square of two triangles, with a cable."""

    def make(method="sphere", triangles=((0, 1, 2), (0, 2, 3)), **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", tolerance=1e-14)
        node = integrated(root, "body", [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
        if triangles is not None:
            points = node.dofs.position.value
            node.addObject("MeshTopology", name="mesh", position=points, triangles=triangles)
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        given = {"valueType": "force", "value": [1.0], "pullPoint": [0, 0, -5], **values}
        cable = node.addObject("CableConstraint", method=method, **given)
        simulation.init(root)
        return node.dofs, cable

    return make


def test_each_node_gets_its_share_of_the_pull(pulled, root):
    """lambda 1 moves a mass of 1 by h times its share, along the first segment; radius 2: the
    distances 0, 1, 1 and sqrt 2 leave shares of 2, 1, 1 and 2 - sqrt 2."""
    dofs, cable = pulled(indices=[0], radii=[2.0])
    simulation.animateNSteps(root, 1)
    shares = np.array([2.0, 1.0, 2.0 - 2**0.5, 1.0])
    assert dofs.velocity.value[:, 2] == pytest.approx(-shares / shares.sum())
    assert cable.force.value == 1.0


def test_one_radius_is_that_of_all_points(pulled):
    _, cable = pulled(indices=[0, 2], radii=[0.5])
    assert cable.radii.value.tolist() == [0.5, 0.5]


def test_centers_lead_to_the_vertices_next_to_them(pulled):
    _, cable = pulled("geodesic", centers=[[0.9, 0.1, 0.2]], radii=[1.0])
    assert cable.indices.value.tolist() == [1]
    cable.reinit()
    assert cable.indices.value.tolist() == [1]


def test_a_linked_surface_is_the_one_that_counts(pulled, root):
    """The square's own triangles do not reach node 3."""
    other = root.addChild("other")
    other.addObject(
        "MeshTopology",
        name="wide",
        position=[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
        triangles=[[0, 1, 2], [0, 2, 3]],
    )
    dofs, _ = pulled(
        triangles=[[0, 1, 2]], indices=[0], radii=[1.2], surfaceTopology="@/other/wide"
    )
    simulation.animateNSteps(root, 1)
    assert dofs.velocity.value[3, 2] < 0.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"triangles": None}, "needs a surface for method 'sphere'"),
        ({"triangles": []}, "needs triangles for method 'sphere'"),
        ({"indices": [7]}, "7.* but there are 4 nodes"),
        ({"radii": [1.0, 2.0]}, "has 2 'radii' for 1 points"),
        ({"radii": []}, "has 0 'radii' for 1 points"),
        ({"radii": [0.0]}, "does not pull at its point 0: no node is within the radius of 0"),
        ({"centers": [[0, 0, 1]], "indices": [2]}, "has 'centers' and 'indices'"),
        (
            {"triangles": [[1, 2, 3]], "centers": [[0, 0, 1]]},
            "has a center whose nearest vertex belongs to no triangle",
        ),
    ],
)
def test_areas_that_are_none_are_faults(pulled, values, message):
    with pytest.raises(SceneError, match=message):
        pulled(**{"radii": [1.0], **values})


def test_derivatives_say_that_they_know_points_alone(pulled):
    _, cable = pulled(radii=[1.0])
    with pytest.raises(SceneError, match=r"pulls on areas, by method 'sphere'.*method 'point'"):
        cable.check_differentiable()
