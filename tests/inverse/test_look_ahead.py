"""The look-ahead's decisions, without a scene."""

import numpy as np
import pytest

from sofa_softctl.errors import ProblemError
from sofa_softctl.inverse.aspects.look_ahead import (
    Candidate,
    GoalProgress,
    LookAhead,
    choose,
    rotate,
    weighted_error,
)

FOUR = tuple(Candidate(name, energy=k + 1.0) for k, name in enumerate(("go on", "a", "b", "c")))
OPTIONS = LookAhead(horizon=8, margin=0.05, candidates=FOUR)


def ending_at(**errors):
    """Rollouts that fall from 100 to an error each over their last quarter."""

    def rollout(candidate, steps):
        return np.r_[
            np.full(steps - steps // 4, 100.0), np.full(steps // 4, errors[candidate.name])
        ]

    return rollout


def test_the_candidate_that_ends_nearest_is_followed():
    choice = choose(OPTIONS, ending_at(**{"go on": 9.0, "a": 5.0, "b": 2.0, "c": 4.0}), 100)
    assert (choice.candidate.name, choice.error, choice.without) == ("b", 2.0, 9.0)
    assert (choice.steps, choice.rolled) == (8, 32)


def test_a_later_candidate_must_win_by_the_margin():
    """4 % better is within the margin of 5 %, so the order decides and not rounding."""
    choice = choose(OPTIONS, ending_at(**{"go on": 9.0, "a": 5.0, "b": 4.8, "c": 5.0}), 100)
    assert choice.candidate.name == "a"


def test_without_a_better_one_it_goes_on():
    choice = choose(OPTIONS, ending_at(**{"go on": 2.0, "a": 2.0, "b": 1.95, "c": 4.0}), 100)
    assert choice.candidate is FOUR[0]


def test_a_rollout_that_breaks_off_or_is_nan_is_never_followed():
    def rollout(candidate, steps):
        return {
            "go on": np.full(steps, 9.0),
            "a": np.full(steps - 1, 0.0),
            "b": np.full(steps, np.nan),
            "c": np.full(steps, 8.0),
        }[candidate.name]

    assert choose(OPTIONS, rollout, 100).candidate.name == "c"


def test_the_budget_counts_steps():
    errors = {"go on": 9.0, "a": 5.0, "b": 2.0, "c": 4.0}
    assert choose(OPTIONS, ending_at(**errors), 23).candidate.name == "a"
    assert choose(OPTIONS, ending_at(**errors), 15) is None


def test_progress_stops_after_its_patience():
    progress = GoalProgress(patience=3, progress_ratio_min=0.1)
    steps = [(10.0, 0.0), (9.5, 0.5), (9.2, 0.3), (9.1, 0.1)]
    assert [progress.has_stalled(*step) for step in steps] == [False] * 3 + [True]
    assert not progress.has_stalled(8.9, 0.2)  # less than nine tenths of ten: it goes on


@pytest.mark.parametrize(("gained", "stopped"), [(0.3, False), (0.0, True), (-0.3, True)])
def test_progress_is_towards_a_goal_that_moves(gained, stopped):
    """Its distance stays at 2: the robot follows, stands still as the goal returns, or flees it."""
    progress = GoalProgress(patience=5, progress_ratio_min=0.1)
    assert any([progress.has_stalled(2.0, gained) for _ in range(20)]) is stopped


def test_a_turn_keeps_the_length_and_goes_where_it_says():
    """Exact geometry: 1e-12 is rounding."""
    up = np.array([0.0, 1.0, 0.0])
    way = np.array([[3.0, 0.0, 0.0], [1.0, 2.0, -2.0]])
    for turn in ((0.0, 0.0), (60.0, 0.0), (-30.0, 45.0)):
        lengths = np.linalg.norm(rotate(way, up, turn), axis=1)
        np.testing.assert_allclose(lengths, 3.0, rtol=1e-12)
    np.testing.assert_allclose(rotate(way, up, (0.0, 0.0)), way, atol=1e-12)
    np.testing.assert_allclose(rotate(way, up, (180.0, 0.0))[0], [-3.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(rotate(way, up, (0.0, 90.0))[0], [0.0, -3.0, 0.0], atol=1e-12)


def test_effectors_without_weight_do_not_count():
    assert weighted_error([3.0, 100.0], np.array([1.0, 0.0])) == pytest.approx(3.0)


def test_the_first_candidate_must_change_nothing():
    with pytest.raises(ProblemError, match="first candidate must be one that changes nothing"):
        LookAhead(candidates=(Candidate("lower", turn=(0.0, 45.0)),))


@pytest.mark.parametrize("name", ["horizon", "patience", "budget"])
def test_counts_must_be_positive(name):
    with pytest.raises(ProblemError, match=f"{name} must be at least 1, got 0"):
        LookAhead(**{name: 0})
