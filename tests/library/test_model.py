"""Acceptance tests of motions: their own integrator, limits between instants, all conditions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from scenes.problems.flexible_cart import flexible_cart
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp.formulas import casadi as imported
from sofa_softctl.library.ocp.model import ACCURACY, check_plant
from sofa_softctl.library.ocp.problem import Motion, Variable
from sofa_softctl.library.ocp.shooting import Program

P = np.array([0.4, 0.1, 0.02, -0.1, 20.0])


@pytest.fixture(scope="module")
def pole():
    """The cart with a flexible pole, its model and an optimum at P."""
    program = Program(flexible_cart())
    return program.model, program.motion(program.solve(P).v)


def reference(model, motion, p):
    """States at 200 instants of each interval by another integrator, shape (N, 200, n)."""
    x, h = model.tapes["initial"](motion.z, p), model.horizon / model.intervals
    rows = []
    for u in motion.u:
        found = solve_ivp(
            lambda t, y, u=u: model.tapes["dynamics"](y, u, motion.z, p),
            (0.0, h),
            x,
            method="DOP853",
            rtol=1e-10,
            atol=1e-12,
            t_eval=np.linspace(0.0, h, 200),
        )
        rows.append(found.y.T)
        x = found.y[:, -1]
    return np.array(rows)


def test_a_simulation_is_that_of_another_integrator(pole):
    """Some hundred steps, each with an error of ACCURACY of the largest state."""
    model, motion = pole
    found, expected = model.simulate(motion, P), reference(model, motion, P)
    assert np.abs((found.motion.x[1:] - expected[:, -1]) / found.scale).max() < 30.0 * ACCURACY


def test_extremes_are_those_between_instants(pole):
    """Cubic polynomials through the ends of steps; 200 samples an interval miss peaks by 1e-4."""
    model, motion = pole
    found, expected = model.simulate(motion, P), reference(model, motion, P)
    assert (found.extremes[0] < found.motion.x.min(axis=0) - 1e-6 * found.scale).any()
    for sign, row, exact in (
        (-1.0, found.extremes[0], expected.min(axis=(0, 1))),
        (1.0, found.extremes[1], expected.max(axis=(0, 1))),
    ):
        beyond = sign * (row - exact) / found.scale
        assert beyond.min() > -1e-4 and beyond.max() < 2e-4


def test_the_least_of_a_path_is_found_between_instants(pole):
    model, motion = pole
    found, expected = model.simulate(motion, P), reference(model, motion, P)
    rows = np.array([model.tapes["path"](x, [0.0], motion.z, P) for x in expected.reshape(-1, 6)])
    assert found.path == pytest.approx(rows.min(axis=0), abs=2e-4 * 0.03)


def test_a_load_too_fast_for_the_plans_steps_is_seen(make_cart):
    """A pendulum of 30 Hz on the cart: the plan's ten steps of 0.1 s do not see how it swings."""
    rate = 2.0 * np.pi * 30.0
    states = [Variable(f"x_{k}") for k in range(4)]
    problem = make_cart(
        states=states,
        dynamics=lambda x, u, z, p: [x[1], u[0], x[3], -rate * (rate * x[2] + x[3]) - u[0]],
        initial=lambda z, p: [0.0, p[1], 0.0, 0.0],
        terminal=lambda x, z, p: [x[0] - p[0], x[1]],
        error=lambda x, z, p: abs(x[0] - p[0]) + 1e3 * abs(x[2]),
        tolerance=1e-3,
        mirror=None,
    )
    program = Program(problem)
    v, p = program.guess(np.zeros(2)), np.array([0.0, 0.0])
    v[program.u_at] = np.linspace(3.0, -3.0, 10)[:, None]
    motion = program.motion(v)
    found, expected = program.model.simulate(motion, p), reference(program.model, motion, p)
    assert found.motion.x[-1] == pytest.approx(expected[-1, -1], rel=1e-4, abs=1e-8)
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.abs(program.simulate(v, p)[-1, 2]) < 1.0  # the plan's own steps diverge


def test_a_motion_that_grows_without_bound_fails(make_cart):
    problem = make_cart(dynamics=lambda x, u, z, p: [x[1], 1e3 * x[1] ** 3 + u[0]], mirror=None)
    program = Program(problem)
    v = program.guess(np.zeros(2))
    v[program.u_at] = 3.0
    found = program.model.simulate(program.motion(v), np.array([0.5, 0.5]))
    report = program.model.report(found)
    assert not report.passed and "grow without bound" in report.reason


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"tolerance": 1e-3}, "error"),
        ({"terminal_tolerances": (1.0, 1e-3)}, "final condition 2"),
        ({"states": (Variable("x [m]"), Variable("dx [m/s]", -1.0, 0.7))}, "limits of 'dx"),
    ],
)
def test_each_criterion_fails_by_itself(make_cart, given, reason):
    """A motion that ends 0.01 m short with 0.02 m/s, and has 0.73 m/s on the way."""
    program = Program(make_cart(intervals=4, tolerance=1.0, terminal_tolerances=[1.0, 1.0]))
    model, u = program.model, np.array([[2.92], [-0.12], [0.0], [-2.72]])
    motion = Motion(u, np.zeros((5, 2)))
    end = model.simulate(motion, np.array([0.0, 0.0])).motion.x[-1]
    p = np.array([end[0] + 0.01, 0.0])
    assert model.report(model.simulate(motion, p)).passed
    strict = replace(model, **given)
    report = strict.report(strict.simulate(motion, p))
    assert not report.passed
    failed = [each.name for each in report.criteria if not each.passed]
    assert len(failed) == 1 and reason in failed[0]


