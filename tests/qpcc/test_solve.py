import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sofa_softctl.errors import ProblemError
from sofa_softctl.qp.problem import QPResult
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.status import Status

INF = math.inf


# Against enumeration ------------------------------------------------------------------------------

quarters = st.integers(-8, 8).map(lambda i: i / 4)  # many ties and zeros, few rounding errors


@st.composite
def small_problems(draw):
    """Up to four actuators, limits on any side, a Hessian that the energy term makes definite."""
    n_a, n_e = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    vector = lambda n: np.array(draw(st.lists(quarters, min_size=n, max_size=n)))  # noqa: E731
    R = vector((n_e + n_a) * n_a).reshape(n_e + n_a, n_a)
    W_aa = R[n_e:] @ R[n_e:].T + 0.5 * np.eye(n_a)
    either = lambda value, none: np.where(vector(n_a) > 0.0, value, none)  # noqa: E731
    return InverseProblem(
        W_ea=R[:n_e] @ R[n_e:].T,
        W_aa=W_aa,
        delta_e_free=vector(n_e),
        delta_a_free=vector(n_a),
        effector_weight=1.0 + np.abs(vector(n_e)),
        effort_min=either(-np.abs(vector(n_a)), -INF),
        effort_max=either(np.abs(vector(n_a)), INF),
        displacement_min=either(-1.0 - np.abs(vector(n_a)), -INF),
        displacement_max=either(1.0 + np.abs(vector(n_a)), INF),
        energy=draw(st.sampled_from([0.1, 1.0])),
    )


def cost_matrices(p):
    """H and g of the cost 1/2 lam^T H lam + g^T lam, written out."""
    B = np.diag(p.effector_weight) @ p.W_ea
    Q = B.T @ B
    s = np.abs(Q).sum(axis=1).max() / np.abs(p.W_aa).sum(axis=1).max()
    return Q + p.energy * s * p.W_aa, B.T @ (p.effector_weight * p.delta_e_free)


def best_by_enumeration(p):
    """The optimum: the cheapest feasible one among the minima on all sets of active limits.

    Returns None if no candidate is feasible.
    """
    H, g = cost_matrices(p)
    n = p.n_a
    rows = np.concatenate((np.eye(n), p.W_aa))
    lower = np.concatenate((p.effort_min, p.displacement_min - p.delta_a_free))
    upper = np.concatenate((p.effort_max, p.displacement_max - p.delta_a_free))
    ends = [(i, b[i]) for i in range(2 * n) for b in (lower, upper) if np.isfinite(b[i])]
    best, best_cost = None, INF
    for k in range(n + 1):
        for active in itertools.combinations(ends, k):
            index = [i for i, _ in active]
            if len(set(index)) < k:
                continue
            G = rows[index]
            K = np.block([[H, G.T], [G, np.zeros((k, k))]])
            if np.linalg.cond(K) > 1e10:
                continue
            lam = np.linalg.solve(K, np.concatenate((-g, [end for _, end in active])))[:n]
            v = rows @ lam
            slack = 1e-9 * (1.0 + np.abs(v))
            cost = 0.5 * lam @ H @ lam + g @ lam
            if cost < best_cost and (v >= lower - slack).all() and (v <= upper + slack).all():
                best, best_cost = lam, cost
    return best


@pytest.mark.soak
@settings(max_examples=150, deadline=None, derandomize=True)
@given(small_problems())
def test_the_answer_is_the_best_one_of_all_sets_of_active_limits(p):
    """1e-7 of the largest effort, or of 1: the check's 1e-8 times the condition number, which is
    kept below 1e4 times that by 0.1 of energy; where W_ea is zero, every effort costs nothing."""
    H, g = cost_matrices(p)
    assume(np.linalg.cond(H) < 1e5 if H.any() else False)
    best = best_by_enumeration(p)
    assume(best is not None)
    solution = solve(p)
    assert solution.status is Status.SOLVED, solution.message
    assert solution.kkt_residual <= 1e-8
    scale = max(1.0, np.abs(best).max())
    assert np.abs(solution.effort - best).max() <= 1e-7 * scale
    constant = 0.5 * np.sum((p.effector_weight * p.delta_e_free) ** 2)
    objective = 0.5 * best @ H @ best + g @ best + constant
    assert solution.objective == pytest.approx(objective, rel=1e-7, abs=1e-7)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(small_problems(), st.data())
