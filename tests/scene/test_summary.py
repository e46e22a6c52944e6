"""What a session says of its steps: as a run does, with bounded memory."""

import html
import pickle

import numpy as np
import pytest

from sofa_softctl import InverseController, add_effector
from sofa_softctl.errors import SceneError, UsageError
from sofa_softctl.scene import SceneController
from sofa_softctl.scene.control.report import Line, Report, Table
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict
from tests.docs.pages import ROOT

UNITS = "mm, kg, s"
DURATION = 0.07


def controlled(beam):
    """A scene with a beam whose tip a cable brings 1 mm aside, or not, if it is `far`."""

    def createScene(root, far=1.0):
        body = beam(root, cables=1)
        tip = body.addChild("tip")
        tip.addObject("MechanicalObject", name="dofs", position=[[10.0, 10.0, 90.0]])
        effector = add_effector(tip)
        tip.addObject("BarycentricMapping")
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=[body.cable_0.cable],
                effectors=[effector],
                goal=[10.0 - far, 10.0, 90.0],
                weight=[[1.0, 0.0, 0.0]],
                effort_min=0.0,
            )
        )

    return createScene


class Clock(SceneController):
    """A controller that puts out the time."""

    def __init__(self, *, root, name):
        super().__init__(name=name, root=root)
        self.add_output("now", [0.0], "Time.")

    def onAnimateEndEvent(self, event):
        self.outputs["now"].value = [self.time.value]


@pytest.fixture
def session(beam):
    with Session(controlled(beam), backend="embedded") as session:
        yield session


def without_times(summary):
    """The JSON of a summary, without wall times."""
    return {
        name: value
        for name, value in summary.to_dict().items()
        if name not in ("ms_per_step", "real_time_factor", "phases")
    }


def test_steps_of_a_session_are_summed_up_as_those_of_a_run(beam, session):
    for _ in range(30):
        session.step()
    with Session(controlled(beam), backend="embedded") as other:
        expected = run(other, 30)
    summary = session.summary()
    assert without_times(summary) == without_times(expected)
    assert summary.verdict is expected.verdict is not None
    assert str(summary).splitlines()[:4] == str(expected).splitlines()[:4]
    (_, history), (_, of_run) = *summary.histories, *expected.histories
    for name in of_run.values:
        np.testing.assert_array_equal(history[name], of_run[name])


def test_a_summary_has_a_value_and_a_sentence_for_each_item(session):
    summary = run(session, 20)
    texts = summary.sentences()
    assert texts["verdict"] == summary.verdict.value
    assert texts["statuses"] == "Solves by status: SOLVED 20." and summary.statuses["SOLVED"] == 20
    assert texts["times"].startswith("20 steps, 0.2 s simulated: ")
    assert "warnings" not in texts and summary.warnings == []


def test_a_summary_goes_to_other_processes_without_its_scene(session):
    summary = run(session, 3)
    copy = pickle.loads(pickle.dumps(summary))
    assert copy == summary and copy.histories == [] and len(summary.histories) == 1


def test_goals_that_are_not_reached_have_reasons_and_limits(beam):
    with Session(controlled(beam), backend="embedded", parameters={"far": -500.0}) as session:
        summary = run(session, 5)
    assert summary.verdict in (Verdict.CLOSEST, Verdict.NOT_REACHED)
    (reason,) = summary.reasons
    assert reason.startswith("Goal not reached: ") and reason in str(summary)
    assert summary.limits_met == {"cable_0: effort at its minimum": 5}
    assert summary.sentences()["limits_met"] == (
        "Steps at a limit: cable_0: effort at its minimum 5."
    )
    assert html.escape(reason) in summary._repr_html_()


def test_a_scene_without_goals_has_no_verdict_and_says_what_moved(beam):
    with Session(lambda root: beam(root), backend="embedded") as session:
        session.step(5)
        summary = session.summary()
    assert summary.verdict is None and summary.reasons == []
    assert summary.sentences()["verdict"] == "No controller has a goal."
    assert "beam/dofs" in str(summary) and summary.displacements["beam/dofs"].largest > 0.0


