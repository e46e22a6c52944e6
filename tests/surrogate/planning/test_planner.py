"""Plans: in balance, optimal, within limits, round obstacles, and honest when they fail."""

import time
from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.base.time_limit import deadline
from sofa_softctl.errors import TimeLimitError
from sofa_softctl.qp.problem import no_solution
from sofa_softctl.qp.solvers import SPARSE, register
from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Following, Laser, Point, Smoothness
from sofa_softctl.surrogate.costs.obstacles import HalfSpace, Obstacle, Sphere
from sofa_softctl.surrogate.costs.step import simulate
from sofa_softctl.surrogate.planning.outcome import TIMED_OUT, limits_reached
from sofa_softctl.surrogate.planning.planner import check_limits, plan
from sofa_softctl.surrogate.program.linearization import approximate
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.program.transcription import Limits, PlanningProblem, evaluate

K = 40


@pytest.fixture
def problem(chain, make_dynamics):
    """The tip follows where tensions would lead it slowly, from rest."""
    time = np.linspace(0.0, 1.0, K)[:, None]
    ease = np.clip(time / 0.8, 0.0, 1.0) ** 2 * (3.0 - 2.0 * np.clip(time / 0.8, 0.0, 1.0))
    path = chain.at(ease * (0.5 + 0.3 * np.sin(3.0 * time + np.arange(2)))).value[:, -3:]
    tip = Point(chain.layout.point("tip"))
    return PlanningProblem(
        make_dynamics(chain, dt=0.025),
        K,
        np.zeros(2),
        Limits(u_max=2.0),
        outputs=(Following(tip, path, 100.0, tolerance=5e-3),),
        inputs=(Effort(1e-4), Smoothness(1e-3)),
    )


def reduced_gradient(problem, found):
    """Slope of the cost by the tensions, the motion being in balance: g_u - U^T A^-T g_a.

    Zero at an optimum within the limits: the first-order conditions of (5), by the adjoint method
    and with none of the optimiser's multipliers. Over the largest curvature, as in `Plan`.
    """
    model = approximate(problem, evaluate(problem, found.a, found.u))
    u_at, a_at = (each.ravel() for each in problem.columns)
    slope = model.balance.toarray()[: u_at.size]
    adjoint = np.linalg.solve(slope[:, a_at].T, model.gradient[a_at])
    g = model.gradient[u_at] - slope[:, u_at].T @ adjoint
    return g / model.hessians[0].diagonal().max()


def random_trial(problem, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(K, 2)), rng.uniform(size=(K - 1, 2))


# The nonlinear program ----------------------------------------------------------------------------


def test_slopes_of_a_trial_are_its_differences(problem, chain):
    """Along random directions of all variables; costs, balance, rest and depth at once."""
    tip = problem.outputs[0].probe
    ball = Obstacle(tip, Sphere((0.1, -0.2, 0.0), 0.15), 3.0, between=True)
    problem = replace(
        problem, rest=True, obstacles=(ball,), a_before=np.array([0.1, -0.1]), a_first=np.ones(2)
    )
    a, u = random_trial(problem)
    model = approximate(problem, evaluate(problem, a, u))
    u_at, a_at = problem.columns
    rng = np.random.default_rng(1)
    smooth = replace(problem, obstacles=())
    for _ in range(3):
        x = rng.normal(size=len(model.gradient))

        def moved(h, x=x):
            there = a.copy()
            there[1:] += h * x[a_at]
            return there, u + h * x[u_at]

        h = 1e-6
        ahead, back = evaluate(smooth, *moved(h)), evaluate(smooth, *moved(-h))
        assert model.gradient @ x == pytest.approx((ahead.cost - back.cost) / (2 * h), rel=1e-6)
        assert model.balance @ x == pytest.approx((ahead.lack - back.lack) / (2 * h), abs=1e-4)
        depths = [ball.depth(evaluate(smooth, *moved(s)).y[:, ball.rows]) for s in (h, -h)]
        assert model.depth_slope @ x == pytest.approx((depths[0] - depths[1]) / (2 * h), abs=1e-6)


