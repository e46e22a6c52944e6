"""WriteState, ReadState and CompareState: files as SOFA writes and reads them."""

import gzip

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

BY_SOFA = """\
T= 0
  X= 0 0 0 0.333333 2.5 1e-07 123457 -0.5 7
  X0= 0 0 0 0.333333 2.5 1e-07 123457 -0.5 7
  V= 1 2 3 0 0 0 1e-09 0 0
T= 0.01
  X= 0.0098912 0.0188121 0.0296736 0.333333 2.49903 1e-07 123457 -0.50098 7
  X0= 0 0 0 0.333333 2.5 1e-07 123457 -0.5 7
  V= 0.98912 1.88121 2.96736 0 -0.0970326 0 9.99001e-10 -0.098002 0
T= 0.02
  X= 0.0195769 0.0362631 0.0587308 0.333333 2.49711 1e-07 123457 -0.502939 7
  X0= 0 0 0 0.333333 2.5 1e-07 123457 -0.5 7
  V= 0.968574 1.7451 2.90572 0 -0.19205 0 9.98003e-10 -0.195906 0
"""
"""What SOFA v25.06 wrote of `falling`, to the byte."""
FRAMES = """\
T= 0
  X= 1 0 0 2 0 0
  V= 1 1 1 2 2 2
T= 0.02
  X= 1 1 0 2 1 0
T= 0.045
  X= 1 1 1 2 1 1
  V= 0 0 0 0 1 0
"""


@pytest.fixture
def falling(root):
    """Three nodes, two of them on springs."""
    root.gravity = [0.0, -9.81, 0.0]
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver", rayleighMass=0.1)
    node.addObject("SparseLDLSolver")
    node.addObject(
        "MechanicalObject",
        name="dofs",
        position=[[0, 0, 0], [1 / 3, 2.5, 1e-7], [123456.789, -0.5, 7]],
        velocity=[[1, 2, 3], [0, 0, 0], [1e-9, 0, 0]],
    )
    node.addObject("UniformMass", totalMass=3.0)
    node.addObject("RestShapeSpringsForceField", stiffness=100.0, points=[0, 1])
    return node


def steps(root, count):
    simulation.init(root)
    simulation.animateNSteps(root, count, 0.01)


def test_a_file_is_that_of_sofa_to_the_byte(root, falling, tmp_path):
    file = tmp_path / "state.txt"
    falling.addObject("WriteState", filename=str(file), writeX0=True, writeV=1)
    steps(root, 3)
    assert file.read_text() == BY_SOFA


@pytest.mark.parametrize(
    ("values", "times"),
    [
        ({}, [0, 0.01, 0.02, 0.03, 0.04, 0.05]),
        ({"time": [0.0]}, [0]),
        ({"time": [0.02, 0.05]}, [0.02, 0.05]),
        ({"time": [0.01], "period": 0.02}, [0.01, 0.03, 0.05]),
        ({"time": [], "period": 0.02}, [0, 0.02, 0.04]),
    ],
)
def test_it_writes_at_the_times_that_are_asked_for(root, falling, tmp_path, values, times):
    file = tmp_path / "state.txt.gz"
    falling.addObject("WriteState", filename=str(file), **values)
    steps(root, 6)
    with gzip.open(file, "rt") as opened:
        lines = opened.read().splitlines()
    assert [float(line[3:]) for line in lines if line.startswith("T=")] == times


def test_it_stops_when_the_kinetic_energy_hardly_changes(root, falling, tmp_path):
    """7, then 6.7 in the first step: less than 7.5 from 0 at the look in the third, SOFA's last."""
    file = tmp_path / "state.txt"
    falling.addObject("WriteState", filename=str(file), stopAt=7.5, keperiod=0.015)
    steps(root, 6)
    assert file.read_text().count("T=") == 3


def test_a_relative_name_is_meant_from_the_folder_of_the_scene(
    root, falling, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    falling.addObject("WriteState", filename="state.txt")
    monkeypatch.chdir("/")
    steps(root, 1)
    assert (tmp_path / "state.txt").exists()


def test_a_file_that_cannot_be_written_is_told(root, falling, tmp_path):
    falling.addObject("WriteState", filename=str(tmp_path / "no" / "state.txt"))
    with pytest.raises(SceneError, match=r"cannot write '.*state\.txt' \(No such file"):
        simulation.init(root)


@pytest.fixture
def driven(root, tmp_path):
    """Makes a state that a file drives, and points that copy it."""
    (tmp_path / "in.txt").write_text(FRAMES)

    def make(**values):
        node = root.addChild("driven")
        node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]] * 2)
        node.addObject("ReadState", filename=str(tmp_path / "in.txt"), **values)
        copy = node.addChild("copy")
        copy.addObject("MechanicalObject", name="dofs")
        copy.addObject("IdentityMapping")
        return node

    return make


