"""Rows of runs: the same wherever and whenever they are done, and whatever happens in them."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.base.executors.local import LocalExecutor
from sofa_softctl.batch.execution import run_one as running
from sofa_softctl.batch.execution.beginning import WarmSessionCache
from sofa_softctl.batch.execution.run_one import Task, run_one
from sofa_softctl.batch.execution.workers import differences, repeat
from sofa_softctl.batch.running import rerun
from sofa_softctl.batch.study.file import read_study
from sofa_softctl.errors import StudyError
from tests.batch.studies import GRID, MEASURES, done, same_bits, written


@pytest.fixture(scope="module")
def plain(shared, tmp_path_factory):
    """The study in two workers, and its file."""
    path = written(tmp_path_factory.mktemp("plain"))
    return path, done(path, shared)


def test_rows_have_what_the_runs_gave(plain):
    _, found = plain
    assert found.counts() == {"OK": 9} and found.runs == 9
    assert found.rows["young"].to_pylist()[0] == 300.0
    heights = found.numbers("height").reshape(3, 3)
    assert (np.diff(heights, axis=1) < 0.0).all()  # pulled down
    assert (np.diff(heights, axis=0) > 0.0).all()  # stiffer
    assert len(set(found.rows["noise"].to_pylist())) == 9  # each run has its own seed
    assert found.rows["steps"].to_pylist() == [3] * 9


@pytest.mark.processes
def test_rows_are_the_same_with_one_worker(plain):
    path, found = plain
    with LocalExecutor(1) as one:
        again = done(path, one, "one.study")
    assert same_bits(again) == same_bits(found)


def test_rows_are_the_same_in_a_study_that_is_continued(plain, workers):
    path, found = plain
    assert len(done(path, workers, "part.study", count_max=4).rows) == 4
    assert same_bits(done(path, workers, "part.study")) == same_bits(found)


def test_rows_are_the_same_in_another_order_and_those_there_are_not_done_again(plain, workers):
    path, found = plain
    text = path.read_text()
    turned = text.replace("[[0.0], [2.0], [4.0]]", "[[4.0], [0.0]]").replace(
        "[300, 900]", "[300, 9e2]"
    )
    few = done(written(path.parent, turned, "few"), workers, "turned.study")
    assert len(few.rows) == 6
    begun = set(few.rows["started"].to_pylist())
    (path.parent / "few.toml").write_text(text)
    all_of_them = done(path.parent / "few.toml", workers, "turned.study")
    assert same_bits(all_of_them) == same_bits(found)
    assert begun <= set(all_of_them.rows["started"].to_pylist())


def test_rows_of_runs_that_the_study_no_longer_has_are_left_out(plain, workers):
    path, found = plain
    text = path.read_text().replace("[[0.0], [2.0], [4.0]]", "[[4.0]]")
    done(path, workers, "less.study")
    less = done(written(path.parent, text, "bar"), workers, "less.study")
    written(path.parent, GRID, "bar")
    assert less.rows["index"].to_pylist() == [0, 1, 2]
    assert less.numbers("height").tolist() == found.numbers("height")[[2, 5, 8]].tolist()


@pytest.mark.parametrize("trouble", ["", "raise"])
def test_a_branch_from_the_warm_up_gives_what_a_new_session_gives(tmp_path, trouble, monkeypatch):
    """In this process: with a session that is kept, and without."""
    study = read_study(written(tmp_path, GRID + "[warmup]\nsteps = 4\n"))
    tasks = [Task(study.scenario, run) for run in study.runs()][:3]
    if trouble:  # in the measure, after a beginning that printed
        broken = {"height": f"{tmp_path / 'broken.py'}:broken"}
        (tmp_path / "broken.py").write_text("def broken(session):\n    raise ValueError('no')\n")
        tasks = [replace(t, scenario=replace(t.scenario, measures=broken)) for t in tasks]
    fresh = []
    for task in tasks:
        monkeypatch.setattr(running, "_beginnings", WarmSessionCache())
        fresh.append(run_one(task))
    monkeypatch.setattr(running, "_beginnings", kept := WarmSessionCache())
    branched = [run_one(task) for task in tasks]
    assert bool(kept._session) is not bool(trouble)
    for row in (*fresh, *branched):
        row.pop("sources")  # a branch reads nothing
    assert [differences(a, b) for a, b in zip(fresh, branched, strict=True)] == [[]] * 3
    assert {row["status"] for row in branched} == {"FAILED" if trouble else "OK"}
    if trouble:
        assert all(row["output"].startswith("loaded") for row in branched)
    else:
        assert len({row["measures"]["height"] for row in branched}) == 3


def test_a_session_whose_controllers_have_no_snapshot_is_not_kept(tmp_path, monkeypatch):
    path = written(tmp_path, GRID + "[warmup]\nsteps = 1\n")
    scene = (tmp_path / "bar.py").read_text() + COUNTER
    (tmp_path / "bar.py").write_text(scene.replace("made = small_scene(root)", _COUNTED))
    study = read_study(path)
    monkeypatch.setattr(running, "_beginnings", kept := WarmSessionCache())
    rows = [run_one(Task(study.scenario, run)) for run in list(study.runs())[:2]]
    assert [row["status"] for row in rows] == ["OK", "OK"], rows[0]["reason"]
    assert kept._session is None
    assert rows[0]["measures"]["noise"] == rows[1]["measures"]["noise"] == 4


_COUNTED = "made = small_scene(root); root.addObject(Counter(name='counter'))"
COUNTER = """
import Sofa

