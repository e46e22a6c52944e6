import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh import (
    Mesh,
    check_mesh,
    check_tetrahedra,
    require_tetrahedra,
    volumes,
)

CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]])


def test_the_volume_of_the_unit_corner_is_a_sixth():
    """Exact but for the last bit of 1/6."""
    mesh = Mesh(CORNER, tetrahedra=[[0, 1, 2, 3], [1, 0, 2, 3]])
    assert volumes(mesh) == pytest.approx([1 / 6, -1 / 6], rel=1e-15)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_sound_mesh_passes_whatever_its_unit(size):
    check_tetrahedra(Mesh(CORNER * size, tetrahedra=[[0, 1, 2, 3], [1, 2, 4, 3]]), "a.vtk")


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_flat_tetrahedron_is_named_whatever_the_unit(size):
    tilted = CORNER @ np.linalg.qr(np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3))[0]
    mesh = Mesh(tilted * size, tetrahedra=[[0, 1, 2, 3], [0, 1, 2, 4]])
    with pytest.raises(MeshError, match=r"a\.vtk: 1 of 2 tetrahedra have no volume: 1 \(0, 1, 2, "):
        check_tetrahedra(mesh, "a.vtk")


def test_points_that_coincide_make_no_volume():
    mesh = Mesh(np.ones((4, 3)), tetrahedra=[[0, 1, 2, 3]])
    with pytest.raises(MeshError, match="have no volume"):
        check_tetrahedra(mesh, "a.vtk")


def test_the_first_offenders_and_their_number_are_told():
    mesh = Mesh(CORNER, tetrahedra=[[0, 1, 2, 3]] + [[k, 1, 2, k] for k in (0, 3, 4, 0)])
    with pytest.raises(
        MeshError,
        match=r"a\.vtk: 4 of 5 tetrahedra use a point twice: "
        r"1 \(0, 1, 2, 0\), 2 \(3, 1, 2, 3\), 3 \(4, 1, 2, 4\), \.\.\.\. Remove these",
    ):
        check_tetrahedra(mesh, "a.vtk")


def test_the_same_tetrahedron_twice_is_refused_even_if_turned_round():
    mesh = Mesh(CORNER, tetrahedra=[[0, 1, 2, 3], [3, 1, 0, 2]])
    with pytest.raises(MeshError, match=r"in the file more than once: 0 \(0, 1, 2, 3\)"):
        check_tetrahedra(mesh, "a.vtk")


@pytest.mark.parametrize("index", [-1, 5])
def test_an_index_that_points_nowhere_is_refused(index):
    mesh = Mesh(CORNER, quads=[[0, 1, 2, 3]], triangles=[[0, 1, 2], [0, 1, index]])
    with pytest.raises(
        MeshError,
        match=rf"1 of 2 triangles join points that do not exist \(expected indices from 0 to 4\): "
        rf"1 \(0, 1, {index}\)",
    ):
        check_mesh(mesh, "a.vtk")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_coordinates_that_are_no_numbers_are_refused(value):
    points = CORNER.copy()
    points[2, 1] = value
    with pytest.raises(MeshError, match=r"1 of 5 points that are not \(point 2 at \[0\.0, "):
        check_mesh(Mesh(points), "a.vtk")


def test_a_surface_where_tetrahedra_are_needed_is_refused():
    require_tetrahedra(Mesh(CORNER, tetrahedra=[[0, 1, 2, 3]]), "a.stl")
    with pytest.raises(MeshError, match=r"a\.stl: expected tetrahedra, got 1 triangles\. A surfa"):
        require_tetrahedra(Mesh(CORNER, triangles=[[0, 1, 2]]), "a.stl")
    with pytest.raises(MeshError, match="expected tetrahedra, got points only"):
        require_tetrahedra(Mesh(CORNER), "a.stl")
