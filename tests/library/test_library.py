"""Queries: which motion is nearest, how it is adapted, and what is told."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import LibraryError
from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.motions.answer import Correction
from sofa_softctl.library.motions.library import TrajectoryLibrary
from sofa_softctl.library.motions.trials import Trial, Trials
from sofa_softctl.library.ocp.formulas import casadi as imported
from sofa_softctl.library.ocp.problem import Parameter, Variable
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.qp.problem import no_solution
from sofa_softctl.qp.solvers import DENSE
from sofa_softctl.qp.solvers.daqp import FixedMatrixDaqp
from sofa_softctl.status import Status


def entry_at(program, *p):
    return solve(program, np.array(p)).entry


@pytest.fixture(scope="module")
def program(make_cart):
    return Program(make_cart())


@pytest.fixture
def carts(program):
    """Motions at three distances."""
    entries = [entry_at(program, d, 0.0) for d in (0.1, 0.4, 0.62)]
    return TrajectoryLibrary(program.model, entries)


def test_a_query_gives_the_optimum_for_a_linear_robot(carts, program):
    for p, correction in (
        ([0.2, 0.1], Correction.LINEAR),
        ([0.52, 0.0], Correction.TANGENT_QP),
        ([-0.3, 0.05], Correction.LINEAR),
    ):
        answer = carts.query(p)
        assert answer.status.ok and answer.correction is correction and answer.message == ""
        assert answer.shifts == answer.steps == 0  # these would hide a wrong adaptation
        np.testing.assert_allclose(answer.v, program.solve(np.array(p)).v, atol=2e-6)
        np.testing.assert_array_equal(answer.motion.u, answer.v[program.u_at])
        np.testing.assert_array_equal(answer.motion.x, answer.v[program.x_at])


def test_mirrored_motions_are_found_and_mirrored_back(carts):
    answer, other = carts.query([-0.38, 0.02]), carts.query([0.38, -0.02])
    assert answer.mirrored and not other.mirrored
    assert answer.nearest == other.nearest == 1
    assert answer.shifts == answer.steps == 0
    np.testing.assert_allclose(answer.v, -other.v, atol=1e-12)
    lone = TrajectoryLibrary(replace(carts.model, mirror=None), carts.entries)
    assert lone.query([-0.38, 0.02]).nearest == 0


def test_distances_count_by_how_much_inputs_change(carts, program):
    """d_p u of the cart: 6 N a metre and 4 N a metre a second, at the first instant."""
    u_at = program.u_at.ravel()
    slopes = [np.linalg.norm(e.v_p[u_at, : len(e.p)], axis=0) for e in carts.entries]
    np.testing.assert_allclose(carts.scale, np.mean(slopes, axis=0))
    ((number, mirrored, distance),) = carts.find_nearest(np.array([0.3, 0.1]))
    apart = np.linalg.norm((carts.entries[number].p - [0.3, 0.1]) * carts.scale)
    assert not mirrored and distance == pytest.approx(apart)
    others = [np.linalg.norm((e.p - [0.3, 0.1]) * carts.scale) for e in carts.entries]
    assert distance == pytest.approx(min(others))


def test_the_nearest_are_those_of_all_distances(carts):
    for p in np.random.default_rng(0).uniform([-1.0, -0.5], [1.0, 0.5], (50, 2)):
        far = [
            min(np.linalg.norm((sign * p - entry.p) * carts.scale) for sign in (1.0, -1.0))
            for entry in carts.entries
        ]
        found = carts.find_nearest(p, 2)
        assert [each.number for each in found] == np.argsort(far)[:2].tolist()
        assert [each.distance for each in found] == pytest.approx(np.sort(far)[:2])


def test_what_cannot_be_is_rejected(carts):
    """0.75 m in a second are the most with 3 N, so 0.99 m has no motion."""
    answer = carts.query([0.99, 0.0])
    assert answer.status is Status.REJECTED and not answer.report.passed
    assert "Not accepted: error" in answer.message and "Do not execute it" in answer.message
    assert np.abs(answer.motion.u).max() <= 3.0  # the limits of inputs hold in any case


def test_without_a_simulation_nothing_is_solved(carts):
    answer = carts.query([0.2, 0.1], check=False)
    assert answer.status is Status.REJECTED and answer.report is None
    assert np.isnan(answer.error) and "It was not simulated" in answer.message


def test_without_refinement_the_nearest_motion_is_given(carts):
    answer = carts.query([0.42, 0.0], refine=False)
    np.testing.assert_array_equal(answer.motion.u, carts.model.motion(carts.entries[1].v).u)
    assert answer.status is Status.REJECTED and answer.error == pytest.approx(0.02)


def test_without_time_for_the_qp_the_linear_correction_is_cut_off_and_tested(carts, program):
    """The first QP says how long they take; with no budget at all even the first is left out."""
    answer = carts.query([0.7, 0.05], budget=0.0)
    assert answer.correction is Correction.CLIPPED and answer.steps == 0
    assert answer.status is Status.REJECTED and answer.error > 1e-3
    assert (answer.motion.u <= 3.0).all() and (answer.motion.u >= -3.0).all()
    assert carts.query([0.52, 0.0], budget=10.0).correction is Correction.TANGENT_QP
    assert carts.query([0.2, 0.0], budget=0.0).status.ok


def test_an_answer_of_another_qp_solver_is_verified_and_said(carts, monkeypatch):
    """As good as the first one's, so SOLVED; the message says who answered and why."""
    own = carts.query([0.52, 0.0])
    monkeypatch.setitem(
        DENSE._checked, "daqp", lambda qp, warm: no_solution(qp, "failed", 1, "too late")
    )
    monkeypatch.setattr(
        FixedMatrixDaqp, "solve", lambda self, qp: no_solution(qp, "failed", 1, "too late")
    )
    other = carts.query([0.52, 0.0])
    assert (own.message, other.status) == ("", Status.SOLVED)
    assert other.message.startswith("daqp: answer rejected (too late), KKT residual inf.")
    assert other.message.endswith("proxqp answered in place of daqp.")
    np.testing.assert_allclose(other.v, own.v, atol=1e-4)