def test_a_state_moves_as_its_file_says_and_what_is_mapped_follows(root, driven):
    """SOFA v25.06 gave the same: at 0.02 and 0.05, the first steps after 0.02 and 0.045 less the
    shift, to rounding. The turn by 90 degrees about z makes (x, y) -> (-y, x)."""
    node = driven(scalePos=2.0, rotation=[0, 0, 90], translation=[1, 0, 0], shift=0.01)
    simulation.init(root)
    seen = []
    for _ in range(6):
        seen.append(node.copy.dofs.position.array().copy())
        simulation.animate(root, 0.01)
    first = [[1, 2, 0], [1, 4, 0]]
    second = [[-1, 2, 0], [-1, 4, 0]]
    third = [[-1, 2, 2], [-1, 4, 2]]
    expected = [first, first, second, second, second, third]
    assert np.array(seen) == pytest.approx(np.array(expected, dtype=float), abs=1e-15)
    assert node.dofs.velocity.value.tolist() == [[0, 0, 0], [0, 1, 0]]


def test_a_file_is_read_anew_after_its_end(root, driven):
    """At the times at which SOFA v25.06 went back to the first positions and on to the second."""
    node = driven(loop=True)
    simulation.init(root)
    seen = []
    for _ in range(9):
        seen.append(node.dofs.position.value[0].tolist())
        simulation.animate(root, 0.01)
    begin, middle = [1, 0, 0], [1, 1, 0]
    assert seen == [begin] * 3 + [middle] * 3 + [begin] * 2 + [middle]


def test_a_reset_begins_with_the_start_of_the_file(root, driven):
    node = driven()
    steps(root, 6)
    simulation.reset(root)
    simulation.animate(root, 0.01)
    assert node.dofs.position.value[0].tolist() == [1, 0, 0]


def test_what_was_written_is_read_again_to_six_digits(root, falling, tmp_path):
    file = tmp_path / "state.txt"
    falling.addObject("WriteState", filename=str(file), writeV=True)
    steps(root, 5)
    before = falling.dofs.position.array().copy()
    simulation.animate(root, 0.01)
    other = root.addChild("other")
    other.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])
    other.addObject("ReadState", filename=str(file))
    other.init()
    assert other.dofs.position.array() == pytest.approx(before, rel=5e-6)


def test_a_file_that_is_not_there_or_not_named_is_told(root, tmp_path):
    node = root.addChild("driven")
    node.addObject("MechanicalObject")
    node.addObject("ReadState", name="read", filename=str(tmp_path / "nothing.txt"))
    with pytest.raises(SceneError, match=r"cannot read '.*nothing\.txt' \(No such file"):
        simulation.init(root)
    node.read.filename.value = ""
    with pytest.raises(SceneError, match="needs 'filename'"):
        simulation.init(root)


def test_a_state_is_compared_with_a_file(root, tmp_path):
    """The distance is the mean over coordinates: (1 + 2) / 6 at 0, two more y of 1 at 0.02."""
    (tmp_path / "in.txt").write_text(FRAMES)
    node = root.addChild("still")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]] * 2)
    compare = node.addObject("CompareState", filename=str(tmp_path / "in.txt"))
    steps(root, 3)
    assert compare.totalError_X == pytest.approx(3 / 6 + 5 / 6)
    assert compare.totalError_V == pytest.approx(9 / 6)
    assert node.dofs.position.value.tolist() == [[0, 0, 0]] * 2


def test_sofas_comparison_moves_the_state_to_the_start_of_its_file(root, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", "1")
    (tmp_path / "in.txt").write_text(FRAMES)
    node = root.addChild("still")
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]] * 2)
    node.addObject("CompareState", filename=str(tmp_path / "in.txt"), scalePos=2.0)
    simulation.init(root)
    assert np.abs(node.dofs.position.value).sum() == 2.0 * 3
