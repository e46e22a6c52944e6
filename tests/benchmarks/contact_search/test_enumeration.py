import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.contact_search.enumeration import enumerate_modes
from benchmarks.contact_search.interior_point import INFEASIBLE, SOLVED
from benchmarks.contact_search.mode_solvers import NOT_CUT, descend, relax
from sofa_softctl.qpcc.examples.contacts import contact_problems
from sofa_softctl.qpcc.pieces.contact_law import law_error
from sofa_softctl.qpcc.pieces.mechanics import build_mechanics, contact_forces
from sofa_softctl.qpcc.problem.contacts import Law
from sofa_softctl.qpcc.problem.modes import SearchOptions
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.status import Status
from tests.support.mode_rows import (
    INACTIVE,
    OPEN,
    SLIDING,
    STICKING,
    TOUCHING,
    add_curvature,
    law_errors,
    turning,
)
from tests.support.random_contact_problems import random_contact_problem, random_problem
from tests.support.statement import soft_limits, state


def excess(m, effort, force):
    """1/2 the sum of the squared excesses of soft limits."""
    soft = soft_limits(m)
    value = soft.R @ np.concatenate((effort, force))
    over = np.maximum(0.0, np.maximum(soft.low - value, value - soft.high))
    return 0.5 * float(over @ over)


@pytest.mark.study(keep=1)
@pytest.mark.parametrize("known", contact_problems(), ids=lambda p: p.name)
def test_problems_solved_by_hand_have_their_answers(known):
    """1e-6: the gap that is asked for."""
    best = enumerate_modes(known.problem, gap=1e-7)
    m = build_mechanics(known.problem, known.problem.contacts, np.zeros(known.problem.n_a))
    effort, force = known.effort / m.a_unit, known.force / m.c_unit
    if np.isnan(force).any():
        force, _ = contact_forces(m, effort)
    assert best.complete
    assert best.feasible == (known.status is Status.SOLVED)
    if best.feasible:
        assert best.objective == pytest.approx(m.objective(effort, force), rel=1e-6, abs=1e-8)
    assert best.violation == pytest.approx(excess(m, effort, force), rel=1e-6, abs=1e-12)


def value_at(problem, effort):
    """Objective [displacement^2] at efforts in units of energy, with a penalty of broken limits.

    Contact forces come from Gauss-Seidel, so nothing of the enumeration is used. The penalty is
    exact: its slope is far above that of the objective.
    """
    m = build_mechanics(problem, problem.contacts, np.zeros(problem.n_a))
    effort = np.clip(effort, problem.effort_min / m.a_unit, problem.effort_max / m.a_unit)
    force, error = contact_forces(m, effort)
    if error > 1e-7:
        return 1e6
    return m.objective(effort, force) + 1e3 * np.sqrt(excess(m, effort, force))


@pytest.mark.study(keep=2)
@pytest.mark.parametrize("seed", range(12))
def test_no_sampled_efforts_are_better(seed):
    """1,500 efforts, the best four refined. 1e-6: Nelder-Mead ends there. 1e-4: the penalty of
    excesses of 1e-9. Low friction and springs: the forces at given efforts are unique."""
    rng = np.random.default_rng([5, seed])
    problem = random_problem(rng, n_a=1 + seed % 2, n_c=1 + seed % 3, friction=0.3)
    best = enumerate_modes(problem)
    m = build_mechanics(problem, problem.contacts, np.zeros(problem.n_a))
    points = rng.uniform(-1.0, 4.0, size=(1500, problem.n_a)) / m.a_unit
    starts = sorted(points, key=lambda x: value_at(problem, x))[:4]
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 800}
    sampled = min(
        minimize(lambda x: value_at(problem, x), start, method="Nelder-Mead", options=options).fun
        for start in starts
    )
    assert best.feasible
    assert best.objective <= sampled * (1.0 + 1e-6)
    assert value_at(problem, best.effort / m.a_unit) == pytest.approx(best.objective, rel=1e-4)


@pytest.mark.parametrize("k", [0, 1, 2, 4, 5, 6, 7, 8, 10, 11])
def test_answers_obey_the_contact_law_and_all_limits(k):
    problem = random_contact_problem(1, k, 4)
    best = enumerate_modes(problem, nodes=1500)
    m = build_mechanics(problem, problem.contacts, np.zeros(problem.n_a))
    effort, force = best.effort / m.a_unit, best.force / m.c_unit
    size = state(problem).length
    assert law_error(m, effort, force).max() * m.size < 3e-8 * size
    assert excess(m, effort, force) == pytest.approx(best.violation, abs=1e-9 * size**2)
    assert m.objective(effort, force) == pytest.approx(best.objective, rel=1e-9, abs=1e-15)
    assert best.bound <= best.objective