class Counter(Sofa.Core.Controller):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.steps = 0

    def onAnimateBeginEvent(self, event):
        self.steps += 1

def noise(session):
    return session.root.counter.steps
"""

TROUBLE = f"""
scene = "bar.py"
steps = 3
parameters.trouble.values = ["", "raise", "exit", "diverge", "memory", "print", "die"]
{MEASURES}
[keep]
record = "failures"
"""


@pytest.mark.processes
def test_whatever_happens_in_a_run_is_a_row(tmp_path, workers):
    workers.memory = 1.2e9
    found = done(written(tmp_path, TROUBLE), workers)
    rows = {row["trouble"]: row for row in found.rows.to_pylist()}
    assert {name: row["status"] for name, row in rows.items()} == {
        "": "OK",
        "raise": "FAILED",
        "exit": "FAILED",
        "diverge": "DIVERGED",
        "memory": "MEMORY",
        "print": "FAILED",
        "die": "DIED",
    }
    assert rows["raise"]["reason"] == "RuntimeError: the cable broke"
    assert 'raise RuntimeError("the cable broke")' in rows["raise"]["traceback"]
    assert rows["raise"]["output"] == "loaded 500.0\n"
    assert rows["exit"]["reason"] == "the scene called exit(3)"
    assert rows["memory"]["reason"] == "its process took more than 1200 MB of memory"
    assert len(rows["print"]["output"]) == 8000 and rows["print"]["output"].endswith("xx\n")
    assert "SIGKILL" in rows["die"]["reason"]
    for name in ("memory", "die"):
        assert rows[name]["output"] == "loaded 500.0\n"
        assert rows[name]["seconds"] > 0.0 and rows[name]["started"] and rows[name]["worker"]
    assert "in createScene" in rows["memory"]["traceback"]
    assert rows[""]["height"] > 0.0 and rows["raise"]["height"] is None
    kept = [path.stem for path in (found.path / "records").iterdir()]
    assert kept == [rows["diverge"]["run"]]  # others failed before the first step
    assert found.failed.tolist() == [False] + [True] * 6
    assert ("FAILED", "RuntimeError: the cable broke", [1]) in found.reasons()


@pytest.mark.processes
def test_a_run_that_hangs_is_ended_at_its_limit(tmp_path, workers):
    text = TROUBLE.replace('"raise", "exit", "diverge", "memory", "print", "die"', '"hang"')
    workers.seconds = 4.0
    found = done(written(tmp_path, text), workers)
    hung = found.row("1")
    assert (hung["trouble"], hung["status"]) == ("hang", "TIMEOUT")
    assert hung["reason"] == "it took longer than 4 s"
    assert hung["output"] == "loaded 500.0\n" and 4.0 < hung["seconds"] < 60.0
    assert "in createScene" in hung["traceback"]


@pytest.mark.processes
def test_a_run_that_is_repeated_is_the_same_and_a_changed_scene_is_not(plain, workers):
    path, found = plain
    before = found.row("4")
    task = Task(read_study(path).scenario, found.run(before))
    assert differences(before, repeat(task, workers)) == []
    bar = path.parent / "bar.py"
    text = bar.read_text()
    bar.write_text(text.replace("[0][2]", "[0][2] + 1e-14"))
    with LocalExecutor(1) as fresh:
        assert differences(before, repeat(task, fresh)) == ["height"]
    bar.write_text(text)


BREAKS = """
import Sofa.Core

