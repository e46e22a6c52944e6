"""`softctl batch`: run, show, plot, rerun."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.batch.studies import MEASURES, written

STUDY = f"""
scene = "bar.py"
steps = 3
[parameters.young]
range = [300, 900]
count = 3
[parameters.trouble]
values = ["", "raise"]
{MEASURES}
[keep]
movie = "failures"
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study, and what the command printed that ran it."""
    path = written(tmp_path_factory.mktemp("cli"), STUDY.replace('movie = "failures"', ""))
    done = softctl_process("batch", "run", path, "--workers", "1")
    assert done.returncode == 0, done.stderr
    return path, done.stdout


def softctl_process(*arguments):
    command = [sys.executable, "-m", "sofa_softctl.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.processes
def test_a_run_ends_with_counts_measures_worst_runs_and_reasons(study):
    path, said = study
    assert "bar: 6 of 6 runs. 3 OK, 3 FAILED" in said
    assert "height" in said and "median" in said and "greatest height" in said
    assert "FAILED 3 (1, 3, 5): RuntimeError: the cable broke" in said
    assert f"Rows: {path.with_suffix('.study')}" in said


def test_a_study_that_is_done_is_not_run_again_and_its_json_is_whole(study, softctl):
    path, _ = study
    status, out, _ = softctl("batch", "run", path, "--json")
    found = json.loads(out)
    assert status == 0 and found["done_now"] == 0 and found["rows_done"] == 6
    assert found["counts"] == {"OK": 3, "FAILED": 3}


def test_show_lists_failures_and_the_worst(study, softctl):
    folder = study[0].with_suffix(".study")
    _, out, _ = softctl("batch", "show", folder, "--failures")
    lines = out.strip().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("1 ") and "young=300, trouble=raise: RuntimeError" in lines[0]
    _, out, _ = softctl("batch", "show", folder, "--worst", "noise")
    assert "greatest noise" in out
    _, out, _ = softctl("batch", "show", folder, "--run", "1")
    assert "reason: RuntimeError: the cable broke" in out and "Traceback" in out
    _, out, _ = softctl("batch", "show", folder, "--failures", "--json")
    assert [row["index"] for row in json.loads(out)["rows"]] == [1, 3, 5]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("show", "{}", "--worst", "hieght"), "has no column 'hieght'. Did you mean 'height'?"),
        (("show", "{}", "--worst", "trouble"), "The column 'trouble' of"),
        (("show", "{}", "--run", "99"), "has no row of a run '99'. Give its number, 0 to 5"),
        (("show", "{}/rows"), "is no folder of a study"),
        (("plot", "{}", "--to", "a.txt"), "A plot needs a name in .png"),
        (("plot", "{}", "--to", "a.png", "--measure", "trouble"), "holds no numbers"),
        (("plot", "{}", "--to", "a.png", "--kind", "maps"), "--kind: expected map or scatter"),
        (("rerun", "{}", "zz"), "has no row of a run 'zz'"),
    ],
)
def test_what_is_not_there_is_said(study, softctl, arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = study[0].with_suffix(".study")
    status, _, err = softctl("batch", *(each.format(folder) for each in arguments))
    assert status in (1, 2) and text in err, err


def test_a_plot_has_a_panel_for_each_parameter_and_pair(study, softctl, tmp_path, drawn):
    folder = study[0].with_suffix(".study")
    status, _, err = softctl("batch", "plot", folder, "--to", tmp_path / "bar.png")
    assert status == 0, err
    (figure,) = drawn
    labels = {(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes}
    assert {("young", "height"), ("trouble", "height"), ("young", "trouble")} <= labels
    assert "6 runs, 3 failed" in figure.get_suptitle()


@pytest.mark.processes
def test_a_plot_and_a_page_list_the_worst_runs(study, softctl, tmp_path):
    folder = study[0].with_suffix(".study")
    _, out, err = softctl("batch", "plot", folder, "--to", tmp_path / "a.png", "--kind", "scatter")
    assert "greatest height" in out, err
    status, out, err = softctl("report", folder, "--to", tmp_path / "bar.html")
    assert status == 0 and "Written: " in out, err
    assert "Greatest values" in (tmp_path / "bar.html").read_text()


def test_a_page_of_a_study_file_is_refused_with_its_folder(study, softctl, tmp_path):
    status, _, err = softctl("report", study[0], "--to", tmp_path / "bar.html")
    assert status == 1 and f"Did you mean '{study[0].with_suffix('.study')}'?" in err
    assert not (tmp_path / "bar.html").exists()


@pytest.mark.processes
def test_a_rerun_is_the_same_bit_for_bit_with_its_record_and_movie(study, softctl):
    folder = study[0].with_suffix(".study")
    status, out, err = softctl("batch", "rerun", folder, "2", "--record", "--movie")
    assert status == 0, err
    assert "The same as before, bit for bit." in out
    assert len(list((folder / "records").glob("*.mcap"))) == 1
    assert len(list((folder / "movies").glob("*.gif"))) == 1


@pytest.mark.processes
def test_a_scene_that_changed_is_refused_until_the_user_decides(tmp_path, softctl):
    path = written(
        tmp_path, STUDY.replace('movie = "failures"', "").replace("count = 3", "count = 1")
    )
    scene = path.with_name("bar.py")
    assert softctl("batch", "run", path, "-q", "--workers", 1) == (0, "", "")
    scene.write_text(scene.read_text().replace("[0][2]", "[0][2] + 1.0"))
    status, _, err = softctl("batch", "run", path)
    assert status == 1 and "bar.py' was changed. Do all runs again with --again" in err
    status, out, _ = softctl("batch", "rerun", path.with_suffix(".study"), 0)
    assert status == 1 and "Not the same as before" in out
    assert "Since then: " in out and "bar.py' was changed." in " ".join(out.split())
    status, out, _ = softctl("batch", "run", path, "--again", "--json", "--workers", 1)
    assert status == 0 and json.loads(out)["done_now"] == 2


@pytest.mark.processes
def test_an_estimate_runs_a_few_and_leaves_nothing(tmp_path, softctl):
    path = written(tmp_path, STUDY)
    _, out, _ = softctl("batch", "run", path, "--estimate", "--workers", "1", "--json")
    found = json.loads(out)
    assert (found["runs"], found["missing"], found["tried"], found["failed"]) == (6, 6, 4, 2)
    assert found["total"] == pytest.approx(6 * found["seconds"])
    assert not path.with_suffix(".study").exists()


@pytest.mark.processes
def test_an_estimate_has_the_movies_of_failures(tmp_path, softctl):
    """Each second run breaks in its second step, and is filmed up to there."""
    path = written(tmp_path, STUDY)
    scene = path.with_name("bar.py")
    late = "made.body.dofs.velocity.value = np.full((12, 3), 1e200)"
    scene.write_text(scene.read_text().replace(late, "root.addObject(Late(name='late'))") + LATE)
    path.write_text(path.read_text().replace('"raise"', '"diverge"'))
    command = ("batch", "run", path, "--estimate", "--workers", "1")
    found = json.loads(softctl(*command, "--json")[1])
    assert found["movies"] == 3 and found["movie_seconds"] > 0.0
    assert found["total"] == pytest.approx(6 * found["seconds"] + 3 * found["movie_seconds"])
    _, out, _ = softctl(*command)
    assert "About 3 movies of failures, " in out
    assert not path.with_suffix(".study").exists()
    path.write_text(path.read_text().replace('movie = "failures"', ""))
    found = json.loads(softctl(*command, "--json")[1])
    assert found["movies"] == 0 and found["total"] == pytest.approx(6 * found["seconds"])


SLOW = """
function = "slow.py:slow"
[parameters.x]
range = [0, 1]
count = 40
"""


@pytest.mark.processes
def test_ctrl_c_keeps_the_rows_and_the_same_command_goes_on(tmp_path, softctl):
    (tmp_path / "slow.py").write_text(
        "import time\n\ndef slow(x):\n    time.sleep(0.1)\n    return {'y': x}\n"
    )
    path = written(tmp_path, SLOW)
    command = [sys.executable, "-m", "sofa_softctl.cli", "batch", "run", path, "--workers", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        rows = path.with_suffix(".study") / "rows"
        while not list(rows.glob("part-*")) and process.poll() is None:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130, said
    assert f"Stopped by Ctrl-C. '{path.with_suffix('.study')}' has all rows so far" in said
    _, out, _ = softctl("batch", "run", path, "--workers", "1", "--json")
    found = json.loads(out)
    assert found["rows_done"] == 40 and 0 < found["done_now"] < 40


@pytest.mark.processes
def test_failures_get_movies_up_to_where_they_failed(tmp_path, softctl):
    text = STUDY.replace('"raise"', '"diverge"').replace("count = 3", "count = 1")
    path = written(tmp_path, text)
    scene = path.with_name("bar.py")
    late = "made.body.dofs.velocity.value = np.full((12, 3), 1e200)"
    assert late in scene.read_text()
    scene.write_text(scene.read_text().replace(late, "root.addObject(Late(name='late'))") + LATE)
    status, out, err = softctl("batch", "run", path, "--workers", "1", "--json")
    assert json.loads(out)["counts"] == {"OK": 1, "DIVERGED": 1}, out + err
    assert len(list((path.with_suffix(".study") / "movies").glob("*.gif"))) == 1
    assert status == 0


LATE = """
import Sofa

class Late(Sofa.Core.Controller):
    def onAnimateBeginEvent(self, event):
        root = self.getContext()
        if root.time.value > 0.005:
            root.body.dofs.velocity.value = np.full((12, 3), 1e308)
"""
