"""The cart with a flexible pole: laws of mechanics, its residual swing, and its symmetry."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from scenes.problems import flexible_cart as module
from scenes.problems.flexible_cart import flexible_cart, residual_swing
from sofa_softctl.library.ocp.formulas import formulas
from sofa_softctl.library.ocp.shooting import Program

FOOT, MIDDLE = module.STIFFNESS
P = np.array([0.6, 0.15, 0.03, -0.1, 20.0])


@pytest.fixture(scope="module")
def plain():
    return Program(flexible_cart())


@pytest.fixture
def undamped(monkeypatch):
    monkeypatch.setattr(module, "DAMPING", (0.0, 0.0))
    monkeypatch.setattr(module, "RAIL_FRICTION", 0.0)
    return formulas(flexible_cart())["dynamics"]


def energy(x, p):
    """Of both point masses and the cart, from their positions; springs and gravity."""
    s, a1, a2, ds, w1, w2 = x
    l1, l2 = module.LENGTH
    middle = np.array([ds + l1 * np.cos(a1) * w1, -l1 * np.sin(a1) * w1])
    tip = middle + [l2 * np.cos(a2) * w2, -l2 * np.sin(a2) * w2]
    moving = module.CART * ds**2 + module.JOINT_MASS * middle @ middle + p[1] * tip @ tip
    height = module.JOINT_MASS * l1 * np.cos(a1) + p[1] * (l1 * np.cos(a1) + l2 * np.cos(a2))
    springs = FOOT * a1**2 + MIDDLE * (a2 - a1) ** 2
    return 0.5 * moving + module.GRAVITY * height + 0.5 * springs


def test_energy_changes_by_the_work_of_the_force_alone(undamped):
    """dE/dt = force times speed at any state, by central differences with 1e-6: 1e-9 of the terms,
    which are of order 10."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        x, u = rng.uniform(-1.0, 1.0, 6), rng.uniform(-5.0, 5.0, 1)
        rate = np.array(undamped(x, u, [], P)).ravel()
        power = (energy(x + 1e-6 * rate, P) - energy(x - 1e-6 * rate, P)) / 2e-6
        assert power == pytest.approx(u[0] * x[3], abs=1e-7)


def test_friction_takes_energy():
    dynamics = formulas(flexible_cart())["dynamics"]
    x = np.array([0.0, 0.1, -0.1, 0.5, 1.0, -1.0])
    rate = np.array(dynamics(x, [0.0], [], P)).ravel()
    (d1, d2), slip = module.DAMPING, x[5] - x[4]
    loss = module.RAIL_FRICTION * x[3] ** 2 + d1 * x[4] ** 2 + d2 * slip**2
    power = (energy(x + 1e-6 * rate, P) - energy(x - 1e-6 * rate, P)) / 2e-6
    assert power == pytest.approx(-loss, abs=1e-7)


def held(x, seconds=10.0):
    """Distances of the tip from its goal, the cart stopped and held: only the pole moves."""
    import casadi

    l1, l2 = module.LENGTH
    y = casadi.SX.sym("y", 6)
    M = casadi.vertcat(*(casadi.horzcat(*row) for row in module.inertia(y[1:3], P[1])))
    torque = casadi.vertcat(*module.forces(y, [0.0], FOOT, P[1]))
    rate = casadi.Function(
        "rate", [y], [casadi.vertcat(0, y[4:6], 0, casadi.solve(M[1:, 1:], torque[1:]))]
    )
    # Stopping: the cart's impulse has no moment about the pole's joints.
    lost = casadi.Function("lost", [y], [casadi.solve(M[1:, 1:], M[1:, 0] * y[3])])
    start = np.array([*x[:3], 0.0, *(x[4:6] + np.array(lost(x)).ravel())])
    times = np.linspace(0.0, seconds, 1000)
    found = solve_ivp(
        lambda t, y: np.array(rate(y)).ravel(), (0.0, seconds), start, t_eval=times, rtol=1e-6
    )
    s, a1, a2 = found.y[:3]
    return np.abs(s - P[0] + l1 * np.sin(a1) + l2 * np.sin(a2))


def test_the_residual_swing_bounds_what_the_tip_does_and_is_reached(undamped):
    """Over many swings both modes come to their peaks almost together: 3 %. Small angles: the
    bound is of first order in the state, the sine's next term 1e-4 of it."""
    x = np.array([P[0] + 0.001, 0.004, -0.002, 0.01, 0.02, -0.03])
    bound = residual_swing(x, FOOT, P)
    largest = held(x).max()
    assert 0.97 * bound < largest < 1.001 * bound


def test_at_rest_above_the_goal_there_is_no_swing():
    assert residual_swing(np.array([P[0], 0, 0, 0, 0, 0.0]), FOOT, P) == 0.0


@pytest.mark.soak
def test_the_mirrored_task_has_the_mirrored_optimum(plain):
    mirror = plain.problem.mirror
    there, back = plain.solve(P), plain.solve(P * mirror.parameters)
    one, other = plain.motion(there.v), plain.motion(back.v)
    assert there.status.ok and back.status.ok
    assert other.u == pytest.approx(one.u * mirror.inputs, abs=1e-5)
    assert other.x == pytest.approx(one.x * mirror.states, abs=1e-5)


def test_the_tip_stays_within_its_path_and_ends_still(plain):
    optimum = plain.solve(P)
    states = plain.simulate(optimum.v, P)
    l1, l2 = module.LENGTH
    ahead = l1 * np.sin(states[:-1, 1]) + l2 * np.sin(states[:-1, 2])
    assert np.abs(ahead).max() == pytest.approx((1.0 - plain.problem.margin) * 0.03, abs=1e-6)
    assert plain.problem.error(states[-1], np.empty(0), P) < 1e-7


@pytest.mark.soak
def test_a_tuned_spring_costs_no_more_than_the_plain_one(plain):
    """With the plain stiffness the tuned problem costs 0.1 more, the price of that spring."""
    tuned = Program(flexible_cart(tuned=True))
    best, z = tuned.solve(P), tuned.motion(tuned.solve(P).v).z
    assert best.status.ok
    assert best.cost < plain.solve(P).cost + 0.1
    assert abs(z[0] - FOOT) > 0.1


@pytest.mark.soak
def test_a_weight_on_the_lean_makes_the_pole_lean_less(plain):
    leans = []
    for weight in (0.0, 50.0):
        optimum = plain.solve(np.array([*P[:4], weight]))
        leans.append((plain.motion(optimum.v).x[:, 1:3] ** 2).sum())
    assert leans[1] < 0.999 * leans[0]
