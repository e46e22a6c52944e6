"""Signals between their samples."""

import numpy as np
import pytest

from sofa_softctl.identification.data.interpolation import cubic, linear


def test_linear_interpolation_holds_beyond_the_ends():
    known = np.array([0.0, 1.0, 3.0])
    values, slopes = linear(known, np.array([-1.0, 0.0, 0.5, 1.0, 2.5, 3.0, 9.0]))
    assert values @ (2.0 * known) == pytest.approx([0.0, 0.0, 1.0, 2.0, 5.0, 6.0, 6.0])
    assert slopes @ (2.0 * known) == pytest.approx([0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0])


def test_cubic_interpolation_is_of_third_order_its_slope_and_linear_of_second():
    errors = []
    for count in (21, 41):
        t, between = np.linspace(0, 2, count), np.linspace(0, 2, 333)
        values, slopes = cubic(t[1], count, between)
        y, exact = np.sin(3 * t), np.sin(3 * between)
        missed = (
            values @ y - exact,
            slopes @ y - 3 * np.cos(3 * between),
            linear(t, between)[0] @ y - exact,
        )
        errors.append([np.abs(one).max() for one in missed])
    orders = np.log2(np.array(errors[0]) / errors[1])
    np.testing.assert_allclose(orders, [3.0, 2.0, 2.0], atol=0.25)


def test_samples_themselves_are_met_exactly():
    y = np.random.default_rng(0).normal(size=9)
    for hold in (False, True):
        assert cubic(0.1, 9, 0.1 * np.arange(9), is_constant_outside=hold)[0] @ y == pytest.approx(
            y, abs=1e-12
        )


def test_held_ends_are_smooth_and_stay():
    """Value and slope are continuous a sample beyond the end, where it is the last one for good."""
    y = np.array([0.0, 1.0, 4.0, 9.0, 16.0])
    at = np.array([4.0, 5.0, 5.0 + 1e-9, 5.0 - 1e-9, 7.0, -3.0])
    values, slopes = (matrix @ y for matrix in cubic(1.0, 5, at, is_constant_outside=True))
    assert values == pytest.approx([16.0, 16.0, 16.0, 16.0, 16.0, 0.0], abs=1e-7)
    assert slopes[1:] == pytest.approx(np.zeros(5), abs=1e-7)
    e = 1e-6
    fine = np.linspace(-2.0, 6.0, 201)
    ends = [cubic(1.0, 5, fine + s * e, is_constant_outside=True)[0] @ y for s in (1, -1)]
    found = cubic(1.0, 5, fine, is_constant_outside=True)[1] @ y
    # A second derivative that jumps at samples leaves differences across them off by e.
    np.testing.assert_allclose((ends[0] - ends[1]) / (2 * e), found, atol=1e-4)