def test_a_session_is_summed_up_since_its_reset_or_without_what_was_taken_back(session):
    session.step(6)
    before = session.snapshot()
    session.step(4)
    session.restore(before)
    assert (session.summary().steps, session.summary().statuses) == (6, {"SOLVED": 6})
    session.step(2)
    assert session.summary().steps == 8
    session.reset()
    with pytest.raises(UsageError, match="the session has made no step yet"):
        session.summary()
    session.step(3)
    assert session.summary().steps == 3


def test_a_run_of_an_open_session_counts_its_own_steps(session):
    session.step(4)
    assert run(session, 5).steps == 5
    assert session.summary().steps == 9


def test_a_session_forgets_histories_that_grow_too_long(beam):
    session = Session(controlled(beam), backend="embedded", history=3)
    session.step(3)
    assert session.summary().steps == 3
    session.step(2)
    with pytest.raises(UsageError, match="kept 3 at most.*history=None.*sofa_softctl.run"):
        session.summary()
    assert run(session, 5).steps == 5  # which keeps its own
    session.reset()
    session.step(1)
    assert session.summary().steps == 1


def test_a_controller_that_is_added_later_has_its_history(session):
    session.step(2)
    clock = Clock(name="clock", root=session.root)
    session.root.addObject(clock)
    summary = run(session, 3)
    histories = dict(summary.histories)
    assert len(histories) == 2
    assert histories[clock]["now"][:, 0] == pytest.approx([0.03, 0.04, 0.05])
    session.step(1)
    assert session.summary().steps == 6
    assert len(dict(session.summary().histories)[clock].time) == 4


@pytest.mark.usefixtures("tolerant")
def test_warnings_of_start_and_steps_are_kept_once(beam, Sofa):
    class Complaining(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            Sofa.msg_warning(self, "it <b>rattles</b>")

    def createScene(root):
        beam(root)
        root.addObject(Complaining(name="nag"))
        root.addChild("ball").addObject("MechanicalObject", nothing=1)

    with Session(createScene, backend="embedded") as session:
        session.step(3)
        summary = session.summary()
    assert len(summary.warnings) == 2
    assert "'nothing'" in summary.warnings[0]
    assert summary.warnings[1] == "[/nag] it <b>rattles</b>"
    shown = summary._repr_html_()
    assert "it &lt;b&gt;rattles&lt;/b&gt;" in shown and "<b>rattles" not in shown
    assert summary.to_dict()["warnings"] == summary.warnings


def test_a_function_has_the_units_and_duration_of_where_it_is_defined(beam):
    with Session(controlled(beam), backend="embedded") as session:
        assert session.units.symbol("force") == "mN" and session.duration == DURATION


def test_a_duration_of_a_notebook_is_checked():
    names = {"DURATION": -1.0}
    exec("def createScene(root): pass", names)
    with pytest.raises(SceneError, match="'createScene': DURATION must be a positive number"):
        Session(names["createScene"], backend="embedded")


def test_what_is_no_scene_is_refused():
    with pytest.raises(UsageError, match=r"a function createScene\(root, ...\). Got: None"):
        Session(None)


def test_a_report_is_text_and_html():
    table = Table("A <title>", ("name", "value"), [("a", "1.5"), ("long", "2")], "end")
    report = Report([table], [Line("as it & should", "good"), Line("odd", "doubt")])
    assert str(report) == (
        "A <title>\nname  value\na       1.5\nlong      2\nend\nas it & should\nodd"
    )
    shown = report._repr_html_()
    assert "A &lt;title&gt;" in shown and "✓ as it &amp; should" in shown and "! odd" in shown


def test_the_terminal_prints_what_the_object_says(softctl):
    """Cell by cell: tables are drawn with frames there."""
    status, out, _ = softctl("run", ROOT / "scenes" / "finger.py", "--steps", "3")
    with Session(ROOT / "scenes" / "finger.py", backend="embedded") as session:
        session.step(3)
        summary = session.summary()
    assert status == summary.verdict.exit_status
    out = " ".join(out.split())  # lines are as long as the terminal is wide
    for report in summary.reports()[:-1]:
        for text in (*(row[0] for table in report.tables for row in table.rows), *report.lines):
            assert (text if isinstance(text, str) else text.text) in out
