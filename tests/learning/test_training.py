"""Trainings: they improve, go on after a stop, and refuse what is of another one."""

import csv
import math
import os
import signal

import numpy as np
import pytest
from lag import Lag

pytest.importorskip("stable_baselines3", reason="the extra [rl] is not installed")

from gymnasium.vector import AutoresetMode  # noqa: E402

from sofa_softctl.errors import PolicyError, UsageError, WorkerError  # noqa: E402
from sofa_softctl.learning import Policy, SurrogateEnv, SurrogateVectorEnv  # noqa: E402
from sofa_softctl.learning.measuring.scores import score
from sofa_softctl.learning.training.checkpoint import checkpoint_of  # noqa: E402
from sofa_softctl.learning.training.settings import Settings
from sofa_softctl.learning.training.trainer import save_curve, train
from sofa_softctl.learning.training.vector import VectorAdapter  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # of libraries that we do not write
SMALL = {"iteration": 512, "envs": 8, "minibatch": 128, "spread": 0.5, "layers": (16,)}


def settings(**changes):
    return Settings(**{**SMALL, "steps": 2048, **changes})


def run(out=None, **options):
    vector = SurrogateVectorEnv(Lag(), 8, autoreset_mode=AutoresetMode.SAME_STEP)
    given = options.pop("settings", settings())
    return train(vector, Lag.interface, given, name="lag", out=out, **options)


def test_a_training_improves_and_its_policy_is_the_models_mean():
    """The goal is asked for: episodes bring -2.8 at random, -0.9 at best (closed form)."""
    found = run(settings=settings(steps=20 * 512, learning_rate=3e-3))
    assert [point.steps for point in found.curve] == [512 * (k + 1) for k in range(20)]
    before = score(SurrogateEnv(Lag()), lambda seen: np.zeros(1), 50)
    after = score(SurrogateEnv(Lag()), found.policy.shares, 50)
    assert after.mean > before.mean + 0.5
    assert found.policy.about == {"environment": "lag", "steps": "10240", "seed": "0"}


def test_the_same_seed_gives_the_same_policy():
    first, again, other = (run(settings=settings(seed=seed)) for seed in (1, 1, 2))
    assert first.policy.weights[0].tobytes() == again.policy.weights[0].tobytes()
    assert first.policy.weights[0].tobytes() != other.policy.weights[0].tobytes()


def test_a_stopped_training_goes_on(tmp_path):
    out = tmp_path / "lag.safetensors"
    stopped = run(out, stop=lambda: True)
    assert stopped.stopped and len(stopped.curve) == 1
    assert checkpoint_of(out).is_file() and out.is_file()
    found = run(out, resume=True)
    assert not found.stopped and [point.steps for point in found.curve] == [512, 1024, 1536, 2048]
    longer = run(out, resume=True, settings=settings(steps=2560))
    assert longer.curve[-1].steps == 2560


def test_it_goes_on_from_the_last_checkpoint_after_a_kill(tmp_path):
    """Each iteration is in one."""
    out = tmp_path / "lag.safetensors"

    def killed(point):
        if point.steps == 1536:
            raise WorkerError("killed")

    with pytest.raises(WorkerError):
        run(out, progress=killed)
    assert Policy.load(out).about["steps"] == "1536"
    found = run(out, resume=True)
    assert [point.steps for point in found.curve] == [512, 1024, 1536, 2048]


def test_checkpoints_of_other_trainings_are_refused(tmp_path):
    out = tmp_path / "lag.safetensors"
    with pytest.raises(PolicyError, match="There is no checkpoint"):
        run(out, resume=True)
    run(out)
    with pytest.raises(PolicyError, match="other settings: layers .* now"):
        run(out, resume=True, settings=settings(layers=(32,)))
    checkpoint_of(out).write_bytes(b"broken")
    with pytest.raises(PolicyError, match="cannot be read as a checkpoint"):
        run(out, resume=True)


def test_a_checkpoint_of_another_environment_is_refused(tmp_path):
    """With the same interface, such as another task of a scene."""
    out = tmp_path / "lag.safetensors"
    run(out)
    vector = SurrogateVectorEnv(Lag(), 8, autoreset_mode=AutoresetMode.SAME_STEP)
    with pytest.raises(PolicyError, match="a training in 'lag', and this is 'another'"):
        train(vector, Lag.interface, settings(), name="another", out=out, resume=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": -1.0}, "learning_rate -1.0, above 0"),
        ({"minibatch": 0}, "minibatch 0, 1 at least"),
        ({"discount": 1.5}, "discount 1.5, from 0 to 1"),
        ({"spread": float("nan")}, "spread nan, above 0"),
        ({"entropy": -1.0}, "entropy -1.0, 0 at least"),
    ],
)
def test_settings_of_a_wrong_size_are_named(change, message):
    with pytest.raises(UsageError, match=message):
        settings(**change)


