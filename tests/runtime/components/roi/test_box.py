import itertools

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

POINTS = np.array(list(itertools.product(range(4), repeat=3)), float)  # 64 nodes, 0 to 3


@pytest.fixture
def region(root):
    """Makes a BoxROI beside a state on a grid."""

    def make(elements=None, **values):
        node = root.addChild("body")
        node.addObject("MeshTopology", position=POINTS.tolist(), **(elements or {}))
        node.addObject("MechanicalObject", name="dofs")
        roi = node.addObject("BoxROI", **values)
        simulation.init(root)
        return roi

    return make


def inside(low, high):
    return np.flatnonzero(((low <= POINTS) & (high >= POINTS)).all(axis=1)).tolist()


def test_the_faces_belong_to_the_box(region):
    """Bounds that are exactly coordinates of nodes; numbers ascend."""
    roi = region(box=[[1, 0, 2, 2, 3, 3]])
    assert roi.indices.array().tolist() == inside([1, 0, 2], [2, 3, 3])
    assert roi.nbIndices.value == 2 * 4 * 2
    assert roi.pointsInROI.array() == pytest.approx(POINTS[roi.indices.array()])


def test_just_outside_the_face_is_outside(region):
    """The next number below 3 above the last, and the next one above 1 below the first."""
    low, high = np.nextafter(1.0, 2.0), np.nextafter(3.0, 0.0)
    roi = region(box=[[low, low, low, high, high, high]])
    assert roi.indices.array().tolist() == inside([2] * 3, [2] * 3)


def test_corners_may_come_in_any_order(region):
    """They are sorted axis by axis, in the Data too."""
    roi = region(box=[[2, 0, 3, 1, 3, 2]])
    assert roi.indices.array().tolist() == inside([1, 0, 2], [2, 3, 3])
    assert roi.box.array().tolist() == [[1, 0, 2, 2, 3, 3]]


def test_several_boxes_are_united(region):
    """A node in both counts once."""
    roi = region(box=[[0, 0, 0, 1, 1, 1], [1, 1, 1, 2, 2, 2]])
    expected = sorted({*inside([0] * 3, [1] * 3), *inside([1] * 3, [2] * 3)})
    assert roi.indices.array().tolist() == expected


def test_without_a_box_it_is_the_unit_box(region):
    assert region().indices.array().tolist() == inside([0] * 3, [1] * 3)


def test_an_empty_list_of_boxes_holds_nothing(region):
    """SOFA's unit box stands in for a box that was not given, not for none."""
    assert region(box=[]).indices.array().tolist() == []


ELEMENTS = {
    "tetrahedra": [[0, 1, 4, 16], [0, 1, 4, 32], [0, 61, 62, 63]],
    "triangles": [[0, 1, 4], [0, 1, 8], [0, 62, 63]],
    "edges": [[0, 1], [0, 2], [0, 3]],
}
"""Of each kind one with all vertices in the unit box, one with its centre, and one with less."""


@pytest.mark.parametrize(("strict", "expected"), [(True, [0]), (False, [0, 1])])
def test_an_element_is_inside_with_all_its_vertices(strict, expected, region):
    """strict=False: with its centre, as in SOFA."""
    roi = region(ELEMENTS, box=[[0, 0, 0, 1, 1, 1]], strict=strict)
    for name in ("edgeIndices", "triangleIndices", "tetrahedronIndices"):
        assert roi.findData(name).array().tolist() == expected
    assert roi.trianglesInROI.array().tolist() == ELEMENTS["triangles"][: len(expected)]
    assert roi.tetrahedraInROI.array().tolist() == ELEMENTS["tetrahedra"][: len(expected)]


def test_the_rest_position_decides(region):
    """A body that moves away keeps its nodes."""
    roi = region(box=[[0, 0, 0, 1, 1, 1]])
    roi.getContext().dofs.position.value = POINTS + 100.0
    assert roi.indices.array().tolist() == inside([0] * 3, [1] * 3)


