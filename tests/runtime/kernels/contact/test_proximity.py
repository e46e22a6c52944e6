"""Near points of two surfaces: closest points against closed forms and a minimisation of its own,
what the three methods keep, and what they leave out."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.runtime.components.collision.surface import (
    corner_flags,
    degenerate,
    neighbours,
)
from sofa_softctl.runtime.kernels.contact.proximity import (
    LOCAL_MIN_DISTANCE,
    MIN_PROXIMITY,
    NEW_PROXIMITY,
    Surface,
    near_points,
    without_duplicates,
)

FAR = 1e3


def surface(x, elements, triangles=(), edges=(), *, filtered=False, both_sides=False, reach=0.0):
    """Elements of the nodes x, with what lies around them."""
    x = np.array(x, float)
    elements = np.array(elements, np.int64)
    flags = corner_flags(len(x), elements) if elements.shape[1] == 3 else np.zeros(1, np.int64)
    triangles = np.array(triangles, np.int64).reshape(-1, 3)
    edges = np.array(edges, np.int64).reshape(-1, 2)
    around = neighbours(len(x), triangles, edges)._asdict()
    thick = np.full(len(elements), float(reach))
    return Surface(
        x=x, elements=elements, reach=thick, flags=flags, **around,
        both_sides=both_sides, filtered=filtered,
    )  # fmt: skip


def alone(points):
    """One element, without neighbours, on these points."""
    return surface(points, [range(len(points))])


def near(first, second, method, *, alarm=FAR, cone=0.0, factor=0.5, lines=False):
    """Near points of all pairs of elements."""
    counts = (range(len(s.elements)) for s in (first, second))
    pairs = np.array(list(itertools.product(*counts)), np.int64).reshape(-1, 2)
    return near_points(first, second, pairs, method, alarm, cone, factor, lines)


def weights_by_minimising(p, q):
    """Barycentric weights of the closest points of two elements, by trying all faces of both.

    On each pair of faces (corners, edges, the whole) the stationary point of |P w - Q u|^2 with
    weights that add up to one is found by least squares; the nearest with weights >= 0 is closest.
    """
    best, found = np.inf, None
    for one, two in itertools.product(_faces(len(p)), _faces(len(q))):
        system = np.hstack([p[one].T, -q[two].T])  # (3, k + l)
        sums = np.zeros((2, system.shape[1]))
        sums[0, : len(one)] = sums[1, len(one) :] = 1.0
        size = system.shape[1]
        kkt = np.block([[system.T @ system, sums.T], [sums, np.zeros((2, 2))]])
        solution = np.linalg.lstsq(kkt, np.r_[np.zeros(size), 1.0, 1.0], rcond=None)[0][:size]
        if solution.min() < -1e-9:
            continue
        w, u = np.zeros(len(p)), np.zeros(len(q))
        w[list(one)], u[list(two)] = solution[: len(one)], solution[len(one) :]
        distance = np.linalg.norm(w @ p - u @ q)
        if distance < best - 1e-12:
            best, found = distance, (w, u)
    return found


def _faces(count):
    return [list(f) for k in range(1, count + 1) for f in itertools.combinations(range(count), k)]


def random_element(seed, corners):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (corners, 3))


# -- closest points ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", [LOCAL_MIN_DISTANCE, MIN_PROXIMITY])
@pytest.mark.parametrize("corners", [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_closest_points_inside_both_elements_are_found_and_others_are_not(method, corners):
    """Kept exactly when the closest points of the two elements lie inside of both (on lines of
    MIN_PROXIMITY the ends count against points). 1e-9: two 2 x 2 systems of order one, whose
    determinants are above 1e-4 here."""
    kept = 0
    for seed in range(60):
        p, q = random_element(seed, corners[0]), random_element(seed + 1000, corners[1])
        w, u = weights_by_minimising(p, q)
        inside = min(w.min(), u.min()) > 1e-6
        if method == MIN_PROXIMITY and corners == (2, 1):
            inside = True
        found = near(alone(p), alone(q), method)
        assert len(found.distance) == inside
        if inside:
            kept += 1
            assert found.weight[0, 0, : corners[0]] == pytest.approx(w, abs=1e-9)
            assert found.weight[0, 1, : corners[1]] == pytest.approx(u, abs=1e-9)
            assert found.distance[0] == pytest.approx(np.linalg.norm(u @ q - w @ p), abs=1e-12)
    assert kept >= 5


def test_the_closest_point_of_a_whole_triangle_may_lie_on_its_rim():
    """NEW_PROXIMITY, one triangle and a point: always exactly the closest point."""
    on_rim = 0
    for seed in range(200):
        p, q = random_element(seed, 3), 2.0 * random_element(seed + 1000, 1)
        w, _ = weights_by_minimising(p, q)
        on_rim += w.min() == 0.0
        found = near(alone(p), alone(q), NEW_PROXIMITY)
        assert found.weight[0, 0] == pytest.approx(w, abs=1e-9)
    assert on_rim > 100


point = st.tuples(*[st.floats(-1.0, 1.0, width=32)] * 3)


@settings(max_examples=300, deadline=None)
@given(st.lists(point, min_size=3, max_size=3), st.lists(point, min_size=3, max_size=3))
def test_what_is_found_is_consistent(p, q):
    """Weights add up to one and give the points; the normal is a unit vector from the first to the
    second; no found pair is nearer than the closest points of the two triangles."""
    for method, size in ((LOCAL_MIN_DISTANCE, 1), (MIN_PROXIMITY, 1), (NEW_PROXIMITY, 3)):
        found = near(alone(p), alone(q[:size]), method, lines=True)
        one = found.weight[:, 0] @ np.array(p, float)
        two = found.weight[:, 1, :size] @ np.array(q[:size], float)
        assert found.weight.sum(axis=2) == pytest.approx(1.0, abs=1e-9)
        assert np.abs(found.point[:, 0] - one).max(initial=0.0) < 1e-9
        assert np.abs(found.point[:, 1] - two).max(initial=0.0) < 1e-9
        assert np.linalg.norm(found.normal, axis=1) == pytest.approx(1.0, abs=1e-12)
        apart = found.distance > 1e-12
        way = (found.point[:, 1] - found.point[:, 0])[apart]
        along = np.einsum("kc,kc->k", found.normal[apart], way)
        assert along == pytest.approx(found.distance[apart], abs=1e-9)


def test_two_lines_across_each_other():
    """x axis and a line above it along y at x = 0.25: closed form."""
    found = near(
        alone([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        alone([[0.25, -1.0, 0.5], [0.25, 2.0, 0.5]]),
        LOCAL_MIN_DISTANCE,
    )
    assert found.weight[0, 0].tolist() == [0.75, 0.25, 0.0]
    assert found.weight[0, 1] == pytest.approx([2.0 / 3.0, 1.0 / 3.0, 0.0], abs=1e-15)
    assert found.normal[0].tolist() == [0.0, 0.0, 1.0]
    assert found.distance[0] == 0.5


def test_parallel_lines_touch_at_their_middles():
    """SOFA's choice, where any pair opposite each other would do."""
    found = near(
        alone([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        alone([[0.0, 0.0, 0.5], [2.0, 0.0, 0.5]]),
        LOCAL_MIN_DISTANCE,
    )
    assert found.weight[0].tolist() == [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]


def test_coincident_points_have_a_normal():
    """No direction is given by the points: (1, 0, 0), as in SOFA, not a NaN."""
    found = near(alone([[1.0, 2.0, 3.0]]), alone([[1.0, 2.0, 3.0]]), MIN_PROXIMITY)
    assert found.distance.tolist() == [0.0]
    assert found.normal.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("method", [LOCAL_MIN_DISTANCE, MIN_PROXIMITY, NEW_PROXIMITY])
def test_pairs_are_kept_below_the_alarm_distance_and_the_reach_of_both(method):
    """Distance 1 against 0.4 + 0.35 + reach: only below, not at it."""
    one = surface([[0.0, 0.0, 0.0]], [[0]], reach=0.35)
    for reach, count in ((0.24, 0), (0.25, 0), (0.26, 1)):
        two = surface([[0.0, 0.0, 1.0]], [[0]], reach=reach)
        assert len(near(one, two, method, alarm=0.4).distance) == count


@pytest.mark.parametrize("method", [LOCAL_MIN_DISTANCE, MIN_PROXIMITY, NEW_PROXIMITY])
@pytest.mark.parametrize(
    ("flat", "other"),
    [
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0.5, 0, 0.5]]),  # in a line
        ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], [[0.5, 0, 0.5]]),  # in a point
        ([[0, 0, 0], [0, 0, 0]], [[0.5, 0, 0.5]]),  # a line without length
        ([[0, 0, 0], [0, 0, 0]], [[0, 0, 1], [1, 0, 1]]),
    ],
)
def test_elements_without_size_give_no_nan(method, flat, other):
    """Whatever is found of them, if anything, is finite."""
    found = near(alone(flat), alone(other), method)
    assert all(np.isfinite(values).all() for values in found)


