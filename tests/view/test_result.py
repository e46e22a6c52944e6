"""Runs in Python: the object has what the command line says, draws and writes."""

import gc
import os
import re
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sofa_softctl
from sofa_softctl import Session, read_record
from sofa_softctl.errors import (
    DivergedError,
    ParameterError,
    RecordError,
    SceneError,
    SoftctlError,
    UsageError,
)
from sofa_softctl.scene import SceneController
from tests.docs.pages import ROOT

FINGER = ROOT / "scenes" / "finger.py"


@pytest.fixture(scope="module")
def result():
    """40 steps of the finger."""
    return sofa_softctl.run(FINGER, steps=40, backend="embedded", quiet=True)


def test_a_run_says_what_the_command_line_says(result, softctl):
    status, out, _ = softctl("run", FINGER, "--steps", 40, "--backend", "embedded")
    assert status == result.verdict.exit_status
    assert result.reasons == result.warnings == []
    out = " ".join(out.split())  # lines are as long as the terminal is wide
    for report in result.summary.reports()[:-1]:  # without times
        assert all(line.text in out and line.text in str(result) for line in report.lines)
    assert repr(result).startswith(f"<RunResult of {FINGER}: {result.verdict.name}, 40 steps")
    assert result._repr_html_().count("<table>") == 2


def test_channels_are_arrays_over_time(result):
    arrays = result.arrays("inverse.*", every=15)
    assert arrays["time"] == pytest.approx([0.01, 0.16, 0.31, 0.4])
    assert arrays["inverse.effort"].shape == (4, 1)
    assert arrays["inverse.status"].tolist() == ["SOLVED"] * 4
    full = result.arrays(["inverse.effort", "finger/tip/*"])
    assert [*full] == ["time", "inverse.effort", "finger/tip/dofs.position"]
    np.testing.assert_array_equal(arrays["inverse.effort"][:3], full["inverse.effort"][:40:15])


def test_channels_of_many_numbers_are_arrays_on_demand(result):
    assert "finger/dofs.position" not in result.arrays()
    assert result.arrays("finger/dofs.position")["finger/dofs.position"].shape[0] == 40


def test_a_data_frame_has_a_column_for_each_number_with_its_unit(result):
    pytest.importorskip("pandas")
    frame = result.to_dataframe(["inverse.effort", "finger/tip/*", "inverse.status"], every=39)
    assert frame.index.name == "time" and frame.index.tolist() == pytest.approx([0.01, 0.4])
    tip = [f"finger/tip/dofs.position.{axis}" for axis in "xyz"]
    assert [*frame.columns] == ["inverse.effort.cable", "inverse.status", *tip]
    assert frame.attrs["units"][tip[0]] == "mm"
    assert frame.attrs["units"]["inverse.effort.cable"] == "mN"
    last = result.record.channels["inverse.effort"][-1, 0]
    assert frame["inverse.effort.cable"].iloc[-1] == last


def test_without_pandas_the_extra_is_named(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SoftctlError, match=r"the extra \[notebook\] .*\[notebook\].*`arrays`"):
        result.to_dataframe()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.arrays("inverse.efort"), RecordError, "closest is 'inverse.effort'"),
        (lambda r: r.to_dataframe(every=0), UsageError, "Got: every=0"),
        (lambda r: r.arrays(every=1.5), TypeError, "cannot be interpreted as an integer"),
        (lambda r: r.picture(time=9.0), UsageError, "from t = 0.01 to 0.4. Got: 9"),
        (lambda r: r.picture("robot.bmp"), SoftctlError, "needs a name in .png, .jpg or .jpeg"),
        (lambda r: r.picture(camera="up"), UsageError, "camera: expected auto, front"),
        (lambda r: r.picture(size=(0, 9)), UsageError, "16 pixels a side or more"),
        (lambda r: r.movie("robot.avi"), SoftctlError, "needs a name in .gif, .mp4 or .html"),
        (lambda r: r.plot("robot.doc"), SoftctlError, "needs a name in .png, .svg or .pdf"),
    ],
)
def test_what_cannot_be_shown_is_refused(result, call, error, message):
    with pytest.raises(error, match=message):
        call(result)


def test_the_plot_is_a_figure_that_a_notebook_shows(result, tmp_path):
    figure = result.plot(tmp_path / "run.svg")
    assert figure.axes and (tmp_path / "run.svg").read_text().lstrip().startswith("<?xml")
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_pictures_and_movies_are_of_the_run(result, tmp_path):
    start = result.picture(time=0.0, size=(160, 120))
    end = result.picture(tmp_path / "new" / "end.png", size=(160, 120))
    assert end.pixels.shape == (120, 160, 3) and (start.pixels != end.pixels).any()
    assert result.statuses == {"SOLVED": 40} and result.limits_met == {}
    with Image.open(tmp_path / "new" / "end.png") as written:
        np.testing.assert_array_equal(np.array(written), end.pixels)
    movie = result.movie(tmp_path / "run.gif", size=(160, 120), camera="front")
    assert movie.path.read_bytes().startswith(b"GIF89a")
    assert "data:image/gif;base64," in movie._repr_html_()
    assert result.movie(size=(160, 120)).path.parent == result._store.folder


def test_the_file_of_a_result_goes_with_it(result, tmp_path):
    kept = sofa_softctl.run(FINGER, steps=2, record=tmp_path / "own.mcap", quiet=True)
    other = sofa_softctl.run(FINGER, steps=2, quiet=True)
    folder = other._store.folder
    assert folder.is_dir() and len(other.record.time) == len(kept.record.time) == 2
    del other, kept
    gc.collect()
    assert not folder.exists() and read_record(tmp_path / "own.mcap").complete


