"""Studies in Python: made, run, read and repeated."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl import batch
from sofa_softctl.batch.study.file import parse_study
from sofa_softctl.errors import StudyError
from tests.batch.studies import same_bits, written

OWN = """
from sofa_softctl import batch


def area(width, height=2.0):
    if width > 2.5:
        raise ValueError("too wide")
    return {"area": width * height, "sides": [width, height]}


def study():
    return batch.make_study(
        function=area,
        parameters={"width": [1, 2, 3], "height": batch.Range(1, 100, 3, log=True)},
        name="areas",
    )
"""
MAIN = """
    found = batch.run(study(), workers=1, quiet=True)
    print(found.rows.num_rows, found.counts(), batch.rerun(found.path, 2).differing)
"""


def height(session):
    return session.root.body.tip.dofs.position.value[0][2]


@pytest.fixture
def script(tmp_path):
    """script(text): what a script prints, and its process."""

    def run(text):
        (tmp_path / "own.py").write_text(OWN + text)
        command = [sys.executable, "own.py"]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
        )

    return run


@pytest.mark.processes
def test_a_function_of_a_script_is_run_read_and_repeated(script, tmp_path):
    done = script('\nif __name__ == "__main__":' + MAIN)
    assert done.stdout == "9 {'OK': 6, 'FAILED': 3} []\n", done.stderr
    found = batch.read(tmp_path / "areas.study")
    assert found.numbers("area")[:3] == pytest.approx([1.0, 10.0, 100.0])
    assert found.numbers("sides[1]")[:3] == pytest.approx([1.0, 10.0, 100.0])
    assert found.study().axes["height"] == batch.Range(1.0, 100.0, 3, log=True)
    shutil.move(tmp_path, moved := tmp_path.with_name("moved"))
    with pytest.raises(StudyError, match="again=True, or only .* with anyway=True; or choose an"):
        (moved / "own.py").write_text(OWN + "\n")
        batch.run(batch.read(moved / "areas.study").study(), moved / "areas.study", workers=1)


@pytest.mark.processes
def test_a_script_without_a_guard_ends_with_what_to_do(script, tmp_path):
    done = script("if True:" + MAIN)
    assert done.returncode == 1 and not done.stdout
    assert "StudyError: No worker process can be started" in done.stderr
    assert 'below a line: if __name__ == "__main__":' in done.stderr
    assert not (tmp_path / "areas.study").exists()


def test_a_file_that_a_worker_imports_for_its_function_runs_no_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN + "if True:" + MAIN)
    study = batch.make_study(function="own.py:area", parameters={"width": [1.0]})
    with pytest.raises(StudyError, match=r"'.*own.py' cannot be loaded: Worker processes import"):
        batch.run(study, workers=1, quiet=True)


def test_a_scene_of_a_notebook_is_to_be_written_to_a_file():
    with pytest.raises(StudyError, match="expected a scene file, got the function .*%%writefile"):
        batch.make_study(scene=height, parameters={"young": [1.0]})


def test_a_study_made_in_python_is_that_of_its_file(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    study = batch.make_study(
        scene=tmp_path / "bar.py",
        parameters={
            "young": batch.Range(300, np.float64(900.0), log=True),
            "pull": batch.Normal(2, 0.5),
            "trouble": ["", 'a "text"\n\x7fé'],
            "body.gravity": batch.Range([0, 0, -1.0], np.ones(3)),
            "pause": np.linspace(0.0, 1e-5, 3),
        },
        measures={"height": height, "error": "inverse.error_last"},
        duration=0.5,
        warmup=3,
        method="sobol",
        count=8,
        seconds=60,
        memory=2000,
        steps_most=100,
        record="failures",
    )
    read = parse_study(study.text, "bar.toml", tmp_path)
    assert read == study
    assert [run.id for run in read.runs()] == [run.id for run in study.runs()]
    assert study.scenario.measures["height"] == f"{__file__}:height"
    assert study.name == "bar" and study.scenario.steps_most == 100


def lambda_():
    return lambda session: 1.0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scene": "bra.py"}, "The study: scene: expected a file that there is, got 'bra.py'"),
        ({}, "The study: expected either a scene or a function, got none"),
        ({"parameters": {"x": batch.Range(2, 1)}}, "[parameters.x] range: expected the low end"),
        ({"parameters": {"x": batch.Range(1, 2)}}, "[parameters.x] count: expected the values of"),
        ({"parameters": {"x": 3}}, "[parameters.x] values: expected a list of values"),
        ({"parameters": {"x": [{1}]}}, "values[0]: expected finite numbers; or texts"),
        ({"parameters": {"x": [np.nan]}}, "values[0]: expected finite numbers; or texts"),
        ({"method": "latn"}, "got 'latn'. Did you mean 'latin'?"),
        ({"record": "failure"}, "[keep] record: expected one of: none, failures, all, got"),
        ({"steps": 2, "duration": 1.0}, "either steps or a duration, got both"),
        ({"steps": 20, "steps_most": 10}, "[limits] steps: expected a whole number from 1, not"),
        ({"measures": {"status": "time"}}, "got 'status', which every table of a study has"),
        ({"measures": {"m": lambda_()}}, "the measure 'm': expected a function at the top level"),
        ({"measures": {"m": lambda session: 1}}, "got a lambda"),
        ({"measures": {"m": print}}, "got one that is in no file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, monkeypatch, options, text):
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    scene = {"scene": "bar.py"} if options and "scene" not in options else {}
    with pytest.raises(StudyError) as raised:
        batch.make_study(**(scene | options))
    assert text in str(raised.value)


def test_functions_of_an_interactive_session_are_refused():
    names = {}
    exec("def own(x):\n    return {}", names)
    with pytest.raises(StudyError, match="got one that is in no file"):
        batch.make_study(function=names["own"])


LONG = """
scene = "bar.py"
duration = 0.1
[parameters.young]
values = [300, 600]
[limits]
steps = 5
"""


@pytest.mark.processes
def test_runs_of_too_many_steps_fail_before_they_begin(tmp_path):
    study = batch.read_study(written(tmp_path, LONG))
    progress = []
    found = batch.run(study, workers=1, report=lambda each: progress.append(each.done))
    assert progress == [0, 1, 2] and found.counts() == {"FAILED": 2}
    reason = found.rows["reason"][0].as_py()
    assert reason.startswith("it needs 10 steps of dt = 0.01, more than [limits] steps = 5"), reason


@pytest.mark.processes
def test_a_folder_that_is_moved_with_its_scene_is_the_same_study(tmp_path):
    (tmp_path / "here").mkdir()
    path = written(tmp_path / "here", LONG)
    text = LONG.replace("steps = 5", "steps = 10").replace("[300, 600]", "[300]")
    path.write_text(text)
    first = batch.run(batch.read_study(path), workers=1)
    moved = tmp_path / "there"
    shutil.move(path.parent, moved)
    path = moved / path.name
    path.write_text(text.replace("[300]", "[300, 600]"))
    second = batch.run(batch.read_study(path), workers=1)
    assert same_bits(second)[0] == same_bits(first)[0]
    assert second.counts() == {"OK": 2}
    assert batch.rerun(moved / "bar.study", 0).differing == []
