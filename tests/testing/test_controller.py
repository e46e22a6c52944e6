"""What `check_controller` finds; what it lets pass are built-in controllers."""

from dataclasses import dataclass

import numpy as np
import pytest

from sofa_softctl import FrictionWithoutCreep, InverseController, add_effector
from sofa_softctl.errors import SceneError
from sofa_softctl.scene import Line, Markers, Report, SceneController, Table, pauses_on_error
from sofa_softctl.testing import check_controller


@dataclass
class Summary:
    """What a run was like."""

    largest: float

    def report(self, units):
        table = Table("Pulls", ("pull", units["force"]), [("largest", f"{self.largest:g}")])
        return Report([table], [Line("Fine.", "good")])


class Sway(SceneController):
    """Pulls a cable in a wave; the phase is an attribute, kept over resets and in snapshots."""

    recorded = {"pull": ("force", "Force on the cable")}

    def __init__(self, *args, root, cable, **kwargs):
        super().__init__(*args, root=root, **kwargs)
        self.cable, self.phase = cable, 0
        self.add_output("pull", np.zeros(1), "Force on the cable.")

    @pauses_on_error
    def onAnimateBeginEvent(self, event):
        self.phase += 1
        force = 2000.0 * np.sin(0.3 * self.phase)
        self.cable.value.value = [force * self.dt.value]
        self.outputs["pull"].value = [force]

    def reset(self):
        self.phase = 0
        self.cable.value.value = [0.0]
        self.outputs["pull"].value = [0.0]

    def snapshot(self):
        return {"phase": self.phase}

    def restore(self, snapshot):
        self.phase = snapshot["phase"]

    def summary(self, history):
        return Summary(float(history["pull"].max()))

    def plot(self, figure, history):
        figure.subplots().plot(history.time, history["pull"])
        return True

    def markers(self):
        return Markers(*(np.zeros((0, 3)) for _ in range(4)))


def variant(**members):
    return type("Sway", (Sway,), members)


def cable_of(scene):
    return {"cable": scene.cables[0]}


def inverse(scene):
    effector = add_effector(scene.tip.getContext())
    return {"actuators": scene.cables, "effectors": [effector], "goal": [8.0, 5.0, 39.0]}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("cls", "arguments"),
    [(Sway, cable_of), (FrictionWithoutCreep, None), (InverseController, inverse)],
)
def test_good_controllers_pass(cls, arguments):
    assert isinstance(check_controller(cls, arguments), cls)


@pytest.mark.processes
def test_the_bar_is_moved():
    """The check is of something: the tip is pulled to the side by more than a tenth of a mm."""
    tips = []
    seen = check_controller(Sway, lambda scene: tips.append(scene.tip) or cable_of(scene))
    assert seen.outputs["pull"].value[0] == pytest.approx(2000.0 * np.sin(0.3 * 20))
    assert abs(tips[0].position.value[0, 0] - 5.0) > 0.1


def not_in_time(self, event):
    self.phase = None
    self.phase += 1


def text_of_a_run(self, history):
    return "good"


class NoReport(Summary):
    def report(self, units):
        return "good"


class ShortRow(Summary):
    def report(self, units):
        return Report([Table("Pulls", ("pull", "force"), [("largest",)])])


class OddLevel(Summary):
    def report(self, units):
        return Report([], [Line("Fine.", "excellent")])


class Reached(Summary):
    verdict = "reached"


class FailingReport(Summary):
    def report(self, units):
        raise KeyError("mass")


def kicks_first(self, event):
    """Pushes in the first run, and starts another way after a reset."""
    if not hasattr(self, "kicked"):
        self.kicked = self.phase = 3
    Sway.onAnimateBeginEvent(self, event)


def fails(self, *args):
    raise RuntimeError("not today")


def markers_at(value):
    points, none = np.full((1, 3), value), np.zeros((0, 3))
    return Markers(points, np.zeros((1, 3)), none, none)