def test_given_positions_come_first(region):
    roi = region(box=[[0, 0, 0, 1, 1, 1]], position=[[5, 5, 5], [0.5, 0.5, 0.5]])
    assert roi.indices.array().tolist() == [1]


def test_a_new_box_counts_at_once(region):
    roi = region(box=[[0, 0, 0, 1, 1, 1]])
    roi.box.value = [[2, 2, 2, 3, 3, 3]]
    assert roi.indices.array().tolist() == inside([2] * 3, [3] * 3)


def test_a_new_box_does_not_count_without_updates(region):
    roi = region(box=[[0, 0, 0, 1, 1, 1]], doUpdate=False)
    roi.box.value = [[2, 2, 2, 3, 3, 3]]
    assert roi.indices.array().tolist() == inside([0] * 3, [1] * 3)


def test_an_oriented_box_is_three_corners_and_a_depth(region):
    """The unit square in the plane z = 1, half the depth to either side; faces belong to it."""
    roi = region(orientedBox=[0, 0, 1, 1, 0, 1, 1, 1, 1, 2])
    assert roi.indices.array().tolist() == inside([0, 0, 0], [1, 1, 2])


def test_an_oriented_box_may_lie_askew(region):
    """A square on its corner, of diagonal 2 around (1, 1): the four next nodes and the middle."""
    roi = region(orientedBox=[[0, 1, 3], [1, 0, 3], [2, 1, 3], 0.1])
    around = [(0, 1, 3), (1, 0, 3), (1, 1, 3), (1, 2, 3), (2, 1, 3)]
    assert POINTS[roi.indices.array()].tolist() == [list(map(float, place)) for place in around]


def test_several_oriented_boxes_are_united_with_boxes(region):
    """Three corners and a depth, again three corners and a depth, as scenes nest them."""
    flat = [[0, 0, 0], [1, 0, 0], [1, 1, 0], 0.5, [2, 2, 0], [3, 2, 0], [3, 3, 0], 0.5]
    roi = region(orientedBox=flat, box=[3, 3, 3, 3, 3, 3])
    expected = [*inside([0] * 3, [1, 1, 0]), *inside([2, 2, 0], [3, 3, 0]), 63]
    assert roi.indices.array().tolist() == sorted(expected)


def test_what_is_outside_is_given_too(region):
    roi = region(ELEMENTS, box=[[0, 0, 0, 1, 1, 1]])
    assert sorted([*roi.indices.value, *roi.indicesOut.value]) == list(range(64))
    assert roi.pointsOutROI.array() == pytest.approx(POINTS[roi.indicesOut.array()])
    assert roi.triangleOutIndices.array().tolist() == [1, 2]
    assert roi.trianglesOutROI.array().tolist() == ELEMENTS["triangles"][1:]


def test_quads_and_hexahedra_are_looked_at(region):
    """Edge 0 has its ends in the unit box, edge 1 only one of them; so have these."""
    cell = [0, 16, 20, 4, 1, 17, 21, 5]
    beside = [vertex + 16 for vertex in cell]
    solid = {"hexahedra": [cell, beside], "quads": [cell[:4], beside[:4]]}
    roi = region(solid, box=[[0, 0, 0, 1, 1, 1]])
    assert roi.hexahedraInROI.array().tolist() == [cell]
    assert roi.hexahedronOutIndices.array().tolist() == [1]
    assert roi.quadInROI.array().tolist() == [cell[:4]]


def test_outputs_that_a_saved_scene_gives_are_computed_all_the_same(region):
    roi = region(box=[[0, 0, 0, 0, 0, 1]], indices=[7, 8, 9])
    assert roi.indices.array().tolist() == [0, 1]


def test_no_positions_at_all_are_an_error(root):
    root.addChild("empty").addObject("BoxROI", box=[[0, 0, 0, 1, 1, 1]])
    with pytest.raises(SceneError, match="finds no positions: add a MechanicalObject before it"):
        simulation.init(root)
