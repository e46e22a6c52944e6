import numpy as np
import pytest

from sofa_softctl.errors import MeshError
from sofa_softctl.runtime.mesh.cells import GMSH_TETRAHEDRON_EDGES, MixedCells, mesh_of_cells

POINTS = np.zeros((30, 3))


def mesh_of(*cells: tuple[int, list[int]], **options):
    size = np.array([len(points) for _, points in cells])
    connectivity = np.concatenate([points for _, points in cells])
    types = np.array([cell_type for cell_type, _ in cells])
    return mesh_of_cells(
        POINTS, MixedCells(types, np.cumsum(size) - size, size, connectivity, **options), "a.vtk"
    )


def test_each_kind_keeps_the_order_of_the_file():
    mesh = mesh_of(
        (10, [0, 1, 2, 3]),
        (5, [7, 8, 9]),
        (3, [4, 2]),
        (10, [5, 4, 3, 2]),
        (9, [1, 2, 3, 4]),
        (5, [3, 2, 1]),
        (12, [7, 6, 5, 4, 3, 2, 1, 0]),
    )
    assert mesh.tetrahedra.tolist() == [[0, 1, 2, 3], [5, 4, 3, 2]]
    assert mesh.triangles.tolist() == [[7, 8, 9], [3, 2, 1]]
    assert mesh.edges.tolist() == [[4, 2]]
    assert mesh.quads.tolist() == [[1, 2, 3, 4]]
    assert mesh.hexahedra.tolist() == [[7, 6, 5, 4, 3, 2, 1, 0]]


def test_triangles_of_all_sources_stay_in_the_order_of_the_file():
    mesh = mesh_of((7, [0, 1, 2, 3, 4]), (5, [5, 6, 7]), (7, [8, 9, 10]), (5, [11, 12, 13]))
    assert mesh.triangles.tolist() == [
        [0, 1, 2],
        [0, 2, 3],
        [0, 3, 4],
        [5, 6, 7],
        [8, 9, 10],
        [11, 12, 13],
    ]


def test_a_strip_is_wound_as_in_sofa():
    mesh = mesh_of((6, [10, 11, 12, 13, 14]))
    assert mesh.triangles.tolist() == [[10, 12, 11], [11, 12, 13], [12, 14, 13]]


def test_pixels_and_voxels_become_quads_and_hexahedra_that_run_round():
    mesh = mesh_of((8, [0, 1, 2, 3]), (9, [4, 5, 6, 7]), (11, [0, 1, 2, 3, 4, 5, 6, 7]))
    assert mesh.quads.tolist() == [[0, 1, 3, 2], [4, 5, 6, 7]]
    assert mesh.hexahedra.tolist() == [[0, 1, 3, 2, 4, 5, 7, 6]]


def test_vertices_and_polylines_give_no_elements():
    mesh = mesh_of((1, [0]), (2, [1, 2]), (4, [3, 4, 5]), (3, [0, 1]))
    assert mesh.edges.tolist() == [[0, 1]]
    assert len(mesh.triangles) == len(mesh.quads) == len(mesh.tetrahedra) == 0


def test_quadratic_cells_give_their_corners_and_each_edge_once():
    mesh = mesh_of(
        (3, [9, 8]),
        (22, [2, 1, 0, 20, 21, 22]),
        (3, [0, 1]),  # a plain edge is kept as it is, even where a quadratic cell has it too
        (21, [5, 4, 23]),
        (24, [0, 1, 2, 3, 10, 11, 12, 13, 14, 15]),
    )
    assert mesh.triangles.tolist() == [[2, 1, 0]]
    assert mesh.tetrahedra.tolist() == [[0, 1, 2, 3]]
    from_triangle = [[1, 2], [0, 1], [0, 2]]
    from_tetrahedron = [[0, 3], [1, 3], [2, 3]]
    assert mesh.edges.tolist() == [[9, 8], *from_triangle, [0, 1], [5, 4], *from_tetrahedron]


def test_gmsh_lists_the_edges_of_a_quadratic_tetrahedron_in_its_own_order():
    mesh = mesh_of((24, list(range(10))), tetrahedron_edges=GMSH_TETRAHEDRON_EDGES)
    assert mesh.edges.tolist() == [[0, 1], [1, 2], [0, 2], [0, 3], [2, 3], [1, 3]]


def test_cells_that_cannot_be_used_are_counted_by_type():
    with pytest.raises(
        MeshError,
        match=r"a\.vtk: 3 of 4 cells cannot be used \(2 of type 13, 1 of type 14\)\. Usable are",
    ):
        mesh_of((13, [0] * 6), (10, [0, 1, 2, 3]), (14, [0] * 5), (13, [0] * 6))


def test_a_cell_with_the_wrong_number_of_points_is_named():
    with pytest.raises(MeshError, match="cell 1 has type 10: expected 4 points, got 3"):
        mesh_of((10, [0, 1, 2, 3]), (10, [0, 1, 2]))


def test_cells_that_reach_past_their_points_are_refused():
    cells = MixedCells(np.array([5]), np.array([1]), np.array([3]), np.array([0, 1, 2]))
    with pytest.raises(MeshError, match="the sizes of the cells do not match"):
        mesh_of_cells(POINTS, cells, "a.vtk")