@pytest.mark.processes(keep=2)
@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"onAnimateBeginEvent": kicks_first}, "after a reset, expected the first run again"),
        ({"summary": lambda self, history: Reached(1.0)}, "verdict: expected a Verdict or None"),
        ({"summary": lambda self, history: Summary(np.nan)}, "Sway.summary.largest: .*no NaN"),
        ({"markers": lambda self: markers_at(np.nan)}, "expected goals that are finite. Got:.*nan"),
        ({"recorded": {"pull": ("lenght/time", "Pull")}}, "a unit in words, of .*'lenght/time'"),
        ({"summary": fails}, "Sway.summary: .* it raised RuntimeError: not today"),
        ({"plot": fails}, "Sway.plot: .* it raised RuntimeError: not today"),
        ({"markers": fails}, "Sway.markers: .* it raised RuntimeError: not today"),
        ({"hold": fails}, "Sway.hold: .* it raised RuntimeError: not today"),
        ({"summary": lambda self, history: FailingReport(1.0)}, "summary.report: .*KeyError"),
        ({"onAnimateEndEvent": not_in_time}, "Sway: expected 20 steps, got TypeError in step 1:"),
        ({"reset": lambda self: None}, "Sway: after a reset, .*Got another .* after step 1: "),
        ({"snapshot": lambda self: {}}, "after Session.restore, .* Has it a method snapshot"),
        ({"summary": text_of_a_run}, "Sway.summary: expected a dataclass or None. Got: 'good'"),
        ({"summary": lambda self, history: Summary(history)}, "expected fields that JSON knows"),
        ({"summary": lambda self, history: NoReport(1.0)}, "expected a Report of report.units."),
        ({"summary": lambda self, history: ShortRow(1.0)}, "expected 2 texts in each row. Got:"),
        ({"summary": lambda self, history: OddLevel(1.0)}, "a level of .*Got: 'excellent'"),
        ({"plot": lambda self, figure, history: None}, "Sway.plot: expected True or False"),
        ({"plot": lambda self, figure, history: True}, "expected axes just where it returns True"),
        ({"markers": lambda self: (1, 2)}, "Sway.markers: expected Markers or None"),
        (
            {"markers": lambda self: Markers(np.zeros((1, 3)), *(np.zeros((2, 3)),) * 3)},
            r"goals and tips of one shape \(n, 3\)",
        ),
        ({"recorded": ["pull"]}, "Sway.recorded: expected a dict"),
        ({"recorded": {"pull": "force"}}, r"recorded\['pull'\]: expected \(unit, meaning\)"),
        ({"recorded": {"pulls": ("force", "Force")}}, "expected a Data 'pulls' for it"),
    ],
)
def test_what_is_wrong_with_a_controller_is_told(members, message):
    with pytest.raises(AssertionError, match=message):
        check_controller(variant(**members), cable_of)


@pytest.mark.processes
def test_data_of_changing_size_must_say_how_many_are_kept():
    def grow(self, event):
        self.outputs["pull"].value = np.ones(1 + self.phase % 3)

    silent = {"summary": SceneController.summary, "plot": SceneController.plot}
    growing = variant(onAnimateEndEvent=grow, **silent)
    with pytest.raises(AssertionError, match="expected one shape, or how many are kept"):
        check_controller(growing, cable_of)
    growing.recorded = {"pull": ("force", "Force on the cable", 4)}
    check_controller(growing, cable_of)


def test_what_is_no_controller_is_told():
    with pytest.raises(AssertionError, match="Summary: expected a subclass of Sofa.Core.Controll"):
        check_controller(Summary)


def test_a_function_is_no_controller():
    with pytest.raises(AssertionError, match="cable_of: expected a subclass of Sofa.Core.Controll"):
        check_controller(cable_of)


def test_the_error_of_a_method_is_the_cause():
    with pytest.raises(AssertionError) as caught:
        check_controller(variant(summary=fails), cable_of)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.processes
def test_a_plot_may_have_nothing_to_draw():
    def plot(self, figure, history):
        raise SceneError("There is nothing to draw yet.")

    check_controller(variant(plot=plot), cable_of)
