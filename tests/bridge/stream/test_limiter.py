import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.bridge.course.limiter import Limiter

DT = 0.01
SETTINGS = settings(max_examples=80, deadline=None)


def number(low, high):
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


@st.composite
def limiters(draw, rest_time=None):
    """One actuator with limits of any size, at rest somewhere in its range.

    With `rest_time` it can go from one limit to the other in about that time [s].
    """
    low = draw(number(-100.0, 100.0))
    span = draw(number(0.01, 200.0))
    at = low + span * draw(number(0.0, 1.0))
    if rest_time is None:
        rate, acceleration = draw(number(0.1, 1e3)), draw(number(1.0, 1e5))
    else:
        rate = draw(number(2.0, 100.0)) * span / rest_time
        acceleration = rate * draw(number(2.0, 100.0)) / rest_time
    return limiter(low, low + span, rate, acceleration, at)


def limiter(low, high, rate, acceleration, start):
    arrays = (np.array([float(value)]) for value in (low, high, rate, acceleration))
    return Limiter(*arrays, DT, np.array([float(start)]))


def run(limiter, targets):
    """Positions, the start first, shape (n + 1,)."""
    return np.array([limiter.position[0], *(limiter.follow(np.array([x]))[0] for x in targets)])


def rounding(limiter):
    """Of a difference of two positions [unit]."""
    return 8.0 * np.finfo(float).eps * max(abs(limiter.low[0]), abs(limiter.high[0]))


def assert_within_limits(limiter, positions, before=0.0):
    """All limits, but for rounding: of a position, and 1e-9 of a change of speed."""
    assert positions.min() >= limiter.low[0] and positions.max() <= limiter.high[0]
    loose = rounding(limiter) / DT
    speed = np.diff(positions) / DT
    assert np.abs(speed).max(initial=0.0) <= limiter.rate[0] * (1.0 + 1e-9) + loose
    change = np.diff(speed, prepend=before)
    assert np.abs(change).max(initial=0.0) <= limiter.change[0] * (1.0 + 1e-9) + 2.0 * loose


def stopping_distance(speed, change):
    """What full braking needs from the next period on, summed period by period [unit]."""
    distance = 0.0
    while speed > change:
        speed -= change
        distance += speed * DT
    return distance


@SETTINGS
@given(limiters(), st.lists(number(-1e300, 1e300), min_size=1, max_size=80), st.integers(1, 20))
def test_whatever_the_target_does_all_limits_are_kept(limiter, targets, periods):
    assert_within_limits(limiter, run(limiter, np.repeat(targets, periods)))


@pytest.mark.real_time
@SETTINGS
@given(limiters(), st.lists(number(0.0, 1.0), min_size=1, max_size=80), st.integers(1, 20))
def test_targets_that_jump_within_the_range_are_followed_within_all_limits(
    limiter, shares, periods
):
    targets = limiter.low + (limiter.high - limiter.low) * np.repeat(shares, periods)
    assert_within_limits(limiter, run(limiter, targets))


@SETTINGS
@given(limiters(rest_time=1.0), st.lists(number(-0.2, 1.2), min_size=1, max_size=20))
def test_it_can_stop_at_any_moment_and_keeps_the_limits_meanwhile(limiter, shares):
    run(limiter, limiter.low + (limiter.high - limiter.low) * np.repeat(shares, 4))
    before, start = limiter.speed[0], limiter.position[0]
    needed = int(np.ceil(abs(before) / limiter.change[0] - 1e-9))
    positions = np.array([start, *(limiter.brake()[0] for _ in range(needed))])
    assert limiter.at_rest
    assert_within_limits(limiter, positions, before)
    shortest = stopping_distance(abs(before), limiter.change[0])
    assert abs(positions[-1] - start) <= shortest + rounding(limiter) * (needed + 1)


