"""splib3.topology.remeshing: points along an axis, circles of a cylinder, closed surfaces."""

import math

import numpy as np
import pytest

PLANES = {0: (1, 2), 1: (0, 2), 2: (0, 1)}


@pytest.fixture
def rf():
    from splib3.topology import remeshing

    return remeshing


def cylinder(axis, sides=12, circles=4, radius=0.75, spacing=3.0):
    """Points and quads of an open prism along an axis, quads turned inwards, points shuffled."""
    angle = 0.1 + 2.0 * np.pi * np.arange(sides) / sides
    points = np.empty((circles, sides, 3))
    points[..., axis] = spacing * np.arange(circles)[:, None]
    points[..., PLANES[axis][0]] = 4.0 + radius * np.cos(angle)
    points[..., PLANES[axis][1]] = radius * np.sin(angle)
    first = np.arange(sides)
    ring = np.column_stack((first, first + sides, np.roll(first, -1) + sides, np.roll(first, -1)))
    quads = np.concatenate([ring + sides * k for k in range(circles - 1)])
    place = np.random.default_rng(4).permutation(circles * sides)  # new place of each point
    shuffled = np.empty((circles * sides, 3))
    shuffled[place] = points.reshape(-1, 3)
    return shuffled, place[quads]


def area(points, elements):
    """Vectorial area of each triangle or planar quad, twice."""
    corners = np.asarray(points)[np.asarray(elements)]
    following = np.roll(corners, -1, axis=1)
    return np.cross(corners, following).sum(axis=1)


def test_points_are_sorted_along_an_axis_and_equal_ones_stay_in_order(rf):
    points = [[2.0, 0.0, 5.0], [1.0, 0.0, 4.0], [2.0, 0.0, 3.0]]
    assert rf.index_from_axis(points, 0) == ([points[1], points[0], points[2]], [1, 0, 2])
    assert rf.index_from_axis(points, 1, [7, 8, 9]) == (points, [7, 8, 9])
    assert rf.index_from_axis(points, axis=2, old_indices=[7, 8, 9])[1] == [9, 8, 7]


