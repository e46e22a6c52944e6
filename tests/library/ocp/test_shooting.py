"""Multiple shooting: orders of convergence, closed forms, optimality conditions, derivatives."""

import math
from dataclasses import replace

import numpy as np
import pytest

from scenes.elastic_arm.problem import arm
from scenes.problems.flexible_cart import flexible_cart
from sofa_softctl.library.ocp import shooting
from sofa_softctl.library.ocp.problem import OptimalControlProblem, Parameter, Variable
from sofa_softctl.library.ocp.shooting import Optimum, Program
from sofa_softctl.status import Status

P = np.array([0.6, 0.15, 0.03, -0.1, 20.0])
"""Of the flexible cart: the path and the speed of the cart are at their limits for a while."""
ARM = np.array([2.0, -1.2, 0.1, -0.1, 0.36, 0.4])


def rail(**given):
    """A cart without friction of p_1 kg, from rest to rest over p_0 in 2 s."""
    arguments = {
        "name": "rail",
        "states": [Variable("s [m]"), Variable("ds [m/s]")],
        "inputs": [Variable("force [N]", -50.0, 50.0)],
        "parameters": [Parameter("distance [m]", -1.0, 1.0), Parameter("mass [kg]", 1.0, 3.0)],
        "dynamics": lambda x, u, z, p: [x[1], u[0] / p[1]],
        "initial": lambda z, p: [0.0, 0.0],
        "cost": lambda x, u, z, p: u[0] ** 2,
        "terminal": lambda x, z, p: [x[0] - p[0], x[1]],
        "horizon": 2.0,
        "intervals": 10,
        "steps": 1,
        "margin": 0.0,
    }
    return OptimalControlProblem(**arguments | given)


def oscillator(steps):
    """x'' = -x for a second, from x = 1 at rest: x = cos t."""
    return rail(
        dynamics=lambda x, u, z, p: [x[1], -x[0] + 0.0 * u[0]],
        initial=lambda z, p: [1.0, 0.0],
        horizon=1.0,
        intervals=2,
        steps=steps,
    )


@pytest.fixture(scope="module")
def tuned():
    """A program with a constant that is optimised, a path, a final cost, and its optimum at P."""
    program = Program(replace(flexible_cart(tuned=True), intervals=16, steps=3, margin=0.0))
    optimum = program.solve(P)
    assert optimum.status.ok
    return program, optimum


def test_integration_has_order_four():
    """Slope of log error over log step, from four numbers of steps; 0.1 for the next term."""
    many = np.array([2, 4, 8, 16])
    p, errors = np.array([1.0, 1.0]), []
    for steps in many:
        program = Program(oscillator(int(steps)))
        end = program.simulate(np.zeros(program.size), p)[-1]
        errors.append(np.abs(end - [math.cos(1.0), -math.sin(1.0)]).max())
    order = -np.polyfit(np.log(many), np.log(errors), 1)[0]
    assert order == pytest.approx(4.0, abs=0.1)


def test_least_force_of_a_rigid_cart_is_the_closed_form_and_converges_to_it():
    """u linear in time, mean u^2 = 12 m^2 d^2 / T^4. With N constant forces, m^2 d^2 / dt^4 over
    N sum (j - (N - 1) / 2)^2, that is the same times N^2 / (N^2 - 1): order two. Runge-Kutta is
    exact here; the solver's tolerance is 1e-9."""
    p, costs = np.array([0.8, 1.5]), {}
    exact = 12.0 * p[1] ** 2 * p[0] ** 2 / 2.0**4
    for N in (5, 10, 20):
        program = Program(rail(intervals=N))
        optimum = program.solve(p)
        costs[N] = optimum.cost
        assert optimum.cost == pytest.approx(exact * N**2 / (N**2 - 1), rel=1e-7)
        middle = (np.arange(N) + 0.5) / N
        u = 6.0 * p[1] * p[0] / 2.0**2 * (1.0 - 2.0 * middle) * N**2 / (N**2 - 1)
        np.testing.assert_allclose(program.motion(optimum.v).u[:, 0], u, atol=1e-6)
    order = math.log2((costs[5] - exact) / (costs[10] - exact))
    assert order == pytest.approx(2.0, abs=0.1)


def test_the_cost_is_the_mean_over_the_intervals_and_that_of_the_end():
    problem = rail(
        design=[Variable("z")],
        cost=lambda x, u, z, p: p[1] * u[0] ** 2 + x[0],
        final_cost=lambda x, z, p: p[0] * x[1] + z[0] ** 2,
    )
    program, p = Program(problem), np.array([0.8, 1.5])
    v = np.random.default_rng(0).random(program.size)
    motion = program.motion(v)
    mean = (1.5 * motion.u[:, 0] ** 2 + motion.x[:-1, 0]).mean()
    final = 0.8 * motion.x[-1, 1] + motion.z[0] ** 2
    assert program.cost(v, p) == pytest.approx(mean + final, rel=1e-12)


