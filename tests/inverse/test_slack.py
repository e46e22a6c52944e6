"""Cables that a motion left slack: their displacement is free until the motor has caught up."""

import numpy as np
import pytest

from sofa_softctl.inverse.aspects.slack import Slack

LIMITS = {
    "displacement_min": np.array([-1.0, -1.0]),
    "displacement_max": np.array([4.0, 4.0]),
    "displacement_rate": np.array([0.5, 0.5]),
    "effort_max": np.array([9.0, 9.0]),
}
BEFORE = np.array([1.0, 1.0])


def limited(slack, time):
    """The limits of a step as the aspect changes them."""
    limits = {name: limit.copy() for name, limit in LIMITS.items()}
    slack.limit(limits, BEFORE, time)
    return limits


@pytest.mark.parametrize(
    ("displacement", "missing"),
    [(1.8, 0.3), (0.1, 0.4), (4.4, 2.9), (-1.5, 2.0)],
    ids=["faster than the motor", "the other way", "beyond the stroke", "below it"],
)
def test_a_cable_is_slack_for_as_long_as_its_motor_takes_for_what_is_missing(displacement, missing):
    """1.5 and 0.5 are as far as the motor comes in the step; it pulls 2 in a unit of time."""
    slack = Slack(["up", "down"], 2.0)
    assert slack.loosen(LIMITS, np.array([displacement, 1.2]), BEFORE, 10.0) == ["up"]
    for share in (0.0, 0.99):
        relaxed = limited(slack, 10.0 + share * missing / 2.0)
        assert relaxed["displacement_min"].tolist() == [-np.inf, -1.0]
        assert relaxed["displacement_max"].tolist() == [np.inf, 4.0]
        assert relaxed["displacement_rate"].tolist() == [np.inf, 0.5]
        assert relaxed["effort_max"].tolist() == [9.0, 9.0]
    taut = limited(slack, 10.0 + 1.01 * missing / 2.0)
    assert all(np.array_equal(taut[name], LIMITS[name]) for name in LIMITS)


def test_each_motor_has_a_speed_of_its_own():
    slack = Slack(["up", "down"], np.array([2.0, 4.0]))
    slack.loosen(LIMITS, np.array([1.9, 1.9]), BEFORE, 0.0)
    assert slack.until == pytest.approx([0.2, 0.1])


def test_a_cable_that_is_slack_is_not_told_again_and_not_taut_before_its_time():
    slack = Slack(["up", "down"], 2.0)
    assert slack.loosen(LIMITS, np.array([2.5, 1.0]), BEFORE, 0.0) == ["up"]
    assert slack.loosen(LIMITS, np.array([1.6, 1.0]), BEFORE, 0.1) == []
    assert slack.until[0] == 0.5


def test_without_a_speed_limits_apply_again_at_once():
    slack = Slack(["up"], None)
    assert slack.loosen(LIMITS, np.array([9.0]), np.array([1.0]), 0.0) == []
    assert limited(slack, 0.0)["displacement_rate"].tolist() == [0.5, 0.5]
