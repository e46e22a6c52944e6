"""Strokes from rest: only the path of the joint angles counts."""

import math

import numpy as np
import pytest
from softctl_swimmer import (
    Flow,
    FlowInertia,
    at_rest,
    fish,
    midpoint_step,
    prescribed_motion,
)

INERTIA = FlowInertia(Flow.from_swimmer(fish(3), 62))  # two hinges, all interactions
ONE_HINGE = FlowInertia(Flow.from_swimmer(fish(2), 62))


def circle(count, sense=1):
    """A stroke of two hinges with a phase of 90 degrees, from (0.6, 0) and back to it."""
    phase = sense * 2 * math.pi * np.arange(count + 1) / count
    return 0.6 * np.stack([np.cos(phase), np.sin(phase)], axis=1)


def test_a_stroke_that_is_retraced_leads_back_to_the_place():
    """To rounding: the midpoint rule retraces its own steps."""
    arc = circle(24)[:12]
    rotations, positions = prescribed_motion(INERTIA, np.concatenate([arc, arc[-2::-1]]))
    assert np.linalg.norm(positions[11]) > 1e-3
    assert positions[-1] == pytest.approx(np.zeros(3), abs=1e-14)
    assert rotations[-1] == pytest.approx(np.eye(3), abs=1e-14)


def test_one_hinge_cannot_swim_however_it_is_paced():
    """There and back at other points: zero up to the second order of the midpoint rule."""
    ends = []
    for count in (8, 16):
        there, back = np.linspace(-0.8, 0.8, count + 1), np.linspace(0.8, -0.8, count // 2 + 1)
        path = np.concatenate([there, back[1:] + 0.0])[:, None]
        _, positions = prescribed_motion(ONE_HINGE, path)
        ends.append(np.linalg.norm(positions[-1]))
        assert np.linalg.norm(positions[count]) > 1e-3
    assert ends[1] < 1e-4
    assert ends[0] / ends[1] == pytest.approx(4, rel=0.2)


@pytest.mark.soak
def test_one_hinge_driven_by_torques_is_where_its_angle_says():
    """From rest the base's pose is a function of the angle: of second order in both steps."""
    state, dt = at_rest([0.3]), 0.02
    for k in range(30):
        torque = 2e-3 * math.sin(2 * math.pi * (k + 0.5) / 30)
        state = midpoint_step(ONE_HINGE, state, np.array([torque]), dt).state
    assert abs(state.angles[0] - 0.3) > 0.05
    path = np.linspace(0.3, state.angles[0], 41)[:, None]
    rotations, positions = prescribed_motion(ONE_HINGE, path)
    assert state.position == pytest.approx(positions[-1], abs=1e-4 * np.linalg.norm(positions[-1]))
    assert state.rotation == pytest.approx(rotations[-1], abs=1e-5)


def test_two_hinges_out_of_phase_swim_and_backward_they_swim_back():
    """The stroke backward is the inverse motion, to rounding; there is a net motion to invert."""
    R, x = (values[-1] for values in prescribed_motion(INERTIA, circle(32)))
    R_back, x_back = (values[-1] for values in prescribed_motion(INERTIA, circle(32, -1)))
    assert np.linalg.norm(x) > 1e-3
    assert R_back == pytest.approx(R.T, abs=1e-13)
    assert x_back == pytest.approx(-R.T @ x, abs=1e-13)


def test_the_net_motion_of_a_stroke_converges_with_the_second_order():
    """The ratio of errors at 8 and 16 points is 4 (4.4 against 48 instead of infinitely many)."""
    ends = [prescribed_motion(INERTIA, circle(count))[1][-1] for count in (8, 16, 48)]
    errors = [np.linalg.norm(end - ends[2]) for end in ends[:2]]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)


def test_a_stroke_in_the_plane_stays_in_it():
    """All hinges turn about z, and the meshes are symmetric in z: to rounding."""
    rotations, positions = prescribed_motion(INERTIA, circle(32))
    assert np.abs(positions[:, 2]).max() < 1e-14
    assert np.abs(rotations[:, 2, :2]).max() < 1e-14
