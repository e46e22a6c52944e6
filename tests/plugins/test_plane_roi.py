"""The example of a component."""

import itertools

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core import factory
from sofa_softctl.testing import check_component

POINTS = np.array(list(itertools.product(range(4), repeat=3)), float)  # 64 nodes, 0 to 3
EDGES = [[k, k + 1] for k in range(60)]
TRIANGLES = [[k, k + 1, k + 4] for k in range(50)]
TETRAHEDRA = [[k, k + 1, k + 4, k + 16] for k in range(40)]
FLOOR = [0, 0, 0, 2, 0, 0, 2, 2, 0, 1.0]
"""The square from 0 to 2 in x and y, from -0.5 to 0.5 in z."""


@pytest.fixture
def region(load, Sofa):
    """Makes a SlabROI on a grid."""
    load("plane_roi")

    def make(plane, **values):
        root = Sofa.Core.Node("root")
        elements = {"edges": EDGES, "triangles": TRIANGLES, "tetrahedra": TETRAHEDRA}
        roi = root.addObject("SlabROI", plane=plane, position=POINTS, **elements, **values)
        Sofa.Simulation.init(root)
        return roi

    return make


def test_the_component_passes_the_check_of_plugins(load):
    load("plane_roi")
    check_component(factory.find("SlabROI"), plane=[0, 0, 0, 10, 0, 0, 10, 10, 0, 1.0])


def test_borders_and_faces_belong_to_the_plane(region):
    low, high = [0, 0, -0.5], [2, 2, 0.5]
    expected = np.flatnonzero(((low <= POINTS) & (high >= POINTS)).all(axis=1))
    roi = region([FLOOR])
    assert roi.indices.array().tolist() == expected.tolist()
    assert (roi.pointsInROI.array() == POINTS[expected]).all()


@pytest.mark.parametrize("depth", [2.0, -2.0])
def test_a_plane_reaches_by_half_its_depth_to_both_sides(region, depth):
    middle = [0, 0, 1, 3, 0, 1, 3, 3, 1, depth]
    assert sorted({*POINTS[region([middle]).indices.array(), 2]}) == [0.0, 1.0, 2.0]


def test_a_flat_plane_has_no_borders_as_in_sofa(region):
    assert len(region([[1, 1, 1, 2, 1, 1, 2, 2, 1, 0.0]]).indices.array()) == 16


SOFA = {
    "turned": (
        [[0.3, 0.1, 2.0, 2.9, 0.4, 0.2, 2.6, 2.9, 1.1, 2.5]],
        {
            "indices": [
                *(5, 6, 10, 19, 21, 22, 23, 25, 26, 27),
                *(29, 36, 37, 38, 40, 41, 42, 53, 58),
            ],
            "edgeIndices": [5, 21, 22, 25, 26, 36, 37, 40, 41],
            "triangleIndices": [21, 22, 25, 36, 37],
            "tetrahedronIndices": [21, 22, 25, 37],
        },
    ),
    "two": (
        [[0, 0, 0, 3, 0, 0, 3, 1, 0, 0.5], [0, 2, 0, 3, 2, 0, 3, 3, 0, 4.5]],
        {
            "indices": [16 * x + k for x in range(4) for k in (0, 4, 8, 9, 10, 12, 13, 14)],
            "edgeIndices": [8, 9, 12, 13, 24, 25, 28, 29, 40, 41, 44, 45, 56, 57],
            "triangleIndices": [16 * x + k for x in range(3) for k in (8, 9)],
            "tetrahedronIndices": [8, 9, 24, 25],
        },
    ),
}
"""Planes, and what SOFA v25.06's own component finds."""


@pytest.mark.parametrize("name", SOFA)
def test_nodes_and_elements_are_those_that_sofa_finds(region, name):
    plane, expected = SOFA[name]
    roi = region(plane)
    assert {key: roi.findData(key).array().tolist() for key in expected} == expected


def test_an_element_must_be_in_one_plane(region):
    """Two planes meet at x = 1.5: edges along z lie in one; the tetrahedra go from x to x + 1."""
    halves = [[0, 0, 1, 1.5, 0, 1, 1.5, 3, 1, 5], [1.5, 0, 1, 3, 0, 1, 3, 3, 1, 5]]
    roi = region(halves)
    assert len(roi.indices.array()) == 64
    inside = POINTS[np.array(TETRAHEDRA)[:, 0], 0] != 1.0
    assert roi.tetrahedronIndices.array().tolist() == np.flatnonzero(inside).tolist()
    assert roi.tetrahedraInROI.array().tolist() == np.array(TETRAHEDRA)[inside].tolist()
    loose = region(halves, strict=False)
    assert len(loose.tetrahedronIndices.array()) == 40


def test_a_plane_that_moves_counts_at_once(region):
    roi = region([FLOOR])
    roi.plane.value = [[*FLOOR[:9], 3.0]]
    assert len(roi.indices.array()) == 18


@pytest.mark.parametrize(
    ("plane", "message"),
    [
        ([], "needs 'plane': three corners and a depth"),
        ([[0, 0, 0, 1, 0, 0, 2, 0, 0, 1]], "has a plane whose corners lie on a line"),
        ([[0] * 10], "has a plane whose corners lie on a line"),
    ],
)
def test_what_is_no_plane_is_an_error(region, plane, message):
    with pytest.raises(SceneError, match=rf"test_plane_roi.py:\d+: SlabROI .* {message}"):
        region(plane)