@pytest.mark.parametrize("law", [Law("coulomb"), Law("sticking")], ids=["smooth", "sticking"])
@pytest.mark.parametrize("seed", range(5))
def test_the_exact_search_agrees_where_modes_are_finitely_many(seed, law):
    """It proves its answers there; the enumeration is content with a gap of 1e-4."""
    rng = np.random.default_rng([6, seed])
    friction = 0.5 if law.friction == "sticking" else 0.0
    problem = random_problem(rng, n_c=4, friction=friction, law=law)
    answer, best = solve(problem, search=SearchOptions("exact")), enumerate_modes(problem)
    assert best.feasible == (answer.status is Status.SOLVED)
    if best.feasible:
        assert answer.gap <= 1e-6
        assert best.objective == pytest.approx(answer.objective, rel=1.1e-4)


def over_all_modes(problem, starts=16):
    """The best objective over all assignments of modes, without any bounds."""
    stated = state(problem)
    st, best = stated.statement, np.inf
    _, _, x0 = relax(
        st,
        np.full(len(st.mu), OPEN),
        np.zeros(len(st.mu)),
        np.full(len(st.mu), 2 * np.pi),
        NOT_CUT,
        1e9,
    )
    for kinds in itertools.product((INACTIVE, STICKING, SLIDING), repeat=len(st.mu)):
        slides = kinds.count(SLIDING)
        for turn in itertools.product(range(starts), repeat=slides):
            angle = np.zeros(len(st.mu))
            angle[np.array(kinds) == SLIDING] = 2 * np.pi * np.array(turn) / starts
            x = x0.copy()
            status, value = descend(st, np.array(kinds), angle, x)
            if status == SOLVED and law_errors(st, x).max() < 1e-8 and stated.excess(x) < 1e-8:
                best = min(best, value)
    return stated.value(best)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_rule_out_no_better_modes(seed):
    """Against all nine assignments of two contacts, with 8 starts of every slip."""
    rng = np.random.default_rng([7, seed])
    problem = random_problem(rng, n_a=2, n_c=2, friction=0.6, pull=False)
    best = enumerate_modes(problem)
    assert best.objective <= over_all_modes(problem, 8) * (1.0 + 1e-6)


@pytest.mark.parametrize("k", range(24))
def test_relaxations_hold_every_motion_that_obeys_the_law(k):
    """Whatever is known of the contacts of a motion, the bound is not above its objective."""
    problem = random_contact_problem(2, k, 4)
    stated = state(problem)
    st, m = stated.statement, stated.mechanics
    rng = np.random.default_rng(k)
    n_a, n_r = m.W_ac.shape
    for _ in range(4):
        effort = np.clip(
            rng.normal(size=n_a) * stated.length,
            problem.effort_min / m.a_unit,
            problem.effort_max / m.a_unit,
        )
        force, error = contact_forces(m, effort)
        x = np.concatenate((effort, force)) / stated.length
        if error > 1e-9 or stated.excess(x) > 1e-9:
            continue
        delta = st.C @ x + st.c
        kind, low, high = np.empty(len(st.mu), int), np.zeros(len(st.mu)), np.zeros(len(st.mu))
        for i, r in enumerate(st.starts):
            touching = x[n_a + r] > max(delta[r], 0.0)
            kind[i] = rng.choice([STICKING if touching else INACTIVE, OPEN])
            if touching and st.rough[i] and st.cone:
                slip = np.hypot(*delta[r + 1 : r + 3])
                kind[i] = rng.choice([SLIDING if slip > 1e-6 else STICKING, TOUCHING, OPEN])
                angle, width = np.arctan2(delta[r + 2], delta[r + 1]), rng.uniform(1e-4, 2.0)
                low[i] = angle - rng.uniform() * width
                high[i] = low[i] + width
        status, bound, _ = relax(st, kind, low, high, NOT_CUT, 1e9)
        assert status != INFEASIBLE
        value = 0.5 * x @ st.H @ x + st.g @ x
        assert bound <= value + 1e-6 * (1.0 + abs(value))


def test_derivatives_of_the_curved_conditions():
    """Central differences with a step of 1e-6: 1e-8 of rounding and truncation each."""
    st = state(random_contact_problem(0, 0, 4)).statement
    rng = np.random.default_rng(0)
    kind = np.array([SLIDING, STICKING, SLIDING, SLIDING])
    n, cols = len(st.g), np.arange(len(st.g))
    v = rng.normal(size=n + 3)
    y, z = rng.normal(size=9), rng.normal(size=4)

    def conditions(v):
        angle = np.zeros(4)
        angle[kind == SLIDING] = v[n:]
        return turning(st, kind, cols, cols, v[:n], angle)

    A, _, G, _ = conditions(v)
    angle = np.zeros(4)
    angle[kind == SLIDING] = v[n:]
    H = np.zeros((n + 3, n + 3))
    add_curvature(st, kind, cols, cols, v[:n], angle, y, z, H)
    for i, e in enumerate(1e-6 * np.eye(n + 3)):
        up, down = conditions(v + e), conditions(v - e)
        assert A[:, i] == pytest.approx((up[1] - down[1]) / 2e-6, abs=1e-7)
        assert G[:, i] == pytest.approx(-(up[3] - down[3]) / 2e-6, abs=1e-7)
        slope = (y @ (up[0] - down[0]) + z @ (up[2] - down[2])) / 2e-6
        assert H[i] == pytest.approx(slope, abs=1e-6)
