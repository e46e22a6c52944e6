"""Friction holds what springs would let go of in the free motion, on both backends."""

import pytest

PINCHED = "import robots; result([robots.pinched(True), robots.pinched(False)])"
SAG = (0.002 + 0.004) * 9810.0 / (2.0 * 100.0)
"""Weight of all balls on the fingers' two springs [mm]."""


@pytest.mark.soak
def test_a_pinched_ball_hangs_on_its_fingers_springs(embedded):
    """With the controller it hangs where the springs carry all weight, to what a second leaves of
    the first swing; without, SOFA's rows see no sliding, and it falls as if nothing held it."""
    held, fallen = embedded(PINCHED)
    assert held == pytest.approx(-SAG, abs=1e-3)
    assert fallen < -1000.0


def test_it_hangs_there_in_sofa_too(in_sofa, embedded):
    (held, fallen), _ = in_sofa(PINCHED)
    assert [held, fallen] == pytest.approx(embedded(PINCHED), rel=1e-9)
