"""Regions from sets, boundaries and distances."""

import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

ROW = [[k, 0, 0] for k in range(5)]


@pytest.fixture
def region(root):
    def make(kind, **values):
        made = root.addObject(kind, **values)
        simulation.init(root)
        return made

    return make


def test_the_complement_is_in_none_of_the_sets(region):
    found = region(
        "ComplementaryROI", position=ROW, nbSet=2, setIndices1=[0, 3], setIndices2=[3, 4]
    )
    assert found.indices.array().tolist() == [1, 2]
    assert found.pointsInROI.array().tolist() == [ROW[1], ROW[2]]


def test_the_boundary_has_sides_of_one_face(region):
    """Two quads in a row with a triangle at the end, and a vertex in the middle of a fan."""
    found = region("MeshBoundaryROI", triangles=[[4, 0, 1], [4, 1, 2], [4, 2, 3], [4, 3, 0]])
    assert found.indices.array().tolist() == [0, 1, 2, 3]
    found.inputROI.value = [4, 0, 1, 2]
    assert found.indices.array().tolist() == [0, 1, 2, 4]


def test_the_nearest_points_within_the_radius(region, root):
    root.addObject("MechanicalObject", name="one", position=ROW)
    other = root.addChild("other")
    other.addObject("MechanicalObject", name="two", position=[[2.9, 0, 0], [0, 2, 0], [1, 0.5, 0]])
    found = region("NearestPointROI", object1="@one", object2="@other/two", radius=1.0)
    assert found.indices1.array().tolist() == [3, 1]
    assert found.indices2.array().tolist() == [0, 2]
    assert found.indexPairs.array().tolist() == [0, 3, 1, 0, 0, 1, 1, 2]
    assert found.distances.array() == pytest.approx([0.1, 0.5])


def test_a_radius_of_nothing_is_an_error(region, root):
    root.addObject("MechanicalObject", name="one", position=ROW)
    found = region("NearestPointROI", radius=0)
    with pytest.raises(SceneError, match="needs a positive 'radius', got 0"):
        found.indices1.array()


def test_a_plane_has_a_depth(region, root):
    """Half of it above, half below; elements count with all their vertices."""
    root.addObject("MeshTopology", position=[*ROW, [1, 0, 9]], edges=[[0, 1], [1, 5], [1, 2]])
    root.addObject("MechanicalObject")
    found = region("PlaneROI", plane=[0, -1, 0, 2, -1, 0, 2, 1, 0, 0.5])
    assert found.indices.array().tolist() == [0, 1, 2]
    assert found.edgesInROI.array().tolist() == [[0, 1], [1, 2]]
