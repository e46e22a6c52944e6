"""Deadlines: what is late is left out, not hurried."""

from hypothesis import given
from hypothesis import strategies as st

from sofa_softctl.bridge.stream.loop import steps_to_next

PERIOD = 0.01


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 8.0)), min_size=1, max_size=50))
def test_periods_are_at_least_half_a_period_apart_and_none_is_left_out_needlessly(delays):
    """Delays of the start and of the work [periods], as a busy computer has them."""
    deadline = before = 5.0
    left_out, clock = 0, 5.0
    for late, work in delays:
        start = max(clock, deadline) + late * PERIOD
        assert start - before >= 0.5 * PERIOD - 1e-12 or before == 5.0
        clock = start + work * PERIOD
        steps = steps_to_next(deadline, start, clock, PERIOD)
        after = deadline + steps * PERIOD
        assert clock - after <= 0.5 * PERIOD + 1e-12
        if steps > 1:
            earlier = after - PERIOD  # it would be hurried, or is over
            assert earlier - start < 0.5 * PERIOD + 1e-12 or clock - earlier > 0.5 * PERIOD - 1e-12
        left_out += steps - 1
        before, deadline = start, after
    assert abs(deadline - 5.0 - (len(delays) + left_out) * PERIOD) < 1e-9


def test_on_time_nothing_is_left_out():
    assert steps_to_next(5.0, 5.0001, 5.0003, PERIOD) == 1
    assert steps_to_next(5.0, 5.0049, 5.0149, PERIOD) == 1
    assert steps_to_next(5.0, 5.0051, 5.0060, PERIOD) == 2
    assert steps_to_next(5.0, 5.0001, 5.0351, PERIOD) == 4
