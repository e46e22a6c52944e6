"""The integrator against closed forms, conservation laws and orders of convergence."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.mechanism import kernels
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Damper, Joint, Pin, Spring
from sofa_softctl.identification.mechanism.start import Start, project, rest, violation
from sofa_softctl.identification.mechanism.variational import (
    energy,
    free,
    reason_for_singularity,
    simulate,
)

NONE = np.zeros(0)
G = 9.81


def at(q, v=None):
    """A start that depends on no parameter."""
    q = np.asarray(q, dtype=float)
    still = np.zeros((len(q), 0))
    return Start(q, np.zeros_like(q) if v is None else np.asarray(v, dtype=float), still, still)


def chain(count, **more):
    """Equal rods of 1 m and 1 kg that hang from one another and swing in a plane."""
    joints = [
        Joint(f"j{k}", f"j{k - 1}" if k else "", axis=(0, 1, 0), moved=(0, 0, -1.0 if k else 0.0))
        for k in range(count)
    ]
    rods = [Body(one.name, 1.0, (0, 0, -0.5), (1 / 12, 1 / 12, 0)) for one in joints]
    return Mechanism(joints, rods, **more)


def swing_period(dt, amplitude=1.0):
    """Of a rod let go at that angle, from the crossings of the vertical."""
    pendulum = chain(1)
    steps = math.ceil(6.0 / dt)
    motion = simulate(pendulum, NONE, at([amplitude]), free(pendulum, steps), dt)
    q, t = motion.q[:, 0], motion.time
    cross = np.flatnonzero(q[:-1] * q[1:] < 0.0)
    times = []
    for k in cross:  # a cubic through four samples: its error is far below the integrator's
        near = slice(k - 1, k + 3)
        times.append(np.interp(0.0, *_sorted(q[near], t[near])))
    return 2.0 * (times[2] - times[1])


def _sorted(q, t):
    fit = np.polynomial.Polynomial.fit(t, q, 3)
    fine = np.linspace(t[1], t[2], 20001)
    values = fit(fine)
    order = np.argsort(values)
    return values[order], fine[order]


def test_the_period_of_a_pendulum_comes_to_its_closed_form_with_order_two():
    exact = 4.0 * math.sqrt((1.0 / 3.0) / (0.5 * G)) * ellipk(math.sin(0.5) ** 2)
    steps = np.array([0.04, 0.02, 0.01])
    errors = [abs(swing_period(dt) - exact) for dt in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(2.0, abs=0.05)
    assert errors[-1] < 2e-4 * exact


def final_error(share, dt, torque=3.0):
    """Of a damped, driven pendulum after 1 s, against scipy's integrator at 1e-12."""
    pendulum = chain(1, dampers=[Damper("j0", 0.8)])
    inertia = 1.0 / 3.0

    def slope(t, y):
        return [y[1], (torque * np.sin(5 * t) - 0.8 * y[1] - 0.5 * G * np.sin(y[0])) / inertia]

    exact = solve_ivp(slope, (0, 1), [1.0, 0.3], rtol=1e-12, atol=1e-12).y[0, -1]
    steps = round(1.0 / dt)
    drive = free(pendulum, steps, share=share)._replace(
        gain_u=np.eye(1),
        u=torque * np.sin(5.0 * (np.arange(steps)[:, None] + 0.5) * dt),
    )
    return abs(simulate(pendulum, NONE, at([1.0], [0.3]), drive, dt).q[-1, 0] - exact)


@pytest.mark.parametrize(("share", "order"), [(0.5, 2.0), (0.0, 1.0)])
def test_forces_shared_by_both_ends_are_of_order_two_and_the_papers_of_order_one(share, order):
    steps = np.array([4e-3, 2e-3, 1e-3])
    errors = [final_error(share, dt) for dt in steps]
    found = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert found == pytest.approx(order, abs=0.05)


