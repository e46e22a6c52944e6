"""Sensitivities of optima: against optima that are solved anew, and where there are none."""

from dataclasses import replace

import numpy as np

from sofa_softctl.library.ocp.sensitivity import active_set, regularity, sensitivity
from sofa_softctl.library.ocp.shooting import Program

P = np.array([2.0, -1.2, 0.1, -0.1, 0.36, 0.4])


def at(program, p):
    optimum = program.solve(np.asarray(p, float))
    found = program.derivatives(optimum)
    return optimum, found, active_set(optimum, found)


def test_they_are_differences_of_optima(arm_program):
    """Central differences with steps of 1e-4: 1e-8 times third derivatives, and the solver's 1e-9
    over 1e-4."""
    optimum, found, active = at(arm_program, P)
    assert len(active) > 0 and regularity(optimum, found, active).ok
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
    optimum, found, active = at(Program(twice), [0.3, 0.0])
    regular = regularity(optimum, found, active)
    assert not regular.licq and not regular.ok
    assert "LICQ" in str(regular)


def test_a_cost_without_a_minimum_in_some_direction_is_no_regular_optimum(make_cart):
    """Two inputs of which one does nothing."""
    cart = make_cart()
    idle = replace(cart, inputs=[*cart.inputs, replace(cart.inputs[0], name="idle")], mirror=None)
    optimum, found, active = at(Program(idle), [0.3, 0.0])
    regular = regularity(optimum, found, active)
    assert regular.licq and not regular.sosc
    assert "SOSC" in str(regular)


def test_a_limit_that_is_just_reached_is_no_regular_optimum(make_cart):
    """The largest force without limits is u_1; with that as the limit, its multiplier is 0."""
    free = Program(make_cart(force=100.0))
    largest = np.abs(free.solve(np.array([0.3, 0.0])).v[free.u_at]).max()
    optimum, found, active = at(Program(make_cart(force=largest)), [0.3, 0.0])
    regular = regularity(optimum, found, active)
    assert regular.licq and regular.sosc and not regular.strict
    assert "strict complementarity" in str(regular)
    optimum, found, active = at(Program(make_cart(force=0.9 * largest)), [0.3, 0.0])
    assert regularity(optimum, found, active).ok
