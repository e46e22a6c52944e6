"""Rigid bodies: turns as quaternions, and the motion and forces of points that bodies carry."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.kernels.mapping import rigid

ROUNDING = 1e-14
"""A few operations on numbers of size one."""


def random_bodies(count, seed=0):
    """Poses (n, 7) and velocities (n, 6)."""
    random = np.random.default_rng(seed)
    turns = Rotation.random(count, random_state=seed).as_quat()
    return np.hstack([random.normal(size=(count, 3)), turns]), random.normal(size=(count, 6))


def test_a_step_turns_by_the_exponential_of_the_angular_velocity():
    """R -> exp(h omega) R, omega in the world's axes; centres move along straight lines."""
    x, v = random_bodies(20)
    out = np.empty_like(x)
    rigid.advance(x, v, 0.7, out)
    turned = Rotation.from_rotvec(0.7 * v[:, 3:]) * Rotation.from_quat(x[:, 3:])
    assert out[:, :3] == pytest.approx(x[:, :3] + 0.7 * v[:, :3], abs=ROUNDING)
    assert Rotation.from_quat(out[:, 3:]).as_matrix() == pytest.approx(
        turned.as_matrix(), abs=ROUNDING
    )


def test_a_step_may_write_over_its_start():
    x, v = random_bodies(5)
    out = np.empty_like(x)
    rigid.advance(x, v, 0.3, out)
    rigid.advance(x, v, 0.3, x)
    assert (x == out).all()


@pytest.mark.parametrize("speed", [0.0, 1e-300, 1e-17])
def test_a_body_that_hardly_turns_keeps_its_quaternion(speed):
    """Below the rounding of one nothing is divided by the angle."""
    x, v = random_bodies(3)
    v[:, 3:] *= speed
    out = np.empty_like(x)
    rigid.advance(x, v, 1.0, out)
    assert out[:, 3:] == pytest.approx(x[:, 3:], abs=ROUNDING)


def test_quaternions_stay_unit_over_many_steps():
    """The exponential has length one: 1000 products leave 1000 roundings at most."""
    x, v = random_bodies(4)
    for _ in range(1000):
        rigid.advance(x, v, 0.01, x)
    assert np.linalg.norm(x[:, 3:], axis=1) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0])
def test_the_rotation_vector_is_axis_times_angle(angle):
    """Also of -q, which is the same turn, and of quaternions that are not quite of length one."""
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    q = Rotation.from_rotvec(angle * axis).as_quat()
    for factor in (1.0, -1.0, 1.001):
        assert rigid.rotation_vector(factor * q) == pytest.approx(angle * axis, abs=ROUNDING)


def test_products_conjugates_and_rotated_points_are_those_of_rotations():
    a, b = random_bodies(6)[0][:, 3:], random_bodies(6, seed=1)[0][:, 3:]
    p = random_bodies(6, seed=2)[0][:, :3]
    both = Rotation.from_quat(a) * Rotation.from_quat(b)
    assert rigid.rotate_vectors(rigid.product(a, b), p) == pytest.approx(
        both.apply(p), abs=ROUNDING
    )
    assert rigid.rotate_vectors(rigid.conjugate(a), rigid.rotate_vectors(a, p)) == pytest.approx(
        p, abs=ROUNDING
    )


def test_carried_points_move_as_their_bodies_do():
    """v_c + omega x r is the derivative of c + R p: central differences, error of order h^2."""
    x, v = random_bodies(3)
    body = np.array([0, 2, 2, 1])
    local = np.random.default_rng(3).normal(size=(4, 3))
    h, places = 1e-5, []
    for step in (-h, h):
        moved, arm = np.empty_like(x), np.empty((4, 3))
        rigid.advance(x, v, step, moved)
        rigid.place(moved, body, local, arm)
        places.append(moved[body, :3] + arm)
    arm, speed = np.empty((4, 3)), np.empty((4, 3))
    rigid.place(x, body, local, arm)
    rigid.velocities(v, body, arm, speed)
    assert speed == pytest.approx((places[1] - places[0]) / (2 * h), abs=1e-8)


def test_power_is_the_same_on_points_and_bodies():
    """f . (J v) = (J^T f) . v."""
    _, v = random_bodies(3)
    random = np.random.default_rng(4)
    body, arm, force = (
        np.array([1, 0, 1, 2]),
        random.normal(size=(4, 3)),
        random.normal(size=(4, 3)),
    )
    speed, wrench = np.empty((4, 3)), np.zeros((3, 6))
    rigid.velocities(v, body, arm, speed)
    rigid.add_wrenches(force, body, arm, wrench)
    assert np.vdot(force, speed) == pytest.approx(np.vdot(wrench, v), abs=ROUNDING)