def test_triangles_without_area_are_told():
    """In a line, in a point, a sliver below 1e-12 of the square of its length; not a small one."""
    x = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1e-3, 0], [1, 1e-13, 0], [1e-6, 0, 0],
                  [0, 1e-6, 0]], float)  # fmt: skip
    triangles = np.array([[0, 1, 2], [0, 0, 0], [0, 2, 4], [0, 1, 3], [0, 5, 6]])
    assert degenerate(x, triangles).tolist() == [0, 1, 2]


# -- cones of LocalMinDistance ------------------------------------------------------------------

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))  # number = 4 x + 2 y + z
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = [t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))]
CUBE_EDGES = sorted({tuple(sorted(e)) for t in CUBE for e in itertools.combinations(t, 2)})


def cube(elements):
    """Triangles, edges or corners of the unit cube, normals outwards, with cones."""
    return surface(CORNERS, elements, CUBE, CUBE_EDGES, filtered=True)


def cube_and_point(place, **options):
    """What of a unit cube a point near it touches: (kind, element) of each contact."""
    other = alone([place])
    found = []
    for kind, elements in (
        ("face", CUBE),
        ("edge", CUBE_EDGES),
        ("corner", [[k] for k in range(8)]),
    ):
        hits = near(cube(elements), other, LOCAL_MIN_DISTANCE, **options)
        found += [(kind, tuple(elements[e])) for e in hits.element[:, 0]]
    return found