def test_no_problem_ends_without_an_answer(p, data):
    """Rates and imposed values on top, so that most limits contradict each other."""
    vector = lambda: data.draw(st.lists(quarters, min_size=p.n_a, max_size=p.n_a))  # noqa: E731
    problem = InverseProblem(
        W_ea=p.W_ea,
        W_aa=p.W_aa,
        delta_e_free=p.delta_e_free,
        delta_a_free=p.delta_a_free,
        effort_min=p.effort_min,
        effort_max=p.effort_max,
        effort_previous=vector(),
        effort_rate=np.abs(vector()),
        displacement_max=p.displacement_max,
        displacement_previous=vector(),
        displacement_rate=np.abs(vector()),
        displacement_fixed=[x if x > 0.0 else math.nan for x in vector()],
        energy=data.draw(st.sampled_from([0.0, 1e-3])),
    )
    solution = solve(problem)
    assert solution.status in (Status.SOLVED, Status.CLOSEST_FEASIBLE), solution.message
    assert (solution.status is Status.CLOSEST_FEASIBLE) == bool(solution.relaxed)
    assert (solution.effort >= problem.effort_min).all()
    assert (solution.effort <= problem.effort_max).all()


# Ordinary and awkward problems --------------------------------------------------------------------


def robot(seed=0, n_e=3, n_a=6, **changes):
    """Cables that only pull, W from one compliance matrix."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(n_e + n_a, n_e + n_a))
    W = R @ R.T
    fields = {
        "W_ea": W[:n_e, n_e:],
        "W_aa": W[n_e:, n_e:],
        "delta_e_free": rng.normal(size=n_e),
        "delta_a_free": 0.1 * rng.normal(size=n_a),
        "effort_min": 0.0,
        "displacement_max": 1.0,
        "energy": 1e-3,
    }
    return InverseProblem(**(fields | changes))


def test_displacements_and_errors_follow_from_the_effort():
    """1e-14: rounding of sums of six products of about one."""
    p = robot()
    solution = solve(p)
    displacement = p.W_aa @ solution.effort + p.delta_a_free
    assert solution.displacement == pytest.approx(displacement, abs=1e-14)
    error = p.W_ea @ solution.effort + p.delta_e_free
    assert solution.effector_error == pytest.approx(error, abs=1e-14)


def test_an_answer_is_read_only_and_complete():
    solution = solve(robot())
    for array in (solution.effort, solution.displacement, solution.effector_error):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert solution.status is Status.SOLVED
    assert solution.solver == "active-set"
    assert solution.message == ""
    assert solution.relaxed == ()
    assert solution.iterations > 0
    assert solution.build_time == 0.0 and solution.solve_time > 0.0


def test_active_limits_are_told_by_name():
    p = InverseProblem(
        W_ea=[[1.0, 1.0]], W_aa=np.eye(2), delta_e_free=[-9.0], delta_a_free=[0.0, 0.0],
        effort_max=[2.0, INF], displacement_previous=[0.0, 1.0], displacement_rate=[INF, 0.5],
        names=("cable L0", "cable L1"),
    )  # fmt: skip
    solution = solve(p)
    assert solution.effort == pytest.approx([2.0, 1.5], rel=1e-8)  # the tolerance of the check
    assert solution.active == (
        "cable L0: effort at its maximum",
        "cable L1: displacement rate at its maximum",
    )


@pytest.mark.parametrize("seed", range(10))
def test_without_limits_the_answer_solves_the_normal_equations(seed):
    """(Q + eps s W) lam = -W_ea^T delta_e_free, by numpy; 1e-8: what parity with
    SoftRobots.Inverse asks for."""
    p = robot(seed, effort_min=-INF, displacement_max=INF, energy=1e-2)
    H, g = cost_matrices(p)
    assert solve(p).effort == pytest.approx(np.linalg.solve(H, -g), rel=1e-8)


@pytest.mark.parametrize("solver", ["active-set", "daqp", "proxqp"])
@pytest.mark.parametrize("seed", range(10))
def test_more_actuators_than_effector_rows_are_solved_without_energy(solver, seed):
    """Rank 3 of 6. Whatever efforts are chosen, the error left is that of least squares."""
    p = robot(seed, energy=0.0, effort_min=-INF, displacement_max=INF)
    solution = solve(p, solver=solver, fallback=solver)
    assert solution.status is Status.SOLVED
    assert np.abs(solution.effector_error).max() <= 1e-7 * np.abs(p.delta_e_free).max()


@pytest.mark.parametrize("seed", range(10))
def test_a_singular_hessian_with_limits_needs_no_second_solver(seed):
    """daqp takes over, whose proximal iterations go on until the answer passes the check."""
    solution = solve(robot(seed, energy=0.0, displacement_max=0.3))
    assert (solution.solver, solution.message) == ("active-set", "")


@pytest.mark.parametrize("seed", range(10))
def test_imposed_displacements_of_twin_cables_are_solved(seed):
    """Three cables and twins of two of them: equalities that depend on each other up to rounding,
    of which daqp makes flag -6 or a wrong answer if they are handed over as equalities."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(3, 3))
    R = np.concatenate((rng.normal(size=(2, 3)), R, R[:2]))
    W = R @ R.T
    imposed = W[2:, 2:] @ rng.exponential(0.1, 5)
    p = InverseProblem(
        W_ea=W[:2, 2:], W_aa=W[2:, 2:], delta_e_free=rng.normal(size=2), delta_a_free=np.zeros(5),
        effort_min=0.0, displacement_fixed=imposed,
    )  # fmt: skip
    solution = solve(p)
    assert solution.status is Status.SOLVED
    assert (solution.solver, solution.message) == ("active-set", "")
    assert solution.displacement == pytest.approx(imposed, abs=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_units_change_nothing_but_units(seed):
    """Units of effort between 1e-9 and 1e3, so that W spans 1e-18 to 1e6. 1e-6 of the largest
    effort, or of 1: the check's 1e-8 times a condition number of about a hundred."""
    p = robot(seed, energy=0.0, n_a=3, n_e=4)
    unit = 10.0 ** np.random.default_rng(seed).uniform(-9.0, 3.0, 3)
    other = robot(
        energy=0.0,
        n_a=3,
        n_e=4,
        W_ea=p.W_ea * unit,
        W_aa=p.W_aa * np.outer(unit, unit),
        delta_e_free=p.delta_e_free,
        delta_a_free=p.delta_a_free * unit,
        displacement_max=p.displacement_max * unit,
    )
    one, two = solve(p), solve(other)
    assert one.status is two.status is Status.SOLVED
    assert two.effort * unit == pytest.approx(one.effort, abs=1e-6 * max(1.0, one.effort.max()))


def test_a_hessian_of_zero_leaves_the_efforts_at_rest():
    p = robot(W_ea=np.zeros((3, 6)), effort_min=-1.0)
    solution = solve(p)
    assert solution.status is Status.SOLVED
    assert solution.effort == pytest.approx(np.zeros(6), abs=1e-12)


def test_a_hessian_of_zero_still_keeps_the_limits():
    p = robot(W_ea=np.zeros((3, 6)), effort_min=1.0, displacement_max=INF)
    solution = solve(p)
    assert solution.status is Status.SOLVED
    assert solution.effort.min() >= 1.0 and len(solution.active) > 0


def test_no_effector_at_all_is_no_reason_to_fail():
    p = InverseProblem(
        W_ea=np.zeros((0, 1)), W_aa=[[2.0]], delta_e_free=[], delta_a_free=[0.0],
        displacement_fixed=[3.0],
    )  # fmt: skip
    assert solve(p).effort == pytest.approx([1.5], rel=1e-8)


def test_a_slightly_indefinite_compliance_is_solved():
    """W with an eigenvalue of -1e-9, as of an iterative factorisation, and much energy on it."""
    p = robot(7)
    values, vectors = np.linalg.eigh(p.W_aa)
    values[0] = -1e-9 * values[-1]
    W = (vectors * values) @ vectors.T
    p = robot(7, W_aa=0.5 * (W + W.T), energy=1.0, displacement_max=INF, effort_max=10.0)
    solution = solve(p)
    assert solution.status is Status.SOLVED, solution.message


def test_a_goal_that_is_reached_asks_for_nothing():
    p = robot(delta_e_free=np.zeros(3), delta_a_free=np.zeros(6))
    assert solve(p).effort == pytest.approx(np.zeros(6), abs=1e-15)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_small_and_large_motions_are_solved_alike(size):
    """Lengths scale the effort: 1e-6 of the largest, as for units."""
    p = robot(2)
    other = robot(
        2,
        delta_e_free=size * p.delta_e_free,
        delta_a_free=size * p.delta_a_free,
        displacement_max=size,
    )
    one, two = solve(p), solve(other)
    assert two.status is Status.SOLVED
    assert two.active == one.active
    assert two.effort / size == pytest.approx(one.effort, abs=1e-6 * one.effort.max())


# Warm start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["active-set", "daqp", "proxqp"])
def test_a_warm_start_gives_the_same_answer(solver):
    """A goal that moves for 20 steps. 1e-6: the check's 1e-8 times a condition number of 100."""
    warm = None
    for step in range(20):
        p = robot(3, delta_e_free=[math.sin(0.1 * step), math.cos(0.1 * step), 0.5], energy=0.1)
        started, cold = solve(p, solver=solver, warm=warm), solve(p, solver=solver)
        assert started.status is cold.status
        assert started.effort == pytest.approx(cold.effort, abs=1e-6 * max(1.0, cold.effort.max()))
        warm = started.warm


def test_a_warm_start_saves_iterations():
    p = robot(3, n_a=12, n_e=6)
    cold = solve(p, solver="daqp")
    assert len(cold.active) > 3
    assert solve(p, solver="daqp", warm=cold.warm).iterations < cold.iterations


def test_a_warm_start_of_nonsense_does_no_harm():
    """More active limits than variables: daqp then calls NaN optimal, and is asked again."""
    p = robot(3)
    nonsense = QPResult(np.full(6, 1e3), np.ones(12), "solved")
    solution = solve(p, solver="daqp", warm=nonsense)
    assert solution.status is Status.SOLVED
    assert solution.solver == "daqp" and solution.message == ""
    assert solution.effort == pytest.approx(solve(p).effort, abs=1e-10)


def test_a_warm_start_of_another_size_is_ignored():
    old = solve(robot(3, n_a=4)).warm
    p = robot(3)
    assert np.array_equal(solve(p, warm=old).effort, solve(p).effort)


# Answers that cannot be trusted -------------------------------------------------------------------


def garbage(value, outcome="solved"):
    """A solver that is always wrong."""

    def solve_wrongly(qp, warm):
        del warm
        return QPResult(np.full_like(qp.g, value), np.full_like(qp.lower, value), outcome, 1)

    return solve_wrongly


@pytest.mark.parametrize("value", [math.nan, INF, 0.3, 1e300])
def test_a_wrong_answer_is_never_taken(register_solver, value):
    register_solver("wrong", garbage(value))
    p = robot()
    solution = solve(p, solver="wrong")
    assert solution.status is Status.FALLBACK
    assert solution.within_limits
    assert solution.solver == "proxqp"
    assert solution.message.startswith("wrong: answer rejected (reported as solved")
    assert solution.message.endswith(" proxqp answered in place of wrong.")
    assert solution.effort == pytest.approx(solve(p).effort, abs=1e-6)


def test_a_solver_that_wrongly_reports_contradicting_limits_is_found_out(register_solver):
    register_solver("pessimist", garbage(math.nan, outcome="infeasible"))
    p = robot()
    solution = solve(p, solver="pessimist")
    assert solution.status is Status.FALLBACK
    assert solution.relaxed == ()
    assert solution.effort == pytest.approx(solve(p).effort, abs=1e-6)


@pytest.mark.parametrize("outcome", ["solved", "infeasible", "failed"])
def test_without_a_trustworthy_answer_the_command_is_held(register_solver, outcome):
    register_solver("wrong", garbage(0.3, outcome))
    p = robot(effort_max=5.0)
    command = np.array([-1.0, 0.0, 1.0, 2.0, 5.0, 9.0])
    solution = solve(p, solver="wrong", fallback="wrong", held=command)
    assert solution.status is Status.HELD
    assert solution.effort.tolist() == [0.0, 0.0, 1.0, 2.0, 5.0, 5.0]  # cut to the bounds
    assert solution.solver == ""
    assert "wrong: " in solution.message
    assert solution.kkt_residual > 1e-8
    assert solution.warm is None
    displacement = p.W_aa @ solution.effort + p.delta_a_free
    assert solution.displacement == pytest.approx(displacement, abs=1e-14)


def test_the_previous_effort_is_held_if_nothing_else_is_said(register_solver):
    register_solver("wrong", garbage(math.nan))
    p = robot(effort_previous=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    solution = solve(p, solver="wrong", fallback="wrong")
    assert solution.effort.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_what_a_held_command_exceeds_is_told(register_solver):
    register_solver("wrong", garbage(math.nan))
    p = InverseProblem(
        W_ea=[[1.0]], W_aa=[[1.0]], delta_e_free=[1.0], delta_a_free=[0.0],
        displacement_max=2.0, effort_previous=[3.0], names=["cable"],
    )  # fmt: skip
    solution = solve(p, solver="wrong", fallback="wrong")
    assert solution.relaxed == ("cable: displacement 1 above its maximum",)


@pytest.mark.parametrize("held", [[1.0], [math.nan] * 6])
def test_a_command_that_cannot_be_held_is_refused_before_it_is_needed(held):
    with pytest.raises(ProblemError, match="held must be a finite effort for each of the 6"):
        solve(robot(), held=np.array(held))


def test_an_unknown_solver_lists_the_known_ones():
    with pytest.raises(ProblemError, match="Known: active-set, daqp, proxqp"):
        solve(robot(), solver="qpoases")


def test_the_tolerance_of_the_check_can_be_chosen():
    """No double-precision answer is exact to 1e-300, so none is taken."""
    assert solve(robot(), tolerance=1e-300).status is Status.HELD


def test_after_preparing_nothing_is_left_to_load_or_compile():
    """In a process of its own, as others have loaded everything here."""
    script = """
import sys, numpy as np
from sofa_softctl.qpcc.search import branch_and_bound, pivoting, relaxation_kernels
from sofa_softctl.qpcc.pieces.gauss_seidel import contact_gauss_seidel
from tests.support.random_contact_problems import random_problem
from sofa_softctl.inverse.preparation import prepare
from sofa_softctl.qpcc.solve.solve import solve
kernels = [pivoting.pivot, branch_and_bound.branch, contact_gauss_seidel]
kernels += [relaxation_kernels.solve_relaxation, relaxation_kernels.relaxed_objective]
prepare(contacts=True)
before = set(sys.modules), [len(kernel.signatures) for kernel in kernels]
assert "proxsuite" in before[0] and min(before[1]) > 0
for friction in (0.0, 0.6):
    solve(random_problem(np.random.default_rng(0), n_c=4, friction=friction))
assert before == (set(sys.modules), [len(kernel.signatures) for kernel in kernels])
"""
    subprocess.run([sys.executable, "-c", script], check=True)
