"""Scenes as environments: Gymnasium's contract, equal episodes, limits, named failures."""

from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from sofa_softctl.errors import DivergedError, ParameterError, SceneError
from sofa_softctl.learning import Action, Limits, Observation, SceneEnv


def play(env, seed, actions=None):
    """Observations and rewards of an episode, and its last info."""
    random = np.random.default_rng(seed)
    seen, info = env.reset(seed=seed)
    found, ended = [seen], False
    while not ended:
        action = random.uniform(-1.0, 1.0, env.action_space.shape)
        seen, reward, done, cut, info = env.step(action)
        found += [seen, [reward]]
        ended = done or cut
    return np.concatenate(found), info


def test_gymnasium_has_nothing_to_say_against_it(make_env):
    """Warnings are errors in these tests."""
    check_env(make_env(), skip_render_check=True)


@pytest.mark.parametrize("randomize", [{}, {"stiffness": (8.0, 12.0)}])
def test_the_same_seed_and_actions_give_the_same_episode_to_the_last_bit(make_env, randomize):
    """With others in between; whether the scene is restored or built anew."""
    env = make_env(randomize=randomize)
    first, _ = play(env, 1)
    other, _ = play(env, 2)
    again, _ = play(env, 1)
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_another_environment_in_the_same_process_gives_the_same_episode(make_env):
    assert play(make_env(), 3)[0].tobytes() == play(make_env(), 3)[0].tobytes()


def test_episodes_end_with_their_reason_and_success(make_env):
    _, info = play(make_env(), 0)
    assert info["truncation"] == "time limit"
    assert isinstance(info["success"], bool)
    env = make_env(done=lambda episode: episode.decisions == 3)
    env.reset(seed=0)
    for _ in range(2):
        assert env.step(np.zeros(1))[2:4] == (False, False)
    *_, done, cut, info = env.step(np.zeros(1))
    assert done and not cut and "truncation" not in info


def test_units_or_shares_of_the_bounds(make_env):
    """A share of 0 of a cable from 0 to 40 mN is 20 mN; spaces know names, units and bounds."""
    scaled, plain = make_env(), make_env(scaled=False)
    quantities = plain.observation_space.quantities
    assert quantities.names == (
        "place",
        "velocity[0]",
        "velocity[1]",
        "velocity[2]",
        "goal",
        "pull",
    )
    assert quantities.units == ("mm", "mm/s", "mm/s", "mm/s", "mm", "mN")
    assert plain.action_space.quantities.units == ("mN",)
    assert (plain.action_space.low, plain.action_space.high) == (0.0, 40.0)
    assert (scaled.action_space.low, scaled.action_space.high) == (-1.0, 1.0)
    seen = [env.reset(seed=5)[0] for env in (scaled, plain)]
    assert scaled.observation_space.in_units(seen[0]) == pytest.approx(seen[1], abs=1e-5)
    after = [env.step(np.array([a]))[0] for env, a in ((scaled, 0.0), (plain, 20.0))]
    assert scaled.observation_space.in_units(after[0]) == pytest.approx(after[1], abs=1e-5)


def test_a_force_is_the_force_whatever_the_time_step(make_env):
    """20 mN on springs of 10 mN/mm end at 2 mm; 1e-3 is left of the damped motion."""
    for dt in (0.01, 0.005):
        limits = Limits(decisions=400, hold=2)
        env = make_env(parameters={"policy": None, "dt": dt}, limits=limits, scaled=False)
        env.reset(seed=0)
        for _ in range(300):
            seen, *_ = env.step(np.array([20.0]))
        assert seen[0] == pytest.approx(2.0, abs=2e-3)


def test_rates_hold_within_a_decision(make_env):
    """1000 mN/s are 10 mN in a step: two steps after the start 20 mN, though 40 were asked for."""
    env = make_env(scaled=False)
    env.reset(seed=0)
    env.step(np.array([40.0]))
    assert env.session.root.body.cable.value.value[0] == pytest.approx(20.0 * 0.01)
    env.step(np.array([40.0]))
    assert env.session.root.body.cable.value.value[0] == pytest.approx(40.0 * 0.01)


