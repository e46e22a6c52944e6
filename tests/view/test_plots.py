import numpy as np
import pytest
from PIL import Image

from sofa_softctl.errors import SoftctlError
from sofa_softctl.status import Status
from sofa_softctl.view.plots import save_tracking_plot, spans, spread


def run(steps=50):
    """A goal on a circle in the plane of y and z, a tip behind it, two cables."""
    time = np.linspace(0.01, 1.0, steps)
    goal = np.stack([0 * time, np.cos(6 * time), np.sin(6 * time)], axis=-1)
    return {
        "time": time,
        "error": np.full(steps, 0.02),
        "efforts": {"left": 1 + np.sin(time), "right": 2 - time},
        "goal": goal,
        "tip": 0.98 * goal,
    }


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


@pytest.mark.parametrize("rows", [2, 3])
def test_a_plot_is_a_picture_of_the_right_size(tmp_path, rows):
    """10 inches by 2.1 and 1.8 a row, at 160 pixels an inch."""
    found = run()
    displacements = found["efforts"] if rows == 3 else None
    save_tracking_plot(tmp_path / "plot.png", **found, displacements=displacements)
    shown = pixels(tmp_path / "plot.png")
    assert shown.shape == (round(160 * (2.1 + 1.8 * rows)), 1600, 3)
    assert shown.std() > 10.0  # not one color
    assert [file.name for file in tmp_path.iterdir()] == ["plot.png"]


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_suffix_chooses_the_format(tmp_path, suffix, start):
    save_tracking_plot(tmp_path / f"plot{suffix}", **run())
    assert (tmp_path / f"plot{suffix}").read_bytes().startswith(start)


def test_names_units_and_the_plane_of_motion_can_be_read(tmp_path):
    """matplotlib writes each text of a vector picture into a comment."""
    units = {"effort_unit": "kPa", "length_unit": "mm", "time_unit": "ms"}
    save_tracking_plot(tmp_path / "plot.svg", **run(), **units)
    text = (tmp_path / "plot.svg").read_text()
    for word in ("left", "right", "effort [kPa]", "error [mm]", "time [ms]", "y [mm]", "z [mm]"):
        assert f"<!-- {word} -->" in text, word
    assert "<!-- x [mm] -->" not in text


def test_steps_that_were_not_solved_have_a_shade(tmp_path):
    colored = []
    for status in (Status.SOLVED, Status.CLOSEST_FEASIBLE, Status.HELD):
        statuses = [Status.SOLVED] * 10 + [status] * 10 + [Status.SOLVED] * 30
        save_tracking_plot(tmp_path / "plot.png", **run(), statuses=statuses)
        shown = pixels(tmp_path / "plot.png")
        colored.append(int((np.ptp(shown, axis=-1) > 15).sum()))
    assert min(colored[1:]) > colored[0] + 20000


def test_a_limit_is_drawn_where_it_is_in_view(tmp_path):
    texts = []
    for limit in (2.1, 1000.0):
        limits = {"left": (-np.inf, limit)}
        save_tracking_plot(tmp_path / "plot.svg", **run(), limits=limits)
        texts.append((tmp_path / "plot.svg").read_text())
    assert "<!-- limit of left -->" in texts[0]
    assert "limit" not in texts[1]


def test_a_single_step_without_error_or_motion_can_be_plotted(tmp_path):
    """No span, no logarithm: matplotlib would warn, and warnings are errors here."""
    one = np.ones(1)
    place = np.zeros((1, 3))
    save_tracking_plot(
        tmp_path / "plot.png", time=one, error=0 * one, efforts={"a": one}, goal=place, tip=place
    )
    assert pixels(tmp_path / "plot.png").std() > 5.0


def test_a_peak_in_the_error_makes_its_axis_logarithmic(tmp_path):
    found = run()
    found["error"][3] = 2.0
    found["error"][4] = 0.0  # has no logarithm
    save_tracking_plot(tmp_path / "plot.svg", **found)
    assert r"10^{" in (tmp_path / "plot.svg").read_text()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("error", np.zeros(49), r"The error must have shape \(50,\). Got: \(49,\)"),
        ("goal", np.zeros((50, 2)), r"The goal must have shape \(50, 3\). Got: \(50, 2\)"),
        ("tip", np.zeros((50, 1, 3)), r"The tip must have shape \(50, 3\). Got: \(50, 1, 3\)"),
        ("efforts", {"left": np.zeros(3)}, r"effort of 'left' must have shape \(50,\)"),
        ("displacements", {"left": np.zeros(3)}, r"displacement of 'left' must have shape"),
        ("statuses", [Status.HELD], "There must be 50 statuses, one a step. Got: 1"),
        ("limits", {"middle": (0, 1)}, "unknown actuator 'middle'. Known: left, right"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path, name, values, message):
    with pytest.raises(ValueError, match=message):
        save_tracking_plot(tmp_path / "plot.png", **{**run(), name: values})
    assert not list(tmp_path.iterdir())


def test_a_plot_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, name):
        name.write_text("half")
        raise RuntimeError

    (tmp_path / "plot.png").write_text("old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(RuntimeError):
        save_tracking_plot(tmp_path / "plot.png", **run())
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("plot.png", "old")]


def test_a_run_without_steps_and_an_unknown_kind_are_refused(tmp_path):
    with pytest.raises(SoftctlError, match="nothing to plot"):
        save_tracking_plot(tmp_path / "plot.png", **{**run(), "time": np.zeros(0)})
    with pytest.raises(SoftctlError, match=r"in .png, .svg, .pdf, got"):
        save_tracking_plot(tmp_path / "plot.bmp", **run())


def test_pyplot_is_not_imported():
    """It would choose a backend and keep every figure for the whole process."""
    import subprocess
    import sys

    code = "import sys, sofa_softctl.view.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("seed", range(5))
def test_spread_names_are_apart_in_order_and_inside(seed):
    places = np.random.default_rng(seed).normal(0.5, 0.2, 9)
    found = spread(places, 0.1)
    order = np.argsort(places)
    assert np.diff(found[order]).min() > 0.1 - 1e-12
    assert found.min() >= 0.0
    assert found.max() <= 1.0 + 1e-12


def test_names_that_are_apart_stay_where_they_are():
    assert spread(np.array([0.8, 0.1, 0.4]), 0.1) == pytest.approx([0.8, 0.1, 0.4], abs=1e-15)


def test_spans_of_flags():
    assert spans(np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool)) == [(0, 1), (3, 3), (6, 6)]
    assert spans(np.zeros(3, dtype=bool)) == []
