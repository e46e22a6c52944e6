from types import SimpleNamespace

import numpy as np
import pytest

from sofa_softctl.base import colors
from sofa_softctl.base.axes import true_spans
from sofa_softctl.errors import SoftctlError
from sofa_softctl.inverse.plot import draw_tracking
from sofa_softctl.scene.control.report import History
from sofa_softctl.units import Units
from sofa_softctl.view.plots.run import save_run_plot


def history(steps=50, touching=False, held=()):
    """Two cables and a goal on a circle; something touches in the second half."""
    time = np.linspace(0.01, 1.0, steps)
    path = np.stack([np.cos(6 * time), np.sin(6 * time), 0 * time], axis=-1)[:, None, :]
    effort = np.stack([1 + np.sin(time), 2 - time], axis=-1)
    values = {"goal": path, "tip": 0.98 * path, "error": np.full((steps, 1), 0.02)}
    values |= {"effort": effort, "displacement": effort}
    values = {name: list(value) for name, value in values.items()}
    values["status"] = [np.array("HELD" if k in held else "SOLVED") for k in range(steps)]
    touched = [np.full(4 if touching and k >= steps // 2 else 0, 5.0) for k in range(steps)]
    values["contact_normal"] = touched
    values["contact_slide"] = [0.02 * normal for normal in touched]
    values["contact_mode"] = [np.minimum(normal, 1.0) for normal in touched]
    return History(time, values)


def save_tracking_plot(path, found):
    def plot(figure, history):
        draw_tracking(figure, ("left", "right"), history)
        return True

    save_run_plot(path, [(SimpleNamespace(plot=plot), found)])


@pytest.mark.soak
def test_contacts_get_axes_of_their_own(tmp_path):
    """A third row makes the picture a third taller."""
    from PIL import Image

    heights = []
    for touching in (False, True):
        save_tracking_plot(tmp_path / "plot.png", history(touching=touching))
        with Image.open(tmp_path / "plot.png") as picture:
            heights.append(picture.height)
    assert heights[1] > 1.3 * heights[0]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_plot_is_written_in_each_format(tmp_path, suffix):
    save_tracking_plot(tmp_path / f"plot{suffix}", history())
    assert (tmp_path / f"plot{suffix}").stat().st_size > 5000
    assert len(list(tmp_path.iterdir())) == 1


def test_the_plot_names_the_cables_and_shades_what_was_not_solved(tmp_path):
    """In the vector format the legend's texts are drawn glyphs, so the picture's pixels are asked:
    the shade of unsolved steps is there, and absent when every step was solved."""
    from PIL import Image

    shades = []
    for held in (range(10, 20), ()):
        save_tracking_plot(tmp_path / "plot.png", history(held=held))
        pixels = np.asarray(Image.open(tmp_path / "plot.png").convert("RGB")).astype(int)
        orange = (pixels[..., 0] > 240) & (pixels[..., 1] < 235) & (pixels[..., 2] < 225)
        shades.append(orange.sum())
    assert shades[0] > shades[1] + 1000


def test_a_run_without_steps_cannot_be_plotted(tmp_path):
    empty = History(np.zeros(0), {})
    with pytest.raises(SoftctlError, match="nothing to plot"):
        save_tracking_plot(tmp_path / "plot.png", empty)


def test_a_plot_of_unknown_kind_is_refused(tmp_path):
    with pytest.raises(SoftctlError, match=r"in .png, .svg or .pdf"):
        save_tracking_plot(tmp_path / "plot.bmp", history())


def test_spans_of_flags():
    assert true_spans(np.array([1, 1, 0, 1, 0, 0, 1], dtype=bool)) == [(0, 1), (3, 3), (6, 6)]
    assert true_spans(np.zeros(3, dtype=bool)) == []


def tracked(found, quantities=None, limits=()):
    """The figure of a run, drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    draw_tracking(figure, ("left", "right"), found, quantities, limits)
    figure.canvas.draw()
    return figure


def with_units(found):
    return History(found.time, found.values, Units("mm", "kg", "s"))


def test_every_axis_has_a_unit_and_no_legend_covers_data():
    figure = tracked(with_units(history(touching=True, held=range(5, 9))))
    labels = [text for axes in figure.axes for text in (axes.get_xlabel(), axes.get_ylabel())]
    assert sum(map(bool, labels)) == 7  # time once, four of the left panels, two of the path
    assert all("[" in text for text in labels if text)
    for axes in figure.axes:
        if axes.get_legend() is not None:
            legend, panel = axes.get_legend().get_window_extent(), axes.get_window_extent()
            assert legend.x0 >= panel.x1 - 1 or legend.y0 >= panel.y1 - 1


@pytest.mark.parametrize(
    ("quantities", "label", "names"),
    [
        (("force", "force"), "effort [mN]", ["left", "right"]),
        (("pressure", "pressure"), "effort [kPa]", ["left", "right"]),
        (("force", "torque"), "effort [mN, uN m]", ["left [mN]", "right [uN m]"]),
    ],
)
def test_efforts_have_the_units_of_their_actuators(quantities, label, names):
    axes = tracked(with_units(history()), quantities).axes[1]
    assert axes.get_ylabel() == label
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names


def test_a_goal_that_stays_is_seen_around_the_tip_that_reached_it():
    found = history()
    still = np.array([[3.0, 4.0, 5.0]])
    found.values["goal"] = [still] * len(found.time)
    found.values["tip"] = [still + [[0.0, 2.0 - 2.0 * t, 0.0]] for t in found.time]
    path = tracked(found).axes[-1]
    (ring,) = (line for line in path.lines if line.get_markerfacecolor() == "none")
    assert ring.get_markeredgecolor() == colors.GOAL and ring.get_markersize() >= 10.0
    assert path.get_xlabel() == "x [length]" and path.get_ylabel() == "y [length]"


def test_actuators_and_contacts_have_their_own_colors():
    _, effort, contacts, *_ = tracked(history(touching=True)).axes
    assert [line.get_color() for line in effort.lines] == [colors.actuator(0), colors.actuator(1)]
    assert contacts.lines[0].get_color() == colors.CONTACT


def test_limits_that_efforts_come_near_to_are_drawn():
    """Efforts of 1 to 2: at a limit of 2, far from one of 5; infinite ones are none."""
    effort = tracked(history(), limits=(0.0, -np.inf, 2.0, 2.0, 5.0, np.inf)).axes[1]
    drawn = [line for line in effort.lines if line.get_color() == colors.LIMIT]
    assert [line.get_ydata()[0] for line in drawn] == [2.0]
    assert effort.get_legend().get_texts()[-1].get_text() == "limit"