@pytest.mark.soak
def test_both_hessians_are_positive_and_the_curved_one_is_exact_where_it_is_convex(problem):
    """With a heavy pull against the map's curvature; blocks that lost nothing to the projection."""
    a, u = random_trial(problem, seed=2)
    model = approximate(problem, evaluate(problem, a, u))
    for hessian in model.hessians:
        assert np.linalg.eigvalsh(hessian.toarray()).min() >= -1e-9
    _, a_at = problem.columns
    exact = 0
    for k in range(K - 1):
        block = np.zeros((2, 2))
        for i in range(2):
            sides = []
            for h in (1e-5, -1e-5):
                there = a.copy()
                there[k + 1, i] += h
                sides.append(approximate(problem, evaluate(problem, there, u)).gradient[a_at[k]])
            block[i] = (sides[0] - sides[1]) / 2e-5
        found = model.hessians[1].toarray()[np.ix_(a_at[k], a_at[k])]
        if np.linalg.eigvalsh(block).min() > 0.0:
            exact += 1
            assert found == pytest.approx(block, abs=1e-5)
    assert exact > 0


# Plans --------------------------------------------------------------------------------------------


def test_a_path_is_followed_in_balance_and_at_an_optimum(problem):
    found = plan(problem)
    assert found.status is Status.SOLVED
    assert found.message == ""
    assert found.defect < 1e-8
    assert found.miss < 5e-3
    assert found.stationarity <= 1e-6
    u = found.u
    inside = (u > 1e-4) & (u < 2.0 - 1e-4)
    g = reduced_gradient(problem, found).reshape(u.shape)
    assert np.abs(g[inside]).max() < 1e-5  # the tolerance of 1e-6, summed over the steps after it
    assert g[u <= 1e-4].min(initial=0.0) > -1e-5  # at a lower limit the cost may only rise


def test_a_plan_replayed_is_the_motion_that_was_planned(problem):
    """Defects of 1e-9 grow by a factor of 100 at most over 40 steps of a stable robot."""
    found = plan(problem)
    run = simulate(problem.dynamics, found.u, problem.a_first)
    assert run.status is Status.SOLVED
    assert run.a == pytest.approx(found.a, abs=1e-7)


@pytest.mark.soak
def test_no_small_change_of_the_tensions_is_better(problem):
    """Apart from all derivatives: replayed, every changed plan costs more."""
    found = plan(problem)
    rng = np.random.default_rng(3)
    for size in (1e-2, 1e-3):
        for _ in range(5):
            u = problem.within_limits(found.u + size * rng.normal(size=found.u.shape))
            a = simulate(problem.dynamics, u, problem.a_first).a
            assert evaluate(problem, a, u).cost > -found.reward


def test_another_start_leads_to_the_same_plan(problem):
    rng = np.random.default_rng(4)
    here, there = plan(problem), plan(problem, rng.uniform(0.0, 1.0, (K - 1, 2)))
    assert there.reward == pytest.approx(here.reward, rel=1e-5)


def test_progress_is_told(problem):
    told = []
    found = plan(problem, progress=told.append, evaluations=lambda: 7)
    assert tuple(told) == found.history
    assert len(told) == found.iterations
    assert {each.evaluations for each in told} == {7}
    kept = [each for each in told if each.accepted]
    assert kept[-1].defect < 1e-8
    assert kept[-1].cost == -found.reward


def test_limits_and_rates_are_kept(problem):
    limits = Limits(u_max=np.array([0.6, 0.55]), rate=1.5, a_min=-0.1, a_max=0.75)
    tight = replace(problem, limits=limits, u_before=np.zeros(2))
    found = plan(tight)
    assert found.defect < 1e-8
    assert (found.u >= 0.0).all() and (found.u <= limits.u_max).all()
    step = np.diff(found.u, axis=0, prepend=np.zeros((1, 2)))
    assert np.abs(step).max() <= 1.5 * 0.025 + 1e-9
    assert found.a.min() >= -0.1 and found.a.max() <= 0.75
    assert found.reward < plan(problem).reward


def test_a_start_beyond_the_limits_is_moved_into_them(problem):
    """Each tension as near as it may be, then as near to the one before as the rate asks."""
    u = np.array([[9.0, -1.0]] * (K - 1))
    assert problem.within_limits(u) == pytest.approx(np.array([[2.0, 0.0]] * (K - 1)))
    slow = replace(problem, limits=Limits(u_max=2.0, rate=4.0), u_before=np.array([1.0, 1.0]))
    moved = slow.within_limits(u)
    assert moved[:3] == pytest.approx(np.array([[1.1, 0.9], [1.2, 0.8], [1.3, 0.7]]))
    assert moved[-1] == pytest.approx([2.0, 0.0])


def test_a_measured_start_is_where_the_plan_starts(problem):
    """A robot that moves: the first step has its momentum."""
    start = replace(problem, a_first=np.array([0.2, 0.1]), a_before=np.array([0.21, 0.08]))
    found = plan(start)
    assert found.a[0] == pytest.approx([0.2, 0.1])
    assert found.defect < 1e-8
    run = simulate(start.dynamics, found.u, start.a_first, start.a_before)
    assert run.a == pytest.approx(found.a, abs=1e-7)


