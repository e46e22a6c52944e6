"""Which tasks presumably have no motion."""

import numpy as np
import pytest

from sofa_softctl.library.motions.trials import FEASIBILITY, Feasibility

LOW, HIGH = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 10.0, 4.0])


def tasks(seed, count):
    return np.random.default_rng(seed).uniform(LOW, HIGH, (count, 3))


def has_none(p):
    """Far, and heavy: some 7 % of all tasks."""
    return np.abs(p[:, 0]) * p[:, 1] > 6.5


@pytest.mark.parametrize("signs", [None, np.array([-1.0, 1.0, 1.0])])
def test_it_learns_a_curved_border(signs):
    seen = tasks(0, 600)
    none = has_none(seen)
    learnt = Feasibility(LOW, HIGH, seen[~none], seen[none], signs)
    fresh = tasks(1, 2000)
    said = np.array([learnt.predicts_infeasible(p) for p in fresh])
    assert said[has_none(fresh)].mean() > 0.7
    assert said[~has_none(fresh)].mean() < 0.02


def test_a_mirrored_task_is_learnt_with_it():
    """Seen on one side alone."""
    seen = np.abs(tasks(0, 600))
    none = has_none(seen)
    learnt = Feasibility(LOW, HIGH, seen[~none], seen[none], np.array([-1.0, 1.0, 1.0]))
    p = np.array([0.97, 9.8, 3.0])
    assert learnt.predicts_infeasible(p) and learnt.predicts_infeasible(p * [-1, 1, 1])


def test_from_few_it_presumes_nothing():
    seen = tasks(0, 600)
    none = has_none(seen)
    learnt = Feasibility(LOW, HIGH, seen[~none], seen[none][: FEASIBILITY.tasks_min - 1])
    assert not any(learnt.predicts_infeasible(p) for p in tasks(1, 200))