def test_multipliers_are_the_price_of_what_they_belong_to():
    """d cost / d p = -lam g_p, as g = … - p: the optimum costs 12 m^2 d^2 / T^4 N^2 / (N^2 - 1)."""
    program = Program(rail())
    optimum = program.solve(np.array([0.8, 1.5]))
    at = program.derivatives(optimum)
    slope = at.g_p.T @ -optimum.lam
    np.testing.assert_allclose(slope, 2.0 * optimum.cost / optimum.p, rtol=1e-6)


def test_a_limit_that_stops_the_cart_has_a_positive_multiplier():
    """Speed at most 0.5 where 0.6 would be best; of all limits only these cost anything."""
    states = [Variable("s [m]"), Variable("ds [m/s]", -9.0, 0.5)]
    program = Program(rail(states=states))
    optimum = program.solve(np.array([0.8, 1.5]))
    h = program.derivatives(optimum).h
    held = optimum.mu > 1e-3
    assert held.any()
    assert h[held] == pytest.approx(0.0, abs=1e-6)
    places = np.concatenate((program.limited_below, program.limited_above))[held]
    assert set(places) <= set(program.x_at[:, 1])
    assert optimum.v[places] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("case", ["arm", "tuned"])
def test_an_optimum_obeys_the_conditions_of_first_order(case, tuned):
    """Tolerances: 1e-9 of the solver, which it scales by the largest multipliers."""
    program = Program(replace(arm(), intervals=10)) if case == "arm" else tuned[0]
    optimum = program.solve(ARM) if case == "arm" else tuned[1]
    at = program.derivatives(optimum)
    active = optimum.mu > 1e-3
    assert active.any()
    lack = at.f_v - at.g_v.T @ optimum.lam - at.h_v.T @ optimum.mu
    assert np.abs(lack).max() < 1e-6
    assert at.h.min() > -1e-9
    assert optimum.mu.min() >= 0.0
    assert np.abs(optimum.mu * at.h).max() < 1e-6
    if case == "tuned":
        limits = len(program.limited_below) + len(program.limited_above)
        assert (optimum.mu[limits:] > 1e-3).any(), "the path is not at its limit"


def test_shooting_equations_vanish_and_the_simulation_is_the_optimum(tuned):
    program, optimum = tuned
    g = constraints(program, optimum.v, P)[0]
    assert np.abs(g).max() < 1e-9
    states = program.simulate(optimum.v, P)
    np.testing.assert_allclose(states, program.motion(optimum.v).x, atol=1e-8)
    assert program.problem.error(states[-1], program.motion(optimum.v).z, P) < 1e-7


def constraints(program, v, p):
    """g and h, in the order of Derivatives."""
    import casadi

    values = casadi.Function("c", [program._v, program._p], [program._g, program._path])(v, p)
    g, path = (np.array(each).ravel() for each in values)
    low, high = program.limited_below, program.limited_above
    limits = (v[low] - program.lower[low], program.upper[high] - v[high])
    return g, np.concatenate((*limits, path))


def differences(function, at, step=1e-6):
    """Central differences by each number, shape (rows, numbers)."""
    columns = []
    for j in range(len(at)):
        e = step * np.eye(len(at))[j]
        columns.append((function(at + e) - function(at - e)) / (2.0 * step))
    return np.array(columns).T


@pytest.mark.soak
def test_derivatives_are_finite_differences(tuned):
    """At a point that is no optimum, so that no term vanishes. Steps of 1e-6: rounding of 1e-10
    of the terms, up to 1e3 for the Hessian, dominates."""
    program, optimum = tuned
    rng = np.random.default_rng(0)
    v = optimum.v + 0.01 * rng.standard_normal(program.size)
    lam, mu = rng.standard_normal(program.equations), rng.random(program.inequalities)
    point = Optimum(P, v, lam, mu, 0.0, Status.SOLVED, 0.0)
    at = program.derivatives(point)

    def slope(v, p):
        d = program.derivatives(replace(point, v=v, p=p))
        return d.f_v - d.g_v.T @ lam - d.h_v.T @ mu

    g, h = constraints(program, v, P)
    np.testing.assert_allclose(at.h, h, atol=1e-12)
    pairs = [
        (at.f_v, differences(lambda v: program.cost(v, P), v)),
        (at.g_v.toarray(), differences(lambda v: constraints(program, v, P)[0], v)),
        (at.g_p, differences(lambda p: constraints(program, v, p)[0], P)),
        (at.h_v.toarray(), differences(lambda v: constraints(program, v, P)[1], v)),
        (at.h_p, differences(lambda p: constraints(program, v, p)[1], P)),
        (at.l_vv.toarray(), differences(lambda v: slope(v, P), v)),
        (at.l_vp, differences(lambda p: slope(v, p), P)),
    ]
    for exact, difference in pairs:
        assert exact.shape == difference.shape
        scale = max(1.0, np.abs(exact).max(initial=0.0))
        np.testing.assert_allclose(exact, difference, atol=1e-7 * scale)
    assert np.abs(at.g_p).max() > 0.1 and np.abs(at.l_vp).max() > 0.1


