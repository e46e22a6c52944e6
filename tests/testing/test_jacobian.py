import math

import numpy as np
import pytest
import scipy.sparse

from sofa_softctl.testing import check_jacobian


def spiral(x):
    return np.array([math.sin(x[0]) * x[1], math.exp(x[1]), x[0] ** 3])


def jacobian(x):
    return np.array(
        [[math.cos(x[0]) * x[1], math.sin(x[0])], [0.0, math.exp(x[1])], [3.0 * x[0] ** 2, 0.0]]
    )


X = np.array([0.7, -0.4])


@pytest.mark.parametrize("given", [jacobian, jacobian(X), scipy.sparse.csr_array(jacobian(X))])
def test_a_right_jacobian_is_of_second_order(given):
    """The extrapolated differences leave EPS**0.8 = 3e-13 of the largest entry."""
    found = check_jacobian(spiral, given, X)
    assert found.error < 1e-11
    assert found.order == pytest.approx(2.0, abs=0.01)


def test_a_wrong_entry_is_named_and_does_not_converge():
    wrong = jacobian(X)
    wrong[2, 0] *= 1.001
    message = r"mine: expected 1.47 in row 2, column 0.*got 1.47147.*power 0.0 of the step"
    with pytest.raises(AssertionError, match=message):
        check_jacobian(spiral, wrong, X, name="mine")
    assert check_jacobian(spiral, wrong, X, tolerance=1e-2).order == pytest.approx(0.0, abs=0.01)


def test_differences_of_a_linear_function_leave_rounding_only():
    A = np.random.default_rng(0).normal(size=(4, 6))
    found = check_jacobian(lambda x: A @ x.ravel(), A, np.ones((2, 3)))
    assert found.error < 1e-11
    assert math.isnan(found.order)


def test_inputs_and_outputs_may_have_any_shape():
    """x -> x x^T: the derivative by x_k is e_k x^T + x e_k^T."""
    x = np.array([1.0, 2.0, 3.0])
    derivative = np.array([np.outer(e, x) + np.outer(x, e) for e in np.eye(3)])
    check_jacobian(lambda x: np.outer(x, x), np.moveaxis(derivative, 0, -1), x)
    check_jacobian(lambda t: np.outer(x, x) * t**2, 2.0 * np.outer(x, x), 1.0)


def test_the_scale_is_that_of_the_function():
    """sin(1000 x) bends within a thousandth: steps of 7e-4 see nothing of it."""

    def wave(x):
        return np.sin(1e3 * x)

    slope = [[1e3 * math.cos(300.0)]]
    check_jacobian(wave, slope, [0.3], scale=1e-3)
    with pytest.raises(AssertionError, match="expected .* in row 0, column 0"):
        check_jacobian(wave, slope, [0.3])


def test_a_jacobian_of_another_shape_is_told():
    with pytest.raises(AssertionError, match=r"expected 3 rows and 2 columns.*Got the shape \(2,"):
        check_jacobian(spiral, np.zeros((2, 2)), X)


def test_nan_is_no_jacobian():
    wrong = jacobian(X)
    wrong[1, 1] = np.nan
    with pytest.raises(AssertionError, match="in row 1, column 1.*got nan"):
        check_jacobian(spiral, wrong, X)


def two_sizes(x):
    """Outputs of 1e6 by the first parameter, of 1e-3 by the second, which is of size 1e-4."""
    return np.array([1e6 * math.sin(x[0]), 1e-3 * math.sin(1e4 * x[1])])


def test_each_column_is_judged_by_its_own_largest_entry():
    """The wrong one is 1e-5 of the largest of all: more than rounding, less than the tolerance."""
    x, scale = np.array([0.0, 3e-5]), np.array([1.0, 1e-4])
    right = np.diag([1e6, 10.0 * math.cos(0.3)])
    check_jacobian(two_sizes, right, x, scale=scale)
    wrong = right * [1.0, 1.001]
    with pytest.raises(AssertionError, match="row 1, column 1.*largest entry of the column is 9.5"):
        check_jacobian(two_sizes, wrong, x, scale=scale, tolerance=1e-4)


def test_each_input_may_have_a_scale_of_its_own():
    x = np.array([0.0, 3e-5])
    right = np.diag([1e6, 10.0 * math.cos(0.3)])
    check_jacobian(two_sizes, right, x, scale=[1.0, 1e-4])
    with pytest.raises(AssertionError, match="row 1, column 1"):
        check_jacobian(two_sizes, right, x, scale=1.0)
    with pytest.raises(AssertionError, match=r"one scale, or one for each.*Got the shape \(3,\)"):
        check_jacobian(two_sizes, right, x, scale=np.ones(3))