def test_a_run_may_keep_nothing():
    result = sofa_softctl.run(FINGER, steps=2, keep=False, quiet=True)
    assert result.summary.steps == 2 and result.plot().axes
    with pytest.raises(SoftctlError, match="were not kept: the run was made with keep=False"):
        result.arrays()


def test_a_scene_with_nothing_to_record_still_has_a_summary(Sofa):
    result = sofa_softctl.run(lambda root: None, steps=3, backend="embedded", quiet=True)
    assert (result.summary.steps, result.verdict) == (3, None)
    with pytest.raises(SoftctlError, match="were not kept: There is nothing to record: the scene"):
        result.picture()
    with pytest.raises(SoftctlError, match="no controller of the scene has a plot"):
        result.plot()


def test_an_open_session_goes_on_and_stays_open(tmp_path):
    with Session(FINGER, backend="embedded") as session:
        session.step(3)
        result = sofa_softctl.run(session, steps=4, quiet=True)
        assert (result.summary.steps, session.step_count) == (4, 7)
        assert result.arrays()["time"] == pytest.approx([0.04, 0.05, 0.06, 0.07])
        with session.recording(tmp_path / "own.mcap"):
            recorded = sofa_softctl.run(session, steps=1, quiet=True)
        with pytest.raises(SoftctlError, match="This session already records to"):
            recorded.arrays()
        with pytest.raises(UsageError, match="An open session has its parameters: give it to"):
            sofa_softctl.run(session, steps=1, parameters={"bend": 3.0})
        session.step()


def test_runs_last_as_long_as_the_scene_says(result):
    names = {"DURATION": 0.05, "UNITS": "m, kg, s"}
    exec("def createScene(root, dt=0.01): root.dt = dt", names)
    run = sofa_softctl.run(names["createScene"], quiet=True)
    assert (run.summary.steps, run.summary.units["force"]) == (5, "N")
    run = sofa_softctl.run(names["createScene"], parameters={"dt": "0.025"}, quiet=True)
    assert run.summary.steps == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scene": "nothing.py"}, SceneError, "There is no scene file 'nothing.py'"),
        ({"scene": 5}, UsageError, "Got: 5"),
        ({"parameters": ["bend"]}, UsageError, "are a dict of their values. Got: ..bend"),
        ({"parameters": {"bnd": 3.0}}, ParameterError, "no parameter 'bnd'. Did you mean 'bend'"),
        ({"duration": 0.015}, SceneError, "0.015 is no multiple of the scene's dt = 0.01"),
        ({"duration": 1.0, "steps": 2}, UsageError, "either steps or a duration"),
        ({"steps": 0}, SceneError, "At least one step"),
        ({"record": "run.csv"}, RecordError, "a recording is an MCAP file"),
        ({"backend": "sova"}, SoftctlError, "Unknown backend 'sova'"),
    ],
)
def test_runs_that_cannot_be_are_refused(arguments, error, message, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(error, match=message):
        sofa_softctl.run(**{"scene": FINGER, "quiet": True} | arguments)
    assert not [*tmp_path.iterdir()]


class Stopping(SceneController):
    """Calls a function at the begin of its third step."""

    def __init__(self, *, root, call):
        super().__init__(name="stopping", root=root)
        self.call, self.count = call, 0

    def onAnimateBeginEvent(self, event):
        self.count += 1
        if self.count == 3:
            self.call()


def test_of_a_run_that_fails_the_steps_before_are_kept(beam, tmp_path, monkeypatch):
    """A note says where, as on the command line; its file is not deleted then."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def createScene(root):
        body = beam(root)
        call = lambda: setattr(body.dofs, "velocity", np.full((16, 3), 1e200))  # noqa: E731
        root.addObject(Stopping(root=root, call=call))

    with pytest.raises(DivergedError) as raised:
        sofa_softctl.run(createScene, steps=9, backend="embedded", quiet=True)
    (note,) = [note for note in raised.value.__notes__ if "recording" in note]
    count = int(re.match(r"The recording of the (\d) steps before is kept: '", note)[1])
    assert len(read_record(Path(note.split("'")[1])).time) == count >= 2


def test_ctrl_c_returns_what_was_done(beam, capsys):
    def createScene(root):
        beam(root)
        root.addObject(Stopping(root=root, call=lambda: os.kill(os.getpid(), signal.SIGINT)))

    assert threading.current_thread() is threading.main_thread()
    result = sofa_softctl.run(createScene, steps=9, backend="embedded")
    assert (result.summary.interrupted, result.summary.steps) == (True, 3)
    assert result.record.status == "interrupted" and len(result.arrays()["time"]) == 3
    assert "Stopped by Ctrl-C after 3 of 9 steps." in capsys.readouterr().out
    assert "Stopped by Ctrl-C" in result.summary.sentences()["times"]


def test_goals_that_are_missed_have_reasons(softctl):
    trunk = ROOT / "scenes" / "trunk.py"
    result = sofa_softctl.run(trunk, steps=20, parameters={"radius": 200.0}, quiet=True)
    status, out, _ = softctl("run", trunk, "--steps", 20, "--set", "radius=200")
    assert status == result.verdict.exit_status == 3
    out = " ".join(out.split())
    assert result.reasons and all(text in out for text in result.reasons)