def test_a_start_is_brought_within_the_limits():
    """An optimum at its limits, sought from far beyond them, is the same."""
    program = Program(rail(inputs=[Variable("force [N]", -2.0, 2.0)]))
    p = np.array([0.8, 1.5])
    near = program.solve(p)
    far = program.solve(p, np.full(program.size, 1e3))
    assert far.status.ok
    assert np.abs(program.motion(far.v).u).max() <= 2.0
    np.testing.assert_allclose(far.v, near.v, atol=1e-6)


def test_the_guess_is_the_problems_own_or_the_middles_of_its_variables():
    middle = Program(rail(inputs=[Variable("force [N]", guess=3.0)]))
    assert (middle.guess(ARM)[middle.u_at] == 3.0).all()
    program = Program(rail(guess=lambda p, share: np.outer(share, p)))
    guess = program.guess(np.array([0.8, 1.5]))
    np.testing.assert_allclose(guess[program.x_at[5]], [0.4, 0.75])


def test_where_the_start_is_given_it_has_no_limits():
    """0.1 m/s beyond its limit at the start is no reason not to move."""
    states = [Variable("s [m]"), Variable("ds [m/s]", -0.6, 0.6)]
    program = Program(rail(states=states, initial=lambda z, p: [0.0, 0.7]))
    optimum = program.solve(np.array([0.8, 1.5]))
    speeds = program.motion(optimum.v).x[:, 1]
    assert optimum.status.ok
    assert speeds[0] == pytest.approx(0.7)
    assert speeds[1:].max() < 0.6 + 1e-9


def test_a_start_that_is_optimised_keeps_its_limits():
    """A catapult: all speed comes from the start, at most 0.3; a cost asks for 1."""
    problem = rail(
        states=[Variable("s [m]"), Variable("ds [m/s]", -0.3, 0.3)],
        design=[Variable("speed [m/s]")],
        initial=lambda z, p: [0.0, z[0]],
        terminal=lambda x, z, p: [],
        cost=lambda x, u, z, p: u[0] ** 2 + (x[1] - 1.0) ** 2,
    )
    program = Program(problem)
    optimum = program.solve(np.array([0.8, 1.5]))
    assert program.motion(optimum.v).z == pytest.approx([0.3], abs=1e-6)


def test_a_task_that_asks_for_too_much_is_infeasible():
    """1 N moves 3 kg by 1/3 m in 2 s at most, not by 1 m."""
    program = Program(rail(inputs=[Variable("force [N]", -1.0, 1.0)]))
    optimum = program.solve(np.array([1.0, 3.0]))
    assert optimum.status is Status.INFEASIBLE
    assert not optimum.status.ok
    assert optimum.returned == "Infeasible_Problem_Detected"


def test_formulas_that_are_not_numbers_somewhere_do_not_converge():
    """The root of a negative number at the guess already."""
    bad = rail(cost=lambda x, u, z, p: (u[0] ** 2) * (p[0] - 2.0) ** 0.5)
    optimum = Program(bad).solve(np.array([0.8, 1.5]))
    assert optimum.status is Status.NOT_CONVERGED


@pytest.mark.parametrize("where", ["x", "f", "lam_g", "lam_x"])
def test_a_solution_that_is_not_finite_is_none_whatever_the_solver_says(where):
    program = Program(rail())
    cold, warm = program._solvers

    class Broken:
        def __call__(self, **given):
            return cold(**given) | {where: cold(**given)[where] * np.nan}

        def stats(self):
            return cold.stats()

    program.__dict__["_solvers"] = (Broken(), warm)
    optimum = program.solve(np.array([0.8, 1.5]))
    assert optimum.returned == "Solve_Succeeded"
    assert optimum.status is Status.NOT_CONVERGED


def test_running_out_of_iterations_is_not_convergence(monkeypatch):
    monkeypatch.setitem(shooting.OPTIONS, "ipopt.max_iter", 1)
    optimum = Program(replace(arm(), intervals=10)).solve(ARM)
    assert optimum.status is Status.NOT_CONVERGED
    assert optimum.returned == "Maximum_Iterations_Exceeded"
    assert optimum.iterations == 1


def test_a_warm_start_needs_fewer_iterations_and_ends_at_the_same_optimum(tuned):
    """A change of 1 % of the parameters; the solver's tolerance is 1e-9."""
    program, optimum = tuned
    p = P * 1.01
    cold, x_only = program.solve(p), program.solve(p, optimum.v)
    warm = program.solve(p, optimum.v, multipliers=(optimum.lam, optimum.mu))
    assert warm.status.ok
    assert warm.iterations < min(cold.iterations, x_only.iterations)
    np.testing.assert_allclose(warm.v, cold.v, atol=1e-5)
    again = program.solve(P, optimum.v, multipliers=(optimum.lam, optimum.mu))
    assert again.iterations <= 2


def test_multipliers_of_the_wrong_length_are_an_error(tuned):
    program, optimum = tuned
    with pytest.raises(ValueError, match=r"mu must have shape \(\d+,\). Got: \(1,\)"):
        program.solve(P, optimum.v, multipliers=(optimum.lam, np.zeros(1)))


def test_the_time_that_a_solution_takes_is_told(tuned):
    assert 0.0 < tuned[1].seconds < 60.0
