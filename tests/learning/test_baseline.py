"""A scene's own controller in the episodes of a task."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.learning.measuring.scores import score, score_baseline

TINY = Path(__file__).parent / "tiny.py"


def test_it_has_the_same_starts_and_goals(make_env):
    """A cable that always pulls as the equilibrium asks for: its ways are those of the policy that
    asks for this force at once, but for the rate, which a policy has and the baseline has not."""
    env = make_env()
    space, bounds = env.action_space, env.interface.action

    def pull(seen):
        goal = env.observation_space.in_units(seen)[4]
        return bounds.share(np.array([10.0 * goal])).astype(space.dtype)

    policy = score(env, pull, 4, seed=3)
    own = score_baseline(env, 4, seed=3)
    assert own.lengths == policy.lengths
    assert np.corrcoef(own.returns, policy.returns)[0, 1] > 0.99
    assert own.mean > policy.mean  # no rate
    assert score_baseline(env, 4, seed=3) == own


def test_one_that_diverges_has_no_success(make_env):
    env = make_env(baseline=lambda e: {"policy": "", "pull": 1e300})
    found = score_baseline(env, 1)
    assert found.successes == [False]


def test_a_task_without_one_says_so(make_env):
    with pytest.raises(SceneError, match="has no baseline"):
        score_baseline(make_env(baseline=None), 1)