def test_rest_at_the_end_holds_without_another_command(problem):
    """Tensions a_K keep the robot where it is, for as long as one likes."""
    found = plan(replace(problem, rest=True))
    assert found.status is Status.SOLVED
    assert found.a[-1] == pytest.approx(found.a[-2], abs=1e-8)
    on = simulate(problem.dynamics, np.tile(found.a[-1], (20, 1)), found.a[-1], found.a[-2])
    assert on.a == pytest.approx(np.tile(found.a[-1], (21, 1)), abs=1e-7)


def test_rest_at_the_end_costs_few_iterations(chain, make_dynamics, problem):
    """Corrections towards balance alone lose the rest: more than 100 iterations, and no optimum."""
    time = np.linspace(0.0, 1.0, 60)[:, None]
    ease = np.clip(time / 0.8, 0.0, 1.0) ** 2 * (3.0 - 2.0 * np.clip(time / 0.8, 0.0, 1.0))
    path = chain.at(ease * (0.5 + 0.3 * np.sin(3.0 * time + np.arange(2)))).value[:, -3:]
    term = replace(problem.outputs[0], goal=path)
    dynamics = make_dynamics(chain, dt=0.02)
    found = plan(replace(problem, dynamics=dynamics, instants=60, outputs=(term,), rest=True))
    assert found.status is Status.SOLVED
    assert found.iterations < 30


