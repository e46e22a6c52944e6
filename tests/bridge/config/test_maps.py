"""Unit maps: inverse to rounding, strictly monotonic, with safe bounds of their slopes."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.fields import Fields
from sofa_softctl.bridge.config.map_tables import read_map
from sofa_softctl.bridge.config.maps import LinearMap, PolynomialMap, TableMap
from sofa_softctl.bridge.config.text import ROBOT

SIGN = st.sampled_from([1.0, -1.0])
ZERO = st.floats(-1e4, 1e4)
LOW, HIGH = -20.0, 70.0
"""Limits of the actuators here."""


@st.composite
def maps(draw):
    sign, zero = draw(SIGN), draw(ZERO)
    kind = draw(st.sampled_from(["linear", "table", "polynomial"]))
    if kind == "linear":
        return LinearMap(sign * draw(st.floats(1e-3, 1e3)), zero)
    if kind == "table":
        steps = draw(
            st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.1, 500)), min_size=1, max_size=20)
        )
        x, y = np.cumsum([(LOW, 5.0), *steps], axis=0).T
        return TableMap(x, y * draw(SIGN), sign, zero)
    c = draw(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=5))
    c = np.array(c) / 70.0 ** np.arange(len(c))  # terms of the same size at 70
    made = PolynomialMap([3.0, *c], LOW, HIGH, sign, zero)
    slopes = made.slope_range(LOW, HIGH)
    assume(slopes[0] > 0.02)
    assume(np.ptp(np.sign(made.slopes(LOW, HIGH))) == 0.0)
    return made


X = st.lists(st.floats(-200.0, 200.0), min_size=2, max_size=20)


@settings(max_examples=120, deadline=None)
@given(maps(), X)
def test_a_map_and_its_inverse_cancel_to_rounding(map_, x):
    """Rounding of the device's values, with the zero and the table's up to 2e4, over the least
    slope, and that of positions, with the table's up to 1e3, as far as slopes differ."""
    x = np.array(x)
    least, greatest = map_.slope_range(-200.0, 200.0)
    y = map_.to_device(x)
    condition = (np.abs(y).max() + 2e4) / least + 1e3 * greatest / least
    tolerance = 16.0 * np.finfo(float).eps * condition
    np.testing.assert_allclose(map_.from_device(y), x, rtol=0.0, atol=tolerance)


@settings(max_examples=100, deadline=None)
@given(maps(), X)
def test_a_map_is_strictly_monotonic_everywhere(map_, x):
    x = np.unique(np.round(x, 6))
    steps = np.diff(map_.to_device(x))
    assert np.all(steps > 0.0) or np.all(steps < 0.0)


@settings(max_examples=120, deadline=None)
@given(maps(), st.floats(LOW, HIGH), st.floats(LOW, HIGH))
def test_no_slope_within_a_range_is_outside_its_bounds(map_, a, b):
    """Secants have slopes of the range by the mean value theorem; 1e-6 for their rounding."""
    low, high = min(a, b), max(a, b)
    assume(high - low > 1e-3)
    least, greatest = map_.slope_range(low, high)
    x = np.linspace(low, high, 40)
    secants = np.abs(np.diff(map_.to_device(x)) / np.diff(x))
    assert secants.min() >= least - 1e-6 * (1.0 + greatest)
    assert secants.max() <= greatest + 1e-6 * (1.0 + greatest)


def test_bounds_of_a_table_are_those_of_the_pieces_it_touches():
    map_ = TableMap([0.0, 10.0, 20.0, 30.0], [0.0, 10.0, 40.0, 45.0])
    assert map_.slope_range(0.0, 10.0) == (1.0, 1.0)
    assert map_.slope_range(5.0, 15.0) == (1.0, 3.0)
    assert map_.slope_range(0.0, 30.0) == (0.5, 3.0)
    assert map_.slope_range(40.0, 50.0) == (0.5, 0.5)


def test_bounds_of_a_polynomial_include_the_turn_of_its_slope():
    """x^3 - 3 x^2 + 4 x has the slope 3 (x - 1)^2 + 1: least at 1, with 1; 4 at 0 and 2."""
    map_ = PolynomialMap([4.0, -3.0, 1.0], 0.0, 2.0)
    assert map_.slope_range(0.0, 2.0) == pytest.approx((1.0, 4.0))


def test_beyond_its_range_a_polynomial_goes_on_straight():
    map_ = PolynomialMap([1.0, 0.5], 0.0, 2.0, zero=100.0)
    assert map_.to_device(np.array([2.0, 3.0, -1.0])) == pytest.approx([104.0, 107.0, 99.0])
    assert map_.from_device(np.array([104.0, 107.0, 99.0])) == pytest.approx([2.0, 3.0, -1.0])


def test_what_is_not_known_stays_unknown():
    for map_ in (LinearMap(2.0), TableMap([0, 1], [0, 1]), PolynomialMap([1.0, 0.1], 0.0, 1.0)):
        assert np.isnan(map_.to_device(np.array(np.nan)))
        assert np.isnan(map_.from_device(np.array([1.0, np.nan]))).tolist() == [False, True]


@pytest.mark.parametrize(
    ("quantity", "unit", "table", "position", "device"),
    [
        ("length", "mm", {"type": "linear", "factor": 2.5}, 4.0, 10.0),
        # a turn of a spool of radius 10 mm takes in 2 pi 10 mm
        ("length", "mm", {"type": "spool", "radius": 10, "counts_per_turn": 4096}, 62.8318, 4096.0),
        # behind a gear of 3 the motor turns three times
        ("length", "cm", {"type": "spool", "radius": 1, "counts_per_turn": 200, "gear": 3}, 3.14159,
         300.0),
        ("angle", "deg", {"type": "turn", "counts_per_turn": 3200}, 90.0, 800.0),
        ("angle", "rad", {"type": "turn", "counts_per_turn": 3200}, math.pi, 1600.0),
        # 180 degrees of a servo of 500 to 2400 us on a radius of 20 mm
        ("length", "mm", {"type": "servo", "pulse": [500, 2400], "radius": 20}, 20 * math.pi, 1900),
        ("angle", "deg", {"type": "servo", "pulse": [500, 2400], "angle": 190}, 10.0, 100.0),
        # 1 ml is 1000 mm3: 1000 / 200 mm2 = 5 mm of travel, 2.5 turns of a screw with a lead of 2
        ("volume", "ml", {"type": "syringe", "area": 200, "lead": 2, "counts_per_turn": 3200}, 1.0,
         8000.0),
        ("force", "N", {"type": "polynomial", "coefficients": [2.0, 0.01]}, 4.0, 8.16),
        ("pressure", "kPa", {"type": "table", "positions": [-20, 80], "values": [0, 900]}, 30, 450),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("sign", "zero"), [(1, 0.0), (-1, 0.0), (1, 300.0), (-1, 1500.0)])
def test_maps_of_a_file_have_their_closed_forms(
    quantity, unit, table, position, device, sign, zero
):
    values = {"map": table, "sign": sign, "zero": zero}
    faults = Faults("robot.toml", {}, ROBOT)
    limits = (math.nan, math.nan) if table["type"] == "servo" else (LOW, HIGH)
    map_ = read_map(Fields(faults, ("actuators", "a"), values), quantity, unit, limits)
    faults.raise_any()
    found = map_.to_device(np.array(position))
    assert found == pytest.approx(zero + sign * device, rel=1e-5)
    assert map_.from_device(found) == pytest.approx(position)