def test_rows_and_indices_of_data_are_taken(rf):
    """Values of Data are arrays."""
    points, indices = rf.index_from_axis(np.array([[2.0, 0, 0], [1.0, 0, 0]]), 0, np.array([5, 3]))
    assert [point.tolist() for point in points] == [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    assert indices == [3, 5]


def test_another_number_of_indices_is_refused(rf):
    with pytest.raises(ValueError, match="one old index for each point, got 1 for 2 points"):
        rf.index_from_axis([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 0, [4])


def test_a_mesh_with_new_indices_has_the_same_elements(rf):
    points, quads = cylinder(1)
    old = [100 + k for k in range(len(points))]
    new_points, ind_tab, mesh = rf.remesh_from_axis(points, quads + 100, axis=1, old_indices=old)
    assert np.array_equal(np.array(new_points)[mesh], points[quads])
    assert (np.diff(np.array(new_points)[:, 1]) >= 0.0).all()
    assert np.array_equal(
        rf.new_idx_from_conv_tab(mesh, rf.conv_tab_from_ind_tab(ind_tab)), quads + 100
    )


def test_tables_of_indices(rf):
    assert rf.default_indices(3) == [0, 1, 2]
    assert rf.conv_tab_from_ind_tab([7, 5]) == [[0, 7], [1, 5]]
    assert rf.reindex_mesh(ind_tab=[7, 5, 9, 7], mesh=[[9, 7], [5]]) == [[2, 0], [1]]
    pairs = [[1, 11], [2, 222], [1, 4]]
    assert rf.new_idx_from_conv_tab(mesh=[[2, 1]], conv_tab=pairs) == [[222, 11]]


def test_indices_that_a_table_does_not_have_are_named(rf):
    with pytest.raises(ValueError, match=r"reindex_mesh: .* not have: \[4, 8\]\. Give elements"):
        rf.reindex_mesh([1, 2], [[1, 8], [4, 2]])
    with pytest.raises(ValueError, match=r"new_idx_from_conv_tab: .*: \[2, 3, 4, 5, 6\], \.\.\."):
        rf.new_idx_from_conv_tab([[1, 2, 3, 4, 5, 6, 7]], [[1, 0]])


def test_halves_of_quads_keep_their_normals_and_turned_ones_do_not(rf):
    points, quads = cylinder(2)
    triangles = rf.quad_2_triangles(quads=quads)
    assert len(triangles) == 2 * len(quads)
    normals = area(points, quads)
    assert area(points, triangles).reshape(-1, 2, 3).sum(axis=1) == pytest.approx(normals)
    assert area(points, rf.invers_normal(quads)) == pytest.approx(-normals)
    assert rf.invers_normal([[1, 2, 3]]) == [[3, 2, 1]]


@pytest.mark.parametrize(
    "tab", [[[1, 11], [2, 22], [3, 33]], np.array([[1, 11], [2, 22], [3, 33]])]
)
def test_the_first_entry_comes_last(rf, tab):
    assert np.array_equal(rf.shift_tab(tab), [[2, 22], [3, 33], [1, 11]])


@pytest.mark.parametrize("sides", range(3, 18))
def test_a_hole_is_closed_by_triangles_of_its_edge(rf, sides):
    """Area of a regular polygon in a circle of radius 1: n/2 sin(2 pi / n)."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    points = np.column_stack((np.cos(angle), np.sin(angle), 0.0 * angle))
    triangles = rf.close_surface(list(range(sides)))
    assert len(triangles) == sides - 2
    sizes = 0.5 * area(points, triangles)[:, 2]
    assert (sizes > 0.0).all()
    assert sizes.sum() == pytest.approx(0.5 * sides * math.sin(2.0 * math.pi / sides))


def test_triangles_of_a_hole_in_order(rf):
    assert rf.close_surface(ind_tab=[9, 8, 7, 6, 5]) == [[9, 8, 7], [7, 6, 5], [9, 7, 5]]
    assert rf.close_surface([1, 2]) == rf.close_surface([]) == []


def test_circles_of_as_many_points_each(rf):
    points = [[float(k), 0.0, 0.0] for k in range(6)]
    assert rf.circle_detection_regular(points, 3) == (
        [points[:3], points[3:]],
        [[0, 1, 2], [3, 4, 5]],
    )
    assert rf.circle_detection_regular(points, pt_per_slice=2, indices=[5, 4, 3, 2, 1, 0])[1] == [
        [5, 4],
        [3, 2],
        [1, 0],
    ]


def test_points_that_fill_no_circle_are_warned_of(rf, caplog):
    points = [[float(k), 0.0, 0.0] for k in range(5)]
    assert rf.circle_detection_regular(points, 3) == ([points[:3]], [[0, 1, 2]])
    assert "5 points are no whole number of circles of 3: the last 2 are left out" in caplog.text


def test_circles_end_where_the_next_point_is_farther_than_the_tolerance(rf):
    """Neighbours count: 0, 0.1, 0.2 are one circle at a tolerance of 0.1."""
    points = [[0.0, 0.0, 1.0], [0.0, 0.0, 0.2], [0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]
    circles, indices = rf.circle_detection_axis(points=points, axis=2, tolerance=0.1)
    assert indices == [[2, 3, 1], [0]]
    assert circles == [[points[2], points[3], points[1]], [points[0]]]
    assert rf.circle_detection_axis(points, 2)[1] == [[2], [3], [1], [0]]
    assert rf.circle_detection_axis(points, 0, indices=[9, 8, 7, 6])[1] == [[9, 8, 7, 6]]
    with pytest.raises(ValueError, match="circle_detection_axis: there are no points"):
        rf.circle_detection_axis([], 0)


def test_points_of_a_circle_follow_each_other_from_the_lowest_on(rf):
    """0 is right, 1 up, 2 left, 3 down; those on the diameter belong to the left half."""
    circle = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
    found = rf.ordering_circle(circle, [0, 1, 2, 3], x_ref=0, y_ref=1)
    assert found == (circle, [0, 1, 2, 3])
    turned = [(0.0, y, x) for x, y in circle[::-1]]
    assert rf.ordering_circle(turned, [3, 2, 1, 0], x_ref=2, y_ref=1)[1] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="coordinates, 0, 1 or 2; got 8, 2"):
        rf.ordering_circle(circle, [0, 1, 2, 3], x_ref=8)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_points_of_all_circles_of_a_cylinder_follow_each_other(rf, axis):
    points, _ = cylinder(axis)
    circles, indices = rf.ordering_cylinder(
        *rf.circle_detection_axis(points, axis, 1e-6), axis=axis
    )
    assert len(circles) == 4
    side = 2.0 * 0.75 * math.sin(math.pi / 12)
    for circle, numbers in zip(circles, indices, strict=True):
        assert np.array_equal(circle, points[numbers])
        steps = np.linalg.norm(np.roll(circle, -1, axis=0) - circle, axis=1)
        assert steps == pytest.approx(side)


def test_a_cylinder_along_no_axis_is_refused(rf):
    with pytest.raises(ValueError, match="axis is a coordinate, 0, 1 or 2; got 3"):
        rf.ordering_cylinder([], [], axis=3)


def test_a_cavity_of_the_quads_of_a_cylinder(rf):
    """As scenes make it: a closed prism turned inwards, of volume n/2 r^2 sin(2 pi / n) L."""
    points, quads = cylinder(0)
    points, _, quads = rf.remesh_from_axis(points=points, mesh=quads, axis=0)
    rings = rf.ordering_cylinder(*rf.circle_detection_regular(points, pt_per_slice=12))[1]
    triangles = rf.quad_2_triangles(quads) + rf.close_surface(rings[0])
    triangles += rf.invers_normal(rf.close_surface(rings[-1]))
    edges = [(t[k], t[k - 1]) for t in triangles for k in range(3)]
    assert len({*edges}) == len(edges) and {*edges} == {(b, a) for a, b in edges}
    volume = np.linalg.det(np.array(points)[triangles]).sum() / 6.0
    assert -volume == pytest.approx(6.0 * 0.75**2 * math.sin(math.pi / 6.0) * 9.0)


def test_the_former_name_of_the_module(rf):
    from splib3.topology import Remeshing_functions

    assert all(getattr(Remeshing_functions, name) is getattr(rf, name) for name in rf.__all__)
