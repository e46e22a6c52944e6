import numpy as np
import pytest

from sofa_softctl.runtime.mesh import Mesh, describe
from sofa_softctl.runtime.mesh.findings import findings, likely_unit

FIVE = np.array([[0, 5, 3, 6], [0, 1, 3, 5], [0, 2, 6, 3], [0, 4, 5, 6], [3, 5, 6, 7]])
CUBE = np.array([[x, y, z] for z in (0.0, 1) for y in (0.0, 1) for x in (0.0, 1)])
"""The unit cube in five tetrahedra: a regular one in the middle, and four corners."""


def levels(mesh):
    return [finding.level for finding in findings(describe(mesh, "a.vtk"))]


def mesh_of(box, count, side):
    points, rows = box(count, count, count, size=(side, side, side))
    return Mesh(points, tetrahedra=rows)


@pytest.fixture
def block(box):
    """A sound mesh whose walls have four elements."""
    return mesh_of(box, 5, 20.0)


def test_the_unit_cube_has_its_volume_and_measures():
    """By hand: edges 1 and sqrt 2; 54.74 and 90 degrees in the corners, 70.53 in the middle."""
    cube = describe(Mesh(CUBE, tetrahedra=FIVE), "a.vtk")
    assert cube.nodes == 8 and cube.elements["tetrahedra"] == 5
    assert cube.volume == pytest.approx(1.0, rel=1e-12)
    assert cube.skin.volume == pytest.approx(1.0, rel=1e-12)
    assert (cube.lower, cube.upper) == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert cube.diagonal == pytest.approx(3.0**0.5)
    shapes = cube.shapes
    assert shapes.edge_length == pytest.approx((1.0, (12 + 18 * 2**0.5) / 30, 2**0.5))
    assert shapes.dihedral_angle == pytest.approx((54.7356, 90.0), abs=1e-4)
    assert shapes.scaled_jacobian == pytest.approx((0.5**0.5, (1 + 4 * 0.5**0.5) / 5))
    assert len(cube.skin.triangles) == 12 and cube.skin.is_closed
    assert cube.thin_fraction == 1.0  # all nodes are on the surface
    assert (cube.flat, cube.repeated, cube.overlapping, cube.unused, cube.coincident) == (0,) * 5
    assert cube.pieces == 1


def test_a_sound_mesh_has_no_findings(block):
    assert levels(block) == []


def test_a_wall_of_one_element_has_all_nodes_on_its_surface(box):
    """Of n^3 cells of six tetrahedra: all of them for n = 1, and less with each further layer."""
    blocks = [mesh_of(box, n, 1.0) for n in (2, 3, 5, 7)]
    shares = [describe(block, "a.vtk").thin_fraction for block in blocks]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True) and shares[-1] < 0.1


def test_the_same_mesh_in_another_unit_has_the_same_findings(block):
    small = describe(Mesh(block.positions * 1e-3, tetrahedra=block.tetrahedra), "a.vtk")
    assert findings(small) == []
    assert small.volume == pytest.approx(8e-6, rel=1e-12)
    assert (likely_unit(small), likely_unit(describe(block, "a.vtk"))) == ("m", "mm")


@pytest.mark.parametrize(
    ("size", "unit"), [(1e-4, None), (0.1, "m"), (1.0, "m"), (30.0, "mm"), (1e5, None)]
)
def test_the_unit_is_guessed_from_the_size(size, unit):
    assert likely_unit(describe(Mesh(CUBE * size, tetrahedra=FIVE), "a.vtk")) == unit


def test_elements_in_the_other_order_are_counted_and_keep_their_volume(block):
    rows = block.tetrahedra.copy()
    rows[:7] = rows[:7][:, [1, 0, 2, 3]]
    other = describe(Mesh(block.positions, tetrahedra=rows), "a.vtk")
    assert other.reversed == 7
    assert other.volume == pytest.approx(8000.0, rel=1e-12)
    assert other.skin.is_closed and other.overlapping == 0


def test_parts_are_joined_by_points(block):
    apart = np.concatenate([block.positions, block.positions + [50.0, 0, 0]])
    rows = np.concatenate([block.tetrahedra, block.tetrahedra + len(block.positions)])
    both = describe(Mesh(apart, tetrahedra=rows), "a.vtk")
    assert both.pieces == 2
    assert both.volume == pytest.approx(16000.0)


def test_a_seam_of_points_that_were_not_merged_is_counted(block):
    beside = np.concatenate([block.positions, block.positions + [20.0, 0, 0]])
    rows = np.concatenate([block.tetrahedra, block.tetrahedra + len(block.positions)])
    assert describe(Mesh(beside, tetrahedra=rows), "a.vtk").coincident == 25


def test_flat_elements_do_not_hide_the_shape_of_the_others():
    rows = [*FIVE, [0, 1, 2, 3], [0, 0, 1, 2]]
    cube = describe(Mesh(CUBE, tetrahedra=rows), "a.vtk")
    assert cube.flat == 2
    assert cube.shapes.dihedral_angle[0] == pytest.approx(54.7356, abs=1e-4)


def test_a_mesh_of_flat_elements_alone_has_no_shape():
    assert describe(Mesh(CUBE, tetrahedra=[[0, 1, 2, 3]]), "a.vtk").shapes is None


def test_a_cavity_is_a_shell_of_its_own_and_is_taken_off(box):
    """A cube of 3 around a cavity of 1: 27 - 1."""
    points, rows = box(4, 4, 4, size=(3.0, 3.0, 3.0))
    middle = points[rows].mean(axis=1)
    shell = rows[~((middle > 1.0) & (middle < 2.0)).all(axis=1)]
    hollow = describe(Mesh(points, tetrahedra=shell), "a.vtk")
    assert hollow.volume == pytest.approx(26.0) == hollow.skin.volume
    skin = describe(Mesh(points, triangles=hollow.skin.triangles), "a.vtk")
    assert (skin.pieces, skin.skin.is_closed) == (2, True)
    assert skin.volume == pytest.approx(26.0)
