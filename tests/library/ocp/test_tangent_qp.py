"""The condensed tangent QP: the paper's claims, and the whole QP that it stands for."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.library.building.solving import solve
from sofa_softctl.library.ocp.sensitivity import active_set
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.qp.problem import QP
from sofa_softctl.qp.verified import solve_checked

P = np.array([2.0, -1.2, 0.1, -0.1, 0.36, 0.4])
DIRECTION = np.array([0.3, -0.3, 0.2, 0.1, 0.02, 0.05])


def whole(entry, dp, residual=0.0):
    """Change of all parameters: the problem's, and the residuals of its final conditions."""
    return np.concatenate((dp, np.full(entry.v_p.shape[1] - len(dp), residual)))


def changed(entry, dp):
    dp = whole(entry, dp)
    found = entry.qp.solve(dp)
    assert found.result is not None, found.notes
    return entry.v + entry.qp.change(found.result.x, dp)


def test_it_is_the_linear_correction_while_no_limit_is_reached_or_left(arm_entry):
    """To the accuracy of the KKT system's solution."""
    for size in (1e-4, -1e-3):
        dp = whole(arm_entry, size * DIRECTION)
        assert (arm_entry.mu + arm_entry.mu_p @ dp > 0.0).all()
        linear = arm_entry.v + arm_entry.v_p @ dp
        np.testing.assert_allclose(changed(arm_entry, size * DIRECTION), linear, atol=1e-9)


@pytest.mark.parametrize("size", [0.01, 0.5, 1.0])
def test_it_is_the_whole_tangent_qp(arm_program, arm_entry, size):
    """(tQP) in all unknowns with equations, solved by proxqp to 1e-7.

    Its Hessian is made convex on the whole by what section 4.3 allows: equations and active
    inequalities, the latter by as much as the condensed one has.
    """
    dp = size * DIRECTION
    optimum = arm_program.solve(P)
    at = arm_program.derivatives(optimum)
    active = active_set(optimum, at)
    n_a, qp = len(active), arm_entry.qp
    assert not at.h_p.any()  # limits do not depend on p here
    h_a, g_v = at.h_v.tocsr()[active].toarray(), at.g_v.toarray()
    plain = qp.Z.T @ (at.l_vv @ qp.Z)
    scale = np.trace(plain[:-n_a, :-n_a]) / np.trace(qp.H[:-n_a, :-n_a])
    added = scale * qp.H[-n_a:, -n_a:] - plain[-n_a:, -n_a:]
    H = at.l_vv.toarray() + h_a.T @ added @ h_a + 50.0 * g_v.T @ g_v
    start = at.g_p @ dp
    tangent = QP(
        H=H / scale,
        g=(at.f_v + at.l_vp @ dp + 50.0 * g_v.T @ start) / scale,
        A=g_v,
        lower=np.concatenate((arm_program.lower - optimum.v, -start)),
        upper=np.concatenate((arm_program.upper - optimum.v, -start)),
    )
    found = solve_checked(tangent, solvers=("proxqp",), tolerance=1e-5)
    assert found.result is not None, found.notes
    np.testing.assert_allclose(changed(arm_entry, dp) - optimum.v, found.result.x, atol=2e-4)


def test_limits_and_linearised_equations_hold_always(arm_program, arm_entry):
    """Also where the linear correction exceeds limits by far; or it is said that they cannot."""
    at = arm_program.derivatives(arm_program.solve(P))
    exceeded = answered = 0
    for seed in range(20):
        change = DIRECTION * np.random.default_rng(seed).normal(size=6)
        dp = whole(arm_entry, change, residual=0.001)
        found = arm_entry.qp.solve(dp)
        if found.result is None:
            assert "contradict" in found.notes[0]
            continue
        answered += 1
        linear = arm_entry.v + arm_entry.v_p @ dp
        exceeded += bool((linear > arm_program.upper + 1e-3).any())
        v = arm_entry.v + arm_entry.qp.change(found.result.x, dp)
        assert (v >= arm_program.lower - 1e-7).all() and (v <= arm_program.upper + 1e-7).all()
        left = at.g_v @ (v - arm_entry.v) + at.g_p @ change
        assert np.abs(left[:-6]).max() < 1e-8  # then the final conditions, whose residual is given
        np.testing.assert_allclose(left[-6:], 0.001, atol=1e-8)
    assert answered >= 10 and exceeded >= 5


def test_convexification_moves_nothing_while_active_limits_stay(arm_entry):
    """More curvature on the active inequalities: the same answer while they stay, another one where
    one is left."""
    n_a = len(arm_entry.mu)
    H = arm_entry.qp.H.copy()
    H[-n_a:, -n_a:] += 10.0 * np.abs(np.diag(H)[-n_a:]).max() * np.eye(n_a)
    stiffer = replace(arm_entry, qp=replace(arm_entry.qp, H=H))
    stay, leave = 1e-3 * DIRECTION, -DIRECTION
    np.testing.assert_allclose(changed(stiffer, stay), changed(arm_entry, stay), atol=1e-8)
    given = whole(arm_entry, leave)
    left = arm_entry.qp.solve(given).result.x[-n_a:] - arm_entry.qp.c_p @ given
    assert left.max() > 1e-6
    assert np.abs(changed(stiffer, leave) - changed(arm_entry, leave)).max() > 1e-6


def test_the_condensed_hessian_is_positive_definite_though_the_whole_one_is_not(
    arm_program, arm_entry
):
    at = arm_program.derivatives(arm_program.solve(P))
    assert np.linalg.eigvalsh(at.l_vv.toarray())[0] < 0.0
    assert np.linalg.eigvalsh(arm_entry.qp.H)[0] > 0.0


@pytest.mark.parametrize("p", [[0.5, 0.0], [0.66, 0.0], [0.6, -0.1], [-0.6, 0.0], [0.1, 0.3]])
def test_for_a_linear_robot_it_finds_every_optimum(make_cart, p):
    """Forces reach and leave their limit of 3 N: from one optimum to all others."""
    program = Program(make_cart())
    entry = solve(program, np.array([0.62, 0.0])).entry
    assert len(entry.mu) > 0
    dp = np.array(p) - entry.p
    np.testing.assert_allclose(changed(entry, dp), program.solve(np.array(p)).v, atol=2e-6)


def test_kept_factors_give_the_answers_of_solvers_that_begin_anew(arm_entry):
    """For 40 tasks in a row; what a kept model gets wrong is asked anew, and no answer is only
    there for one of both."""
    for seed in range(40):
        dp = whole(arm_entry, 0.5 * DIRECTION * np.random.default_rng(seed).normal(size=6))
        kept = arm_entry.qp.solve(dp)
        anew = solve_checked(arm_entry.qp.problem(dp), solvers=("daqp",), tolerance=1e-6)
        assert (kept.result is None) == (anew.result is None)
        if kept.result is not None:
            np.testing.assert_allclose(kept.result.x, anew.result.x, atol=1e-6)
