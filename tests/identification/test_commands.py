"""softctl identify: recordings in, parameters and a report out, from the command line."""

import json
import re
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sofa_softctl.base.processes import TerminationSignal
from sofa_softctl.cli.app import app
from sofa_softctl.errors import IdentificationError, SoftctlError
from sofa_softctl.identification.causes import effort
from sofa_softctl.identification.model.problem import load_problem
from sofa_softctl.scene.session.session import Session

PROBLEM = str(Path(__file__).with_name("lag_problem.py"))


def run(*words, good=True, status=0):
    found = CliRunner().invoke(app, ["identify", *map(str, words)])
    if isinstance(found.exception, SystemExit):
        assert found.exit_code == status
    elif good and found.exception is not None:
        raise found.exception
    return found.output


@pytest.fixture(scope="module")
def files(models, tmp_path_factory):
    """Recordings in other units than the problem's, and a motion that was not recorded."""
    folder = tmp_path_factory.mktemp("recordings")
    for name, one in {"a": models.lag(1), "b": models.lag(2, seconds=2.0)}.items():
        lines = ["time [ms], drive [mV], tip [cm]"]
        columns = (one.time, one.recording.inputs[:, 0], one.recording.outputs[:, 0])
        lines += [f"{1e3 * t}, {1e3 * u}, {y / 10}" for t, u, y in zip(*columns, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    for name, seconds in {"long": 8.0, "short": 1.0}.items():
        time, u = models.steps(seconds)
        lines = [f"{t}, {x}" for t, x in zip(time, u, strict=True)]
        text = "\n".join(["time [s], drive [V]", *lines])
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def test_parameters_are_found_and_the_report_written(files, tmp_path):
    told = run(
        *(PROBLEM, "--data", files / "a.csv", "--hold-out", files / "b.csv", "--starts", 2),
        *("--next", files / "short.csv", "--next", files / "long.csv", "--report", tmp_path),
    )
    assert "0.2978 to 0.3007" in told and "Held-out data are predicted" in told
    assert "report.html" in told
    found = json.loads((tmp_path / "estimate.json").read_text())
    assert found["parameters"][0]["value"] == pytest.approx(0.3, rel=0.02)
    assert [Path(one["name"]).name for one in found["next"]] == ["long.csv", "short.csv"]
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["estimate.json", "report.html"]


def test_an_estimate_that_is_not_to_be_trusted_ends_with_status_3(models, tmp_path):
    """The tip shakes by ten times its declared noise, which the model has no cause for."""
    one = models.lag(1)
    shaking = one.recording.outputs[:, 0] + 0.5 * np.sin(25.0 * one.time)
    columns = (one.time, one.recording.inputs[:, 0], shaking)
    lines = ["time [s], drive [V], tip [mm]"]
    lines += [", ".join(map(str, row)) for row in zip(*columns, strict=True)]
    (tmp_path / "shaking.csv").write_text("\n".join(lines), encoding="utf-8")
    told = run(PROBLEM, "--data", tmp_path / "shaking.csv", "--no-causes", status=3)
    assert "Not to be trusted" in told


@pytest.mark.parametrize("option", ["--data", "--hold-out"])
def test_the_same_recording_twice_is_refused(files, tmp_path, option):
    """Also under another name: intervals would be too narrow, or a validation none."""
    copied = tmp_path / "copied.csv"
    copied.write_text((files / "a.csv").read_text())
    with pytest.raises(IdentificationError, match="copied.csv are the same recording: fitted twi"):
        run(PROBLEM, "--data", files / "a.csv", option, copied)


@pytest.mark.processes
def test_a_motion_is_designed_written_and_ranked(files, tmp_path):
    path = tmp_path / "motion.csv"
    words = (PROBLEM, "--data", files / "b.csv", "--design", path, "--motions", 20)
    told = run(*words, "--report", tmp_path)
    assert "Motion to command:" in told and "once more" in told
    found = json.loads((tmp_path / "estimate.json").read_text())
    assert found["design"]["gain"] > found["design"]["median_gain_of_drawn_motions"] > 0.0
    assert found["design"]["duration"] == pytest.approx(2.0)
    assert "<svg" in (tmp_path / "report.html").read_text().split("What to record next")[1]
    again = json.loads(run(PROBLEM, "--data", files / "b.csv", "--next", path, "--json"))
    assert again["next"][0]["gain"] == pytest.approx(found["design"]["gain"], rel=1e-6)
    longer = json.loads(run(*words, "--duration", 3.0, "--amplitude", "drive=-2:2", "--json"))
    assert longer["design"]["duration"] == 3.0 and longer["design"]["limits"][0]["widened"]


def test_options_of_a_design_are_checked_before_the_work(files, tmp_path):
    words = (PROBLEM, "--data", files / "a.csv")
    with pytest.raises(SoftctlError, match="are of a designed motion: give --design"):
        run(*words, "--duration", 3.0)
    with pytest.raises(SoftctlError, match="INPUT=LOW:HIGH, got 'drive=3'"):
        run(*words, "--design", tmp_path / "m.csv", "--amplitude", "drive=3")
    with pytest.raises(SoftctlError, match="Expected FILE.csv"):
        run(*words, "--design", tmp_path / "m.txt")
    with pytest.raises(SoftctlError, match="would overwrite"):
        run(*words, "--design", files / "a.csv")


def test_json_is_all_that_is_printed_and_quiet_prints_nothing(files):
    told = json.loads(run(PROBLEM, "--data", files / "a.csv", "--data", files / "b.csv", "--json"))
    assert told["data"] == 302 and len(told["recordings"]) == 2
    assert run(PROBLEM, "--data", files / "a.csv", "--quiet") == ""


def test_starts_are_set_and_parameters_fixed_by_name(files):
    words = (PROBLEM, "--data", files / "a.csv", "--json", "--set-start", "tau=0.25")
    told = json.loads(run(*words, "--fix", "tau", status=3))  # at a wrong value: not to be trusted
    assert told["parameters"][0]["value"] == 0.25 == told["parameters"][0]["start"]
    assert told["parameters"][0]["kept"] == "fixed"
    with pytest.raises(SoftctlError, match="NAME=NUMBER, got 'tau'"):
        run(PROBLEM, "--data", files / "a.csv", "--set-start", "tau")


@pytest.mark.processes
def test_several_starts_in_worker_processes_give_the_same(files):
    """The workers read problem and recordings from their files."""
    words = (PROBLEM, "--data", files / "a.csv", "--data", files / "b.csv", "--starts", 4, "--json")
    alone, both = (json.loads(run(*words, "--workers", count)) for count in (0, 2))
    for found in (alone, both):
        del found["seconds"]
    assert alone == both and both["starts"] == 4 == len(both["searches"])
    assert both["minima"][0]["searches"] == 4
    assert "All 4 searches ended at the same minimum." in json.dumps(both["findings"])
    with pytest.raises(SoftctlError, match="give --starts N, too"):
        run(PROBLEM, "--data", files / "a.csv", "--workers", 2)
    assert run(*words[:-1], "--workers", 1, "--quiet") == ""


def test_noise_is_estimated_when_asked(files):
    told = json.loads(run(PROBLEM, "--data", files / "a.csv", "--estimate-noise", "--json"))
    assert told["noise_estimated"] and told["distribution"] == "Student-t"


def test_a_template_is_written_once(tmp_path):
    path = tmp_path / "empty.csv"
    assert str(path) in run(PROBLEM, "--template", path).replace("\n", "")
    assert "time [s], drive [V], tip [mm]" in path.read_text()
    assert "\n0.02," in path.read_text()
    with pytest.raises(SoftctlError, match="exists already"):
        run(PROBLEM, "--template", path)
    with pytest.raises(IdentificationError, match="no output was measured: .* under tip"):
        run(PROBLEM, "--data", path)


def test_what_is_missing_is_said_before_the_work(files, tmp_path):
    with pytest.raises(SoftctlError, match="give recordings, --data FILE"):
        run(PROBLEM)
    (tmp_path / "file").write_text("")
    with pytest.raises(SoftctlError, match="Cannot write"):
        run(PROBLEM, "--data", files / "a.csv", "--report", tmp_path / "file" / "below")


def test_problems_are_found_by_name(tmp_path):
    assert load_problem(f"{PROBLEM}:lag").name == "lag"
    with pytest.raises(IdentificationError, match="has no problem 'lug'. Did you mean 'lag'"):
        load_problem(f"{PROBLEM}:lug")
    with pytest.raises(IdentificationError, match="'nothing' is not a Python file.*FILE.py:NAME"):
        load_problem("nothing")
    (tmp_path / "none.py").write_text("")
    with pytest.raises(IdentificationError, match="It has: none.*see docs/how-to/identify"):
        load_problem(str(tmp_path / "none.py"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PROBLEMS = [1, 2]", "expected PROBLEMS to be a dict, names to problems. Got: list"),
        (
            "PROBLEMS = {'f': lambda: None}",
            "f.py:f is not a problem.*Got: None, without name, param",
        ),
        ("PROBLEMS = {'f': 3}", "f.py:f is not a problem.*Got: int, without name"),
        ("PROBLEMS = {'f': lambda a: a}", "a function without arguments that makes one; missing"),
        ("PROBLEMS = {'f': 3, 'g': 4}", r"has several problems: say which, .* It has: f, g\."),
        ("", r"has no problem\. It has: none"),
    ],
)
def test_what_is_no_problem_is_said_to_be_none(tmp_path, text, message):
    (tmp_path / "f.py").write_text(text)
    with pytest.raises(IdentificationError, match=message):
        load_problem(str(tmp_path / "f.py"))


def test_a_problem_may_be_given_itself_and_come_from_a_file_beside(tmp_path, monkeypatch):
    """As `from my_robot import problem` in another file of the same folder."""
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "beside_it.py").write_text(Path(PROBLEM).read_text())
    (tmp_path / "uses.py").write_text(
        "from beside_it import LagProblem\nPROBLEMS = {'lag': LagProblem()}\n"
    )
    assert load_problem(str(tmp_path / "uses.py")).name == "lag"
    del sys.modules["beside_it"]


def test_notes_and_doubts_are_printed_before_the_search(files, tmp_path):
    """Numbers in cm declared in m; a row is missing; the table comes after both."""
    lines = (files / "a.csv").read_text().replace("tip [cm]", "tip [m]").splitlines()
    del lines[20]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    told = run(PROBLEM, "--data", tmp_path / "m.csv", status=3)
    first = told[: told.index("parameter")].splitlines()
    assert f"{tmp_path / 'm.csv'}: 1 row is missing, from t = 0.36 to 0.4 s" in first
    assert f"{tmp_path / 'm.csv'}: drive: 1 missing sample interpolated" in first
    (doubt,) = [line for line in first if "'tip' varies by" in line]
    assert doubt.startswith("!") and doubt.endswith("as if numbers in cm had been declared in m.")
    told = run(PROBLEM, "--data", tmp_path / "m.csv", "--iterations", 1, "--json", status=3)
    assert [one for one in json.loads(told)["findings"] if "'tip' varies by" in one["text"]]


def test_a_report_that_cannot_be_written_is_told_before_or_after_the_summary(
    files, tmp_path, monkeypatch
):
    (tmp_path / "afile").write_text("")
    words = (PROBLEM, "--data", files / "a.csv", "--report")
    with pytest.raises(SoftctlError, match="'.*afile' is a file. Expected a folder"):
        run(*words, tmp_path / "afile")

    def full(path, text):
        raise SoftctlError("Cannot write: no space left.")

    monkeypatch.setattr("sofa_softctl.view.terminal.identification.write_text", full)
    found = CliRunner().invoke(app, ["identify", *map(str, words), str(tmp_path / "report")])
    assert "0.2978 to 0.3007" in found.output and "Report:" not in found.output
    assert isinstance(found.exception, SoftctlError)


def test_an_interrupted_search_says_that_nothing_was_written(files, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sofa_softctl.identification.fitting.estimate.estimate", interrupted)
    found = CliRunner().invoke(app, ["identify", PROBLEM, "--data", str(files / "a.csv")])
    assert found.exit_code == 130 and "Stopped. Nothing was written." in found.output


@pytest.mark.parametrize(
    ("stopped", "what"),
    [
        ("uncertainty.discretisation.discretisation_budget", "finer models and refits"),
        ("report.make.find_causes", "causes"),
    ],
)
def test_ctrl_c_after_the_search_shows_what_was_found(stopped, what, files, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"sofa_softctl.identification.{stopped}", interrupted)
    found = CliRunner().invoke(app, ["identify", PROBLEM, "--data", str(files / "a.csv")])
    assert found.exit_code == 0 and f"Stopped: the report is without {what}." in found.output
    assert "│ gain" in found.output


def test_a_signal_that_ends_the_command_is_no_ctrl_c(files, monkeypatch):
    def ended(*args, **kwargs):
        raise TerminationSignal(signal.SIGTERM)

    monkeypatch.setattr("sofa_softctl.identification.report.make.find_causes", ended)
    found = CliRunner().invoke(app, ["identify", PROBLEM, "--data", str(files / "a.csv")])
    assert found.exit_code == 130 and "Nothing was written." in found.output
    assert "│ gain" not in found.output


def test_causes_can_be_left_out(files):
    told = run(PROBLEM, "--data", files / "a.csv", "--no-causes")
    assert "│ gain" in told and "could not show" not in told
    assert "could not show" in run(PROBLEM, "--data", files / "a.csv")


def test_what_a_long_search_found_is_shown_before_it_is_judged(files, monkeypatch):
    monkeypatch.setattr("sofa_softctl.cli.identify.command.LONG_SEARCH", 0.0)
    told = run(PROBLEM, "--data", files / "a.csv")
    assert "The search ended, not judged yet, at tau = 0." in told
    assert "The search for causes takes about 1 s." in told


def test_a_long_search_for_causes_is_offered_with_its_time(files, monkeypatch):
    """Here any search is too long. It is made on request, and offered by its own command."""
    monkeypatch.setattr("sofa_softctl.cli.identify.command.LONG_SEARCH", 0.0)
    monkeypatch.setattr(effort, "SETTINGS", replace(effort.SETTINGS, time_max=0.0))
    words = ["softctl", "identify", PROBLEM, "--data", str(files / "a.csv")]
    monkeypatch.setattr("sys.argv", words)
    told = run(*words[2:])
    assert "A search for causes would take about 1 s: --causes makes it." in told
    assert "What the model may leave out was not searched for: that takes about " in told
    assert f"more: {shlex.join(words)} --causes" in told
    assert "could not show" not in told
    told = run(*words[2:], "--causes")
    assert "could not show" in told and "was not searched for" not in told
    found = json.loads(run(*words[2:], "--json"))
    assert found["causes"]["postponed_seconds"] > 0.0


def test_one_simulation_is_one(files):
    told = run(PROBLEM, "--data", files / "a.csv", "--fix", "tau", "--fix", "gain", status=3)
    assert re.search(r"\d\s+simulations?,", told) and " 1 simulations" not in told


def test_a_problems_file_may_postpone_annotations(tmp_path):
    """Dataclasses look annotations that are text up in the module, which must be known by name."""
    (tmp_path / "late.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from sofa_softctl.identification import Problem\n"
        "@dataclass\nclass P(Problem):\n    name: str = 'late'\n    parameters: tuple = ()\n"
        "    inputs = channels = ()\n    def experiment(self, recording): ...\n"
        "PROBLEMS = {'late': P}\n"
    )
    assert load_problem(str(tmp_path / "late.py")).name == "late"


@pytest.mark.processes
def test_a_recorded_scene_is_identified_and_its_values_are_told_as_a_command(tmp_path):
    """A short pull of the finger; noise-free, so that the moduli come out within a percent."""
    scene = Path(__file__).parents[2] / "scenes" / "finger_identification.py"
    record = tmp_path / "run.mcap"
    session = Session(scene, backend="embedded", parameters={"base": 450.0})
    with session.recording(record):
        session.step(110)
    line = run(scene, "--data", record, "--no-budget").strip().splitlines()[-1]
    found = dict(re.findall(r"--set (\w+)=([\d.]+)", line))
    assert line.startswith(f"The scene with what was found: softctl run {scene}")
    assert float(found["base"]) == pytest.approx(450.0, rel=0.01)
    assert float(found["tip"]) == pytest.approx(600.0, rel=0.01)


def test_refits_and_finer_models_are_made_when_asked(files, tmp_path):
    found = json.loads(run(PROBLEM, "--data", files / "a.csv", "--bootstrap", 20, "--json"))
    assert found["bootstrap"]["refits"] == 20
    assert found["bootstrap"]["parameters"]["tau"]["low"] == pytest.approx(0.298, abs=2e-3)
    assert found["discretisation"]["refinements"] == []  # the model is exact
    told = run(PROBLEM, "--data", files / "a.csv", "--bootstrap", 20, "--no-budget")
    assert "of 20 refits" in " ".join(told.split())
    assert "discretisation" not in json.loads(  # the model has none
        run(PROBLEM, "--data", files / "a.csv", "--json", "--no-budget")
    )
