import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

POINTS = np.array([[0, 0, 0], [3, 4, 0], [0, 0, 5], [5, 0, 0], [6, 0, 0], [10, 0, 0]], float)


@pytest.fixture
def region(root):
    """Makes a SphereROI beside a state."""

    def make(**values):
        node = root.addChild("body")
        node.addObject("MeshTopology", position=POINTS.tolist(), edges=[[0, 1], [3, 4], [4, 5]])
        node.addObject("MechanicalObject")
        roi = node.addObject("SphereROI", **values)
        simulation.init(root)
        return roi

    return make


def test_the_surface_belongs_to_the_sphere(region):
    """|p - c| <= r; 3-4-5 is exact."""
    assert region(centers=[[0, 0, 0]], radii=[5.0]).indices.array().tolist() == [0, 1, 2, 3]


def test_just_outside_the_surface_is_outside(region):
    radius = float(np.nextafter(5.0, 0.0))
    assert region(centers=[[0, 0, 0]], radii=[radius]).indices.array().tolist() == [0]


def test_several_spheres_are_united(region):
    """Each with its own radius."""
    roi = region(centers=[[0, 0, 0], [10, 0, 0]], radii=[1.0, 4.0])
    assert roi.indices.array().tolist() == [0, 4, 5]


def test_one_radius_serves_all_spheres(region):
    roi = region(centers=[[0, 0, 0], [10, 0, 0]], radii=[4.0])
    assert roi.indices.array().tolist() == [0, 4, 5]


def test_an_element_is_inside_with_all_its_vertices(region):
    roi = region(centers=[[0, 0, 0]], radii=[5.0])
    assert roi.edgeIndices.array().tolist() == [0]


def test_elements_inside_are_given_as_they_are(region):
    assert region(centers=[[0, 0, 0]], radii=[5.0]).edgesInROI.array().tolist() == [[0, 1]]


def test_elements_that_are_not_asked_for_are_left_out(region):
    """As in SOFA."""
    roi = region(centers=[[0, 0, 0]], radii=[5.0], computeEdges=False)
    assert len(roi.edgeIndices.array()) == len(roi.edgesInROI.array()) == 0
    assert len(roi.indices.array()) == 4


def test_a_new_radius_counts_when_the_points_change(region):
    """Not before, as in SOFA."""
    roi = region(centers=[[0, 0, 0]], radii=[5.0])
    roi.radii.value = [6.0]
    assert roi.indices.array().tolist() == [0, 1, 2, 3]
    roi.position.value = POINTS
    assert roi.indices.array().tolist() == [0, 1, 2, 3, 4]


def test_radii_that_do_not_fit_are_an_error(region):
    with pytest.raises(SceneError, match="has 3 centers but 2 radii"):
        region(centers=np.zeros((3, 3)).tolist(), radii=[1.0, 2.0])


def test_without_a_sphere_nothing_is_inside(region):
    assert region().indices.array().tolist() == []


def test_edges_along_a_direction_are_left_out(region):
    """Edge 0 points along (3, 4, 0), 53 degrees from x; edges 1 and 2 lie on x."""
    everything = {"centers": [[0, 0, 0]], "radii": [99.0], "direction": [2, 0, 0]}
    assert region(edgeAngle=52.0, **everything).edgeIndices.array().tolist() == [0]


def test_edges_far_from_the_direction_stay(region):
    everything = {"centers": [[0, 0, 0]], "radii": [99.0], "direction": [2, 0, 0]}
    assert region(edgeAngle=54.0, **everything).edgeIndices.array().tolist() == []


@pytest.mark.parametrize(("normal", "expected"), [([0, 0, 3], [0]), ([0, 0, -3], [1])])
def test_triangles_whose_inner_normal_is_near_the_normal_are_left_out(normal, expected, region):
    """(0, 1, 3) is seen clockwise from above: its inner normal, as SOFA has it, points up."""
    roi = region(
        centers=[[0, 0, 0]], radii=[99.0], normal=normal, triAngle=10.0,
        triangles=[[3, 1, 0], [0, 1, 3]],
    )  # fmt: skip
    assert roi.triangleIndices.array().tolist() == expected
