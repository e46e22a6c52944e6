"""Surrogates as environments: one robot or many, with the same episodes."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from lag import Lag

from sofa_softctl.errors import SceneError
from sofa_softctl.learning import SurrogateEnv, SurrogateVectorEnv

SAME, NEXT = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP


def test_gymnasium_has_nothing_to_say_against_it():
    check_env(SurrogateEnv(Lag()), skip_render_check=True)


def test_many_robots_go_as_each_alone():
    """The closed form of each, to float32 rounding of what is seen."""
    env = SurrogateVectorEnv(Lag(), 5, scaled=False)
    seen, _ = env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 1))
    after, rewards, *_ = env.step(actions)
    place = seen[:, 0] + 0.5 * (actions[:, 0] - seen[:, 0])
    assert after[:, 0] == pytest.approx(place, abs=1e-6)
    assert rewards == pytest.approx(-np.abs(place - seen[:, 1]), abs=1e-6)


def test_the_same_seed_repeats_all_episodes():
    def played(seed):
        env = SurrogateVectorEnv(Lag(), 3)
        found = [env.reset(seed=seed)[0]]
        for k in range(20):
            found.append(env.step(np.full((3, 1), np.sin(k)))[0])
        return np.array(found).tobytes()

    assert played(1) == played(1) != played(2)


def test_episodes_end_after_their_decisions_in_both_modes():
    """In the same step with the last observation, or in the next with a reward of zero."""
    same = SurrogateVectorEnv(Lag(4), 2, autoreset_mode=SAME)
    following = SurrogateVectorEnv(Lag(4), 2, autoreset_mode=NEXT)
    for env in (same, following):
        env.reset(seed=3)
        for _ in range(3):
            assert not env.step(np.zeros((2, 1)))[3].any()
    seen, _, done, cut, info = same.step(np.zeros((2, 1)))
    assert cut.all() and not done.any() and info["_final_obs"].all()
    last, _, _, cut, _ = following.step(np.zeros((2, 1)))
    assert cut.all() and np.array_equal(last, info["final_obs"])
    begun, rewards, done, cut, _ = following.step(np.ones((2, 1)))
    assert np.array_equal(begun, seen)  # the same random numbers
    assert not (rewards.any() or done.any() or cut.any())


def test_a_robot_beyond_the_map_is_cut_short_where_it_was():
    env = SurrogateVectorEnv(Lag(edge=-0.95), 4, autoreset_mode=SAME, scaled=False)
    env.reset(seed=0)
    lost = np.zeros(4, bool)
    for _ in range(7):
        before = env.state
        _, rewards, done, cut, info = env.step(np.full((4, 1), -1.0))
        now = info["lost"]
        assert np.array_equal(now, cut) and not done.any()
        assert (rewards[now] == -5.0).all()
        if now.any():
            assert info["final_obs"][now] == pytest.approx(before[now], abs=1e-6)
        lost |= now
    assert lost.all()
    alone = SurrogateEnv(Lag(edge=np.inf))
    alone.reset(seed=0)
    assert alone.step(np.zeros(1))[-1]["truncation"] == "lost: the surrogate ends here"


def test_order_of_calls_and_bad_actions_are_named():
    env = SurrogateVectorEnv(Lag(), 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros((2, 1)))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"numbers of shape \(2, 1\)"):
        env.step(np.zeros(2))
    with pytest.raises(ValueError, match="1 of them not finite"):
        env.step(np.array([[0.0], [np.nan]]))
    info = env.step(np.array([[2.0], [0.0]]))[-1]
    assert info["clipped"].tolist() == [1, 0]
    assert info["time"].tolist() == [Lag(1).interface.interval] * 2
    env.close()
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()
    alone = SurrogateEnv(Lag(1))
    alone.reset(seed=0)
    alone.step(np.zeros(1))
    with pytest.raises(gymnasium.error.ResetNeeded):
        alone.step(np.zeros(1))


def test_a_reward_that_is_no_number_is_named():
    class Broken(Lag):
        def reward(self, before, action, after):
            return np.array([0.0, np.inf])

    env = SurrogateVectorEnv(Broken(), 2)
    env.reset(seed=0)
    with pytest.raises(SceneError, match="The reward of robot 1 is inf"):
        env.step(np.zeros((2, 1)))


def test_a_task_without_a_goal_takes_none():
    with pytest.raises(SceneError, match="has no goal to be set. Got: place"):
        SurrogateEnv(Lag()).reset(options={"goal": {"place": 0.0}})


def test_a_list_of_seeds_is_one_for_each_robot():
    env = SurrogateVectorEnv(Lag(), 3, scaled=False)
    first, _ = env.reset(seed=[1, 2, 3])
    other, _ = env.reset(seed=[1, 9, 3])
    assert np.array_equal(first[[0, 2]], other[[0, 2]]) and not np.array_equal(first[1], other[1])
    alone = SurrogateEnv(Lag(), scaled=False)
    assert np.array_equal(alone.reset(seed=2)[0], first[1])
    with pytest.raises(ValueError, match="a seed for each robot, 3"):
        env.reset(seed=[1, 2])


def test_why_episodes_ended_is_said_in_both_modes():
    for mode in (SAME, NEXT):
        env = SurrogateVectorEnv(Lag(4), 2, autoreset_mode=mode)
        env.reset(seed=3)
        for _ in range(4):
            *_, info = env.step(np.zeros((2, 1)))
        final = info["final_info"] if mode is SAME else info
        assert final["truncation"].tolist() == ["time limit"] * 2 and final["_truncation"].all()