def test_actions_out_of_bounds_are_clipped_and_counted_or_refused(make_env):
    env = make_env()
    env.reset(seed=0)
    assert env.step(np.array([1.5]))[-1]["clipped"] == 1
    assert env.step(np.array([1.0]))[-1]["clipped"] == 1
    strict = make_env(limits=Limits(decisions=10, hold=2, out_of_bounds="refuse"))
    strict.reset(seed=0)
    with pytest.raises(ValueError, match=r"'/body/cable' is 50; expected 0 to 40"):
        strict.step(np.array([1.5]))
    strict.step(np.array([1.0]))  # the episode goes on


@pytest.mark.parametrize(
    ("action", "message"),
    [(np.array([np.nan]), "'/body/cable' is nan"), (np.zeros(2), r"shape \(1,\)")],
)
def test_actions_that_are_none_are_named_and_lose_nothing(make_env, action, message):
    env = make_env()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(action)
    env.step(np.zeros(1))


def test_a_reward_that_is_no_number_is_named(make_env):
    env = make_env(reward=lambda episode: np.nan)
    env.reset(seed=0)
    with pytest.raises(SceneError, match="The reward of decision 1 is nan"):
        env.step(np.zeros(1))


def test_a_simulation_that_diverges_truncates_its_episode(make_env):
    """And the next episode is as if nothing had been."""

    def reward(episode):
        if episode.decisions == 2 and episode.goal["x"][0] < spoilt[0]:
            episode.root.body.dofs.position.value = [[1e308, 0.0, 0.0]]
        return 0.0

    spoilt = [np.inf]
    env = make_env(reward=reward)
    env.reset(seed=0)
    for _ in range(2):
        env.step(np.zeros(1))
    seen, value, done, cut, info = env.step(np.zeros(1))
    assert (value, done, cut) == (0.0, False, True)
    assert info["truncation"].startswith("diverged: ")
    assert seen in env.observation_space
    spoilt[0] = -np.inf
    assert play(env, 1)[0].tobytes() == play(make_env(reward=reward), 1)[0].tobytes()


def test_an_episode_with_inverted_elements_is_cut_short(make_env, monkeypatch):
    """At the end of each decision bodies are looked at."""

    def check(self, time):
        if time > 0.05:
            raise DivergedError("a body is inside out")

    monkeypatch.setattr("sofa_softctl.scene.session.condition.Condition.raise_if_inverted", check)
    env = make_env()
    env.reset(seed=0)
    while not (outcome := env.step(np.zeros(1)))[3]:
        assert outcome[4]["time"] <= 0.05
    assert outcome[4]["truncation"] == "diverged: a body is inside out"


def test_a_scene_that_always_diverges_at_once_is_an_error(make_env):
    def begin(episode):
        episode.goal["x"] = np.zeros(1)
        if spoil[0]:
            episode.root.body.dofs.position.value = [[1e308, 0.0, 0.0]]

    spoil = [False]
    env = make_env(begin=begin)
    spoil[0] = True
    with pytest.raises(SceneError, match="3 episodes in a row diverged in their first decision"):
        for _ in range(3):
            env.reset(seed=0)
            env.step(np.zeros(1))


def test_order_of_calls_is_checked(make_env):
    env = make_env()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))
    play(env, 0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))
    env.close()
    env.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()


def test_randomized_parameters_are_within_their_range_and_reported(make_env):
    env = make_env(randomize={"stiffness": (8.0, 12.0)})
    drawn = [env.reset(seed=seed)[1]["parameters"]["stiffness"] for seed in range(4)]
    assert all(8.0 <= value <= 12.0 for value in drawn) and len(set(drawn)) == 4
    assert env.session.root.body.RestShapeSpringsForceField.stiffness.value[0] == drawn[-1]
    with pytest.raises(ParameterError, match="from low to high"):
        make_env(randomize={"stiffness": (12.0, 8.0)})


def test_goals_can_be_given(make_env):
    env = make_env(scaled=False)
    seen, _ = env.reset(seed=0, options={"goal": {"x": [3.5]}})
    assert seen[-2] == 3.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observation": [Observation("a", "/body/dof.position", 0, 1)]}, "'/body/dofs'"),
        ({"observation": [Observation("a", "/body/dofs.place", 0, 1)]}, "no Data 'place'"),
        ({"observation": []}, "one at least"),
        (
            {"observation": [Observation("a", "/body/dofs.position", [0, 0], 1)]},
            "'a' has 3 numbers",
        ),
        ({"parameters": {"stifness": 1.0}}, "stiffness"),
    ],
)
def test_what_is_not_in_the_scene_is_named(make_env, change, message):
    with pytest.raises(SceneError, match=message):
        make_env(**change)