def test_a_double_pendulum_follows_a_fine_reference():
    """Energies of a chain of two rods; its equations of motion by scipy, at 1e-11."""
    double = chain(2)

    def slope(t, y):
        q, v = y[:2], y[2:]
        L = kernels.lagrangian(double.tree, NONE, q, v, False)
        return np.concatenate([v, np.linalg.solve(L.vv, L.q - L.qv.T @ v)])

    exact = solve_ivp(slope, (0, 1.5), [1.0, -0.5, 0, 0], rtol=1e-11, atol=1e-11).y[:2, -1]
    steps = np.array([2e-3, 1e-3])
    errors = [
        np.abs(
            simulate(double, NONE, at([1.0, -0.5]), free(double, round(1.5 / dt)), dt).q[-1] - exact
        ).max()
        for dt in steps
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    assert errors[1] < 1e-4


@pytest.mark.soak
def test_energy_stays_where_it_is_over_a_hundred_thousand_steps():
    """A chain of three that turns over and over: the error is bounded, without a trend."""
    three = chain(3)
    motion = simulate(three, NONE, at([2.0, 1.0, -1.0]), free(three, 100_000), 2e-3)
    E = energy(three, NONE, motion)
    spread = np.abs(E - E[0]).max()
    assert spread < 0.02 * 9.0 * G  # of the work to lift the chain's centres, all turned over
    halves = E[:50_000].mean(), E[50_000:].mean()
    assert abs(halves[1] - halves[0]) < 0.02 * spread


def test_the_error_of_the_energy_falls_with_the_square_of_the_step():
    three = chain(3)
    spreads = []
    for dt in (4e-3, 2e-3):
        motion = simulate(three, NONE, at([0.6, 0.3, -0.3]), free(three, round(4.0 / dt)), dt)
        E = energy(three, NONE, motion)
        spreads.append(E.max() - E.min())
    assert math.log2(spreads[0] / spreads[1]) == pytest.approx(2.0, abs=0.1)


def test_momenta_of_a_chain_adrift_are_exact():
    """Along its slides and about the axis of its first turn, nothing acts: p does not change."""
    base = [
        Joint("x", axis=(1, 0, 0), sliding=True),
        Joint("y", "x", axis=(0, 1, 0), sliding=True),
        Joint("turn", "y", axis=(0, 0, 1)),
        Joint("arm", "turn", axis=(0, 0, 1), moved=(0.7, 0.0, 0.0)),
        Joint("hand", "arm", axis=(0, 0, 1), moved=(0.7, 0.0, 0.0)),
    ]
    bodies = [Body(name, 1.0, (0.3, 0.0, 0.0), 0.02) for name in ("turn", "arm", "hand")]
    springs = [Spring("arm", 4.0), Spring("hand", 3.0)]
    drifter = Mechanism(base, bodies, springs, gravity=(0, 0, 0))
    start = at([0, 0, 0, 0.8, -0.5], [0.2, -0.1, 0.7, -0.4, 1.0])
    motion = simulate(drifter, NONE, start, free(drifter, 5000), 5e-3)
    drift = np.abs(motion.p[:, :2] - motion.p[0, :2]).max()
    assert drift < 1e-9  # roundings of 5,000 steps, of momenta near 1
    # The coordinate `turn` turns everything that hangs on it, about an axis that slides along:
    # with no momentum of the slides it is the angular momentum of all.
    still = at([0, 0, 0, 0.8, -0.5], _without_momentum(drifter, start))
    motion = simulate(drifter, NONE, still, free(drifter, 5000), 5e-3)
    assert np.abs(motion.p[:, 2] - motion.p[0, 2]).max() < 1e-9
    assert abs(motion.p[0, 2]) > 0.1


def _without_momentum(mechanism, start):
    """The velocity of the slides at which their momenta are zero."""
    L = kernels.lagrangian(mechanism.tree, NONE, start.q, start.v, False)
    v = start.v.copy()
    v[:2] -= np.linalg.solve(L.vv[:2, :2], L.v[:2])
    return v


def four_bar():
    bar = chain(3, constraints=[Pin("j2", (0, 0, -1.0), at_other=(1.2, 0.0, 0.0))])
    return bar  # its row along y is fulfilled by the plane of the chain


def test_a_planar_loop_with_a_pin_has_an_equation_too_many_and_says_so():
    bar = four_bar()
    q, _ = project(bar, NONE, np.array([0.3, -1.4, -1.2]))
    with pytest.raises(SimulationError, match="1 of the 3 equations of the Pin of 'j2' follow"):
        simulate(bar, NONE, at(q), free(bar, 10), 1e-3)


def test_a_planar_loop_moves_with_a_slide_out_of_its_plane():
    """What the message says helps: the slide, which carries nothing else, stays where it is."""
    bar = four_bar()
    joints = [Joint("out", axis=(0, 1, 0), sliding=True), *bar.joints[1:]]
    first = Joint("j0", "out", axis=(0, 1, 0))
    floating = Mechanism([joints[0], first, *joints[1:]], bar.bodies, constraints=bar.constraints)
    q, _ = project(floating, NONE, np.array([0.0, 0.3, -1.4, -1.2]))
    motion = simulate(floating, NONE, at(q), free(floating, 400), 5e-3)
    assert np.abs(motion.q[:, 0]).max() < 1e-10
    E = energy(floating, NONE, motion)
    assert np.ptp(E) < 0.01 * 3.0 * G


def test_a_loop_that_is_closed_twice_names_both():
    twice = spatial_loop()
    pins = [*twice.constraints, Pin("y3", (0, 0, -0.5), at_other=(0.9, 0.3, -0.4))]
    double = Mechanism(twice.joints, twice.bodies, constraints=pins)
    q, _ = project(double, NONE, np.array([0.1, -0.3, 0.2, -0.8, 0.1, -1.0, 0.2, -0.8]))
    told = reason_for_singularity(double, NONE, q)
    assert "3 of the 6 equations of the Pin of 'y3', the Pin of 'y3' follow" in told


def spatial_loop(**more):
    """A chain of six rods with ball-like joints, pinned at its end."""
    joints, parent = [], ""
    for k in range(4):
        moved = (0, 0, -0.5 if k else 0.0)
        joints.append(Joint(f"x{k}", parent, axis=(1, 0, 0), moved=moved))
        joints.append(Joint(f"y{k}", f"x{k}", axis=(0, 1, 0)))
        parent = f"y{k}"
    bodies = [Body(f"y{k}", 0.5, (0, 0, -0.25), 0.03) for k in range(4)]
    pin = Pin("y3", (0, 0, -0.5), at_other=(0.9, 0.3, -0.4))
    return Mechanism(joints, bodies, constraints=[pin], **more)


def test_constraints_hold_to_1e_10_and_energy_stays_with_them():
    loop = spatial_loop()
    q, distance = project(loop, NONE, np.array([0.1, -0.3, 0.2, -0.8, 0.1, -1.0, 0.2, -0.8]))
    assert distance > 0.0
    motion = simulate(loop, NONE, at(q), free(loop, 4000), 2.5e-3)
    assert max(np.abs(violation(loop, NONE, x)).max() for x in motion.q[::50]) < 1e-10
    E = energy(loop, NONE, motion)
    assert E.max() - E.min() < 0.01 * 2.0 * G * 0.5  # of the weight times a rod's length


def test_damping_only_takes_energy():
    loop = spatial_loop(dampers=[Damper(f"x{k}", 0.3) for k in range(4)])
    q, _ = project(loop, NONE, np.array([0.1, -0.3, 0.2, -0.8, 0.1, -1.0, 0.2, -0.8]))
    E = energy(loop, NONE, simulate(loop, NONE, at(q), free(loop, 2000), 2.5e-3))
    assert E[-1] < E[0] - 0.1
    assert np.diff(E[::100]).max() < 1e-3 * (E[0] - E[-1])


def test_a_joint_without_mass_is_said():
    bare = Mechanism([Joint("a"), Joint("b", "a")], [Body("a", 1.0, (1, 0, 0))])
    with pytest.raises(SimulationError, match="There is no inertia about joint 'b'"):
        simulate(bare, NONE, rest(bare), free(bare, 3), 1e-2)


def test_a_step_without_a_solution_says_when_and_what_to_try():
    """Two crossed constraints that a rod cannot follow: Newton's iteration finds no step."""
    loop = spatial_loop()
    q, _ = project(loop, NONE, np.array([0.1, -0.3, 0.2, -0.8, 0.1, -1.0, 0.2, -0.8]))
    wild = at(q, 400.0 * np.ones(8))
    with pytest.raises(SimulationError, match=r"step from t = 0 s .* Try a time step below 0\.05"):
        simulate(loop, NONE, wild, free(loop, 3), 0.05)


def test_a_start_off_the_constraints_is_refused():
    loop = spatial_loop()
    with pytest.raises(IdentificationError, match="violates the constraints by"):
        simulate(loop, NONE, rest(loop), free(loop, 3), 1e-2)


def test_parameters_of_another_number_are_refused(tree):
    with pytest.raises(IdentificationError, match="has 6 parameters: mass, stiffness"):
        simulate(tree, NONE, rest(tree), free(tree, 3), 1e-2)
