"""What an entry knows of its neighbours: their costs, and the curvature for corrections."""

import numpy as np
import pytest

from sofa_softctl.library.motions.entry import Entry


def test_expected_costs_are_those_of_the_optima_to_second_order(arm_program, arm_entry):
    """Errors of third order: a step ten times as long has one a thousand times as large, 5 at
    most from the orders above."""
    step = np.array([0.05, -0.03, 0.02, 0.01, 0.002, 0.01])
    errors = []
    for share in (0.1, 1.0):
        optimum = arm_program.solve(arm_entry.p + share * step, arm_entry.v)
        errors.append(abs(optimum.cost - arm_entry.expected_cost(share * step)))
    assert errors[1] < 1e-2 * arm_entry.cost
    assert 2e2 < errors[1] / errors[0] < 5e3


def test_the_hessian_is_that_of_the_cost_and_final_conditions(make_cart):
    """The cart: mean force^2, so 2 / N on the diagonal, and 0 elsewhere."""
    from sofa_softctl.library.building.solving import solve
    from sofa_softctl.library.ocp.shooting import Program

    entry = solve(Program(make_cart()), np.array([0.3, 0.0])).entry
    np.testing.assert_allclose(entry.hessian, 0.2 * np.eye(10), atol=1e-9)


def test_the_hessian_is_positive_definite(arm_entry):
    """Down to a ten-thousandth of its mean; single precision in the file leaves that so."""
    values = np.linalg.eigvalsh(Entry.from_bytes(arm_entry.to_bytes()).hessian)
    assert values[0] > 0.5e-4 * values.mean()


def test_residuals_of_final_conditions_are_parameters_too(make_cart):
    """The cart's place is to be p_0 + r: r moves the motion as p_0 does. Its last speed is to be r:
    the optima at +-r, solved for a problem that asks for that, differ as the derivative says."""
    from sofa_softctl.library.building.solving import solve
    from sofa_softctl.library.ocp.shooting import Program

    p = np.array([0.3, 0.0])
    v_p = solve(Program(make_cart()), p).entry.v_p
    np.testing.assert_allclose(v_p[:, 2], v_p[:, 0], atol=1e-8)
    ends = []
    for r in (-0.05, 0.05):
        program = Program(make_cart(terminal=lambda x, z, p, r=r: [x[0] - p[0], x[1] - r]))
        ends.append(program.solve(p).v)
    np.testing.assert_allclose(v_p[:, 3], (ends[1] - ends[0]) / 0.1, atol=1e-6)


@pytest.mark.parametrize("p", [[0.66, 0.0], [0.6, -0.1], [-0.6, 0.0], [0.1, 0.3]])
def test_the_tangent_qp_knows_the_cost_where_limits_are_reached_or_left(make_cart, p):
    """For a linear robot exactly, where the expectation with the same limits is wrong."""
    from sofa_softctl.library.building.solving import solve
    from sofa_softctl.library.ocp.shooting import Program

    program = Program(make_cart())
    entry = solve(program, np.array([0.62, 0.0])).entry
    dp = np.concatenate((np.array(p) - entry.p, [0.0, 0.0]))
    found = entry.qp.solve(dp).result
    cost = program.solve(np.array(p)).cost
    assert entry.cost + entry.qp.cost(found.x, dp) == pytest.approx(cost, rel=1e-6)
    assert abs(entry.expected_cost(dp[:2]) / cost - 1.0) > 1e-3
