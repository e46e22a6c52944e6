"""A policy as a controller of a scene: what it did as an environment, step by step."""

import numpy as np
import pytest
from tiny import policy_for

from sofa_softctl import Session
from sofa_softctl.errors import PolicyError
from sofa_softctl.learning import Policy


@pytest.fixture
def file(tmp_path, make_env):
    path = tmp_path / "tiny.safetensors"
    policy_for(make_env().interface).save(path)
    return path


def test_a_run_is_the_episode_of_its_environment(tiny, make_env, file):
    """The same places, to the last bit of float32 observations."""
    env = make_env(scaled=False)
    policy = Policy.load(file)
    seen, _ = env.reset(options={"goal": {"x": [2.0]}})
    with Session(tiny, parameters={"policy": str(file), "goal": 2.0}) as session:
        session.step(3)
        for _ in range(10):
            assert session.root.body.dofs.position.value[0, 0] == pytest.approx(seen[0], abs=1e-5)
            session.step(2)
            shown = session.root.policy.observation.value
            assert np.asarray(shown) == pytest.approx(seen, abs=1e-5)
            seen, *_ = env.step(policy(seen))


def test_its_outputs_are_recorded(tiny, file, tmp_path):
    from sofa_softctl import read_record

    with Session(tiny, parameters={"policy": str(file)}) as session:
        with session.recording(tmp_path / "run.mcap"):
            session.step(9)
    record = read_record(tmp_path / "run.mcap")
    assert record.channels["policy.action"].shape == (9, 1)
    assert record.channels["policy.observation"].shape == (9, 6)


def test_points_of_its_goal_are_recorded_and_drawn(tiny, file, tmp_path):
    """Where the scene's goal is one; a goal that is no point, as the tiny scene's, is not."""
    from sofa_softctl import read_record

    scene = tmp_path / "points.py"
    points = '"x": lambda time: [goal], "at": lambda time: [[time, 0.0, 0.0], [1.0, 2.0, 3.0]]'
    text = tiny.read_text()
    assert '"x": lambda time: [goal]' in text
    scene.write_text(text.replace('"x": lambda time: [goal]', points))
    with Session(tiny, parameters={"policy": str(file)}) as session:
        assert session.root.policy.markers() is None
    with Session(scene, parameters={"policy": str(file)}) as session:
        with session.recording(tmp_path / "run.mcap"):
            session.step(8)
        drawn = session.root.policy.markers()
        assert drawn.goals[1].tolist() == [1.0, 2.0, 3.0] and drawn.tips.shape == (0, 3)
    goal = read_record(tmp_path / "run.mcap").channels["policy.goal"]
    assert goal.shape == (8, 2, 3) and goal[-1, 0, 0] == pytest.approx(0.07)


def test_a_policy_for_another_time_step_is_refused(tiny, file):
    with Session(tiny, parameters={"policy": str(file), "dt": 0.02}) as session:
        with pytest.raises(PolicyError, match="a decision each 0.02, here each 0.04"):
            session.step()  # the first one, before it settles


def test_reset_and_restore_repeat_a_run(tiny, file):
    with Session(tiny, parameters={"policy": str(file)}) as session:
        session.step(8)
        kept = session.snapshot()
        session.step(5)
        end = session.root.body.dofs.position.value.copy()
        session.restore(kept)
        session.step(5)
        assert session.root.body.dofs.position.value.tobytes() == end.tobytes()
        session.reset()
        session.step(13)
        assert session.root.body.dofs.position.value.tobytes() == end.tobytes()