def test_a_scene_may_be_a_function(make_env):
    from tiny import createScene, reach

    env = SceneEnv.of_task(createScene, reach())
    try:
        assert env.interface.digest == make_env().interface.digest
    finally:
        env.close()


@pytest.mark.soak
def test_thousands_of_resets_take_no_memory(make_env):
    """Episodes of one decision, so that 2,000 take seconds; a leak of 1 kB each would show."""
    import gc
    import tracemalloc

    env = make_env(limits=Limits(decisions=1, hold=1))

    def episodes(count):
        for seed in range(count):
            env.reset(seed=seed)
            env.step(np.zeros(1))
        gc.collect()

    episodes(50)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    episodes(2000)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200e3


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"reward": lambda e: None}, "reward must be a number. Got: None"),
        ({"reward": lambda e: np.array([1.0])}, r"reward must be a number. Got: array\(\[1.\]\)"),
        (
            {"reward": lambda e: e.goal["y"]},
            r"reward, after 1 decisions: KeyError: 'y' \(.*test_sc",
        ),
        ({"done": lambda e: "no"}, "done must be True or False. Got: 'no'"),
        ({"success": lambda e: np.array([True])}, "success must be True or False"),
        ({"begin": lambda e: 1 / 0}, "begin, after 0 decisions: ZeroDivisionError"),
        ({"observation": [Observation("a", lambda e: None, 0.0, 1.0)]}, "it returned None"),
        ({"observation": [Observation("a", lambda e: [], 0.0, 1.0)]}, "'a' has no numbers"),
        (
            {"observation": [Observation("a", lambda e: [0.0] * (1 + e.decisions), 0.0, 1.0)]},
            "'a' has 2 numbers, at first 1",
        ),
        ({"action": [Action("/body/cable", 0.0, 50.0)]}, "beyond those of the scene, maxForce: 40"),
        ({"randomize": {"dt": (0.005, 0.02)}}, "randomize changes what a policy is connected to"),
    ],
)
def test_mistakes_of_a_task_are_named(make_env, other, message):
    with pytest.raises(SceneError, match=message):
        env = make_env(limits=Limits(decisions=1, hold=2), **other)
        for seed in range(2):
            env.reset(seed=seed)
            env.step(np.zeros(1))


def test_a_controller_of_the_scene_on_the_same_actuators_is_named():
    """It would drive them as well: the scene's own must be left out."""
    from sofa_softctl.learning.environments.named import task_of

    finger = Path(__file__).parents[2] / "scenes" / "finger.py"
    with pytest.raises(SceneError, match=r"InverseController\) drives actuators of the task"):
        SceneEnv.of_task(finger, replace(task_of(finger, "bend"), parameters={}))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"goal": {"z": [1.0]}}, SceneError, "entries of these shapes: {'x'"),
        ({"goal": {"x": [1.0, 2.0]}}, SceneError, r"Got: 'x' of \(2,\)"),
        ({"goal": [1.0]}, ValueError, "reset takes options="),
        ({"gaol": {"x": [1.0]}}, ValueError, "reset takes options="),
    ],
)
def test_options_of_reset_that_are_wrong_are_named(make_env, options, error, message):
    """And the episode is not begun."""
    env = make_env()
    with pytest.raises(error, match=message):
        env.reset(options=options)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(1))


def test_divergence_is_paid_as_the_worst_of_what_is_left(make_env):
    """Otherwise, where rewards are negative, policies learn to diverge."""

    def reward(episode):
        if episode.decisions == 3:
            episode.root.body.dofs.position.value = [[1e308, 0.0, 0.0]]
        return -float(episode.decisions)

    env = make_env(reward=reward)
    env.reset(seed=0)
    paid = [env.step(np.zeros(1))[1] for _ in range(4)]
    assert paid == [-1.0, -2.0, -3.0, -3.0 * 7]  # seven of ten decisions are left
