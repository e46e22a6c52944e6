import numpy as np
import pytest

from sofa_softctl.view.movie.skin import Skin
from sofa_softctl.view.movie.surface import surface_triangles, unit_ball

CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
KUHN = np.array(
    [[0, 1, 3, 7], [0, 5, 1, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 6, 4, 7]]
)


def test_normals_of_a_cube_are_those_of_its_faces():
    """Edges of 90 degrees are sharp, the diagonals of the squares are not."""
    triangles = surface_triangles(KUHN)
    skin = Skin(CUBE, triangles)
    faces = skin.face_normals(CUBE)
    assert skin.corner_normals(faces) == pytest.approx(np.repeat(faces, 3, axis=0), abs=1e-15)


def test_normals_of_a_ball_are_radial():
    """Faces meet at 11 degrees or less; the faces around a corner differ: 2 degrees of error."""
    points, triangles = unit_ball(2)
    skin = Skin(points, triangles)
    normals = skin.corner_normals(skin.face_normals(points))
    cosine = np.einsum("ij,ij->i", normals, points[triangles.ravel()])
    assert cosine.min() > np.cos(np.radians(2.0))


def test_edges_are_judged_once_so_that_shading_does_not_jump():
    """A cube that is squashed flat keeps the normals of its faces apart."""
    skin = Skin(CUBE, surface_triangles(KUHN))
    flat = CUBE * [1.0, 1.0, 0.01]
    normals = skin.corner_normals(skin.face_normals(flat))
    assert (np.sort(np.abs(normals), axis=1)[:, 2] == 1.0).all()


def test_the_outline_of_a_ball_is_a_closed_line_around_it():
    points, triangles = unit_ball(2)
    skin = Skin(points, triangles)
    outline = skin.outline(skin.face_normals(points)[:, 2] > 0.0)
    assert (np.unique(outline, return_counts=True)[1] == 2).all()
    assert np.abs(points[outline.ravel(), 2]).max() < 0.35  # an edge is 0.3 long


def test_a_sheet_and_edges_of_three_faces_have_no_outline():
    """An edge needs two faces; here it has one, or three."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]], dtype=float)
    sheet = Skin(points, np.array([[0, 1, 2]]))
    assert not len(sheet.outline(np.array([True])))
    three = Skin(points, np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]]))
    assert not len(three.outline(np.array([True, False, True])))


def test_faces_without_area_have_no_normal_and_no_warning():
    points = np.zeros((3, 3))
    skin = Skin(points, np.array([[0, 1, 2]]))
    assert not skin.corner_normals(skin.face_normals(points)).any()
    empty = Skin(points, np.zeros((0, 3), dtype=int))
    assert empty.corner_normals(empty.face_normals(points)).shape == (0, 3)
