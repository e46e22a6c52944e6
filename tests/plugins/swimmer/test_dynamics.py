"""Free swimming: order of the step, momentum, energy, reversal.

Most tests use `IsolatedInertia`: each link with its closed-form added mass, no interactions. It is
a smooth M(q) with an exact derivative, as cheap as a test of 10^4 steps needs; the same laws with
the boundary elements are tested over a few steps of a coarse mesh.
"""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from softctl_swimmer import (
    Flow,
    FlowInertia,
    IsolatedInertia,
    at_rest,
    ellipsoid_added_mass,
    energy_of,
    euler_step,
    fish,
    midpoint_step,
    state_with_velocity,
    velocity_of,
)
from softctl_swimmer.motion.se3 import body_momentum, cayley, coadjoint, dcay_inv_transpose

from sofa_softctl.errors import SimulationError, UsageError

INERTIA = IsolatedInertia(fish())
TORQUES = np.array([0.001, -0.002, 0.0015])
VELOCITY = np.array([0.1, 0.05, -0.1, 0.5, -0.8, 0.4, 1.5, -1.0, 0.7])


def tumbling(inertia=INERTIA):
    return state_with_velocity(
        inertia, [0.2, -0.3, 0.4], VELOCITY, position=np.array([1.0, 2.0, 3.0])
    )


def exact_end(start, duration):
    """The equations of the module's docstring, integrated to 1e-12: rotation, position, angles."""

    def rates(_, y):
        R, angles, momenta = y[:9].reshape(3, 3), y[12:15], y[15:]
        M, dM = INERTIA.at(angles)
        xi = np.linalg.solve(M, momenta)
        force = 0.5 * np.einsum("c,cdj,d->j", xi, dM, xi) + TORQUES
        base = coadjoint(xi[:6], momenta[:6])
        return np.concatenate([np.cross(R, xi[3:6]).ravel(), R @ xi[:3], xi[6:], base, force])

    base = body_momentum(start.rotation, start.position, start.momentum)
    y = [start.rotation.ravel(), start.position, start.angles, base, start.joint_momentum]
    options = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13}
    return solve_ivp(rates, (0, duration), np.concatenate(y), **options).y[:15, -1]


@pytest.mark.soak
@pytest.mark.parametrize(("step", "order"), [(midpoint_step, 2), (euler_step, 1)])
def test_the_error_falls_with_the_order_of_the_step(step, order):
    """log2 of the ratio of errors at 5 and 2.5 ms; 0.15 for the next term."""
    exact, errors = exact_end(tumbling(), 0.2), []
    for count in (40, 80):
        state = tumbling()
        for _ in range(count):
            state = step(INERTIA, state, TORQUES, 0.2 / count).state
        end = np.concatenate([state.rotation.ravel(), state.position, state.angles])
        errors.append(np.linalg.norm(end - exact))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def momentum_in_space(before, step, dt):
    """Recomputed from velocity and pose alone: the discrete momentum at the start of a step."""
    M, _ = INERTIA.at(before.angles + dt / 2 * step.velocity[6:])
    image, _, _ = dcay_inv_transpose(dt * step.velocity[:6], (M @ step.velocity)[:6])
    R, x = before.rotation, before.position
    linear = R @ image[:3]
    return np.concatenate([linear, R @ image[3:] + np.cross(x, linear)])


@pytest.mark.soak
def test_momentum_stays_to_rounding_and_energy_within_bounds_over_ten_thousand_steps():
    """Momentum is recomputed from the motion: 1e-11, the solver's 6e-14 of all |M| |xi|.

    The energy of a symplectic step oscillates with dt^2 (here 1e-3 of it) and does not drift: the
    means over the first and the last fifth differ by less than a tenth of that.
    """
    dt, state = 2e-3, tumbling()
    initial, energy = state.momentum, energy_of(INERTIA, state)
    scale, energies, worst, last = np.abs(initial).max(), [], 0.0, velocity_of(INERTIA, state)
    guess = last
    for k in range(10_000):
        step = midpoint_step(INERTIA, state, np.zeros(3), dt, guess=guess)
        if k % 50 == 0:
            worst = max(worst, np.abs(momentum_in_space(state, step, dt) - initial).max() / scale)
            energies.append(energy_of(INERTIA, state) / energy - 1)
        state, guess, last = step.state, 2 * step.velocity - last, step.velocity
    assert worst < 1e-11
    assert np.abs(energies).max() < 2e-3
    assert abs(np.mean(energies[-40:]) - np.mean(energies[:40])) < 2e-4
    assert np.abs(state.rotation.T @ state.rotation - np.eye(3)).max() < 1e-12


