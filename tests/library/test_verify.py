"""Verification: each column is what it says, and chains of tasks do not stay where none ends."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.library.building.solving import INFEASIBLE_IN_A_ROW_MAX, solve
from sofa_softctl.library.building.verify import FreshTasks, _optimality, verify
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.ocp.problem import Motion
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.view.terminal.library import show_verification

DISTANCE, SPEED = 0.4, 0.1


@pytest.fixture
def program(make_cart):
    """For each test its own, to be patched. Without a mirror: each task has a warm start."""
    return Program(make_cart(mirror=None, force=100.0))


@pytest.fixture
def library(program):
    return TrajectoryLibrary(program.model, [solve(program, np.array([DISTANCE, SPEED])).entry])


def drawn(program, tasks):
    fresh = FreshTasks(program.problem, 1)
    return np.array([fresh.draw() for _ in range(tasks)])


def test_times_of_the_solver_are_those_of_cold_and_of_warm_starts(program, library, monkeypatch):
    """A solver that takes 1 s from its guess, 2 s from a motion, 3 s with its multipliers."""
    own = program.solve

    def solve_timed(p, start=None, *, multipliers=None):
        seconds = 1.0 if start is None else 2.0 if multipliers is None else 3.0
        return replace(own(p, start, multipliers=multipliers), seconds=seconds)

    monkeypatch.setattr(program, "solve", solve_timed)
    found = verify(library, program, 4)
    np.testing.assert_array_equal(found.seconds_optimal, 1.0)
    np.testing.assert_array_equal(found.seconds_warm, 3.0)
    assert (found.seconds < 1.0).all() and (found.seconds_plain < 1.0).all()


def test_columns_are_errors_and_costs_of_the_answers_and_of_the_nearest_motion(program, library):
    """Forces of the only motion, from another first speed: they end at its distance and what the
    speed makes in a second. The cart is linear: answers are the optima."""
    found = verify(library, program, 6)
    p = drawn(program, 6)
    missed = np.abs(DISTANCE + p[:, 1] - SPEED - p[:, 0])
    np.testing.assert_allclose(found.unrefined, missed, atol=1e-9)
    assert found.executed.all() and found.errors.max() < 1e-6 < missed.min()
    optimal = [program.solve(each).cost for each in p]
    np.testing.assert_allclose(found.optimal, optimal, rtol=1e-9)
    np.testing.assert_allclose(found.costs, optimal, rtol=1e-6)
    dear = replace(found, costs=1.2 * found.optimal)
    np.testing.assert_allclose(dear.excess, 0.2, rtol=1e-9)
    near_zero = replace(dear, optimal=np.append(dear.optimal[1:], 0.0))
    assert np.isfinite(near_zero.excess).all()
    assert found.defects.max() < 1e-7 and found.stationarity.max() < 1e-7


def test_violations_are_those_of_each_answer(program, library, monkeypatch):
    """What is measured of a motion stands in its row, and in the right column."""
    seen = []

    def measured(program, motion, p):
        seen.append(float(p[0]))
        return 10.0 + p[0], 20.0 + p[0]

    monkeypatch.setattr("sofa_softctl.library.building.verify._optimality", measured)
    found = verify(library, program, 4)
    np.testing.assert_array_equal(found.defects, 10.0 + np.array(seen))
    np.testing.assert_array_equal(found.stationarity, 20.0 + np.array(seen))
    assert seen == drawn(program, 4)[:, 0].tolist()


def test_answers_that_may_not_be_executed_do_not_count_as_cheap(program, library):
    """The nearest motion costs less than the optimum where that has a longer way."""
    blind = verify(library, program, 3, simulated=False)
    assert blind.executed.all() and abs(blind.loss) < 1e-6
    spoilt = replace(library.entries[0], v_p=0.0 * library.entries[0].v_p)
    poor = TrajectoryLibrary(replace(program.model, tolerance=-1.0), [spoilt])
    rejected = verify(poor, program, 3)
    assert not rejected.executed.any() and np.isnan(rejected.loss)
    assert rejected.corrections == {} and rejected.statuses == {"REJECTED": 3}


def test_the_violation_of_equations_is_that_of_the_motion(program):
    """One place 0.01 m off: the interval before misses it by that, and so does the one after."""
    p = np.array([DISTANCE, SPEED])
    motion = program.motion(program.solve(p).v)
    x = motion.x.copy()
    x[5, 0] += 0.01
    assert _optimality(program, motion, p)[0] < 1e-7
    assert _optimality(program, Motion(motion.u, x), p)[0] == pytest.approx(0.01, abs=1e-7)


def test_the_violation_of_stationarity_has_a_closed_form(make_cart):
    """Three intervals of h = 1/3 s and two final conditions leave one direction of forces,
    (1, -2, 1), under which speeds change by h (1, -1, 0) and places by h^2/2 (1, 1, 0): |d|^2 = 6 +
    2/9 + 2/324. The slope of the mean of u^2 is 2/3 u: e (1, -2, 1) beyond the optimum leaves
    4 e d/|d|^2 of it, at most 8 e/|d|^2."""
    program = Program(make_cart(intervals=3, force=100.0))
    p, size, e = np.array([DISTANCE, SPEED]), 6.0 + 2.0 / 9.0 + 2.0 / 324.0, 0.3
    best = program.motion(program.solve(p).v)
    h = 1.0 / 3.0
    u = best.u + e * np.array([[1.0], [-2.0], [1.0]])
    x = best.x.copy()
    x[1] += e * np.array([h**2 / 2, h])
    x[2] += e * np.array([h**2 / 2, -h])
    defect, stationarity = _optimality(program, Motion(u, x), p)
    wanted = (8.0 * e / size) / (2.0 / 3.0 * np.abs(u).max())
    assert defect < 1e-7 and stationarity == pytest.approx(wanted, rel=1e-5)
    assert _optimality(program, best, p)[1] < 1e-7


def test_a_chain_that_is_caught_begins_anew(program, library, capsys):
    """Tasks after the first one ask for 2 km: no motion. From the beginning there is one again."""
    seen = []

    def draw(rng, state, end):
        seen.append((state, end is None))
        assert len(seen) < 20, "it stays where no task has a motion"
        return np.array([0.3 if state is None else 2e3, 0.0]), "after the first"

    object.__setattr__(program.problem, "draw", draw)
    found = verify(library, program, 3)
    assert (
        found.infeasible == 2 * INFEASIBLE_IN_A_ROW_MAX
        and found.restarts == 2
        and len(found.errors) == 3
    )
    first, after = (None, True), ("after the first", False)
    assert seen == [
        first,
        *INFEASIBLE_IN_A_ROW_MAX * [after],
        first,
        *INFEASIBLE_IN_A_ROW_MAX * [after],
        first,
    ]
    show_verification(found, quiet=False, as_json=False)
    said = capsys.readouterr().out
    assert "10 tasks without a solution; the chain of tasks began anew 2 times" in said


def test_answers_between_tasks_without_a_motion_leave_the_chain_alone(program, library):
    """Four in a row, then one with a motion: it goes on from there."""
    asked = iter(2 * [*(INFEASIBLE_IN_A_ROW_MAX - 1) * [2e3], 0.3])
    object.__setattr__(
        program.problem, "draw", lambda rng, state, end: (np.array([next(asked), 0.0]), "on")
    )
    found = verify(library, program, 2)
    assert found.infeasible == 2 * (INFEASIBLE_IN_A_ROW_MAX - 1) and found.restarts == 0
