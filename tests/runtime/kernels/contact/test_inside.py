import itertools

import numpy as np
import pytest

from sofa_softctl.runtime.kernels.contact.inside import depths, distances, nearest_points

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))  # number = 4 x + 2 y + z
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
CUBE = np.array([t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))])


@pytest.mark.parametrize("triangles", [CUBE, CUBE[:, ::-1]], ids=["outwards", "inwards"])
def test_depth_in_a_cube_is_the_distance_to_its_nearest_face(triangles):
    """min(x, 1 - x, y, ...) inside, 0 outside, whichever way the triangles face."""
    points = np.random.default_rng(0).uniform(-0.3, 1.3, (500, 3))
    expected = np.minimum(points, 1.0 - points).min(axis=1).clip(0.0)
    assert np.count_nonzero(expected) > 100
    assert depths(points, CORNERS, np.ascontiguousarray(triangles)) == pytest.approx(
        expected, abs=1e-12
    )


def test_distance_to_a_cube_is_that_to_its_nearest_face_edge_or_corner():
    """Outside: to the nearest point of the solid cube, which is the point moved into its bounds."""
    points = np.random.default_rng(1).uniform(-1.0, 2.0, (500, 3))
    outside = np.linalg.norm(points - points.clip(0.0, 1.0), axis=1)
    inside = np.minimum(points, 1.0 - points).min(axis=1)
    expected = np.where(outside > 0.0, outside, inside)
    assert (outside == 0.0).any()
    assert distances(points, CORNERS, CUBE) == pytest.approx(expected, abs=1e-12)


def test_the_hollow_of_an_l_is_outside():
    """Two cubes side by side and one on top make an L: no box, the notch is not inside. The
    nearest surface of (0.9, 0.5, 0.9) is the notch's edge x = z = 1 for the joined body."""
    parts, triangles = [], []
    for k, shift in enumerate(([0, 0, 0], [1, 0, 0], [0, 0, 1])):
        parts.append(CORNERS + shift)
        triangles.append(CUBE + 8 * k)
    x, triangles = np.concatenate(parts), np.concatenate(triangles)
    places = {tuple(place): number for number, place in enumerate(x.tolist())}
    merged = np.array([places[tuple(place)] for place in x.tolist()])[triangles]
    keys = [tuple(sorted(t)) for t in merged.tolist()]
    outer = np.array([t for t, key in zip(merged, keys, strict=True) if keys.count(key) == 1])
    assert len(outer) == 36 - 8  # two inner faces of two triangles, twice each
    points = np.array([[1.5, 0.5, 1.5], [0.9, 0.5, 0.9], [1.5, 0.5, 0.5]])
    assert depths(points, x, outer) == pytest.approx([0.0, np.hypot(0.1, 0.1), 0.5])


def test_the_nearest_point_of_a_cube_is_on_it_at_the_distance():
    """Outside: the point moved into the bounds of the solid cube."""
    points = np.random.default_rng(2).uniform(-1.0, 2.0, (500, 3))
    nearest = nearest_points(points, CORNERS, CUBE)
    gap = np.linalg.norm(nearest - points, axis=1)
    assert gap == pytest.approx(distances(points, CORNERS, CUBE), abs=1e-12)
    assert distances(nearest, CORNERS, CUBE) == pytest.approx(np.zeros(500), abs=1e-12)
    is_outside = (points != points.clip(0.0, 1.0)).any(axis=1)
    assert nearest[is_outside] == pytest.approx(points[is_outside].clip(0.0, 1.0), abs=1e-12)