def test_settings_that_do_not_fit_are_named():
    with pytest.raises(UsageError, match="as many decisions of each"):
        Settings(envs=7)
    with pytest.raises(UsageError, match="Minibatches must fill an iteration"):
        Settings(minibatch=100)


def test_a_lost_robot_is_counted_and_not_paid_for():
    """Its episode is at its end: what would come after it is not worth anything."""
    vector = SurrogateVectorEnv(Lag(edge=-0.95), 8, autoreset_mode=AutoresetMode.SAME_STEP)
    adapter = VectorAdapter(vector, seed=0)
    adapter.reset()
    truncated = []
    for _ in range(20):
        adapter.step_async(np.full((8, 1), -1.0))
        *_, infos = adapter.step_wait()
        truncated += [info["TimeLimit.truncated"] for info in infos if info]
    assert truncated and not any(truncated)
    assert all(one.lost for one in adapter.episodes)
    narrow = SurrogateVectorEnv(Lag(edge=-0.2), 8, autoreset_mode=AutoresetMode.SAME_STEP)
    found = train(narrow, Lag.interface, settings(steps=512))
    assert 0.0 < found.curve[0].lost <= 1.0


@pytest.mark.parametrize(("step", "decisions"), [(3, 24), (64, 512), (80, 512)])
def test_ctrl_c_leaves_a_policy_that_can_be_scored(tmp_path, monkeypatch, step, decisions):
    """64 steps of 8 environments are an iteration; later ones count when they are whole."""
    out, taken = tmp_path / "lag.safetensors", []
    step_of = SurrogateVectorEnv.step

    def pressed(vector, actions):
        taken.append(1)
        if len(taken) > step:
            raise KeyboardInterrupt
        return step_of(vector, actions)

    monkeypatch.setattr(SurrogateVectorEnv, "step", pressed)
    with pytest.raises(KeyboardInterrupt):
        run(out)
    monkeypatch.undo()
    policy = Policy.load(out)
    assert policy.about["steps"] == str(decisions)
    assert math.isfinite(score(SurrogateEnv(Lag()), policy.shares, 2).mean)


def test_ctrl_c_in_the_first_iteration_keeps_the_policy_of_an_earlier_training(
    tmp_path, monkeypatch
):
    out = tmp_path / "lag.safetensors"
    run(out)
    before = out.read_bytes()

    def pressed(vector, actions):
        raise KeyboardInterrupt

    monkeypatch.setattr(SurrogateVectorEnv, "step", pressed)
    with pytest.raises(KeyboardInterrupt):
        run(out)
    assert out.read_bytes() == before


@pytest.mark.processes
def test_a_killed_worker_is_named(tiny):
    from sofa_softctl.learning.environments.named import interface_of, maker_of

    maker = maker_of(str(tiny))
    vector = maker.vector(2, 2)

    def kill(point):
        os.kill(vector.copies.call(process_of)[0], signal.SIGKILL)

    given = Settings(steps=512, iteration=128, envs=2, minibatch=64)
    with pytest.raises(WorkerError, match="copies of the environment was lost.*--resume goes on"):
        train(vector, interface_of(maker), given, progress=kill)


def process_of(env):
    return os.getpid()


def test_a_curve_is_a_table(tmp_path):
    found = run()
    save_curve(tmp_path / "curve.csv", found.curve)
    with (tmp_path / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["decisions"]) for row in rows] == [512, 1024, 1536, 2048]
    assert math.isnan(float(rows[0]["success [-]"])) and float(rows[0]["time [s]"]) > 0.0
    from sofa_softctl.view.plots.learning import save_learning_plot

    save_learning_plot(tmp_path / "curve.png", found.curve)
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_stable_baselines_has_nothing_to_say_against_ours(make_env):
    from stable_baselines3.common.env_checker import check_env

    check_env(make_env(), warn=True, skip_render_check=True)
    check_env(SurrogateEnv(Lag()), warn=True, skip_render_check=True)
