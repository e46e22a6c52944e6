"""Gaits: their shape, the momentum they keep, their torques, and what does not depend on speed."""

from dataclasses import replace

import numpy as np
import pytest
from softctl_swimmer.body import fish
from softctl_swimmer.motion.inertia import IsolatedInertia
from softctl_swimmer.planning.entries import MassEntries
from softctl_swimmer.planning.gaits import follow_angles, wave
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.swimming import SwimmingDynamics

from sofa_softctl.errors import SceneError
from sofa_softctl.surrogate import TensorSpline, simulate

DT = 0.05
TIME = np.arange(61) * DT


@pytest.fixture(scope="module")
def dynamics():
    swimmer = fish()
    entries = MassEntries(IsolatedInertia(swimmer), slopes=False)
    masses = TensorSpline(entries, 0.3, lower=-1.2 * np.ones(3), upper=1.2 * np.ones(3))
    return SwimmingDynamics(MotionMap(masses, swimmer), dt=DT, torque=0.3)


def angles(**changes):
    given = {"amplitude": np.full(3, 0.6), "phase": np.arange(3.0), "frequency": 0.5} | changes
    return wave(TIME, **given)


def test_a_wave_begins_at_rest_and_is_a_sine_after_its_first_period():
    q = angles(middle=0.1)
    assert np.abs(q[:3]).max() < 0.6 * 10.0 * (2.5 * DT / 2.0) ** 3  # as t^3 / period^3, 10 times
    late = TIME >= 2.0
    expected = 0.1 + 0.6 * np.sin(np.pi * TIME[:, None] - np.arange(3.0))
    assert q[late] == pytest.approx(expected[late], abs=1e-14)


@pytest.mark.soak
def test_hinges_move_as_given_and_the_torques_make_that_motion(dynamics):
    """Steps that are simulated from the torques alone find it, to what their tolerance, 1e-10 of
    a torque, becomes in 3 s."""
    q = angles()
    gait = follow_angles(dynamics, q)
    assert np.array_equal(gait.a[:, HINGES], q)
    again = simulate(dynamics, gait.u, gait.a[0])
    assert again.status.ok
    assert again.a == pytest.approx(gait.a, abs=1e-6)


def test_where_it_swims_to_does_not_depend_on_how_fast(dynamics):
    """Without momentum, body and fluid go where the path of the shape leads: equal in slow motion,
    to rounding, and torques are a quarter at half the speed."""
    fast = follow_angles(dynamics, angles())
    slow = follow_angles(replace(dynamics, dt=2.0 * DT), angles())
    assert slow.a == pytest.approx(fast.a, abs=1e-9)
    assert slow.u == pytest.approx(0.25 * fast.u, abs=1e-6 * np.abs(fast.u).max())


def test_a_stroke_and_its_way_back_lead_nowhere_and_a_wave_does(dynamics):
    """The scallop theorem; a wave from head to tail swims ahead, from tail to head back."""
    places = dynamics.embedding.places

    def way(q):
        x = places(follow_angles(dynamics, q).a)[:, :3]
        return x[-1] - x[0]

    half = angles()[:31]
    there_and_back = way(np.vstack((half, half[-2::-1])))
    assert np.abs(there_and_back).max() < 1e-9
    ahead, back = way(angles()), way(angles(phase=-np.arange(3.0)))
    assert ahead[0] > 0.02 and back[0] < -0.02


def test_what_cannot_be_followed_is_refused(dynamics):
    with pytest.raises(SceneError, match=r"not known at instant 10, at the angles \[1.3 "):
        follow_angles(dynamics, np.where(np.arange(61)[:, None] == 10, 1.3, 0.0) * np.ones(3))
    turned = replace(dynamics, embedding=Turned(dynamics.embedding.masses, fish()))
    with pytest.raises(SceneError, match="Take a smaller time step, or a slower gait"):
        follow_angles(turned, angles())


class Turned(MotionMap):
    """A mass matrix that is none: link 0 cannot balance it."""

    def mass(self, jet):
        return (
            MotionMap.mass(self, jet) * np.where(jet.value[:, 6] > 0.3, np.nan, 1.0)[:, None, None]
        )
