"""`softctl train` and `softctl score`: results, files, and what users get wrong."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny import policy_for

from sofa_softctl.base.extras import install_command
from sofa_softctl.cli.app import main

TINY = Path(__file__).parent / "tiny.py"


@pytest.fixture
def softctl(monkeypatch, capsys):
    """Runs the command line: softctl(*arguments) -> exit status, what it prints, errors."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["softctl", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as done:
            main()
        said = capsys.readouterr()
        return done.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def file(tmp_path, make_env):
    path = tmp_path / "tiny.safetensors"
    policy_for(make_env().interface).save(path)
    return path


def test_a_policy_is_scored(softctl, file):
    status, out, err = softctl("score", file, TINY, "--episodes", 3, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert len(found["returns"]) == 3 and found["lengths"] == [10, 10, 10]
    assert found["environment"] == f"{TINY}:reach"
    assert 0.0 <= found["success"] <= 1.0
    again = json.loads(softctl("score", file, TINY, "--episodes", 3, "--json")[1])
    assert again == found
    status, out, _ = softctl("score", file, TINY, "--episodes", 3)
    assert f"{found['mean']:.4g}" in out and "policy" in out


def test_the_scenes_own_controller_plays_the_same_episodes(softctl, file):
    given = ("score", file, TINY, "--episodes", 2, "--baseline")
    found = json.loads(softctl(*given, "--json")[1])
    assert found["baseline"]["lengths"] == found["lengths"]
    assert "baseline" in softctl(*given)[1]
    status, _, err = softctl("score", file, "softctl/Finger-v0", "--baseline")
    assert status == 2 and "--baseline is for scene files" in " ".join(err.split())


def test_a_policy_for_another_time_step_is_refused(softctl, file):
    status, _, err = softctl("score", file, TINY, "--set", "dt=0.02")
    assert status == 1 and "a decision each 0.02, here each 0.04" in " ".join(err.split())


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("score", "none.safetensors", TINY), 1, "There is no policy file"),
        (("train", TINY, "--policy", "p.pkl"), 2, "in .safetensors"),
        (("train", "softctl/Fingre-v0", "--policy", "p.safetensors"), 2, "Did you mean"),
        (
            ("train", TINY, "--policy", "p.safetensors", "--setting", "rate=1"),
            2,
            "--setting knows no 'rate'",
        ),
        (("train", TINY, "--policy", "p.safetensors", "--resume"), 1, "There is no checkpoint"),
    ],
)
def test_what_is_wrong_is_named(softctl, arguments, status, message, tmp_path, monkeypatch):
    if arguments[0] == "train":
        pytest.importorskip("stable_baselines3", reason="the extra [rl] is not installed")
    monkeypatch.chdir(tmp_path)
    found, _, err = softctl(*arguments)
    assert message in " ".join(err.split())
    assert found == status
    assert not list(tmp_path.iterdir())


def test_training_needs_its_extra(softctl, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    status, _, err = softctl("train", TINY, "--policy", tmp_path / "p.safetensors")
    assert status == 1 and install_command("rl") in " ".join(err.split())


@pytest.mark.filterwarnings("default")  # of libraries that we do not write
def test_a_training_writes_its_files_and_scores(softctl, tmp_path):
    pytest.importorskip("stable_baselines3", reason="the extra [rl] is not installed")
    policy = tmp_path / "p.safetensors"
    small = ("--steps", 256, "--setting", "iteration=128", "--setting", "minibatch=64")
    curve = ("--curve", tmp_path / "curve.csv", "--plot", tmp_path / "curve.png")
    given = ("train", TINY, "--policy", policy, *small, "--episodes", 2)
    status, out, _ = softctl(*given, *curve, "--json")
    assert status == 0
    found = json.loads(out)
    assert found["steps"] == 256 and len(found["scores"]["its environment"]["returns"]) == 2
    names = {"p.safetensors", "p.checkpoint.safetensors", "curve.csv", "curve.png"}
    assert names == {path.name for path in tmp_path.iterdir()}
    status, _, err = softctl(*given)
    assert status == 2 and "go on with --resume, or replace it by --force" in " ".join(err.split())
    status, out, _ = softctl(*given[:4], *small[2:], "--steps", 384, "--resume", "--episodes", 2)
    assert status == 0 and "its environment" in out


def test_a_policy_is_scored_on_the_surrogate_of_a_scene(softctl, tmp_path):
    """The same file fits both, and the same seeds have the same goals."""
    from sofa_softctl.learning import Policy
    from sofa_softctl.learning.environments.named import interface_of, maker_of

    strip = TINY.with_name("strip.py")
    interface = interface_of(maker_of(str(strip)))
    weights = np.zeros((2, len(interface.observation)))
    weights[:, 6] = [1.0, -1.0]  # pull towards the goal
    file = tmp_path / "strip.safetensors"
    Policy(interface, (weights,), (np.full(2, -0.5),), {}).save(file)
    given = ("score", file, strip, "--episodes", 3, "--json")
    scene = json.loads(softctl(*given)[1])
    status, out, err = softctl(*given, "--surrogate", "--store", tmp_path / "strip.store")
    assert (status, err) == (0, "") and (tmp_path / "strip.store").exists()
    surrogate = json.loads(out)
    assert surrogate["lengths"] == scene["lengths"] == [8, 8, 8]
    apart = np.abs(np.subtract(surrogate["returns"], scene["returns"]))
    assert apart.max() < 0.3 * np.max(scene["returns"])  # what fast pulls bend beyond rest


@pytest.mark.filterwarnings("default")  # of libraries that we do not write
def test_a_training_on_a_surrogate_is_scored_in_its_scene(softctl, tmp_path):
    pytest.importorskip("stable_baselines3", reason="the extra [rl] is not installed")
    policy, strip = tmp_path / "p.safetensors", TINY.with_name("strip.py")
    small = ("--steps", 256, "--envs", 4, "--setting", "iteration=128", "--setting", "minibatch=64")
    given = ("train", strip, "--surrogate", "--policy", policy, *small, "--episodes", 2)
    status, out, _ = softctl(*given)
    assert status == 0
    assert "its environment" in out and "the exact model" in out and "Gap:" in out
