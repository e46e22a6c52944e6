"""A swimmer for a planner: its steps, their derivatives, and where they lead."""

import numpy as np
import pytest
from softctl_swimmer import IsolatedInertia, at_rest, fish, midpoint_step
from softctl_swimmer.planning.entries import MassEntries, lower_triangle
from softctl_swimmer.planning.motion_map import MotionMap
from softctl_swimmer.planning.poses import rotation, velocity
from softctl_swimmer.planning.swimming import SwimmingDynamics

from sofa_softctl.surrogate import Grid, Steps, simulate

TORQUE, STROKE = 0.01, 1.0
"""Of a hinge [N m], and the time of a beat [s]."""


@pytest.fixture(scope="module")
def swimmer():
    return fish()


@pytest.fixture(scope="module")
def motion(swimmer):
    """On the closed form of links alone: cheap, and exact."""
    return MotionMap(MassEntries(IsolatedInertia(swimmer)), swimmer)


def torques(time):
    """A wave that travels from head to tail and begins smoothly [1], shape (len(time), 3)."""
    beat = 2.0 * np.pi * time / STROKE
    waves = np.stack([np.sin(beat - phase) for phase in (0.0, 1.0, 2.0)], 1)
    return waves * np.sin(0.25 * beat)[:, None] ** 2


def differences(function, at, step=1e-6):
    columns = [(function(at + e) - function(at - e)) / (2 * step) for e in step * np.eye(at.size)]
    return np.stack(columns, axis=-1)


def test_places_are_those_of_the_links(swimmer, motion):
    rng = np.random.default_rng(0)
    a = 0.4 * rng.standard_normal((1, 9))
    y = motion.at(a).value[0]
    R, p = swimmer.poses(a[0, 6:])
    turn = rotation(a[:, 3:6])[0]
    for number, place in enumerate(p):
        assert y[list(motion.link(number))] == pytest.approx(a[0, :3] + turn @ place, abs=1e-14)
    assert y[list(motion.centre)] == pytest.approx(a[0, :3] + turn @ p.mean(axis=0), abs=1e-14)
    assert y[list(motion.nose)] == pytest.approx(a[0, :3] + turn @ [0.1, 0.0, 0.0], abs=1e-14)
    assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-15)


def test_slopes_and_curvatures_are_those_of_differences(motion):
    rng = np.random.default_rng(1)
    a, w = 0.4 * rng.standard_normal(9), rng.standard_normal((1, motion.size))
    slope = differences(lambda at: motion.at(at[None]).value[0], a)
    assert motion.at(a[None]).gradient[0] == pytest.approx(slope, abs=1e-8)
    bend = differences(lambda at: w[0] @ motion.at(at[None]).gradient[0], a)
    assert motion.curvature(a[None], w)[0] == pytest.approx(bend, abs=1e-6)


def test_the_velocity_between_two_poses_leads_from_one_to_the_other():
    """By the Cayley map of the twist, solved from its definition."""
    rng = np.random.default_rng(2)
    first, last = 0.8 * rng.standard_normal((2, 1, 9))
    xi = 0.1 * velocity(first, last, 0.1)[0]
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = np.cross(np.eye(3), xi[3:6]), xi[:3]

    def pose(a):
        return np.block([[rotation(a[:, 3:6])[0], a[0, :3, None]], [np.zeros((1, 3)), np.ones(1)]])

    step = np.linalg.solve(np.eye(4) - X / 2, np.eye(4) + X / 2)
    assert pose(first) @ step == pytest.approx(pose(last), abs=1e-14)
    assert xi[6:] == pytest.approx((last - first)[0, 6:], abs=1e-15)


def test_derivatives_of_steps_are_those_of_differences(motion):
    dynamics = SwimmingDynamics(motion, dt=0.05, torque=0.5, damping=0.02)
    rng = np.random.default_rng(3)
    places, u = [0.3 * rng.standard_normal((2, 9)) for _ in range(3)], rng.standard_normal((2, 3))

    def steps(ahead, now, before, u):
        return Steps(ahead, now, u, *(motion.at(each) for each in (ahead, now, before)))

    found = dynamics.linearise(steps(*places, u))
    for k, name in enumerate(("by_next", "by_now", "by_before", "by_input")):
        every = [*places, u]
        slope = np.empty_like(getattr(found, name))
        for j in range(every[k].shape[1]):
            ends = []
            for h in (1e-6, -1e-6):
                moved = [each.copy() for each in every]
                moved[k][:, j] += h
                ends.append(dynamics.residual(steps(*moved)))
            slope[:, :, j] = (ends[0] - ends[1]) / 2e-6
        scale = np.abs(slope).max()
        assert getattr(found, name) == pytest.approx(slope, abs=1e-6 * scale), name


@pytest.mark.soak
def test_steps_go_to_the_motion_of_the_other_integrator_with_the_square_of_their_length(motion):
    """Both are of the second order; the other one has an eighth of the step here."""
    inertia = motion.masses.inertia

    def end(count):
        dt = STROKE / count
        dynamics = SwimmingDynamics(motion, dt=dt, torque=TORQUE)
        found = simulate(dynamics, torques(np.arange(count) * dt), np.zeros(9))
        assert found.status.ok
        return found.a[-1]

    count = 160
    state, dt = at_rest(np.zeros(3)), STROKE / count
    for k in range(count):
        u = TORQUE * torques(np.array([(k + 0.5) * dt]))[0]
        state = midpoint_step(inertia, state, u, dt).state
    exact = np.concatenate((state.position, state.angles))
    errors = [np.abs(end(n)[[0, 1, 2, 6, 7, 8]] - exact).max() for n in (10, 20, 40)]
    assert errors[0] < 0.1 and errors[1] / errors[2] == pytest.approx(4.0, rel=0.25), errors


def test_from_rest_the_momentum_stays_zero_and_nothing_moves_without_torque(motion):
    """Steps are solved to displacements of 1e-10 m: of some kg, in 0.05 s, 1e-8 kg m/s."""
    dynamics = SwimmingDynamics(motion, dt=0.05, torque=TORQUE)
    still = simulate(dynamics, np.zeros((5, 3)), np.full(9, 0.1))
    assert np.ptp(still.a, axis=0).max() < 1e-14
    moved = simulate(dynamics, torques(np.arange(20) * 0.05), np.zeros(9)).a
    jet = motion.at(moved)
    M = motion.mass(jet)
    xi = velocity(moved[:-1], moved[1:], 0.05)
    momentum = np.einsum("mij,mj->mi", 0.5 * (M[1:] + M[:-1]), xi)
    assert np.abs(momentum[:, :6]).max() < 2e-8


def test_a_grid_stands_for_the_mass_matrix(swimmer, motion):
    """Splines of order four: halving the spacing takes the error to about a sixteenth."""
    grid = Grid(motion.masses, 0.4, lower=[-1.2] * 3, upper=[1.2] * 3)
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (40, 3))
    exact = motion.masses.at(points).value
    errors = []
    for _ in range(2):
        errors.append(np.abs(grid.at(points).value - exact).max() / np.abs(exact).max())
        grid.refine()
    assert errors[0] < 2e-3 and errors[1] < errors[0] / 10.0
    assert lower_triangle(np.arange(9.0).reshape(3, 3)).tolist() == [0.0, 3.0, 4.0, 6.0, 7.0, 8.0]
