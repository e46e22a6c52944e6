"""The Runge-Kutta method: its order, and one function for numbers and symbols."""

import math

import pytest

from sofa_softctl.library.ocp.formulas import casadi, rk4


def swing(x, force):
    return [x[1], force - x[0]]


def test_a_linear_input_is_followed_with_order_four():
    """x'' = t - x from rest at 0 is x = t - sin t; the next term of the error is 1 % at h = 0.1."""
    errors = []
    for steps in (10, 20):
        x, h = [0.0, 0.0], 1.0 / steps
        for k in range(steps):
            x = rk4(lambda at, share, k=k, h=h: swing(at, (k + share) * h), x, h)
        errors.append(abs(x[0] - (1.0 - math.sin(1.0))))
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)


def test_numbers_and_symbols_give_the_same_bits():
    ca = casadi()
    x = ca.SX.sym("x", 2)
    end = rk4(lambda at, share: swing(at, 0.3), ca.vertsplit(x), 0.1)
    symbols = ca.Function("end", [x], [ca.vertcat(*end)])
    numbers = rk4(lambda at, share: swing(at, 0.3), [0.7, -0.2], 0.1)
    assert symbols([0.7, -0.2]).full().ravel().tolist() == numbers
