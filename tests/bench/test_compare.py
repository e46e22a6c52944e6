"""The comparison of backends, as far as it goes without SOFA."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from sofa_softctl.bench.backend_process import BackendProcess
from sofa_softctl.bench.compare import Comparison, _turns
from sofa_softctl.errors import BackendError, SoftctlError
from sofa_softctl.scene.session.session import Session

SCENE = """
import os
import signal
import Sofa.Core

class Guard(Sofa.Core.Controller):
    def onAnimateEndEvent(self, event):
        if self.what == "raise" and self.getContext().time.value > 0.035:
            raise ValueError("broken in the fourth step")
        if self.what == "die":
            print("the last words", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

def createScene(root, what="fall"):
    root.dt = 0.01
    root.gravity = [0.0, -10.0, 0.0]
    node = root.addChild("node")
    node.addObject("EulerImplicitSolver")
    node.addObject("CGLinearSolver", iterations=25, tolerance=1e-9, threshold=1e-9)
    node.addObject("MechanicalObject", name="dofs", position=[[0, 0, 0], [1, 2, 0]])
    node.addObject("UniformMass", totalMass=1.0)
    guard = root.addObject(Guard(name="guard"))
    guard.what = what
"""


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


def test_a_session_in_another_process_does_the_same_steps(scene):
    session = Session(scene, backend="embedded")
    with BackendProcess(scene, "embedded", {}) as side:
        assert side.about["dofs"] == 6
        assert side.about["backend"] == session.backend.describe()
        for seconds, positions in side.steps(3):
            session.step()
            assert seconds > 0.0
            np.testing.assert_array_equal(
                positions["node/dofs.position"], session.positions()["node/dofs.position"]
            )
        assert set(side.phases()) == set(session.phases())


def test_parameters_and_preparation_reach_the_process(scene, tmp_path):
    with pytest.raises(SoftctlError, match="Backend 'embedded': .*takes no parameter 'wat'"):
        BackendProcess(scene, "embedded", {"wat": "raise"})
    with pytest.raises(SoftctlError, match="Backend 'embedded': .*no such plugin"):
        BackendProcess(scene, "embedded", {}, prepare=_fail)


def _fail():
    raise SoftctlError("there is no such plugin")


def test_an_error_of_the_scene_names_the_backend(scene):
    with BackendProcess(scene, "embedded", {"what": "raise"}) as side:
        assert len(side.steps(3)) == 3
        with pytest.raises(
            SoftctlError, match=r"Backend 'embedded': ValueError: broken in the fourth step"
        ):
            side.steps(1)


def test_a_process_that_dies_is_told_with_its_last_words(scene):
    with (
        BackendProcess(scene, "embedded", {"what": "die"}) as side,
        pytest.raises(BackendError, match=r"(?s)was killed by SIGKILL.*the last words"),
    ):
        side.steps(1)


def test_turns_cover_every_step_once_and_begin_after_the_warm_up():
    for warm, steps in ((20, 200), (20, 45), (1, 3), (0, 1)):
        turns = _turns(warm, steps)
        assert [step for turn in turns for step in turn] == list(range(steps))
        assert warm in [turn.start for turn in turns]
        assert all(len(turn) <= 20 for turn in turns)


def test_a_comparison_sums_up():
    found = Comparison(
        scene="scene.py",
        backends=("embedded", "SOFA"),
        dofs=6,
        steps=2,
        dt=0.01,
        size=2.0,
        deviation={"a": np.array([1e-9, 3e-9]), "b": np.array([2e-9, 0.0])},
        ms_per_step=(1.0, 4.0),
        phases=({"free motion": 1.0}, {"free motion": 4.0}),
    )
    assert found.deviation_max == 3e-9
    assert found.ratio == 0.25
    assert found.to_dict()["deviation"] == {"a": 3e-9, "b": 2e-9}


@pytest.mark.soak
def test_without_sofa_the_command_says_how_to_get_it(scene):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "SOFA_ROOT", "SOFTCTL_BACKEND")
    }
    command = [sys.executable, "-m", "sofa_softctl.cli", "bench", "compare", str(scene)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.search(r"Backend 'sofa': .*SOFA.*\bSOFA_ROOT\b", done.stderr)
    assert "Traceback" not in done.stderr
    assert signal.SIGKILL.name not in done.stderr