def test_the_papers_explicit_step_lets_momentum_drift():
    state = tumbling()
    initial = state.momentum
    for _ in range(200):
        state = euler_step(INERTIA, state, np.zeros(3), 2e-3).state
    assert np.abs(state.momentum - initial).max() > 1e-5 * np.abs(initial).max()


def test_torques_change_the_energy_by_their_work_but_not_the_momentum():
    """Work is torque times change of angle, summed; second order: 1e-3 at 5 ms (measured 2e-4)."""
    state, work = at_rest([0.2, -0.3, 0.4]), 0.0
    for _ in range(60):
        after = midpoint_step(INERTIA, state, 10 * TORQUES, 5e-3).state
        work += 10 * TORQUES @ (after.angles - state.angles)
        state = after
    assert (state.momentum == 0).all()
    assert energy_of(INERTIA, state) == pytest.approx(work, rel=1e-3)


def test_damping_of_the_joints_takes_the_energy_of_its_power():
    """c |dq/dt|^2 dt, summed over the steps' middles; the balance is of second order."""
    damping, errors = np.array([0.01, 0.02, 0.03]), []
    for count in (40, 80):
        state, lost, dt = tumbling(), 0.0, 0.2 / count
        energy = energy_of(INERTIA, state)
        for _ in range(count):
            step = midpoint_step(INERTIA, state, np.zeros(3), dt, damping=damping)
            lost += dt * damping @ step.velocity[6:] ** 2
            state = step.state
        errors.append(energy - energy_of(INERTIA, state) - lost)
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.3)
    assert abs(errors[1]) < 1e-2 * lost


def test_a_step_backward_undoes_a_step():
    """To the solver's tolerance of 6e-14, times 40 steps and their amplification."""
    state = tumbling()
    for dt in [0.01] * 20 + [-0.01] * 20:
        state = midpoint_step(INERTIA, state, TORQUES, dt).state
    assert state.position == pytest.approx(tumbling().position, abs=1e-10)
    assert state.angles == pytest.approx(tumbling().angles, abs=1e-10)


def test_the_motion_does_not_depend_on_where_space_has_its_origin():
    """A turned and displaced start gives the turned and displaced motion, to rounding."""
    turn, shift = cayley(np.array([1.0, -2.0, 3.0, 0.5, 0.7, -0.9]))
    one = tumbling()
    two = state_with_velocity(
        INERTIA,
        one.angles,
        VELOCITY,
        rotation=turn @ one.rotation,
        position=shift + turn @ one.position,
    )
    for _ in range(10):
        one = midpoint_step(INERTIA, one, TORQUES, 5e-3).state
        two = midpoint_step(INERTIA, two, TORQUES, 5e-3).state
    assert two.position == pytest.approx(shift + turn @ one.position, abs=1e-12)
    assert two.rotation == pytest.approx(turn @ one.rotation, abs=1e-12)


