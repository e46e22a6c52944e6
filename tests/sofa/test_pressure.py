"""Pressures as efforts, in SOFA and in the embedded runtime."""

import numpy as np
import pytest

SETTINGS = ({"dt": 0.01}, {"dt": 0.004}, {"first_order": True})
"""What shall not matter for a pressure; with the lambda of one kPa that each has."""
FACTORS = (0.01, 0.004, 1.0)
PROGRAM = f"""
import robots
result([robots.inflated(100.0, **options) for options in {SETTINGS!r}])
"""


def check(found):
    """The same shape at rest, whatever lambda is: to rounding, as all motion has died out."""
    assert [entry["factor"] for entry in found] == pytest.approx(FACTORS)
    assert [entry["lambda"] for entry in found] == pytest.approx(100.0 * np.array(FACTORS))
    assert found[0]["growth"] > 50.0
    rest = np.array(found[-1]["positions"])
    for entry in found[:-1]:
        assert np.array(entry["positions"]) == pytest.approx(rest, abs=1e-9)


@pytest.mark.soak
def test_an_effort_on_a_cavity_is_its_pressure(embedded):
    check(embedded(PROGRAM))


def test_an_effort_on_a_cavity_is_its_pressure_in_sofa(in_sofa, embedded):
    """And both backends come to the same shape."""
    found, _ = in_sofa(PROGRAM)
    check(found)
    for here, there in zip(embedded(PROGRAM), found, strict=True):
        expected = np.array(there["positions"])
        assert np.array(here["positions"]) == pytest.approx(expected, abs=1e-9 * 30.0)
        assert here["growth"] == pytest.approx(there["growth"], rel=1e-9)