@pytest.mark.soak
def test_obstacles_on_the_way_are_avoided(problem):
    free = plan(problem)
    tip = problem.outputs[0].probe
    path = problem.dynamics.embedding.at(free.a).value[:, tip.rows]
    ball = Sphere((*(path[K // 2] + [0.0, -0.01, 0.0]),), 0.02)
    assert ball.distance(path)[0].min() < 0.0
    found = plan(replace(problem, obstacles=(Obstacle(tip, ball, 1e3, margin=0.005),)))
    path = problem.dynamics.embedding.at(found.a).value[:, tip.rows]
    assert found.defect < 1e-8
    assert ball.distance(path)[0][1:].min() >= 0.005 - 1e-7
    assert found.violation <= 1e-7
    assert found.stationarity <= 1e-6
    assert found.status is Status.CLOSEST_FEASIBLE  # the path leads through the ball
    assert found.reward < free.reward


@pytest.mark.soak
def test_an_obstacle_that_cannot_be_avoided_gives_no_plan_to_execute(problem):
    """A roof 0.001 above the tip at rest, of little weight; goals are up to 0.006 above."""
    roof = Obstacle(problem.outputs[0].probe, HalfSpace((0, -1, 0), 0.399), weight=0.01)
    found = plan(replace(problem, obstacles=(roof,)))
    assert found.status is Status.INFEASIBLE
    assert found.inside == pytest.approx(0.005, abs=1e-3)
    assert "inside obstacle 1 (HalfSpace, normal [0, -1, 0], offset 0.399)" in found.message


def test_a_laser_follows_a_line_on_a_plane(problem, chain):
    """From the third node through the tip onto the floor, 0.3 below the tip at rest."""
    laser = Laser(chain.layout.node(2), chain.layout.point("tip"), (0.0, 1.0, 0.0), -0.7)
    y = chain.at(np.linspace(0.0, 1.0, K)[:, None] ** 2 * [0.5, 0.2]).value[:, laser.rows]
    line = laser.locate(y)[0]
    spot = Following(laser, line, 100.0, tolerance=5e-3)
    found = plan(replace(problem, outputs=(spot,)))
    assert found.status is Status.SOLVED
    assert found.miss < 5e-3


def test_a_laser_that_points_away_from_its_plane_is_told(problem, chain):
    laser = Laser(chain.layout.node(2), chain.layout.point("tip"), (0.0, 1.0, 0.0), 0.7)
    with pytest.raises(ValueError, match="does the laser point away from its plane"):
        plan(replace(problem, outputs=(Following(laser, np.zeros((K, 3))),)))


def test_goals_out_of_reach_give_the_nearest_plan_and_say_so(problem):
    """Goals 0.2 off, out of the plane that the chain moves in: the best is as near as without."""
    term = problem.outputs[0]
    off = replace(term, goal=term.goal + [0.0, 0.0, 0.2])
    found, near = plan(replace(problem, outputs=(off,))), plan(problem)
    assert found.status is Status.CLOSEST_FEASIBLE
    assert "out of reach" in found.message
    assert found.miss == pytest.approx(0.2, abs=1e-3)
    assert found.defect < 1e-8
    assert found.a == pytest.approx(near.a, abs=1e-4)


@pytest.mark.parametrize("inputs", [(Effort(1e2),), (Effort(1e-4), Smoothness(50.0))])
def test_costs_of_inputs_that_hold_the_plan_back_are_named(problem, inputs):
    found = plan(replace(problem, inputs=inputs))
    assert found.status is Status.CLOSEST_FEASIBLE
    assert "The costs of the inputs hold it back from the goals" in found.message
    assert "out of reach" not in found.message and "Limits" not in found.message


def test_goals_off_along_a_free_axis_are_reached(problem):
    term = problem.outputs[0]
    off = replace(term, goal=term.goal + [0.0, 0.0, 0.2], axes=(1.0, 1.0, 0.0))
    found, near = plan(replace(problem, outputs=(off,))), plan(problem)
    assert found.status is Status.SOLVED and found.miss < term.tolerance
    assert found.a == pytest.approx(near.a, abs=1e-4)


def test_limits_are_named_where_they_hold_the_plan_back(problem):
    """At the rate in few of many steps, at u_max where the goal is missed: one is the cause."""
    problem = replace(problem, limits=Limits(u_max=1.0, rate=1.0))
    u, a = np.full((K - 1, 2), 0.5), np.full((K, 2), 0.5)
    u[-1, 0] = 1.0
    u[0] -= 0.025
    missed = np.arange(K) == K - 1
    told = limits_reached(problem, a, u, missed)
    assert "u_max = 1 (line 1, in 1 of 39 steps)" in told
    assert "rate" in told  # a change of 0.5 to u_max in the last step, where the goal is missed
    u[-30:, 0] = np.linspace(0.5, 1.0, 30)  # slower than the rate
    assert "rate" not in limits_reached(problem, a, u, missed)
    assert "No limit of inputs" in limits_reached(problem, a, u)
    u[5:20, 1] = 1.0
    assert "u_max = 1 (line 1, 2, in 16 of 39 steps)" in limits_reached(problem, a, u)


def test_far_goals_within_the_plane_converge_too(problem):
    """Errors of 0.2 at the optimum, where Gauss-Newton alone takes hundreds of iterations."""
    term = problem.outputs[0]
    off = replace(term, goal=term.goal + [0.2, 0.0, 0.0])
    found = plan(replace(problem, outputs=(off,)))
    assert found.status is Status.CLOSEST_FEASIBLE
    assert found.stationarity <= 1e-6
    assert found.iterations < 50


def test_rest_that_limits_forbid_is_a_contradiction(problem):
    """A fast robot, three steps, weak lines: no tension stops it in time."""
    fast = replace(
        problem,
        instants=4,
        rest=True,
        a_before=np.array([-0.5, -0.5]),
        outputs=(),
        limits=Limits(u_max=0.01),
    )
    found = plan(fast)
    assert found.status is Status.INFEASIBLE
    assert "Do not execute it" in found.message


def test_a_plan_ends_at_its_deadline_with_the_best_so_far(problem):
    """Before the first iteration it is the start; later, what the iterations reached."""

    def wait(iteration):
        if len(iterations) == 2:
            time.sleep(0.6)  # longer than the deadline
        iterations.append(iteration)

    first, iterations = plan(problem, settings=Settings(iterations=3)), []
    with deadline(-1.0):
        start = plan(problem)
    with deadline(0.5):
        found = plan(problem, progress=wait)
    for ended in (start, found):
        assert ended.status is Status.NOT_CONVERGED and ended.timed_out
        assert TIMED_OUT in ended.message
    assert start.iterations == 0 and 1 <= found.iterations <= 3
    assert found.iterations < 3 or np.array_equal(found.u, first.u)
    assert not plan(problem).timed_out


def test_a_deadline_in_a_refinement_keeps_the_plan_before(problem):
    def refine():
        raise TimeLimitError

    found, first = plan(problem, refine=refine, rounds=2), plan(problem)
    assert found.timed_out and found.status is Status.NOT_CONVERGED
    assert np.array_equal(found.u, first.u)


def test_a_plan_that_is_cut_short_says_so(problem):
    early = plan(problem, settings=Settings(iterations=1))
    assert early.status is Status.NOT_CONVERGED
    assert "Steps lack balance" in early.message
    first = plan(problem)
    settings = Settings(iterations=1, stationarity=0.0)
    again = plan(problem, first.u, first.a, settings=settings)
    assert again.status is Status.NOT_CONVERGED
    assert "optimum was not reached" in again.message


@pytest.mark.soak
@pytest.mark.parametrize("short", [1e-4, 1e-5])
def test_where_the_map_ends_a_little_before_the_goal_the_plan_ends_soon(problem, chain, short):
    """Beyond the wall the map has no answer, as where a robot buckles. Ever smaller steps towards
    it gain nothing, and took all 200 iterations."""
    wall = plan(problem).a[:, 0].max() - short

    class Walled(type(chain)):
        def at(self, points):
            jet = super().at(points)
            jet.value[points[:, 0] > wall] = np.nan
            return jet

    found = plan(replace(problem, dynamics=replace(problem.dynamics, embedding=Walled())))
    assert found.status is Status.NOT_CONVERGED
    assert "the map may have no answer" in found.message
    assert found.iterations < 100
    assert found.a[:, 0].max() == pytest.approx(wall, abs=1e-7)
    assert found.defect <= Settings().defect


# Algorithm 1 --------------------------------------------------------------------------------------


def test_refinements_start_from_the_plan_before_and_end_at_that_of_the_exact_map(
    problem, make_chain
):
    """Three maps that get nearer to the exact one; later rounds need fewer iterations."""
    maps = iter([make_chain(bend=1.02), make_chain(bend=1.0)])
    coarse = replace(problem, dynamics=replace(problem.dynamics, embedding=make_chain(bend=1.1)))
    found = plan(coarse, refine=lambda: next(maps), rounds=2)
    exact = plan(problem)
    assert found.reward == pytest.approx(exact.reward, rel=1e-5)
    assert found.a == pytest.approx(exact.a, abs=1e-4)
    rounds = [sum(each.round == r for each in found.history) for r in range(3)]
    assert sum(rounds) == found.iterations
    assert 0 < max(rounds[1:]) < rounds[0]


def test_refining_in_place_needs_no_new_map(problem):
    calls = []
    found = plan(problem, refine=lambda: calls.append(1), rounds=2)
    assert len(calls) == 2
    # The map is the same in the end, so the plan before is found to be optimal at once.
    assert [each.round for each in found.history][-2:] == [1, 2]
    assert found.status is Status.SOLVED


def test_what_does_not_fit_is_refused_with_both_shapes(problem):
    with pytest.raises(ValueError, match=r"u must have shape \(39, 2\). Got: \(40, 2\)"):
        plan(problem, np.zeros((K, 2)))
    with pytest.raises(ValueError, match=r"a must have shape \(40, 2\). Got: \(39, 2\)"):
        plan(problem, None, np.zeros((K - 1, 2)))
    with pytest.raises(ValueError, match=r"a_before must have shape \(2,\). Got: \(3,\)"):
        replace(problem, a_before=np.zeros(3))
    with pytest.raises(ValueError, match="at least 3. Got: 2"):
        replace(problem, instants=2)
    with pytest.raises(ValueError, match="u_min is above u_max"):
        replace(problem, limits=Limits(u_max=-1.0))


@pytest.mark.parametrize("name", ["a_min", "a_max"])
def test_limits_in_each_step_do_not_hold_for_the_start(problem, name):
    """The start at 1 is beyond a limit of the steps after it, which go to where it holds."""
    bound = np.full((K - 1, 2), 1.5 if name == "a_min" else 0.5)
    start = replace(problem, a_first=np.ones(2), limits=Limits(2.0, **{name: bound}))
    check_limits(start)
    with pytest.raises(ValueError, match="outside the limits of coordinates"):
        check_limits(replace(start, limits=Limits(2.0, **{name: float(bound[0, 0])})))


def test_the_next_solver_is_asked_where_one_calls_a_step_infeasible(problem):
    """The step's QP always has a solution: who says otherwise is wrong, and no plan ends for it."""
    asked = []

    def wrong(qp, warm):
        asked.append(qp)
        return no_solution(qp, "infeasible", 0, "no point")

    with SPARSE.kept():
        register("wrong", wrong, sparse=True)
        found = plan(problem, settings=Settings(solvers=("wrong", "piqp")))
    assert asked and found.status is Status.SOLVED
    assert (
        f"Another QP solver's answer was taken for {found.iterations} of the QPs." in found.message
    )
    assert "piqp answered in place of wrong." in found.message
    assert found.reward == pytest.approx(plan(problem).reward, rel=1e-9)
