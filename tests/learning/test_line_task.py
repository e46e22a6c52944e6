"""A scene's task on the map of its equilibria: the same policy, the same episodes, much faster."""

from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from strip import SURROGATE, TIP, bend

from sofa_softctl.errors import SceneError
from sofa_softctl.learning import (
    Action,
    LineTask,
    Observation,
    SceneEnv,
    SurrogateEnv,
    SurrogateVectorEnv,
)
from sofa_softctl.learning.environments.named import maker_of

STRIP = Path(__file__).parent / "strip.py"
SAME = gymnasium.vector.AutoresetMode.SAME_STEP


@pytest.fixture(scope="module")
def task():
    """The strip's task on its map."""
    return LineTask(STRIP, bend(), SURROGATE)


def made(**other):
    """A task with other parts."""
    return LineTask(STRIP, replace(bend(), **other), SURROGATE)


def test_a_policy_fits_the_surrogate_and_the_scene(task):
    scene = SceneEnv.of_task(STRIP, bend())
    try:
        assert task.interface.differences(scene.interface) == []
        assert task.decisions == scene.task.limits.decisions
    finally:
        scene.close()


def test_a_slow_pull_ends_where_the_scene_does():
    """Both come to rest at the equilibrium under the same tensions, whatever the steps.

    Damping of the stiffness has died out to 1e-3 of the way; the map's own error is 2e-6 of it.
    """
    slow = bend(rate=200.0, decisions=150)
    scene = SceneEnv.of_task(STRIP, slow, scaled=False)
    env = SurrogateEnv(LineTask(STRIP, slow, SURROGATE), scaled=False)
    try:
        ends = []
        for each in (scene, env):
            each.reset(seed=0)
            for _ in range(150):
                seen, *_ = each.step(np.array([70.0, 20.0]))
            ends.append(seen)
        way = abs(ends[0][0])
        assert way > 4.0  # mm: it bends
        assert np.abs(ends[1][:3] - ends[0][:3]).max() < 1e-3 * way
        assert ends[1][8:] == pytest.approx(ends[0][8:], rel=1e-6)  # pulls, time
    finally:
        scene.close()


def test_a_fast_pull_moves_as_the_scene_within_a_fifth():
    """The projected step keeps to shapes of rest, and leaves out what inertia bends."""
    quick = bend(decisions=15)
    scene = SceneEnv.of_task(STRIP, quick, scaled=False)
    env = SurrogateEnv(LineTask(STRIP, quick, SURROGATE), scaled=False)
    try:
        path = []
        for each in (scene, env):
            each.reset(seed=0)
            path.append([each.step(np.array([80.0, 0.0]))[0][0] for _ in range(15)])
        exact, mapped = np.array(path)
        assert np.abs(exact).max() > 3.0
        assert np.abs(mapped - exact).max() < 0.2 * np.abs(exact).max()
    finally:
        scene.close()


def test_the_same_seed_has_the_same_goal_on_both():
    scene = SceneEnv.of_task(STRIP, bend(), scaled=False)
    env = SurrogateEnv(LineTask(STRIP, bend(), SURROGATE), scaled=False)
    try:
        for seed in (3, None, None):
            a, b = (each.reset(seed=seed)[0] for each in (scene, env))
            assert a == pytest.approx(b, abs=1e-3)
    finally:
        scene.close()


def test_a_goal_can_be_chosen(task):
    env = SurrogateEnv(task, scaled=False)
    seen, _ = env.reset(seed=0, options={"goal": {"x": [-4.5]}})
    assert seen[6] == pytest.approx(-4.5)
    with pytest.raises(SceneError, match=r"These differ: goal\.y"):
        env.reset(options={"goal": {"y": [0.0]}})


def test_rewards_read_and_write_memory(task):
    """A reward of progress sums up to the way, which it cannot if memory were lost."""
    env = SurrogateVectorEnv(task, 3, scaled=False, autoreset_mode=SAME)
    seen, _ = env.reset(seed=5)
    first = np.abs(seen[:, 0] - seen[:, 6])
    total = np.zeros(3)
    for _ in range(8):
        _, rewards, _, cut, info = env.step(np.array([[80.0, 0.0], [0.0, 80.0], [0.0, 0.0]]))
        total += rewards
    last = info["final_obs"]
    assert cut.all()
    assert total == pytest.approx(first - np.abs(last[:, 0] - last[:, 6]), abs=1e-4)
    assert np.array_equal(info["final_info"]["success"], np.abs(last[:, 0] - last[:, 6]) < 1.0)