def test_an_optimum_is_not_refused_for_its_cost(carts, program):
    """The entry lets expect half the cost: the answer, the optimum, is given all the same."""
    cheap = replace(carts.entries[1], cost=0.5 * carts.entries[1].cost)
    answer = TrajectoryLibrary(carts.model, [cheap]).query(cheap.p)
    assert answer.cost == pytest.approx(program.solve(cheap.p).cost, rel=1e-6)
    assert answer.status is Status.SOLVED and not answer.is_cheap
    assert (
        answer.message
        == "It costs more than the nearest motion lets expect: more motions may help."
    )
    assert carts.query(cheap.p).is_cheap


def test_a_motion_that_costs_more_than_expected_is_improved(carts, program):
    """The entry to and fro: it ends where it should, at a tenth more cost; a step repairs that."""
    entry = carts.entries[1]
    v = entry.v.copy()
    wave = np.zeros(10)
    wave[[2, 3, 4, 5]] = [0.9, -0.9, -0.9, 0.9]  # leaves speed and place at the end
    v[program.u_at[:, 0]] += wave
    library = TrajectoryLibrary(carts.model, [replace(entry, v=v)])
    assert library.query(entry.p, steps=0).cost > 1.1 * entry.cost
    answer = library.query(entry.p)
    assert answer.status.ok and answer.is_cheap and answer.steps == 1
    assert answer.cost == pytest.approx(entry.cost, rel=1e-6)


def test_costs_near_zero_are_compared_in_absolute_terms(carts):
    """A hundredth of the median cost of all motions: less than a tenth of that is no difference."""
    assert carts.cost_floor == pytest.approx(0.01 * carts.entries[1].cost)
    standing = carts.query([0.0, 0.0])
    assert standing.status.ok and standing.is_cheap and standing.cost < 1e-6