class Break(Sofa.Core.Controller):
    def onAnimateEndEvent(self, event):
        if self.getContext().time.value > 0.015:
            raise RuntimeError(f"{object()} broke in {tempfile.mkdtemp()}")
"""


@pytest.mark.processes
@pytest.mark.parametrize("record", [True, False])
def test_a_failed_run_that_is_repeated_is_the_same(tmp_path, record):
    """Though names of temporary files and addresses of objects are others."""
    text = 'scene = "bar.py"\nsteps = 3\nparameters.trouble.values = ["break"]\n'
    path = written(tmp_path, f'{text}{MEASURES}[keep]\nrecord = "failures"\n')
    scene = path.with_name("bar.py")
    add = '    if trouble == "break":\n        root.addObject(Break(name="break"))\n'
    text = scene.read_text().replace('    if trouble == "exit":', f'{add}    if trouble == "exit":')
    scene.write_text(f"import tempfile\n{text}{BREAKS}")
    with LocalExecutor(1) as executor:
        found = done(path, executor)
    before = found.row("0")
    assert before["status"] == "FAILED" and " broke in " in before["reason"]
    assert "record" not in before["traceback"].lower()
    assert len(list((found.path / "records").iterdir())) == 1
    repeated = rerun(found.path, 0, record=record)
    assert repeated.differing == [] and (repeated.record is not None) == record
    assert differences(before | {"reason": "other"}, repeated.row) == ["reason"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("parameters.young", "parameters.yuong"), "no parameter 'yuong'. Did you mean 'young'"),
        (("cable_1/cable.value", "cable_3/cable.value"), "no component 'body/cable_3/cable'"),
        (("cable_1/cable.value", "cable_1/cable.valeu"), "Data 'valeu'. Did you mean 'value'"),
        (("bar.py:height", "bar.py:hieght"), "no function 'hieght'"),
        (("bar.py:height", "tiem"), "no 'tiem'. Did you mean 'time'"),
        (("steps = 3", "duration = 0.015"), "no multiple of the scene's dt"),
    ],
)
def test_a_study_of_which_no_run_can_succeed_is_refused(tmp_path, workers, change, text):
    path = written(tmp_path, GRID.replace(*change))
    with pytest.raises(StudyError) as raised:
        done(path, workers)
    assert text in str(raised.value) and "'bar'" in str(raised.value)
    assert not list((tmp_path / "bar.study").glob("rows/*"))


def test_exporters_of_a_scene_are_named_before_a_batch(tmp_path, workers, caplog):
    path = written(tmp_path)
    exporter = '    made.body.addObject("MeshExporter", name="out", exportEveryNumberOfSteps=1)\n'
    scene = tmp_path / "bar.py"
    scene.write_text(scene.read_text().replace("    time.sleep(pause)\n", exporter))
    done(path, workers)
    (text,) = [r.getMessage() for r in caplog.records if "exporters" in r.getMessage()]
    assert "/body/out: in a batch, exporters and monitors" in text and "[keep] record" in text


def test_a_scene_that_cannot_be_loaded_is_refused(tmp_path, workers):
    path = written(tmp_path)
    (tmp_path / "bar.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(StudyError, match="cannot be loaded: ModuleNotFoundError: No module"):
        done(path, workers)


FUNCTION = """
function = "add.py:add"
parameters.a.values = [1, 2]
parameters.b.values = [10]
"""


def test_a_function_is_run_with_the_parameters(tmp_path, workers):
    (tmp_path / "add.py").write_text("def add(a, b):\n    return {'sum': a + b, 'a': 0}\n")
    found = done(written(tmp_path, FUNCTION), workers)
    assert found.rows["sum"].to_pylist() == [11.0, 12.0]
    assert found.rows["a"].to_pylist() == [1.0, 2.0]  # of the parameter
    (tmp_path / "add.py").write_text("def add(a):\n    return a\n")
    with pytest.raises(StudyError, match="'add' of '.*add.py' does not take the parameters a, b"):
        done(written(tmp_path, FUNCTION), workers, "other.study")


def test_a_child_that_a_run_forks_takes_no_part(tmp_path):
    (tmp_path / "f.py").write_text(
        "import os\n\ndef f(x):\n    return {'y': x, 'child': os.fork() == 0}\n"
    )
    path = tmp_path / "f.toml"
    path.write_text('function = "f.py:f"\nparameters.x.values = [1, 2, 3, 4, 5]\n')
    with LocalExecutor(1) as executor:
        found = done(path, executor)
    assert found.rows["y"].to_pylist() == [1, 2, 3, 4, 5]
    assert found.rows["child"].to_pylist() == [False] * 5


def test_data_that_a_component_read_before_are_taken_over_or_refused(tmp_path, workers):
    """The modulus counts from reinit() on; positions of a mesh at the start alone."""
    text = GRID.replace(
        '"body/cable_1/cable.value"', '"body/TetrahedronFEMForceField.youngModulus"'
    )
    text = text.replace("[[0.0], [2.0], [4.0]]", "[300.0, 900.0]")
    found = done(written(tmp_path, text), workers)
    heights = found.numbers("height").reshape(3, 2)
    assert (heights[:, 1] > heights[:, 0]).all() and np.ptp(heights[:, 0]) < 1e-9
    text = text.replace("TetrahedronFEMForceField.youngModulus", "mesh.position")
    with pytest.raises(StudyError, match="'body/mesh.position' is read only at the start"):
        done(written(tmp_path, text, "other"), workers, "other.study")


@pytest.mark.usefixtures("tolerant")
def test_what_its_scene_warns_of_is_said_before_the_runs(tmp_path, workers, caplog):
    path = written(tmp_path, GRID.replace("[parameters.young]", "[parameters.unread]"))
    scene = tmp_path / "bar.py"
    scene.write_text(scene.read_text().replace("pause=0.0", "pause=0.0, unread=1.0"))
    assert done(path, workers).counts() == {"OK": 9}
    text = "its scene warns: createScene of "
    assert [text in r.getMessage() for r in caplog.records].count(True) == 1
    assert "never reads its parameter 'unread'" in caplog.text


@pytest.mark.usefixtures("tolerant")
def test_data_of_a_study_and_its_time_are_checked_against_the_scene(tmp_path, workers, caplog):
    text = GRID.replace('"body/cable_1/cable.value"', '".gravity"')
    text = text.replace("[[0.0], [2.0], [4.0]]", "[[0.0, 0.0, -9.81]]")
    path = written(tmp_path, text)
    scene = tmp_path / "bar.py"
    scene.write_text("UNITS = 'mm, kg, s'\nDURATION = 1.0\n" + scene.read_text())
    assert done(path, workers).counts() == {"OK": 3}
    assert "its scene warns: gravity is 9.81 mm/s^2 with UNITS" in caplog.text
    assert "3 steps of dt = 0.01 are 0.03, and its DURATION is 1: most of its" in caplog.text
