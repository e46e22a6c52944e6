import numpy as np
import pytest

from sofa_softctl.runtime.mesh import Mesh
from sofa_softctl.runtime.mesh.skin import overlaps, skin_of

CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
OUTWARDS = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def surface(triangles, points=CORNER):
    return skin_of(Mesh(points, triangles=triangles))


@pytest.mark.parametrize("flip", [False, True])
def test_a_block_has_a_closed_skin_of_its_volume(box, flip):
    """2 x 3 x 4 cells: 2 (2 3 + 3 4 + 4 2) faces of two triangles, whichever order rows have."""
    points, rows = box(3, 4, 5, size=(1.0, 2.0, 3.0))
    rows = rows[:, [1, 0, 2, 3]] if flip else rows
    skin = skin_of(Mesh(points, tetrahedra=rows))
    assert skin.is_closed and len(skin.triangles) == 2 * 52
    assert skin.volume == pytest.approx(6.0, rel=1e-12)


def test_a_surface_encloses_its_volume_far_from_the_origin_too():
    """With sign; 1e6 away, rounding of the points leaves 1e-10 of a unit."""
    assert surface(OUTWARDS).volume == pytest.approx(1 / 6, rel=1e-15)
    assert surface(np.flip(OUTWARDS, axis=1)).volume == pytest.approx(-1 / 6, rel=1e-15)
    assert surface(OUTWARDS, CORNER + [1e6, 1e6 / 3, 1e6 / 7]).volume == pytest.approx(
        1 / 6, rel=1e-8
    )


def test_quads_count_as_two_triangles():
    points = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    skin = skin_of(Mesh(points, quads=quads))
    assert skin.is_closed and skin.volume == pytest.approx(1.0)


def test_a_missing_triangle_leaves_its_three_edges_open():
    skin = surface(OUTWARDS[1:])
    assert (skin.open_edges, skin.crowded_edges, skin.twisted_edges) == (3, 0, 0)
    assert not skin.is_closed


def test_a_triangle_wound_the_other_way_twists_its_three_edges():
    skin = surface([OUTWARDS[0][::-1], *OUTWARDS[1:]])
    assert (skin.open_edges, skin.crowded_edges, skin.twisted_edges) == (0, 0, 3)


def test_a_wall_within_a_body_crowds_its_edges():
    other = [[4, 1, 2], [4, 2, 3], [4, 3, 1]]
    skin = surface([*OUTWARDS, *other])
    assert (skin.open_edges, skin.crowded_edges) == (0, 3)


def test_neighbours_do_not_overlap_in_whatever_order(box):
    points, rows = box(3, 3, 3)
    rows[::2] = rows[::2][:, [1, 0, 2, 3]]
    assert overlaps(Mesh(points, tetrahedra=rows)) == 0


def test_a_tetrahedron_folded_into_its_neighbour_overlaps():
    points = [*CORNER[:4], [0.1, 0.1, 0.1]]  # the last is meant to lie beyond the face 1, 2, 3
    assert overlaps(Mesh(points, tetrahedra=[[0, 1, 2, 3], [1, 2, 3, 4]])) == 1
    beyond = [*CORNER[:4], [1.0, 1.0, 1.0]]
    assert overlaps(Mesh(beyond, tetrahedra=[[0, 1, 2, 3], [1, 2, 3, 4]])) == 0


def test_three_tetrahedra_on_a_face_overlap():
    points = [*CORNER, [2.0, 2.0, 2.0]]
    assert overlaps(Mesh(points, tetrahedra=[[0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 5]])) == 1
