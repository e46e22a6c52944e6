"""The page of a recorded run."""

import re

import numpy as np
import pytest

from sofa_softctl import Session, read_record
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.view.pages import run
from sofa_softctl.view.pages.run import SAMPLES_MAX, downsample_keep_extrema, findings_of
from tests.view.pages.html_page import Page


@pytest.fixture(scope="module")
def record(tmp_path_factory, beam):
    """Of a beam that two cables bend."""

    def createScene(root, stiff=400.0, name="<b>soft & slow</b>"):
        beam(root, cables=2, value=5.0).fem.youngModulus.value = stiff

    path = tmp_path_factory.mktemp("runs") / "run.mcap"
    session = Session(createScene)
    with session.recording(path):
        session.step(5)
    return read_record(path)


@pytest.fixture
def recorded(tmp_path):
    """Makes a recording of channels, by name: recorded({"x": values}, status, metadata)."""

    def make(channels, status="complete", metadata=None):
        writer = RecordWriter(tmp_path / "a.mcap", metadata or {})
        arrays = {name: np.asarray(values) for name, values in channels.items()}
        for name, values in arrays.items():
            text = values.dtype.kind == "U"
            writer.add_channel(name, unit="mm", shape=None if text else values.shape[1:])
        for step in range(len(next(iter(arrays.values())))):
            writer.write(0.1 * step, {name: values[step] for name, values in arrays.items()})
        writer.close(status=status)
        return read_record(tmp_path / "a.mcap")

    return make


@pytest.mark.processes
def test_a_page_has_everything_and_needs_no_other_file(record, monkeypatch):
    monkeypatch.setattr(run, "_render_steps", lambda *_: iter([(0, "AAAA"), (4, "BBBB")]))
    text = run.page(record)
    page = Page(text)
    assert page.titles == [
        "What was found",
        "Pictures",
        "Over time",
        "What was recorded",
        "Parameters of the scene",
        "What produced it",
    ]
    assert all(load.startswith("#") for load in page.loads)
    assert len(page.ids) == len(set(page.ids))
    assert "&lt;b&gt;soft &amp; slow&lt;/b&gt;" in text
    assert "<b>soft" not in text
    assert "Largest von Mises stress of beam/dofs" in text
    assert "Force of the cables" in text
    for package in ("softctl", "numpy", "numba"):
        assert record.metadata[package] in text


def test_its_pictures_are_of_the_robot(record):
    pictures = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", run.page(record))
    assert len(pictures) == 3
    assert len(set(pictures)) == 3


def test_without_meshes_there_are_no_pictures_but_a_page(recorded):
    text = run.page(recorded({"tip.error": [[1.0], [0.5], [0.0]]}))
    assert "There are none: The recording has positions, but no meshes" in text
    assert "tip.error" in text
    Page(text)


def test_failures_come_first(recorded):
    x = np.zeros((4, 2, 3))
    x[2:, 1, 0] = np.nan
    found = recorded(
        {
            "inverse.status": ["SOLVED", "HELD", "HELD", "FALLBACK"],
            "inverse.error": [[3.0], [2.0], [1.0], [0.2]],
            "inverse.gap": [[0.0], [np.nan], [0.0], [0.0]],
            "body/dofs.position": x,
        },
        "stopped: the state became NaN",
    )
    assert findings_of(found) == [
        ("The run did not end as planned. After 4 steps: stopped: the state became NaN", "bad"),
        ("body/dofs.position is not finite in 2 steps, first at t = 0.2.", "bad"),
        ("inverse.gap is not finite in 1 step, first at t = 0.1.", "look"),
        ("inverse.status: 1 of 4 steps SOLVED; 2 HELD, 1 FALLBACK.", "look"),
        ("inverse.error: 0.2 mm at the end, at most 3 mm, at t = 0.", "good"),
    ]
    text = run.page(found)
    assert "<b>failed</b><span>how the run ended" in text
    Page(text)


def test_tetrahedra_that_are_inside_out_are_found(tmp_path):
    """Of two, one from 0.1 on and both from 0.2 on."""
    one = np.vstack([np.zeros(3), np.eye(3)])
    rest = np.vstack([one, one + 5.0])
    with RecordWriter(tmp_path / "a.mcap", {}) as writer:
        writer.add_channel("body/dofs.position", shape=(8, 3))
        writer.attach("scene", {"gravity": np.zeros(3)})
        writer.attach(
            "bodies/body/dofs",
            {
                "rest": rest,
                "tetrahedra": np.array([[0, 1, 2, 3], [4, 5, 6, 7]]),
                "triangles": np.empty((0, 3), dtype=int),
                "obstacle": np.array(False),
            },
        )
        for step, heights in enumerate(((0.5, 1.0), (-0.1, 0.5), (-0.2, -0.1))):
            moved = rest * np.repeat([[1.0, 1.0, z] for z in heights], 4, axis=0)
            writer.write(0.1 * step, {"body/dofs.position": moved})
    first, _ = findings_of(read_record(tmp_path / "a.mcap"))
    assert first == ("body/dofs: 2 of 2 tetrahedra inside out, first at t = 0.1.", "bad")


def test_a_recording_without_steps_has_a_page(recorded):
    text = run.page(recorded({"x": np.empty((0, 1))}, "complete"))
    assert "0 steps" in text
    Page(text)


def test_thinned_plots_keep_every_peak():
    rng = np.random.default_rng(1)
    time, values = np.arange(10_000.0), rng.standard_normal((10_000, 2))
    values[1234, 0], values[7777, 1] = 50.0, -40.0
    values[5000:5100] = np.nan
    times, shown = downsample_keep_extrema(time, values)
    assert len(times) == len(shown) <= SAMPLES_MAX + 2
    assert (np.diff(times) >= 0.0).all()
    assert (np.nanmax(shown), np.nanmin(shown)) == (50.0, -40.0)
    assert np.isnan(shown).any()


def test_the_command_writes_the_page_and_refuses_other_names(tmp_path, recorded, softctl):
    recorded({"x": [[1.0], [2.0]]}, metadata={"scene": "scenes/a.py"})
    status, out, _ = softctl("report", tmp_path / "a.mcap", "--to", tmp_path / "a.html")
    assert (status, out) == (0, f"Written: {tmp_path / 'a.html'}\n")
    assert "<h1>Run of scenes/a.py</h1>" in (tmp_path / "a.html").read_text()
    status, _, err = softctl("report", tmp_path / "a.mcap", "--to", tmp_path / "a.pdf")
    assert status == 2
    assert "--to: expected FILE.html" in err
