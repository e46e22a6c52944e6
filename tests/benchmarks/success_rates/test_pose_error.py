"""Position, angle and shape errors of a set of points."""

import numpy as np
import pytest

from benchmarks.success_rates.pose_error import angle_about, pose_error, rotation_between

POINTS = np.array([[20.0, 30.0, 0.0], [-20.0, 30.0, 0.0], [0.0, 5.0, 18.0], [0.0, 5.0, -18.0]])


def turned(points, axis, degrees):
    """Points turned about an axis through the origin (Rodrigues)."""
    u, a = np.array(axis) / np.linalg.norm(axis), np.radians(degrees)
    K = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
    return points @ (np.eye(3) + np.sin(a) * K + (1.0 - np.cos(a)) * K @ K).T


@pytest.mark.parametrize("degrees", [1e-6, 3.0, 90.0, 179.9, 180.0])
@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 2, -1)])
@pytest.mark.parametrize("count", [3, 4])
def test_the_angle_is_that_of_the_rotation_about_any_axis(axis, degrees, count):
    """Rounding of a cosine is 1e-16, of the angle near half a turn its root: 1e-8 rad."""
    goals = POINTS[:count]
    found = pose_error(turned(goals, axis, degrees) + [3.0, 0.0, 4.0], goals)
    assert found.angle == pytest.approx(degrees, rel=1e-6, abs=1e-9)
    vector = rotation_between(goals, turned(goals, axis, degrees))
    along = abs(vector @ np.array(axis)) / np.linalg.norm(axis) / np.linalg.norm(vector)
    assert along == pytest.approx(1.0, abs=1e-6)


def test_a_tilt_out_of_the_plane_does_not_show_in_the_plane():
    """5 degrees about x with nothing about z: in 3D all of it, in the plane little."""
    tilted = turned(POINTS, (1, 0, 0), 5.0)
    assert pose_error(tilted, POINTS).angle == pytest.approx(5.0, abs=1e-9)
    assert angle_about(POINTS, tilted, np.array([0.0, 0.0, 1.0])) == pytest.approx(0.0, abs=0.1)
    about_z = turned(POINTS, (0, 0, 1), 7.0)
    assert angle_about(POINTS, about_z, np.array([0.0, 0.0, 1.0])) == pytest.approx(7.0, abs=1e-9)


def test_position_is_of_the_mean_and_point_of_the_farthest():
    moved = POINTS.copy()
    moved[0] += [4.0, 0.0, 0.0]
    found = pose_error(moved, POINTS)
    assert found.position == pytest.approx(1.0) and found.point == pytest.approx(4.0)


def test_points_on_a_line_or_a_single_one_have_no_angle():
    line = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    assert np.isnan(pose_error(line, line).angle)
    assert np.isnan(pose_error(POINTS[:1], POINTS[:1]).angle)
