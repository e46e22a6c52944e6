"""A camera's frame, turned and moved by six numbers: derivatives against differences."""

import numpy as np
import pytest

from sofa_softctl.identification.fem.registration import (
    Pose,
    Registration,
    left_jacobian,
    rotation_of,
)
from sofa_softctl.testing import check_jacobian

BASE = Registration(rotation_of(np.array([0.3, -1.0, 2.0])), np.array([1.0, 2.0, 3.0]), np.zeros(0))
POINTS = np.random.default_rng(0).normal(size=(4, 2, 3)) * 50.0


@pytest.mark.parametrize("size", [0.0, 1e-3, 0.02, 1.5, 3.0])
def test_derivatives_are_those_of_differences(size):
    """Small angles, where series take the place of quotients, and large ones."""
    correction = size * np.array([0.6, -0.48, 0.64, 5.0, -3.0, 2.0])
    found = Pose(BASE, correction).by_correction(POINTS)
    check_jacobian(lambda c: Pose(BASE, c).place(POINTS), found, correction, tolerance=1e-8)


def test_a_rotation_is_one():
    R = rotation_of(np.array([0.0, 0.0, 0.5 * np.pi]))
    assert R @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0], abs=1e-15)
    assert rotation_of(np.array([1.0, 2.0, -0.5])) @ [1.0, 2.0, -0.5] == pytest.approx([1, 2, -0.5])


def test_series_and_quotients_meet():
    """At an angle of 0.01, where one takes over: 1e-10, which both leave."""
    below, above = (left_jacobian(np.array([0.0, 0.01 + d, 0.0])) for d in (-1e-12, 1e-12))
    assert below == pytest.approx(above, abs=1e-10)


def test_turning_back_is_the_transpose():
    pose = Pose(BASE, np.full(6, 0.3))
    other = np.random.default_rng(1).normal(size=POINTS.shape)
    assert np.vdot(pose.turn(POINTS), other) == pytest.approx(
        np.vdot(POINTS, pose.turn_back(other))
    )
