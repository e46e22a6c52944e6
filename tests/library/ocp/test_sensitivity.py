"""Sensitivities of optima: against optima that are solved anew, and where there are none."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space

from sofa_softctl.library.motions.entry import entry_from_optimum
from sofa_softctl.library.ocp.problem import Variable
from sofa_softctl.library.ocp.sensitivity import (
    active_set,
    directions,
    free_directions,
    regularity,
    response,
    sensitivity,
)
from sofa_softctl.library.ocp.shooting import Program

P = np.array([2.0, -1.2, 0.1, -0.1, 0.36, 0.4])


def at(program, p):
    optimum = program.solve(np.asarray(p, float))
    found = program.derivatives(optimum)
    return optimum, found, active_set(optimum, found)


def regular_at(program, p):
    optimum, found, active = at(program, p)
    return regularity(optimum, found, active, directions(response(program.model, found)))


def test_they_are_differences_of_optima(arm_program):
    """Central differences with steps of 1e-4: 1e-8 times third derivatives, and the solver's 1e-9
    over 1e-4."""
    optimum, found, active = at(arm_program, P)
    assert len(active) > 0 and regular_at(arm_program, P).ok
    change = sensitivity(found, active)
    for j in range(6):
        step = 1e-4 * np.eye(6)[j]
        ends = [arm_program.solve(P + s * step, optimum.v) for s in (1.0, -1.0)]
        for name, derivative in (("v", change.v_p), ("lam", change.lam_p)):
            one, other = (getattr(end, name) for end in ends)
            size = np.abs(derivative).max()
            difference = (one - other) / 2e-4
            np.testing.assert_allclose(derivative[:, j], difference, atol=2e-4 * size)
        difference = (ends[0].mu - ends[1].mu)[active] / 2e-4
        np.testing.assert_allclose(
            change.mu_p[:, j], difference, atol=1e-3 * np.abs(change.mu_p).max()
        )


def test_active_inequalities_stay_at_their_limits(arm_program):
    _, found, active = at(arm_program, P)
    change = sensitivity(found, active)
    assert np.abs(found.h_v.tocsr()[active] @ change.v_p + found.h_p[active]).max() < 1e-9
    assert np.abs(found.g_v @ change.v_p + found.g_p).max() < 1e-9


def test_equations_that_repeat_others_are_no_regular_optimum(make_cart):
    twice = make_cart(
        terminal=lambda x, z, p: [x[0] - p[0], x[1], 2.0 * x[1]], terminal_tolerances=3 * [1e-6]
    )
    regular = regular_at(Program(twice), [0.3, 0.0])
    assert not regular.licq and not regular.ok
    assert "LICQ" in str(regular)


def test_a_cost_without_a_minimum_in_some_direction_is_no_regular_optimum(make_cart):
    """Two inputs of which one does nothing."""
    cart = make_cart()
    idle = replace(cart, inputs=[*cart.inputs, replace(cart.inputs[0], name="idle")], mirror=None)
    regular = regular_at(Program(idle), [0.3, 0.0])
    assert regular.licq and not regular.sosc
    assert "SOSC" in str(regular)


def test_a_limit_that_is_just_reached_is_no_regular_optimum(make_cart):
    """The largest force without limits is u_1; with that as the limit, its multiplier is 0."""
    free = Program(make_cart(force=100.0))
    largest = np.abs(free.solve(np.array([0.3, 0.0])).v[free.u_at]).max()
    regular = regular_at(Program(make_cart(force=largest)), [0.3, 0.0])
    assert regular.licq and regular.sosc and not regular.strict
    assert "strict complementarity" in str(regular)
    assert regular_at(Program(make_cart(force=0.9 * largest)), [0.3, 0.0]).ok


def with_idle_states(cart, count, terminal):
    """The cart, and states that no input moves: they fade at a rate of 1/s."""
    idle = [Variable(f"idle {k}") for k in range(count)]
    return replace(
        cart,
        states=[*cart.states, *idle],
        dynamics=lambda x, u, z, p: [x[1], u[0], *(-x[2 + k] for k in range(count))],
        initial=lambda z, p: [0.0, p[1], *(0.0 for _ in idle)],
        terminal=terminal,
        terminal_tolerances=None,
        mirror=None,
    )


def test_a_condition_on_what_no_input_moves_is_no_regular_optimum(make_cart):
    """It is the only one: beside itself it would be as large as any."""
    problem = with_idle_states(make_cart(), 1, lambda x, z, p: [x[2]])
    optimum, found, active = at(Program(problem), [0.3, 0.0])
    Q = directions(response(Program(problem).model, found))
    free, independence = free_directions(found, active, Q)
    assert independence < 1e-12 and free.shape == Q.shape
    assert not regularity(optimum, found, active, Q).licq


def test_free_directions_are_the_null_space_of_all_active_constraints(arm_program):
    """That of the dense matrix: the same space, so the same eigenvalues of the Hessian in it."""
    optimum, found, active = at(arm_program, P)
    Q = directions(response(arm_program.model, found))
    free, _ = free_directions(found, active, Q)
    dense = null_space(np.vstack((found.g_v.toarray(), found.h_v.tocsr()[active].toarray())))
    assert free.shape == dense.shape
    np.testing.assert_allclose(free.T @ free, np.eye(free.shape[1]), atol=1e-12)
    np.testing.assert_allclose(free @ free.T, dense @ dense.T, atol=1e-10)
    values = np.linalg.eigvalsh(dense.T @ found.l_vv @ dense)
    curvature = regularity(optimum, found, active, Q).curvature
    assert curvature == pytest.approx(values[0] / values[-1], rel=1e-6)


def test_no_matrix_of_all_unknowns_is_made(make_cart):
    """860 unknowns of which 40 are inputs: a dense matrix of them has 5.9 MB, and V 0.3 MB."""
    cart = make_cart(intervals=40)
    program = Program(with_idle_states(cart, 18, lambda x, z, p: [x[0] - p[0], x[1]]))
    optimum = program.solve(np.array([0.3, 0.0]))
    program.derivatives(optimum)  # made once for a program
    tracemalloc.start()
    entry, regular = entry_from_optimum(program, optimum)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert entry is not None and regular.ok
    assert most < 8 * program.size**2