def test_a_task_is_outside_where_none_passed_before(carts):
    """A trial 0.1 m from the second motion passed: up to there, on both sides and mirrored."""
    carts.learn(Trials.from_rows([Trial(np.array([0.3, 0.0]), 1, 0.0, 1, True)], 2))
    for distance in (0.4, 0.31, -0.49):
        assert not carts.query([distance, 0.0]).outside
    for distance in (0.29, -0.52, 0.6):
        assert carts.query([distance, 0.0]).outside
    said = "No motion of the library has passed a test at such parameters before."
    assert said in carts.query([0.99, 0.0]).message
    assert said not in carts.query([0.29, 0.0]).message  # it passes now


def test_parameters_beyond_the_range_are_said(carts):
    answer = carts.query([0.2, 0.7])
    assert len(answer.beyond) == 1
    assert "speed [m/s] = 0.7 not in [-0.5, 0.5]" in answer.message


@pytest.mark.parametrize("p", [[0.1], [0.1, np.nan], [0.1, 0.2, 0.3], "fast", {"a": 1}])
def test_bad_parameters_are_refused_by_name(carts, p):
    with pytest.raises(LibraryError, match="2 finite numbers: distance .m., speed .m/s.. Got: "):
        carts.query(p)


def test_a_budget_that_is_no_time_is_refused(carts):
    with pytest.raises(LibraryError, match="budget is a time from 0 s. Got: nan"):
        carts.query([0.1, 0.0], budget=np.nan)


@pytest.mark.filterwarnings("error")
def test_parameters_that_overflow_are_rejected(carts):
    assert carts.query([1e300, 0.0]).status is Status.REJECTED


def test_an_empty_library_is_said(program):
    with pytest.raises(LibraryError, match="The library holds no motion yet"):
        TrajectoryLibrary(program.model).query([0.1, 0.0])


def test_a_mirror_that_does_not_fit_the_limits_is_refused(make_cart):
    uneven = make_cart()
    uneven = replace(uneven, inputs=[replace(uneven.inputs[0], upper=2.0)])
    with pytest.raises(ValueError, match="mirror does not fit the limits"):
        Program(uneven)


def test_the_arm_is_refined_to_a_tenth_of_its_error(arm_program, arm_entry):
    """The paper: 32.2 mm without refinement, 1.92 mm with it."""
    arm = TrajectoryLibrary(arm_program.model, [arm_entry])
    p = arm_entry.p + [0.06, -0.06, 0.04, 0.02, 0.004, 0.01]
    plain, blind = arm.query(p, refine=False), arm.query(p, check=False)
    refined = arm.model.simulate(blind.motion, p).error
    assert plain.error > 0.01 and refined < 0.1 * plain.error


def test_where_the_adapted_motion_fails_it_is_corrected(arm_program, arm_entry):
    """The motion as it is, without any sensitivity: two steps bring it to its goal."""
    p = arm_entry.p + [0.02, -0.02, 0.01, 0.01, 0.001, 0.01]
    spoilt = replace(arm_entry, v_p=0.0 * arm_entry.v_p, mu_p=0.0 * arm_entry.mu_p)
    arm = TrajectoryLibrary(arm_program.model, [spoilt])
    blind, answer = arm.query(p, check=False), arm.query(p)
    assert arm.model.simulate(blind.motion, p).error > arm.model.tolerance
    assert answer.status.ok and answer.steps >= 1 and answer.report.passed
    assert answer.error <= arm.model.tolerance
    again = arm.model.simulate(answer.motion, p)
    assert again.error == pytest.approx(answer.error, abs=1e-7)


@pytest.fixture(scope="module")
def pole(make_cart):
    """A pendulum with a spring whose stiffness is a constant of the motion: nonlinear."""
    casadi = imported()
    return Program(
        make_cart(
            force=50.0,
            design=[Variable("stiffness", 1.0, 9.0)],
            dynamics=lambda x, u, z, p: [x[1], u[0] - 9.81 * casadi.sin(x[0]) - z[0] * x[0]],
            cost=lambda x, u, z, p: u[0] ** 2 + (z[0] - 5.0) ** 2,
            tolerance=0.01,
            terminal_tolerances=[0.01, 0.05],
            steps=4,
        )
    )


