"""Many environments: episodes as alone, to the bit, in this process and in two."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from sofa_softctl.base.machine import core_count
from sofa_softctl.errors import SceneError, UsageError
from sofa_softctl.learning.environments.named import NEXT_STEP, SAME_STEP, maker_of
from sofa_softctl.learning.environments.vector import CopiesVectorEnv

WORKERS = [
    pytest.param(0, marks=pytest.mark.quick),
    pytest.param(
        2,
        marks=[
            pytest.mark.processes,
            pytest.mark.skipif(core_count() < 2, reason="two processes take two cores"),
        ],
    ),
]
FINGER = "softctl/Finger-v0"


def actions_of(count, length):
    return np.random.default_rng(1).uniform(-1.0, 1.0, (length, count, 1)).astype(np.float32)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("name", ["tiny", FINGER])
def test_episodes_are_those_of_single_environments_to_the_bit(tiny, name, workers):
    """Of three environments with other seeds and actions, past the ends of their episodes."""
    maker = maker_of(str(tiny) if name == "tiny" else name)
    length = 23
    actions = actions_of(3, length)
    vector = maker.vector(3, workers)
    try:
        first, _ = vector.reset(seed=5)
        decisions = [vector.step(action) for action in actions]
    finally:
        vector.close()
    for number in range(3):
        env = maker.make_env()
        seen, _ = env.reset(seed=5 + number)
        assert np.array_equal(seen, first[number])
        for action, (observations, rewards, terminated, truncated, infos) in zip(
            actions, decisions, strict=True
        ):
            seen, reward, is_terminated, is_truncated, info = env.step(action[number])
            assert (reward, is_terminated, is_truncated) == (
                rewards[number],
                terminated[number],
                truncated[number],
            )
            if is_terminated or is_truncated:
                assert infos["_final_obs"][number]
                assert np.array_equal(infos["final_obs"][number], seen)
                final = infos["final_info"]
                assert final["truncation"][number] == info["truncation"]
                assert final["success"][number] == info["success"]
                seen, info = env.reset()
            assert np.array_equal(seen, observations[number])
            assert infos["time"][number] == info["time"]
        env.close()


@pytest.mark.quick
def test_an_episode_can_begin_in_the_next_step(tiny):
    same, later = (maker_of(str(tiny)).vector(2, 0, mode) for mode in (SAME_STEP, NEXT_STEP))
    try:
        assert np.array_equal(same.reset(seed=3)[0], later.reset(seed=[3, 4])[0])
        for action in actions_of(2, 10):
            fresh, _, _, cut, infos = same.step(action)
            last, *_ = later.step(action)
        assert cut.all() and np.array_equal(np.stack(infos["final_obs"]), last)
        begun, rewards, _, cut, _ = later.step(action)
        assert np.array_equal(begun, fresh) and not rewards.any() and not cut.any()
    finally:
        same.close(), later.close()


@pytest.mark.quick
def test_a_copy_that_diverges_truncates_its_episode_only(tiny):
    vector = maker_of(str(tiny)).vector(3, 0)
    try:
        vector.reset(seed=0)
        envs = vector.copies.call(lambda env: env)
        envs[1].session.root.body.dofs.position.value = [[1e308, 0.0, 0.0]]
        _, _, _, cut, infos = vector.step(np.zeros((3, 1), np.float32))
        assert cut.tolist() == [False, True, False]
        assert infos["final_info"]["truncation"][1].startswith("diverged: ")
        vector.step(np.zeros((3, 1), np.float32))
    finally:
        vector.close()


@pytest.mark.quick
def test_what_cannot_be_is_refused(tiny):
    maker = maker_of(str(tiny))
    for count, workers in ((0, 0), (1, 2), (1000, core_count() + 1)):
        with pytest.raises(UsageError, match=r"Got: \d"):
            maker.vector(count, workers)
    with pytest.raises(ValueError, match="NEXT_STEP or SAME_STEP"):
        CopiesVectorEnv(maker.make_env, 1, autoreset_mode=AutoresetMode.DISABLED)
    vector = maker.vector(2, 0)
    try:
        with pytest.raises(ValueError, match="a seed for each environment, 2"):
            vector.reset(seed=[1])
        vector.reset(seed=1)
        with pytest.raises(ValueError, match="expected a number") as caught:
            vector.step(np.array([[0.0], [np.nan]]))
        assert "This was in environment 1 of 2, from 0." in caught.value.__notes__
        envs = vector.copies.call(lambda env: env)
        envs[0].episode.goal.clear()
        with pytest.raises(SceneError, match="KeyError") as caught:
            vector.step(np.zeros((2, 1)))
        assert "This was in environment 0 of 2, from 0." in caught.value.__notes__
    finally:
        vector.close()
