import json
import math

import meshio
import numpy as np
import pytest

from sofa_softctl.runtime.mesh import Mesh, describe, read_mesh
from sofa_softctl.runtime.mesh.description import (
    aspect_ratio,
    dihedral_angles,
    edge_lengths,
    scaled_jacobian,
)
from sofa_softctl.runtime.mesh.quality import ASPECT, measures

REGULAR = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
ORDERS = ([0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0])
"""One of positive volume, and two others."""


def mesh(points, *rows):
    return Mesh(points, tetrahedra=rows or [[0, 1, 2, 3]])


@pytest.mark.parametrize("row", ORDERS)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_regular_tetrahedron_is_perfect_in_any_unit_and_order(row, size):
    """Dihedral angles of arccos(1/3) = 70.53 degrees; the other measures are 1 by definition."""
    regular = mesh(REGULAR * size, row)
    assert dihedral_angles(regular) == pytest.approx(math.degrees(math.acos(1 / 3)), rel=1e-12)
    assert scaled_jacobian(regular) == pytest.approx(1.0, rel=1e-12)
    assert aspect_ratio(regular) == pytest.approx(1.0, rel=1e-12)
    assert edge_lengths(regular) == pytest.approx(math.sqrt(8.0) * size, rel=1e-12)


@pytest.mark.parametrize("row", ORDERS)
def test_the_corner_of_a_cube_has_its_angles(row):
    """90 degrees at the edges of the cube, arctan(sqrt 2) = 54.74 at those of the cut.

    Inscribed radius 1 / (3 + sqrt 3), longest edge sqrt 2; its edges at a point of the cut have
    the product 1 sqrt(2) sqrt(2), hence a scaled Jacobian of sqrt(2) / 2.
    """
    corner = mesh(CORNER, row)
    cut = math.degrees(math.atan(math.sqrt(2.0)))
    assert sorted(dihedral_angles(corner)[0]) == pytest.approx([cut] * 3 + [90.0] * 3, rel=1e-12)
    expected = math.sqrt(2.0) * (3.0 + math.sqrt(3.0)) / (2.0 * math.sqrt(6.0))
    assert aspect_ratio(corner) == pytest.approx(expected, rel=1e-12)
    assert scaled_jacobian(corner) == pytest.approx(math.sqrt(2.0) / 2.0, rel=1e-12)


def test_a_flat_tetrahedron_is_the_worst():
    flat = mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    angles = dihedral_angles(flat)[0]
    assert sorted(angles) == pytest.approx([0.0] * 4 + [180.0] * 2)
    assert scaled_jacobian(flat) == 0.0
    assert aspect_ratio(flat) == np.inf


def test_points_that_coincide_have_no_shape_and_give_no_warning():
    point = mesh(np.ones((4, 3)))
    assert np.isnan(dihedral_angles(point)).all()
    assert np.isnan(aspect_ratio(point)).all() and np.isnan(scaled_jacobian(point)).all()


def test_measures_are_those_of_vtk():
    """To rounding, 1e-12. No angles: `min_angle` of VTK 9.7 looks at four of the six edges."""
    pv = pytest.importorskip("pyvista")
    points = np.random.default_rng(3).standard_normal((40, 3))
    rows = np.arange(40).reshape(10, 4)
    rows = np.where(
        (np.linalg.det(points[rows][:, 1:] - points[rows][:, :1]) > 0)[:, None],
        rows,
        rows[:, [1, 0, 2, 3]],
    )
    found = pv.UnstructuredGrid({pv.CellType.TETRA: rows}, points).cell_quality(
        ["scaled_jacobian", "aspect_ratio"]
    )
    random = Mesh(points, tetrahedra=rows)
    np.testing.assert_allclose(scaled_jacobian(random), found["scaled_jacobian"], rtol=1e-12)
    np.testing.assert_allclose(aspect_ratio(random), found["aspect_ratio"], rtol=1e-12)


def test_without_tetrahedra_there_is_nothing():
    empty = Mesh(CORNER)
    assert dihedral_angles(empty).shape == edge_lengths(empty).shape == (0, 6)
    assert aspect_ratio(empty).shape == scaled_jacobian(empty).shape == (0,)


@pytest.mark.parametrize(
    ("height", "grades"),
    [
        (0.8, ["good", "good", "good", "good"]),
        (0.1, ["good", "fair", "good", "fair"]),
        (0.05, ["fair", "fair", "fair", "bad"]),
        (0.02, ["bad", "bad", "bad", "bad"]),
    ],
)
def test_lower_and_lower_tetrahedra_have_worse_grades(softctl, tmp_path, height, grades):
    """Of a triangle and a point above its centre; its nodes are all outside: thin."""
    points = [[1, 0, 0], [-0.5, 0.866, 0], [-0.5, -0.866, 0], [0, 0, height]]
    file = tmp_path / "one.vtk"
    meshio.write(file, meshio.Mesh(points, {"tetra": [[0, 1, 2, 3]]}), file_format="vtk42")
    found = measures(describe(read_mesh(file), file))
    assert [measure.grade for measure in found.values()] == [*grades, "bad"]
    _, out, _ = softctl("info", file)
    lines = {line[:15].strip(): line for line in out.splitlines()}
    assert lines["one element thi"].rstrip().endswith("bad: above 30%")
    assert f"  {grades[2]}" in lines["scaled Jacobian"]
    assert ("bad: above 10" in lines["aspect ratio"]) == (grades[3] == "bad")
    _, out, _ = softctl("info", file, "--json")
    quality = json.loads(out)["quality"]
    assert quality[ASPECT]["grade"] == grades[3] and quality[ASPECT]["bad"] == 10.0


def test_a_surface_has_no_measures(tmp_path):
    surface = Mesh(REGULAR, triangles=[[0, 1, 2]])
    assert measures(describe(surface, tmp_path / "a.stl")) == {}
