"""A copy of a scene in a process of its own; here the scene too runs in the embedded runtime."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.aspects.look_ahead import CANDIDATES, UNCHANGED, roll_out
from sofa_softctl.scene.copies.rollout import CopyProcess
from sofa_softctl.scene.session.session import Session

RING = Path(__file__).parents[3] / "scenes" / "rolling_ring.py"
WEIGHT = """
import Sofa.Core

class Push(Sofa.Core.Controller):
    def __init__(self, *args, root, **kwargs):
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.pushes = root, 0
        self.addData(name="strength", value=0.0, type="double", help="", group="")

    def snapshot(self):
        return {"pushes": self.pushes}

    def restore(self, snapshot):
        self.pushes = snapshot["pushes"]

    def onAnimateBeginEvent(self, event):
        self.pushes += 1
        self.strength.value = self.strength.value + 1.0
        self.root.weight.dofs.velocity.value = [[self.pushes * self.strength.value, 0.0, 0.0]]

def createScene(root, mass=1.0):
    root.dt = 0.01
    root.gravity = [0.0, -9.81, 0.0]
    root.addObject("DefaultAnimationLoop")
    weight = root.addChild("weight")
    weight.addObject("EulerImplicitSolver")
    weight.addObject("CGLinearSolver", iterations=25, tolerance=1e-15, threshold=1e-15)
    weight.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
    weight.addObject("UniformMass", totalMass=mass)
    root.addObject(Push(name="push", root=root))
"""


def heights(copied, state, steps):
    """Position of the weight after some steps."""
    copied.set_state(state)
    for _ in range(steps):
        copied.step()
    return copied.root.weight.dofs.position.value.copy()


@pytest.fixture
def weight(tmp_path):
    """A session with a weight that a controller pushes harder and harder, after four steps."""
    file = tmp_path / "weight.py"
    file.write_text(WEIGHT)
    session = Session(file, parameters={"mass": 2.0})
    session.step(4)
    return file, session


@pytest.mark.soak
def test_a_rollout_in_another_process_is_what_the_scene_does_next():
    """From step 40 on, on ground that another controller tilts: bit for bit, whatever has been
    rolled out before."""
    session = Session(RING, parameters={"ground": "tilting", "slope": 5.0, "look_ahead": False})
    session.step(40)
    inverse = session.root.inverse
    copy = CopyProcess(session.root)
    state, path = copy.state(), inverse.getPathName()
    other, errors = (copy.run(roll_out, state, path, c, 10) for c in (CANDIDATES[-1], UNCHANGED))
    expected = []
    for _ in range(10):
        session.step()
        expected.append(np.sqrt(np.mean(np.square(inverse.error.value))))
    assert not np.array_equal(other, errors)
    np.testing.assert_allclose(errors, expected, rtol=1e-12)


def test_data_and_snapshots_of_the_users_controllers_take_part(weight):
    _, session = weight
    copy = CopyProcess(session.root)
    found = copy.run(heights, copy.state(), 3)
    session.step(3)
    assert np.array_equal(found, session.root.weight.dofs.position.value)


def test_a_rollout_does_not_depend_on_those_before(weight):
    """Nor by Data that no state holds, such as those of a node."""
    file, _ = weight
    text = WEIGHT.replace("self.pushes += 1", "self.root.weight.pushed.value += 1.0")
    text = text.replace("self.pushes * ", "self.root.weight.pushed.value * ")
    text += '    weight.addData(name="pushed", value=0.0, type="double", help="", group="")\n'
    file.write_text(text)
    session = Session(file)
    copy = CopyProcess(session.root)
    first, again = (copy.run(heights, copy.state(), 3) for _ in range(2))
    assert np.array_equal(first, again)


def test_the_process_ends_with_the_copy(weight):
    copy = CopyProcess(weight[1].root)
    process = copy._process
    assert process.poll() is None
    del copy
    assert process.poll() is not None


def test_a_process_that_ended_is_an_error(weight):
    copy = CopyProcess(weight[1].root)
    copy._process.kill()
    copy._process.wait()
    with pytest.raises(SceneError, match="the process of the scene's copy ended: exit status -9"):
        copy.run(heights, copy.state(), 1)
    copy._end()  # with the question still to be written


@pytest.mark.soak
def test_an_error_in_the_copy_reaches_the_scene(weight):
    file, session = weight
    file.write_text(WEIGHT.replace('"weight"', '"other"').replace("root.weight", "root.other"))
    copy = CopyProcess(session.root)
    with pytest.raises(SceneError, match=r"different states: /other/dofs, /weight/dofs"):
        copy.run(heights, copy.state(), 1)
    file.write_text("raise RuntimeError('broken')")
    with pytest.raises(SceneError, match="copy in the embedded runtime failed: RuntimeError: bro"):
        CopyProcess(session.root)


def test_a_scene_that_another_process_cannot_make_is_told():
    def local(root):
        root.dt = 0.01

    with pytest.raises(SceneError, match="put createScene into a separate file"):
        CopyProcess(Session(local).root)


def test_a_parameter_that_cannot_be_sent_is_told(weight):
    session = Session(weight[0])
    session.root._softctl_recipe.values["mass"] = lambda: 2.0
    with pytest.raises(SceneError, match="cannot be sent"):
        CopyProcess(session.root)
