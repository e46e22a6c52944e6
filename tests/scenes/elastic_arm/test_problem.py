import math

import numpy as np
import pytest

from scenes.elastic_arm import problem as elastic_arm
from scenes.elastic_arm.problem import arm, grasp_error, inertia, jacobian, position
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.testing import check_jacobian

casadi = pytest.importorskip("casadi")

P = np.array([1.1, 0.9, 0.4, -0.1, 0.38, 0.4])


def points(q):
    """Centres of mass of both links, and the object: the paper's point-mass model."""
    both = q[0] + q[1]
    first = [casadi.cos(q[0]), casadi.sin(q[0])]
    second = [casadi.cos(both), casadi.sin(both)]
    elbow = 0.22 * casadi.vertcat(*first)
    ends = casadi.vertcat(*second)
    return [0.20 * casadi.vertcat(*first), elbow + 0.19 * ends, elbow + 0.22 * ends]


def lagrangian_accelerations(x, torque, mass):
    """d/dt dT/ddq = dT/dq + torque, from the kinetic energy of three points."""
    q, dq = casadi.SX.sym("q", 2), casadi.SX.sym("dq", 2)
    speeds = [casadi.jacobian(each, q) @ dq for each in points(q)]
    T = sum(0.5 * m * casadi.sumsqr(v) for m, v in zip((0.75, 0.88, mass), speeds, strict=True))
    momentum = casadi.gradient(T, dq)
    M = casadi.jacobian(momentum, dq)
    force = casadi.gradient(T, q) - casadi.jacobian(momentum, q) @ dq
    told = casadi.Function("told", [q, dq], [M, force])
    M, force = (np.array(each) for each in told(x[0:2], x[2:4]))
    return M, np.linalg.solve(M, force.ravel() + torque)


def test_the_arm_moves_as_the_energy_of_its_point_masses_says():
    """Exact formulas on both sides: rounding."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, tau, m = rng.normal(size=8), rng.normal(size=2), rng.uniform(0.0, 0.5)
        stiffness = np.array([0.3, 1.8])
        found = elastic_arm.soft_dynamics(x.tolist(), tau, stiffness, m)
        spring = stiffness * (x[4:6] - x[0:2])
        M, ddq = lagrangian_accelerations(x, spring - [0.040, 0.030] * x[2:4], m)
        a, b, d = inertia(x[0:2].tolist(), m)
        assert [[a, b], [b, d]] == pytest.approx(M, rel=1e-12)
        assert found[2:4] == pytest.approx(ddq, rel=1e-10)
        motor = (tau - 0.22e-6 * 205**2 * x[6:8] - spring) / (0.50e-6 * 205**2)
        assert found[6:8] == pytest.approx(motor, rel=1e-12)


def test_motor_constants_are_those_at_the_links():
    """0.50 mg m^2 and 0.22 uN m s / rad, times the square of 205."""
    assert pytest.approx(0.0210125) == elastic_arm.MOTOR_INERTIA
    assert pytest.approx(0.0092455) == elastic_arm.MOTOR_FRICTION


def energy(x, m, stiffness):
    a, b, d = inertia(x[0:2].tolist(), m)
    dq, bent = x[2:4], x[4:6] - x[0:2]
    links = 0.5 * (a * dq[0] ** 2 + 2.0 * b * dq[0] * dq[1] + d * dq[1] ** 2)
    motors = 0.5 * elastic_arm.MOTOR_INERTIA * np.sum(x[6:8] ** 2)
    return links + motors + 0.5 * np.sum(stiffness * bent**2)


def test_energy_is_conserved_without_friction_and_torque(monkeypatch):
    """RK4 at 1 ms: its error over a second is some 1e-10 of the energy."""
    monkeypatch.setattr(elastic_arm, "FRICTION", (0.0, 0.0))
    monkeypatch.setattr(elastic_arm, "MOTOR_FRICTION", 0.0)
    stiffness = np.array([0.3, 1.8])

    def slope(x):
        return np.array(elastic_arm.soft_dynamics(x.tolist(), [0.0, 0.0], stiffness, 0.4))

    x, h = np.array([0.0, 1.0, 0.5, -1.0, 1.0, 0.5, 0.0, 0.0]), 1e-3
    before = energy(x, 0.4, stiffness)
    for _ in range(1000):
        k1 = slope(x)
        k2 = slope(x + 0.5 * h * k1)
        k3 = slope(x + 0.5 * h * k2)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(x + h * k3))
    assert energy(x, 0.4, stiffness) == pytest.approx(before, rel=1e-8)


@pytest.fixture(scope="module")
def soft():
    return Program(arm())


def test_a_mirrored_task_has_the_mirrored_optimum(soft):
    mirror = soft.problem.mirror
    one, other = soft.solve(P), soft.solve(P * mirror.parameters)
    assert one.status.ok and other.status.ok
    assert other.cost == pytest.approx(one.cost, rel=1e-9)
    here, there = soft.motion(one.v), soft.motion(other.v)
    assert there.u == pytest.approx(here.u * mirror.inputs, abs=1e-6)
    assert there.x == pytest.approx(here.x * mirror.states, abs=1e-6)


def test_stiff_springs_cost_as_much_as_none():
    """Springs of 300 N m / rad give by a few thousandths of a radian: below 1 % of the cost."""
    p = P * [1, 1, 0, 0, 1, 1]
    rigid = Program(arm("rigid")).solve(p)
    stiff = Program(arm("constant", stiffness=(300.0, 300.0))).solve(p)
    assert rigid.status.ok and stiff.status.ok
    assert stiff.cost == pytest.approx(rigid.cost, rel=0.01)


def test_the_optimum_ends_where_it_should(soft):
    """Solved to 1e-9; simulated with the same steps."""
    optimum = soft.solve(P)
    end = soft.simulate(optimum.v, P)[-1]
    assert grasp_error(end, P) < 1e-6
    assert np.hypot(*position(end[:2])) == pytest.approx(P[4], abs=1e-6)


def test_the_grasp_error_is_distance_and_how_far_the_hand_moves_as_it_closes():
    straight = np.zeros(8)
    p = np.array([0.0, 0.0, 0.0, 0.0, 0.40, 0.0])
    assert grasp_error(straight, p) == pytest.approx(0.04)
    straight[2] = 0.5  # rad/s: the tip at 0.22 m/s, in 0.1 s 22 mm
    assert grasp_error(straight, p) == pytest.approx(0.04 + 0.022)


def test_the_jacobian_is_that_of_the_position():
    check_jacobian(position, jacobian, [0.3, -0.8], tolerance=1e-9)


def test_the_direction_of_the_tip_is_continuous_through_a_turn():
    q = np.array([2.0 * math.pi + 0.3, 0.8])
    rho, alpha = (float(each) for each in elastic_arm.tip(casadi.DM(q)))
    assert rho * np.array([np.cos(alpha), np.sin(alpha)]) == pytest.approx(position(q))
    assert alpha == pytest.approx(q[0] + 0.4)