def test_robots_do_not_depend_on_those_beside_them(task):
    """A row of many goes as a robot alone, to the tolerance of Newton's method."""
    many = SurrogateVectorEnv(task, 4, scaled=False)
    many.reset(seed=0)
    pulls = np.random.default_rng(0).uniform(0.0, 80.0, (4, 2))
    for _ in range(4):
        together, *_ = many.step(pulls)
    for k in range(4):
        one = SurrogateVectorEnv(task, 1, scaled=False)
        one.reset(seed=0)
        for _ in range(4):
            alone, *_ = one.step(pulls[k : k + 1])
        assert alone[0, :6] == pytest.approx(together[k, :6], abs=1e-4)


def test_gymnasium_has_nothing_to_say_against_it(task):
    check_env(SurrogateEnv(task), skip_render_check=True)


def test_rates_hold_within_a_decision(task):
    """From 0 by 400 mN/s in two steps of 0.01 s: 8 mN at most, whatever is asked for."""
    env = SurrogateVectorEnv(task, 1, scaled=False)
    env.reset(seed=0)
    env.step(np.array([[80.0, 80.0]]))
    robots = task.robots(env.state)
    assert robots.applied[0] == pytest.approx([8.0, 8.0], rel=1e-12)
    assert robots.requested[0].tolist() == [80.0, 80.0]


def test_a_robot_beyond_the_range_of_its_map_is_lost(task):
    """Where inertia carries it there: it starts with a speed that no pull gives."""
    state = task.begin(np.random.default_rng(0), 2)
    state[0, 2] = -0.3  # a-, of the right line
    after, valid = task.advance(state, np.zeros((2, 2)))
    assert valid.tolist() == [False, True] and np.isfinite(after[1]).all()
    robots = task.robots(after)
    robots.decisions[:], robots.worst[:] = 3.0, -2.0
    assert task.lost_reward(after).tolist() == [5 * -2.0] * 2  # five of eight decisions are left


def late_memory(episode):
    """Sets the goal alone; the reward then adds to memory."""
    episode.goal["x"] = np.zeros(1)


def late_reward(episode):
    """Adds an entry that `begin` did not set."""
    episode.memory["off"] = 1.0
    return 0.0


def text_in_memory(episode):
    """Keeps what is no number."""
    bend().begin(episode)
    episode.memory["name"] = "x"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"randomize": {"damping": (0.0, 1.0)}}, "draws damping again"),
        (
            {"observation": [Observation("all", "/strip/dofs.position", -1.0, 1.0)]},
            f"not known on a surrogate, which has {TIP}.position, {TIP}.velocity",
        ),
        ({"begin": text_in_memory}, "memory.name must be a number"),
        ({"begin": late_memory, "reward": late_reward}, "These differ: memory.off"),
        (
            {"action": [Action("/strip/right/CableConstraint", 0.0, 9.0, drive="displacement")]},
            "SurrogateController pulls|force",
        ),
        (
            {"action": [Action("/strip/right/CableConstraint", -9.0, 0.0)]},
            "a 'high' must be above 0",
        ),
    ],
)
def test_what_a_surrogate_cannot_do_is_named(other, message):
    with pytest.raises(SceneError, match=message):
        env = SurrogateEnv(made(**other))
        env.reset(seed=0)
        env.step(np.zeros(env.action_space.shape, np.float32))


def test_a_maker_makes_both_and_keeps_equilibria(tmp_path):
    maker = maker_of(str(STRIP), surrogate=True, store=tmp_path / "strip.store")
    lines = []
    maker.prepare(lines.append)
    assert "equilibria, error" in lines[-1]
    assert maker.is_vectorized and maker.exact is not None and not maker.exact.is_vectorized
    vector = maker.vector(2, 0)
    assert vector.reset(seed=0)[0].shape == (2, 10)
    again = maker_of(str(STRIP), surrogate=True, store=tmp_path / "strip.store")
    again.prepare()
    assert again.line_task.robot.evaluations == 0


def test_a_scene_without_a_surrogate_says_so(tiny):
    with pytest.raises(SceneError, match="has no dictionary SURROGATE"):
        maker_of(str(tiny), surrogate=True).make_env()
