"""Environments by name: ids, scene files, and what users mistype."""

import gymnasium
import numpy as np
import pytest

import sofa_softctl.learning  # noqa: F401 - registers
from sofa_softctl.errors import ParameterError, SceneError, UsageError
from sofa_softctl.learning.environments.named import interface_of, maker_of, task_of
from sofa_softctl.learning.environments.registration import ENVIRONMENTS


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_ours_are_registered_and_clean(name):
    """Each takes a step; Gymnasium's checker runs on the quickest."""
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(f"softctl/{name}", disable_env_checker=True).unwrapped
    try:
        seen, _ = env.reset(seed=0)
        assert seen in env.observation_space
        seen, reward, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
        assert seen in env.observation_space and np.isfinite(reward)
        if name == "Finger-v0":
            check_env(env, skip_render_check=True)
    finally:
        env.close()


@pytest.mark.soak
def test_the_laser_arm_is_a_surrogate_with_its_scene_as_exact_twin():
    """Many in one call; one policy fits both, and the same seed has the same goal."""
    maker = maker_of("softctl/LaserArm-v0")
    assert maker.is_vectorized and maker.exact is not None
    vector = gymnasium.make_vec("softctl/LaserArm-v0", num_envs=3)
    assert vector.reset(seed=0)[0].shape == (3, 10)
    mapped, exact = maker.make_env(), maker.exact.make_env()
    try:
        assert mapped.interface.differences(exact.interface) == []
        first = [env.reset(seed=1)[0] for env in (mapped, exact)]
        assert first[0] == pytest.approx(first[1], abs=1e-4)
    finally:
        exact.close()


def test_a_module_before_the_id_is_imported_first():
    maker = maker_of("sofa_softctl.learning:softctl/Finger-v0")
    env = maker.make_env()
    assert len(env.interface.action) == 1
    env.close()


def test_a_scene_file_has_its_only_task(tiny):
    maker = maker_of(str(tiny), parameters={"stiffness": "12"}, task_parameters={"far": "1.5"})
    env = maker.make_env()
    env.reset(seed=0)
    assert env.session.root.body.RestShapeSpringsForceField.stiffness.value[0] == 12.0
    assert 0.0 <= env.episode.goal["x"][0] <= 1.5
    env.close()


def test_several_environments_reset_in_the_same_step(tiny):
    vector = maker_of(str(tiny)).vector(2, 0)
    try:
        vector.reset(seed=0)
        for _ in range(10):
            _, _, done, cut, info = vector.step(np.zeros((2, 1), np.float32))
        assert cut.all() and info["_final_obs"].all()
    finally:
        vector.close()


def test_what_is_mistyped_is_named(tiny):
    with pytest.raises(UsageError, match="Did you mean 'softctl/Finger-v0'"):
        maker_of("softctl/Fingre-v0")
    with pytest.raises(UsageError, match="are for scene files"):
        maker_of("softctl/Finger-v0", task="bend")
    with pytest.raises(SceneError, match="Did you mean 'reach'"):
        maker_of(str(tiny), task="raech")
    with pytest.raises(ParameterError, match="The task takes no parameter 'fra'"):
        maker_of(str(tiny), task_parameters={"fra": "1"})
    with pytest.raises(SceneError, match="has nothing to learn"):
        maker_of("scenes/planar_arm.py")


def test_a_task_function_must_return_one(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text("def createScene(root):\n    pass\nLEARNING = {'a': lambda: 3}\n")
    with pytest.raises(SceneError, match=r"LEARNING\['a'\] returned no Task, but 3"):
        task_of(path, "a")


def test_an_ordinary_environment_has_an_interface_too():
    """Those of Gymnasium with boxes of finite bounds."""
    found = interface_of(maker_of("MountainCarContinuous-v0"))
    assert found.observation.names == ("observation 0", "observation 1")
    assert found.action.high.tolist() == [1.0]
    with pytest.raises(UsageError, match="Box of one dimension"):
        interface_of(maker_of("CartPole-v1"))
