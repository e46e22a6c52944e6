"""Whether triangles touch a cube; records of sparse grids test that they do so as in SOFA."""

import numpy as np
import pytest

from sofa_softctl.runtime.mesh.touch import touch_cube

IN_THE_CUBE = [(0.1, 0.2, 0.3), (5, 5, 5), (6, 5, 5)]
THROUGH_BY_AN_EDGE = [(-3, 0.1, 0), (3, 0.1, 0.1), (0, 9, 9)]
PIERCED = [(-9, -9, 0.1), (9, -9, 0.1), (0, 18, 0.1)]
"""None of its edges comes near."""
ON_A_SIDE = [(-9, -9, 0.5), (9, -9, 0.5), (0, 18, 0.5)]
BESIDE_A_SIDE = [(-9, -9, 0.51), (9, -9, 0.51), (0, 18, 0.51)]
PAST_AN_EDGE = [(1.1, 0, -9), (1.1, 0, 9), (0, 1.1, 0)]
"""Its plane x + y = 1.1 leaves the cube's edge at (0.5, 0.5) out."""
ACROSS_AN_EDGE = [(0.9, 0, -9), (0.9, 0, 9), (0, 0.9, 0)]
PAST_A_CORNER = [(1.6, 0, 0), (0, 1.6, 0), (0, 0, 1.6)]
THROUGH_A_CORNER = [(1.5, 0, 0), (0, 1.5, 0), (0, 0, 1.5)]
AROUND = [(-9, -9, 0.1), (-8, -9, 0.1), (-9, 18, 0.1)]
"""Of the plane z = 0.1, beside the cube."""
A_LINE_THROUGH = [(-2, 0, 0), (0, 0, 2), (2, 0, 0)]
A_POINT = [(2, 2, 2)] * 3


@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize(
    ("triangle", "touching"),
    [
        (IN_THE_CUBE, True),
        (THROUGH_BY_AN_EDGE, True),
        (PIERCED, True),
        (ON_A_SIDE, True),
        (BESIDE_A_SIDE, False),
        (PAST_AN_EDGE, False),
        (ACROSS_AN_EDGE, True),
        (PAST_A_CORNER, False),
        (THROUGH_A_CORNER, True),
        (AROUND, False),
        (A_LINE_THROUGH, True),
        (A_POINT, False),
    ],
)
def test_triangles_touch_the_cube(triangle, touching, turn):
    """Whatever the order of its corners and the way it is turned, and mirrored."""
    corners = np.roll(np.array(triangle, np.float32), turn, axis=1)
    many = np.stack([corners, corners[::-1], np.roll(corners, 1, axis=0), -corners])
    assert touch_cube(many).tolist() == [touching] * 4


def test_random_triangles_touch_where_they_have_points_in_the_cube():
    """By 4000 points of each; those that touch without one are few, as they graze the cube."""
    rng = np.random.default_rng(8)
    corners = rng.uniform(-1.5, 1.5, (400, 3, 3)).astype(np.float32)
    found = touch_cube(corners)
    points = np.einsum("sc,pck->psk", rng.dirichlet([0.7] * 3, 4000), corners)
    inside = (np.abs(points) <= 0.5).all(axis=2).any(axis=1)
    assert 100 < inside.sum() < 300
    assert not (inside & ~found).any()
    assert (found & ~inside).sum() <= 0.05 * found.sum()