@pytest.mark.soak
def test_the_laws_hold_with_boundary_elements_too():
    """Energy over 12 steps of 8 ms on 62 vertices a link: dA/dq is that of A, so 1e-3 as above."""
    inertia = FlowInertia(Flow.from_swimmer(fish(), 62))
    state = state_with_velocity(inertia, [0.2, -0.3, 0.4], VELOCITY * [1, 1, 0, 0, 0, 1, 1, 1, 1])
    energy, momentum, guess = energy_of(inertia, state), state.momentum, None
    for _ in range(12):
        step = midpoint_step(inertia, state, np.zeros(3), 8e-3, guess=guess)
        state, guess = step.state, step.velocity
    assert energy_of(inertia, state) == pytest.approx(energy, rel=2e-3)
    assert state.momentum == pytest.approx(momentum, abs=0)
    # a planar start stays planar, since meshes and equations are mirror-symmetric
    out_of_plane = velocity_of(inertia, state)[[2, 3, 4]]
    assert np.abs(out_of_plane).max() < 1e-12
    assert abs(state.position[2]) < 1e-12


def test_a_lone_ellipsoid_tumbles_by_kirchhoffs_equations_with_its_energy():
    """One link has no hinge: n = 0. Energy to 1e-4 at 5 ms (measured 3e-5)."""
    inertia = FlowInertia(Flow.from_swimmer(fish(1), 62))
    state = state_with_velocity(inertia, [], np.array([0.1, 0.2, -0.1, 1.0, 2.0, -1.0]))
    energy = energy_of(inertia, state)
    for _ in range(40):
        state = midpoint_step(inertia, state, np.zeros(0), 5e-3).state
    assert energy_of(inertia, state) == pytest.approx(energy, rel=1e-4)


def test_the_derivative_of_the_cayley_map_and_its_own_agree_with_differences():
    """dcay^-1 along the group: cay(X)^-1 cay(X + e Y) to first order; step 1e-6, so 1e-9."""
    X, Y = np.array([0.3, -0.2, 0.5, 0.4, 0.1, -0.6]), np.array([0.2, 0.7, -0.1, 0.3, -0.5, 0.9])
    momentum, step = np.array([1.0, -2.0, 0.5, 0.3, 0.8, -0.7]), 1e-6
    (R1, p1), (R0, p0) = cayley(X + step * Y), cayley(X - step * Y)
    R, p = cayley(X)
    spin = (R1 - R0) / (2 * step) @ R.T
    angular = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    right = np.concatenate([(p1 - p0) / (2 * step) - np.cross(angular, p), angular])
    image, B, D = dcay_inv_transpose(X, momentum)
    assert B.T @ right == pytest.approx(Y, abs=1e-9)
    for k, e in enumerate(step * np.eye(6)):
        ahead, behind = dcay_inv_transpose(X + e, momentum), dcay_inv_transpose(X - e, momentum)
        assert D[:, k] == pytest.approx((ahead[0] - behind[0]) / (2 * step), abs=1e-9)
    assert image == pytest.approx(B @ momentum, abs=1e-15)


def test_a_step_that_is_too_long_is_said_to_be():
    with pytest.raises(SimulationError, match="A step of 5 s was not solved after"):
        midpoint_step(INERTIA, tumbling(), np.array([5.0, -8.0, 3.0]), 5.0)


def test_what_is_no_force_no_pose_and_no_ellipsoid_is_refused():
    rest, xi = at_rest(np.zeros(3)), np.zeros(9)
    for torques in (TORQUES[:2], 0.001, TORQUES * np.nan):
        with pytest.raises(UsageError, match="expected 3 finite numbers"):
            midpoint_step(INERTIA, rest, torques, 0.01)
    with pytest.raises(UsageError, match=r"Damping is -1\.0"):
        midpoint_step(INERTIA, rest, TORQUES, 0.01, damping=-1.0)
    for rotation in (2.0 * np.eye(3), -np.eye(3)):
        with pytest.raises(UsageError, match="not a rotation"):
            state_with_velocity(INERTIA, np.zeros(3), xi, rotation=rotation)
    with pytest.raises(UsageError, match="The velocity is"):
        state_with_velocity(INERTIA, np.zeros(3), xi * np.nan)
    for axes, density in (((1, -1, 1), 1.0), ((1, 1), 1.0), ((1, 1, np.nan), 1.0), ((1, 1, 1), -1)):
        with pytest.raises(UsageError, match="three positive numbers"):
            ellipsoid_added_mass(axes, density)
