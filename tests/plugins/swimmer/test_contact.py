"""Ellipsoids that touch: the factor by which they grow until they do."""

import math

import numpy as np
import pytest
from softctl_swimmer.flow.contact import contact_scale


def turned(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def test_spheres_touch_where_their_distance_is_the_sum_of_their_radii():
    """The factor is the distance over the sum, to 1e-12."""
    for a, b, distance in ((1, 1, 3), (1, 2, 2.5), (0.1, 0.4, 0.5)):
        offset = distance * np.array([2, -1, 2]) / 3
        scale = contact_scale((a, a, a), (b, b, b), np.eye(3), offset)
        assert scale == pytest.approx(distance / (a + b), rel=1e-12)


def test_parallel_ellipsoids_on_a_common_axis_touch_at_their_tips():
    scale = contact_scale((1, 2, 3), (4, 5, 6), np.eye(3), (0, 0, 12))
    assert scale == pytest.approx(12 / 9, rel=1e-12)


def test_mirror_images_touch_where_one_touches_the_mirror():
    """Two links bent by an angle about a hinge: each touches the bisecting plane."""
    axes, reach = np.array([0.1, 0.03, 0.05]), 0.11
    for angle in (0.3, 1.2, 2.0):
        half = angle / 2
        plane = reach * math.cos(half)  # distance of each centre
        support = math.hypot(axes[0] * math.cos(half), axes[1] * math.sin(half))
        offset = np.array([-reach, 0, 0]) + turned(angle) @ [-reach, 0, 0]
        scale = contact_scale(axes, axes, turned(angle), offset)
        assert scale == pytest.approx(plane / support, rel=1e-12)


def test_the_order_of_two_ellipsoids_does_not_matter():
    rotation, offset = turned(0.7), np.array([0.3, 0.2, -0.4])
    one = contact_scale((0.1, 0.2, 0.3), (0.2, 0.1, 0.4), rotation, offset)
    two = contact_scale((0.2, 0.1, 0.4), (0.1, 0.2, 0.3), rotation.T, -rotation.T @ offset)
    assert one == pytest.approx(two, rel=1e-12)