def test_a_share_of_the_tolerance_may_be_asked_for(make_cart):
    program = Program(make_cart(tolerance=0.01, terminal_tolerances=[0.02, 0.02]))
    motion = program.motion(program.solve(np.array([0.3, 0.0])).v)
    found = program.model.simulate(motion, np.array([0.307, 0.0]))
    assert program.model.report(found).passed
    assert not program.model.report(found, 0.5).passed


def test_another_robot_is_refused_by_what_differs(make_cart):
    model = Program(make_cart(plant={"mass": 1.0, "stiffness": 2.0})).model
    check_plant(model, {"mass": 1.0, "stiffness": 2.0}, "scene")
    with pytest.raises(LibraryError, match="scene: .* of another robot. stiffness: 2 in the libr"):
        check_plant(model, {"mass": 1.0, "stiffness": 2.1}, "scene")
    with pytest.raises(LibraryError, match="damping: nothing in the library, 1 here"):
        check_plant(model, {"mass": 1.0, "stiffness": 2.0, "damping": 1.0}, "scene")


def test_what_is_no_number_is_not_accepted(make_cart):
    """A path that takes the root of a negative number, and a cost that is NaN."""
    casadi = imported()
    program = Program(make_cart(path=lambda x, u, z, p: [1.0 + casadi.sqrt(0.1 - x[0])]))
    motion = Motion(np.full((10, 1), 3.0), np.zeros((11, 2)))
    found = program.model.simulate(motion, np.zeros(2))
    assert found.path[0] == -np.inf
    free = Program(make_cart(tolerance=9.0, terminal_tolerances=[9.0, 9.0], mirror=None)).model
    moved = free.simulate(motion, np.zeros(2))
    assert free.report(moved).passed
    report = free.report(replace(moved, cost=np.nan))
    assert not report.passed and "cost: could not be measured" in report.reason


def narrow(make_cart, **given):
    """A vehicle in the plane that runs along x in one interval of a second, at 1 m/s."""
    states = [Variable(name) for name in ("x", "y", "dx", "dy")]
    program = Program(
        make_cart(
            **{
                "states": states,
                "inputs": [Variable("ax", -9.0, 9.0), Variable("ay", -9.0, 9.0)],
                "dynamics": lambda x, u, z, p: [x[2], x[3], u[0], u[1]],
                "initial": lambda z, p: [0.0, p[1], 1.0, 0.0],
                "cost": lambda x, u, z, p: u[0] ** 2 + u[1] ** 2,
                "terminal": lambda x, z, p: [x[0] - 1.0],
                "error": lambda x, z, p: abs(x[0] - 1.0),
                "terminal_tolerances": [1e-6],
                "mirror": None,
                "intervals": 1,
            }
            | given
        )
    )
    return program.model, Motion(np.zeros((1, 2)), np.zeros((2, 4)))


@pytest.mark.parametrize("where", [0.31, 0.48, 0.73, 0.97])
@pytest.mark.parametrize("aside", [0.0, 0.02, 0.0299, 0.0301])
def test_a_pillar_is_seen_within_one_step(make_cart, where, aside):
    """Of 30 mm radius, passed by a vehicle that any integrator moves exactly in a single step.

    Where its middle is hit, the distance has a corner: it is found to half of 1 m / 2^14.
    """
    ca = imported()

    def distance(x, u, z, p):
        return [ca.sqrt((x[0] - where) ** 2 + x[1] ** 2) - 0.03]

    model, motion = narrow(make_cart, path=distance)
    found = model.simulate(motion, np.array([0.0, aside]))
    assert found.path[0] == pytest.approx(aside - 0.03, abs=2**-15)


@pytest.mark.parametrize("where", np.linspace(0.1, 0.9, 9))
def test_a_narrow_force_is_not_jumped_over(make_cart, where):
    """It takes -2 s sqrt(pi) w from the squared speed: w wide, s strong; half of w is in reach."""
    ca, strong, w = imported(), 5.0, 0.03

    def dynamics(x, u, z, p):
        return [x[2], x[3], u[0] - strong * ca.exp(-(((x[0] - where) / w) ** 2)), u[1]]

    model, motion = narrow(make_cart, dynamics=dynamics, horizon=2.0)
    found = model.simulate(motion, np.array([0.0, 0.0]))
    lost = 2.0 * strong * np.sqrt(np.pi) * w
    assert found.motion.x[-1, 2] ** 2 == pytest.approx(1.0 - lost, rel=1e-4)


def test_an_error_counts_by_its_magnitude(make_cart):
    """10 mm short is no better than 10 mm too far."""
    program = Program(make_cart(error=lambda x, z, p: x[0] - p[0], tolerance=1e-3))
    motion = program.motion(program.solve(np.array([0.3, 0.0])).v)
    found = program.model.simulate(motion, np.array([0.31, 0.0]))
    assert found.error == pytest.approx(0.01, rel=1e-5)
    criteria = {each.name: each for each in program.model.report(found).criteria}
    assert not criteria["error"].passed
