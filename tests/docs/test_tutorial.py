"""The tutorials: their scenes run, and end where the pages say."""

import re
from contextlib import chdir

import numpy as np
import pytest

from sofa_softctl import Session, read_record
from tests.docs.pages import ROOT, blocks, run, text

STAGES = blocks("tutorial/first-scene")
README = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def session_of(code, folder, **parameters):
    """A run of a second of a scene that a page shows; the file is where the page puts it."""
    (folder / "meshes").symlink_to(ROOT / "scenes" / "meshes")
    (folder / "my_finger.py").write_text(code)
    session = Session(folder / "my_finger.py", backend="embedded", parameters=parameters)
    session.step(100)
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


def test_the_scene_of_the_readme_brings_the_tip_near_its_goal(tmp_path):
    """One cable moves the tip along one curve; the goal is 15 mm aside, and 2.1 mm off it."""
    session = session_of(README[0], tmp_path)
    (inverse,) = session.controllers
    assert inverse.error.value[0] == pytest.approx(2.1, abs=0.05)


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