def test_a_shift_takes_away_what_the_simulation_missed(pole):
    """Second order: one is enough, also for the mirrored task, where the linear motion misses."""
    library = TrajectoryLibrary(pole.model, [entry_at(pole, 0.2, 0.1)])
    p = np.array([0.95, 0.4])
    for q in (p, -p):
        blind, answer = library.query(q, check=False), library.query(q)
        missed = pole.model.simulate(blind.motion, q).error
        assert answer.status.ok and (answer.shifts, answer.steps) == (1, 0)
        assert answer.mirrored == (q[0] < 0.0) and answer.error < 0.3 * missed
        assert missed > pole.model.tolerance


def test_a_step_for_a_mirrored_task_is_the_mirrored_step(pole):
    """Inputs and states change their signs, the stiffness does not."""
    own = entry_at(pole, 0.2, 0.1)
    library = TrajectoryLibrary(pole.model, [replace(own, v_p=1e-3 * own.v_p)])
    p = np.array([0.6, 0.3])
    one, other = library.query(p), library.query(-p)
    assert one.steps > 0 and other.mirrored and not one.mirrored
    np.testing.assert_allclose(other.motion.u, -one.motion.u, atol=1e-6)
    np.testing.assert_allclose(other.motion.z, one.motion.z, atol=1e-6)
    assert abs(one.motion.z[0] - pole.model.motion(own.v).z[0]) > 1e-3


def test_where_the_nearest_cannot_keep_the_limits_the_next_is_tried(carts, program):
    """An entry whose limits leave no room: the next one answers, where no step corrects it."""
    qp = carts.entries[1].qp
    narrow = replace(carts.entries[1], qp=replace(qp, lower=0.0 * qp.lower, upper=0.0 * qp.upper))
    narrow = replace(narrow, mu_p=narrow.mu_p, v_p=1e3 + narrow.v_p)  # so that the QP is asked
    library = TrajectoryLibrary(carts.model, [carts.entries[0], narrow, carts.entries[2]])
    answer = library.query([0.42, 0.0], steps=0)
    assert library.find_nearest(np.array([0.42, 0.0]))[0].number == 1
    assert answer.status.ok and answer.nearest != 1
    assert (answer.trial.nearest, answer.trial.entry) == (1, answer.nearest)
    assert answer.trial.passed and answer.trial.error > answer.error


def test_inequalities_along_the_path_and_their_parameters_count(make_cart):
    """A cart whose largest speed is a parameter: 1.5 times distance over time without a limit.

    From a motion with 0.45 m/s of 0.42 allowed to others with more or less, and from one that does
    not reach its limit to one that does. Linear, so that answers are the optima.
    """
    cart = make_cart(
        force=100.0,
        parameters=[Parameter(name, -2.0, 2.0) for name in ("distance", "speed", "largest")],
        path=lambda x, u, z, p: [p[2] - x[1]],
        mirror=None,
    )
    program = Program(cart)
    held, free = entry_at(program, 0.3, 0.0, 0.42), entry_at(program, 0.2, 0.0, 0.42)
    assert len(held.mu) > 0 and len(free.mu) == 0
    for entry, p, correction in (
        (held, [0.3, 0.0, 0.41], Correction.LINEAR),
        (held, [0.3, 0.0, 0.60], Correction.TANGENT_QP),
        (held, [0.25, 0.05, 0.30], Correction.TANGENT_QP),
        (free, [0.22, 0.0, 0.40], Correction.LINEAR),
        (free, [0.30, 0.0, 0.40], Correction.TANGENT_QP),
    ):
        answer = TrajectoryLibrary(program.model, [entry]).query(p)
        assert answer.status.ok and answer.correction is correction
        np.testing.assert_allclose(answer.v, program.solve(np.array(p)).v, atol=5e-6)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"accuracy": 100.0}, "accuracy is a fraction of the tolerances"),
        ({"accuracy": float("nan")}, "accuracy is a fraction of the tolerances"),
        ({"candidates": 0}, "candidates must be a whole number from 1. Got: 0"),
        ({"candidates": 2.5}, "candidates must be a whole number from 1. Got: 2.5"),
        ({"steps": -1}, "steps must be a whole number from 0. Got: -1"),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(carts, asked, said):
    """A tolerance that is 100 times as large would make any answer SOLVED."""
    with pytest.raises(LibraryError, match=said):
        carts.query([0.4, 0.1], **asked)