def test_the_cube_of_these_tests_has_its_normals_outwards():
    a, b, c = (CORNERS[np.array(CUBE)[:, k]] for k in range(3))
    volume = np.einsum("tc,tc->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(1.0)


def test_over_a_face_only_the_face_touches():
    """(0.3, 0.6, 1.1): the closest point of the cube is (0.3, 0.6, 1) in a triangle; the edges'
    and corners' nearest points are not minima of the distance over the surface."""
    found = cube_and_point([0.3, 0.6, 1.1])
    assert [kind for kind, _ in found] == ["face"]
    assert all(CORNERS[n, 2] == 1.0 for n in found[0][1])


def test_beside_an_edge_only_that_edge_touches():
    """Off the edge x = z = 1, outwards at 45 degrees: inside the cone between its two faces."""
    assert cube_and_point([1.1, 0.4, 1.1]) == [("edge", (5, 7))]


def test_off_a_corner_only_that_corner_touches():
    assert cube_and_point([1.1, 1.1, 1.1]) == [("corner", (7,))]


def test_inside_nothing_touches():
    """A point inside is behind every face, edge and corner."""
    assert cube_and_point([0.8, 0.85, 0.75]) == []


def test_the_cones_of_an_edge_reach_beyond_its_faces_by_their_factor():
    """An edge of a cube: n_mean at 45 degrees to the in-plane outward directions t, so the cone
    allows t.d >= -factor sqrt(1/2): with d at an angle a past the normal of one face, t.d = -sin a.
    factor 0.5: sin a <= 0.35355."""
    for factor in (0.0, 0.5, 0.9):
        limit = np.arcsin(factor * np.sqrt(0.5))
        for angle, kept in ((limit - 1e-3, True), (limit + 1e-3, False)):
            place = [1.0 - 0.1 * np.sin(angle), 0.4, 1.0 + 0.1 * np.cos(angle)]
            edges = [e for kind, e in cube_and_point(place, factor=factor) if kind == "edge"]
            assert ((5, 7) in edges) == kept


def test_an_angle_cone_widens_the_cones():
    """angleCone is added to the sine: 0.5 sqrt(1/2) + 0.2."""
    limit = np.arcsin(0.5 * np.sqrt(0.5) + 0.2)
    for angle, kept in ((limit - 1e-3, True), (limit + 1e-3, False)):
        place = [1.0 - 0.1 * np.sin(angle), 0.4, 1.0 + 0.1 * np.cos(angle)]
        edges = [e for kind, e in cube_and_point(place, cone=0.2) if kind == "edge"]
        assert ((5, 7) in edges) == kept


SHEET = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_an_edge_on_a_border_touches_only_what_lies_across_it():
    """A border line is touched at a right angle, from every side, also from below. Points off its
    ends along it are none of its business."""
    line = surface(SHEET, [[0, 1]], [[0, 1, 2]], [[0, 1]], filtered=True)
    for place in ([0.5, -0.1, 0.0], [0.5, 0.0, 0.1], [0.5, 0.1, -0.1]):
        found = near(line, alone([place]), LOCAL_MIN_DISTANCE)
        assert found.weight[0, 0] == pytest.approx([0.5, 0.5, 0.0])
    assert not len(near(line, alone([[1.1, -0.1, 0.0]]), LOCAL_MIN_DISTANCE).distance)


def test_a_face_is_touched_from_below_only_if_it_has_two_sides():
    for both_sides, count in ((False, 0), (True, 1)):
        face = surface(SHEET, [[0, 1, 2]], [[0, 1, 2]], filtered=True, both_sides=both_sides)
        assert len(near(face, alone([[0.2, 0.2, -0.1]]), LOCAL_MIN_DISTANCE).distance) == count


def test_the_end_of_a_line_is_touched_from_before_it_only():
    """A point with one edge: outwards is away from the other end."""
    end = surface([[0, 0, 0], [1, 0, 0]], [[1]], edges=[[0, 1]], filtered=True)
    assert len(near(end, alone([[1.2, 0.1, 0.0]]), LOCAL_MIN_DISTANCE).distance) == 1
    assert len(near(end, alone([[0.8, 0.1, 0.0]]), LOCAL_MIN_DISTANCE).distance) == 0


# -- NEW_PROXIMITY ------------------------------------------------------------------------------


def test_each_corner_and_edge_belongs_to_one_triangle():
    """Of a closed surface: 8 corners and 18 edges, each owned once."""
    flags = corner_flags(8, np.array(CUBE))
    owned = [[(f >> bit) & 1 for bit in range(6)] for f in flags]
    assert np.sum(owned, axis=0)[:3].sum() == 8
    assert np.sum(owned, axis=0)[3:].sum() == len(CUBE_EDGES) == 18


@pytest.mark.parametrize(
    ("place", "closest"),
    [
        ([0.5, 0.5, 1.1], [0.5, 0.5, 1.0]),  # on the diagonal that two triangles share
        ([1.1, 0.4, 1.1], [1.0, 0.4, 1.0]),  # on an edge
        ([1.1, 1.1, 1.1], [1.0, 1.0, 1.0]),  # on a corner
        ([0.3, 0.6, 1.1], [0.3, 0.6, 1.0]),
    ],
)
def test_what_triangles_share_touches_once(place, closest):
    """The closest point of the whole cube comes from one triangle only."""
    found = near(cube(CUBE), alone([place]), NEW_PROXIMITY, alarm=0.3)
    same = np.abs(found.point[:, 0] - closest).max(axis=1) < 1e-12
    assert same.sum() == 1


def test_two_triangles_face_to_face_touch_with_their_corners():
    """Congruent and opposite: each of the six corners finds the other triangle's; as pairs of
    points that is three, twice."""
    other = [[x, y, 0.2] for x, y, _ in SHEET]
    found = near(alone(SHEET), alone(other), NEW_PROXIMITY, alarm=0.3)
    assert len(found.distance) == 6
    assert found.distance == pytest.approx(0.2)
    assert len(without_duplicates(found.point, 1e-8)) == 3


def test_edges_of_triangles_touch_edges_when_asked():
    """A roof's ridge across another ridge: no corner is near, one pair of edges is."""
    one = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    two = [[0.0, -1.0, 0.1], [0.0, 1.0, 0.1], [0.0, 0.0, 1.1]]
    assert not len(near(alone(one), alone(two), NEW_PROXIMITY, alarm=0.3).distance)
    found = near(alone(one), alone(two), NEW_PROXIMITY, alarm=0.3, lines=True)
    assert found.distance == pytest.approx([0.1])
    assert found.point[0] == pytest.approx(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]))


# -- duplicates ---------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 6), max_size=40))
def test_of_equal_pairs_of_points_the_first_stays(places):
    """Against a set; whole numbers are either equal or further apart than the tolerance."""
    point = np.array(places, float).reshape(-1, 2, 3)
    first = [k for k, place in enumerate(places) if place not in places[:k]]
    assert without_duplicates(point, 1e-8).tolist() == first


def test_pairs_are_one_when_their_squared_distances_add_up_to_less_than_the_tolerance():
    point = np.zeros((3, 2, 3))
    point[1, 0, 0] = point[1, 1, 0] = 0.7e-4  # 0.98e-8
    point[2, 0, 1] = point[2, 1, 1] = 0.72e-4  # 1.04e-8
    assert without_duplicates(point, 1e-8).tolist() == [0, 2]
