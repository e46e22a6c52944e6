"""The tutorials: their scenes run, and end where the pages say."""

import re
from contextlib import chdir

import numpy as np
import pytest

from sofa_softctl import Session, read_record
from sofa_softctl.scene.session.run import run as run_session
from sofa_softctl.status import Verdict
from tests.docs.pages import ROOT, blocks, run, text

STAGES = blocks("tutorial/first-scene")
README = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def session_of(code, folder, steps=100, **parameters):
    """A run of a second of a scene that a page shows; the file is where the page puts it."""
    (folder / "meshes").symlink_to(ROOT / "scenes" / "meshes")
    (folder / "my_finger.py").write_text(code)
    session = Session(folder / "my_finger.py", backend="embedded", parameters=parameters)
    session.step(steps)
    return session


def tip_of(session):
    return session.root.finger.tip.dofs.position.value[0]


def test_the_body_drifts_to_the_side(tmp_path):
    assert tip_of(session_of(STAGES[0], tmp_path))[1] == pytest.approx(1.5, abs=0.05)


def test_the_cable_bends_it(tmp_path):
    assert tip_of(session_of("\n".join(STAGES[:2]), tmp_path))[1] == pytest.approx(-12.7, abs=0.05)


def test_the_controller_finds_the_force(tmp_path):
    session = session_of("\n".join(STAGES), tmp_path)
    (inverse,) = session.controllers
    assert inverse.effort.value[0] == pytest.approx(347.0, abs=0.5)
    assert inverse.error.value[0] == pytest.approx(0.289, abs=5e-4)
    assert len(session.root.finger.dofs.position.value) == 444
    for number in ("347 mN", "0.289 mm", "444 nodes"):
        assert number in text("tutorial/first-scene").replace("\n", " ")


def test_the_scene_of_the_readme_reaches_its_goal_smoothly(tmp_path):
    """Within 1 % of the finger's size, without a jolt in the first step, at rest after 2 s."""
    session = session_of(README[0], tmp_path, steps=0)
    summary = run_session(session, 200)
    [(_, history)] = summary.histories
    assert summary.verdict is Verdict.REACHED
    effort = history["effort"][:, 0]
    assert effort[0] == pytest.approx(10.0) and effort.max() < 450.0
    assert np.abs(np.diff(history["tip"][-20:], axis=0)).max() < 1e-3
    readme = (ROOT / "README.md").read_text()
    assert summary.inverse[0].goal.verdict == "reached: 0.271 mm off at the end, 1 allowed"
    assert '"Goal reached: 0.271 mm off at the end, 1 allowed"' in readme


def test_a_bend_that_the_finger_does_not_reach_is_said(tmp_path):
    session = session_of("\n".join(STAGES), tmp_path, steps=0, bend=10)
    (inverse,) = run_session(session, 100).inverse
    (reason,) = inverse.goal.reasons
    assert reason.startswith("these actuators find nothing closer, step by step: 1 actuator for")


def test_the_record_of_the_first_robot_is_read(tmp_path):
    session = Session(ROOT / "scenes" / "trunk.py", backend="embedded")
    with session.recording(tmp_path / "trunk.mcap"):
        session.step(3)
    with chdir(tmp_path):
        names = run("tutorial/first-robot")
    assert names["tip"].shape == (3, 1, 3)
    assert names["effort"].shape == (3, 8)
    assert names["record"].units["inverse.effort"] == "mN"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """What the code of the page on recordings defines, and its folder."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "scenes").symlink_to(ROOT / "scenes")
    with chdir(folder):
        return run("how-to/run-and-record"), folder


def test_a_session_of_the_page_is_restored_to_the_bit(recorded):
    names, folder = recorded
    assert names["session"].step_count == 100
    last = names["session"].root.trunk.tip.dofs.position.value
    np.testing.assert_array_equal(last, names["tip"][-1])
    assert read_record(folder / "trunk.mcap").complete


def test_what_the_page_keeps_of_a_run_is_its_path(recorded):
    """Views, that is without `.copy()`, would all be the last position."""
    names, _ = recorded
    assert len(np.unique(names["path"], axis=0)) == 5


def test_copies_of_the_page_move_each_by_its_pull(recorded):
    names, _ = recorded
    assert names["tips"].shape == (8, 1, 3) and len(np.unique(names["tips"], axis=0)) == 8
    assert names["counts"] == [20, 20, 0, 20, 20, 0, 20, 20]


def test_its_exports_hold_the_record(recorded):
    names, folder = recorded
    with np.load(folder / "trunk.npz") as arrays:
        np.testing.assert_array_equal(arrays["tip"], names["tip"])
    table = np.loadtxt(folder / "tip.csv", delimiter=",", skiprows=1)
    assert table[:, 1:] == pytest.approx(names["tip"][:, 0])


def test_the_controllers_of_the_page_work_in_the_finger_of_the_tutorial(tmp_path, Sofa):
    """The page's pull of 200 mN has come to 100 mN after half of its ramp."""
    names = run("tutorial/first-scene")
    names = run("how-to/write-a-controller", **names)
    (tmp_path / "meshes").symlink_to(ROOT / "scenes" / "meshes")
    root = Sofa.Core.Node("root")
    with chdir(tmp_path):
        names["add_world"](root)
        cable = names["add_cable"](names["add_finger"](root))
        pull = names["GentlePull"](name="pull", root=root, cable=cable, force=200.0)
        root.addObject(pull)
        meter = root.addObject(names["CableMeter"](root=root, cable=cable))
        Sofa.Simulation.init(root)
    for _ in range(50):
        Sofa.Simulation.animate(root, root.dt.value)
    assert cable.value.value[0] == pytest.approx(100.0 * root.dt.value)
    assert meter.pulled.value[0] == pytest.approx(float(cable.displacement.value))
    assert meter.pulled.value[0] > 0.5