@pytest.mark.real_time
@SETTINGS
@given(
    limiters(rest_time=0.5), st.lists(number(0.0, 1.0), min_size=1, max_size=10), number(0.0, 1.0)
)
def test_a_constant_target_is_passed_by_no_more_than_braking_needs(limiter, shares, end):
    span = (limiter.high - limiter.low)[0]
    run(limiter, limiter.low + span * np.repeat(shares, 3))
    target = limiter.low[0] + span * end
    limiter.follow(
        np.array([target])
    )  # here it comes to rest: from the next call on it is constant
    side = np.sign(limiter.speed[0]) or 1.0
    gap = side * (target - limiter.position[0])
    beyond = stopping_distance(abs(limiter.speed[0]), limiter.change[0]) - gap

    past = side * (run(limiter, [target] * 250) - target)

    tolerance = 300.0 * rounding(limiter)
    assert abs(past[-1]) <= tolerance, "it has not arrived after five times the slowest passage"
    assert limiter.at_rest
    if gap > 0.0:
        assert past.max() <= max(beyond, 0.0) + tolerance
        reached = np.argmax(past >= -tolerance)
        assert past[reached:].min() >= -tolerance, "it came back, and passed it again"
    else:
        assert past.min() >= -tolerance


@pytest.mark.real_time
@SETTINGS
@given(limiters(rest_time=0.5), number(0.0, 1.0))
def test_from_rest_a_constant_target_is_reached_without_overshoot(limiter, end):
    target = limiter.low[0] + end * (limiter.high - limiter.low)[0]
    start = limiter.position[0]
    share = (run(limiter, [target] * 250) - target) * np.sign(start - target)
    tolerance = 300.0 * rounding(limiter)
    assert share.min() >= -tolerance
    assert np.diff(share).max() <= tolerance, "it went away from the target"
    assert abs(share[-1]) <= tolerance


@SETTINGS
@given(limiters(), st.lists(number(-1.0, 1.0), min_size=5, max_size=200))
def test_a_target_within_the_limits_is_passed_without_lag(limiter, shares):
    """A feasible target: what another limiter made of nonsense."""
    span = limiter.high - limiter.low
    other = Limiter(
        limiter.low, limiter.high, limiter.rate, limiter.change / DT, DT, limiter.position
    )
    feasible = run(other, limiter.position + span * np.array(shares))[1:]
    followed = run(limiter, feasible)[1:]
    tolerance = len(shares) * rounding(limiter) + 1e-9 * limiter.change[0] * DT * len(shares)
    assert np.abs(followed - feasible).max() <= tolerance


def test_a_target_that_runs_into_a_limit_and_stops_there_is_left_in_time_to_brake():
    """It is followed exactly, until it is about to stop at a limit as no actuator could."""
    for end in (0.0, 60.0):
        one = limiter(0.0, 60.0, 100.0, 1000.0, 30.0)
        ramp = np.clip(30.0 + 0.4 * np.arange(120) * np.sign(end - 30.0), 0.0, 60.0)
        positions = run(one, ramp)
        assert_within_limits(one, positions)
        assert abs(positions[-1] - end) < 1e-9


def test_a_fast_sine_within_the_limits_comes_through_unchanged():
    """Its speed is 98 % of the limit, 2 pi times 10 of 64; it begins from rest."""
    one = limiter(-20.0, 20.0, 64.0, 1000.0, 0.0)
    time = np.arange(300) * DT
    target = 10.0 * np.sin(2.0 * np.pi * time) * np.minimum(time, 1.0) ** 2
    positions = run(one, target)[1:]
    np.testing.assert_allclose(positions, target, rtol=0.0, atol=1e-11)


def test_the_shortest_passage_takes_as_long_as_full_acceleration_and_braking_need():
    """1 mm at 100 mm/s2: speeds 1, 2, ..., 10, ..., 2, 1 mm/s, whose sum is 100."""
    one = limiter(0.0, 10.0, 1e3, 100.0, 0.0)
    positions = run(one, [1.0] * 30)
    arrived = int(np.argmax(np.abs(positions - 1.0) < 1e-12))
    assert arrived == 19


def test_actuators_do_not_influence_each_other():
    both = Limiter(
        np.zeros(2), np.full(2, 10.0), np.array([5.0, 50.0]), np.full(2, 400.0), DT, np.zeros(2)
    )
    alone = limiter(0.0, 10.0, 5.0, 400.0, 0.0)
    for target in (3.0, 9.0, 1.0, 12.0) * 8:
        together = both.follow(np.array([target, 10.0 - target]))
        assert together[0] == alone.follow(np.array([target]))[0]
