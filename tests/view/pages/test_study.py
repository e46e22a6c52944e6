"""The page of a study, and its plots."""

import json

import numpy as np
import pytest

from sofa_softctl.batch.study.row import OWN
from sofa_softctl.batch.table.results import read_results
from sofa_softctl.batch.table.table import Table
from sofa_softctl.errors import SoftctlError
from sofa_softctl.scene.session.provenance import environment
from sofa_softctl.view.pages import study
from sofa_softctl.view.pages.study import findings_of
from sofa_softctl.view.plots.batch import save_study_plot
from sofa_softctl.view.plots.batch_columns import parameter_columns
from tests.view.pages.html_page import Page


@pytest.fixture
def results(tmp_path):
    """results(rows): those of a folder with such rows: parameters, measures, own columns."""

    def make(rows, parameters=(), log=(), runs=None):
        folder = tmp_path / "bar.study"
        about = {
            "format": 1, "study": "<bar>", "runs": runs or len(rows),
            "parameters": list(parameters),
            "log": list(log), "sources": {"gone.py": "0" * 64}, "package": "0" * 64,
            "versions": environment()["versions"], "scene": "bar.py",
        }  # fmt: skip
        folder.mkdir()
        (folder / "about.json").write_text(json.dumps(about))
        (folder / "study.toml").write_text('scene = "<bar>.py"\n')
        own = dict.fromkeys(OWN) | {"status": "OK", "digest": "d"}
        table = Table(folder / "rows")
        table.append([own | {"run": f"r{k}", "index": k} | row for k, row in enumerate(rows)])
        return read_results(folder)

    return make


def of_all_kinds():
    """Rows with parameters and measures of every kind, every third one failed."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(60):
        row = {
            "gain": float(10.0 ** rng.uniform(0, 4)), "at": [float(k % 3), float(k % 2)],
            "model": ["<linear>", "large"][k % 2], "fast": k % 4 < 2, "only": 1.0,
        }  # fmt: skip
        if k % 3:
            error = float("nan") if k == 1 else float(rng.uniform(0.1, 1.0))
            row |= {"error": error, "tip": [error, 1.0], "label": "<near>", "good": k % 5 > 0}
        else:
            text = f"the cable <i>broke</i> at {k}"
            row |= {"status": "FAILED", "reason": text, "traceback": "<b>Traceback</b>"}
        rows.append(row)
    return rows, ("gain", "at", "model", "fast", "only")


@pytest.mark.processes
def test_a_page_says_what_failed_first_and_needs_no_other_file(results):
    found = results(*of_all_kinds(), log=("gain",), runs=61)
    (found.path / "movies").mkdir()
    (found.path / "movies" / "r3.gif").write_bytes(b"GIF89a")
    text = study.page(found)
    page = Page(text)
    assert not page.loads and len(page.ids) == len(set(page.ids))
    assert page.titles[:3] == ["What was found", "Failures", "Movies of failures"]
    assert {"error", "tip[0]", "good", "Texts", "Rows", "The study"} <= set(page.titles)
    assert "the cable &lt;i&gt;broke&lt;/i&gt; at 0" in text and "<i>broke" not in text
    assert "&lt;b&gt;Traceback" in text and "&lt;linear&gt;" in text and "&lt;bar&gt;.py" in text
    assert "/bar.study 0 --movie</code>" in text
    assert text.count("data:image/gif;base64,R0lGODlh") == 1
    first = [level for _, level in findings_of(found)]
    assert first == sorted(first, key=["bad", "look", "good"].index)
    said = " ".join(line for line, _ in findings_of(found))
    assert "FAILED: 20 runs failed by an exception (33.3 %)." in said
    assert "1 of 61 runs are not done yet." in said
    assert "error is missing or not finite in 1 run" in said and "gone.py' is gone" in said


@pytest.mark.processes
def test_movies_are_shown_up_to_a_size(results, monkeypatch):
    found = results(*of_all_kinds())
    (found.path / "movies").mkdir()
    for run in ("r0", "r3", "r6"):
        (found.path / "movies" / f"{run}.gif").write_bytes(b"GIF89a" + bytes(100))
    monkeypatch.setattr(study, "MOVIE_BYTES_MAX", 250)
    text = study.page(found)
    assert text.count("data:image/gif") == 2 and "1 further movie in the folder movies." in text


@pytest.mark.parametrize(
    "row", [{"status": "DIED"}, {"x": 1.0}, {"x": 1.0, "y": float("nan")}], ids=str
)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_studies_with_little_in_them_have_a_page(results, row, count):
    rows = [row | {"x": float(k)} for k in range(count)]
    Page(study.page(results(rows, ("x",), runs=3)))


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["map", "scatter"])
def test_parameters_of_every_kind_are_drawn(results, kind, tmp_path, drawn):
    found = results(*of_all_kinds(), log=("gain",))
    save_study_plot(tmp_path / "bar.png", found, "tip[0]", kind)
    axes = {(a.get_xlabel(), a.get_ylabel()): a for a in drawn[0].axes}
    if kind == "map":
        assert {("gain", "tip[0]"), ("at[1]", "tip[0]"), ("fast", "tip[0]")} <= set(axes)
        assert axes["gain", "tip[0]"].get_xscale() == "log"
        assert len(axes["gain", "tip[0]"].texts) == 3  # the worst runs
    else:
        assert {("gain", "runs"), ("tip[0]", "runs")} <= set(axes)
        assert axes["gain", "runs"].get_xscale() == "log"


def test_samples_lie_at_their_values_and_grids_value_by_value(results):
    rows = [{"a": float(k % 4), "b": k / 7.0} for k in range(16)]
    grid, samples = parameter_columns(results(rows, ("a", "b")))
    assert grid.ticks == ("0", "1", "2", "3") and not samples.ticks
    assert samples.values.tolist() == [row["b"] for row in rows]


@pytest.mark.parametrize("kind", ["map", "scatter"])
def test_a_study_whose_runs_all_failed_is_drawn(results, kind, tmp_path):
    rows = [{"status": "FAILED", "a": float(k % 3), "b": float(k)} for k in range(12)]
    save_study_plot(tmp_path / "bar.png", results(rows, ("a", "b")), kind=kind)


def test_nothing_to_plot_is_said(results, tmp_path):
    with pytest.raises(SoftctlError, match="has no parameter with several values: there is"):
        save_study_plot(tmp_path / "bar.png", results([{"x": 1.0, "y": 2.0}], ("x",)))
