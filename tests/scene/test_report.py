"""A controller that nobody here knows has a summary, plot, markers and channels like ours."""

import json
import textwrap

import numpy as np
import pytest

from sofa_softctl.cli.app import main
from sofa_softctl.record.record import read_record
from sofa_softctl.scene.session.session import Session
from sofa_softctl.view.movie.capture import Camera

SCENE = """
from dataclasses import dataclass

import numpy as np
import Sofa
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.control.report import Line, Markers, Report, Summary, Table


@dataclass(frozen=True)
class Counted(Summary):
    steps: int

    def report(self, units):
        table = Table("Counter", ("what", "how many"), [("steps [all]", str(self.steps))])
        return Report([table], [Line(f"Counted in {units['time']}.", "good")])


class Counter(SceneController):
    recorded = {"height": ("length", "Of the point")}

    def __init__(self, root):
        super().__init__(root=root, name="counter")
        self.add_output("height", [0.0], "Of the point.")

    def onAnimateEndEvent(self, event):
        self.outputs["height"].value = [float(self.root.dofs.position.value[0][1])]

    def summary(self, history):
        return Counted(len(history.time))

    def plot(self, figure, history):
        figure.add_subplot().plot(history.time, history["height"])
        return True

    def markers(self):
        point = np.array(self.root.dofs.position.value)
        return Markers(point, point, np.empty((0, 3)), np.empty((0, 3)))


def createScene(root):
    root.dt = 0.01
    root.gravity = [0.0, -10.0, 0.0]
    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    root.addObject("CGLinearSolver")
    root.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
    root.addObject("UniformMass", totalMass=1.0)
    root.addObject(Counter(root))
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "counted.py"
    path.write_text(textwrap.dedent(SCENE))
    return path


@pytest.fixture
def run(scene, monkeypatch, capsys):
    """run(*arguments) -> what the command line prints of it."""

    def run(*arguments, status=0):
        command = ["softctl", "run", str(scene), "--backend", "embedded", *map(str, arguments)]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == status
        return capsys.readouterr().out

    return run


def test_the_command_line_prints_its_report_and_writes_its_plot(run, tmp_path):
    plot, record = tmp_path / "plot.png", tmp_path / "run.mcap"
    out = run("--steps", 5, "--plot", plot, "--record", record)
    assert "Counter" in out and "steps [all]" in out and "5" in out
    assert "Counted in " in out
    assert plot.stat().st_size > 5000
    heights = read_record(record).channels["counter.height"]
    assert heights.shape == (5, 1) and (np.diff(heights[:, 0]) < 0.0).all()


def test_its_summary_is_in_the_json(run):
    found = json.loads(run("--steps", 3, "--json"))
    assert found["controllers"] == {"/counter": {"steps": 3}}
    assert found["inverse"] == []


def test_a_movie_shows_its_markers(scene, tmp_path):
    session = Session(scene, backend="embedded")
    camera = Camera(session, tmp_path / "movie.gif")
    for _ in range(3):
        session.step()
        camera.capture_frame()
    tip, goal = camera.animation().markers
    assert (tip.name, goal.name) == ("tip", "goal")
    assert (np.diff(tip.positions[:, 1]) < 0.0).all()


def test_a_summary_that_does_not_derive_has_no_verdict(scene, run):
    scene.write_text(scene.read_text().replace("class Counted(Summary)", "class Counted"))
    assert json.loads(run("--steps", 2, "--json"))["verdict"] is None
    assert "Counted in" in run("--steps", 2)


@pytest.mark.parametrize(("verdict", "status"), [("REACHED", 0), ("CLOSEST", 3), ("HELD", 3)])
def test_a_run_ends_with_the_verdict_of_its_controllers(scene, run, verdict, status):
    property_ = f"    verdict = Verdict.{verdict}\n    steps: int"
    text = scene.read_text().replace("    steps: int", property_)
    scene.write_text(f"from sofa_softctl.status import Verdict\n{text}")
    assert json.loads(run("--steps", 2, "--json", status=status))["verdict"] == verdict


def test_json_is_pure_and_has_null_for_what_is_no_number(scene, run):
    text = scene.read_text().replace("return Counted(len(history.time))", "return Counted(np.nan)")
    scene.write_text(text.replace("    root.dt = 0.01", "    print('loud')\n    root.dt = 0.01"))
    assert json.loads(run("--steps", 2, "--json"))["controllers"]["/counter"]["steps"] is None


@pytest.mark.parametrize("code", ["0", "5", "'no license'"])
def test_a_scene_that_calls_exit_is_an_error(scene, run, code):
    scene.write_text(scene.read_text().replace("    root.dt = 0.01", f"    exit({code})"))
    assert run("--steps", 2, "-q", status=1) == ""


def test_a_controller_whose_name_begins_with_cable_is_no_cable(scene, run, tmp_path):
    scene.write_text(scene.read_text().replace("Counter", "CableCounter"))
    run("--steps", 2, "--record", tmp_path / "run.mcap")
    assert "counter.height" in read_record(tmp_path / "run.mcap").channels
