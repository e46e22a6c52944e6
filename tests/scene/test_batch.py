"""Batches: copies move as single sessions do, to the bit; a fault of one stays its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.base.machine import core_count
from sofa_softctl.errors import DivergedError, ParameterError, SceneError, UsageError, WorkerError
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.scene.session.session import Session

BLOCK = Path(__file__).with_name("sliding_block.py")
FINGER = Path(__file__).parents[2] / "scenes" / "finger.py"
NODES, VELOCITIES = "/block/dofs.position", "/block/dofs.velocity"
processes = pytest.param(2, marks=pytest.mark.processes)
needs_two_cores = pytest.mark.skipif(core_count() < 2, reason="two processes take two cores")


def driven(session, pulls):
    """Pull the cable of a finger by a force in each step; return the motion of its nodes."""
    motion = []
    for pull in pulls:
        session.root.finger.cable.cable.value.value = [pull]
        session.step()
        motion.append(session.root.finger.dofs.position.value.copy())
    return np.array(motion)


@needs_two_cores
@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.quick), processes])
def test_copies_move_as_single_sessions_to_the_bit(workers):
    """Three fingers, each pulled in another way; a fourth has another material."""
    options = [{"policy": None}] * 3 + [{"policy": None, "young_modulus": 500.0}]
    pulls = 100.0 * np.random.default_rng(0).uniform(0.0, 1.0, (4, 6))
    with Session.batch(FINGER, 4, parameters=options, workers=workers) as batch:
        motions = batch.call(driven, list(pulls))
        assert np.array_equal(batch.read("/finger/dofs.position"), [m[-1] for m in motions])
    for parameters, pull, motion in zip(options, pulls, motions, strict=True):
        with Session(FINGER, parameters=parameters) as session:
            assert np.array_equal(driven(session, pull), motion)
    assert not np.array_equal(motions[0], motions[1])


@needs_two_cores
@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.quick), processes])
def test_contacts_of_copies_are_those_of_single_sessions(workers):
    frictions = [{"mu": 0.1}, {"mu": 0.4}, {"mu": 0.9}]
    with Session.batch(BLOCK, 3, parameters=frictions, workers=workers) as batch:
        batch.step(20)
        blocks = batch.read(NODES)
    for parameters, block in zip(frictions, blocks, strict=True):
        with Session(BLOCK, parameters=parameters) as session:
            session.step(20)
            assert np.array_equal(session.root.block.dofs.position.value, block)
    travels = blocks.mean(axis=1)[:, 0] - 10.0
    assert travels[0] > travels[1] > 5.0 * travels[2]  # tan 30 = 0.58: the last one stays


@pytest.mark.quick
def test_a_copy_that_diverges_is_named_and_the_others_go_on():
    with Session.batch(BLOCK, 3) as batch, Session.batch(BLOCK, 1) as alone:
        for group in (batch, alone):
            group.step(2)
        velocities = batch.read(VELOCITIES)
        velocities[1] = 1e200  # its square is infinite
        batch.write(VELOCITIES, velocities)
        with np.errstate(over="ignore", invalid="ignore"):
            errors = batch.try_step(3)
        alone.step(3)
        assert isinstance(errors[1], DivergedError) and errors[0] is errors[2] is None
        assert np.array_equal(batch.read(NODES)[[0, 2]], alone.read(NODES)[[0, 0]])
        with pytest.raises(DivergedError) as caught, np.errstate(over="ignore", invalid="ignore"):
            batch.step()
        assert "This was in scene 1 of 3, from 0." in caught.value.__notes__
        batch.restore([1])
        batch.step()


@pytest.mark.quick
def test_copies_return_to_the_states_that_were_kept():
    with Session.batch(BLOCK, 3, parameters=[{"mu": 0.1}, {"mu": 0.2}, {"mu": 0.3}]) as batch:
        batch.step(3)
        batch.keep()
        batch.step(2)
        later = batch.read(NODES)
        batch.restore([2])
        restored = batch.read(NODES)
        assert np.array_equal(restored[:2], later[:2])
        assert not np.array_equal(restored[2], later[2])
        batch.restore()
        batch.step(2)
        assert np.array_equal(batch.read(NODES), later)
        batch.step(2)
        batch.restore([True, False, True])
        assert batch.call(step_count_of) == [3, 7, 3]
        for wrong in ([3], [True, False]):
            with pytest.raises(UsageError, match="numbers from 0 to 2, or a mask has 3 values"):
                batch.restore(wrong)


@needs_two_cores
@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.quick), processes])
def test_an_error_of_a_controller_names_its_copy(workers):
    parameters = [{}, {"fail_at": 0.01}, {"fail_at": 0.01}]
    with Session.batch(BLOCK, 3, parameters=parameters, workers=workers) as batch:
        batch.step(2)
        with pytest.raises(ValueError, match="no air pressure") as caught:
            batch.step(2)
        assert "This was in scene 1 of 3, from 0; 1 more failed." in caught.value.__notes__
        assert any("in step 3" in note for note in caught.value.__notes__)
        assert batch.call(step_count_of) == [4, 2, 2]


def step_count_of(session):
    return session.step_count


@needs_two_cores
@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.quick), processes])
def test_a_copy_that_calls_exit_is_named_and_the_others_make_their_steps(workers):
    with Session.batch(BLOCK, 3, workers=workers) as batch:
        with pytest.raises(WorkerError, match=r"called exit\(3\). Raise an exception") as caught:
            batch.call(exit_or_step, [False, True, False])
        assert "This was in scene 1 of 3, from 0." in caught.value.__notes__
        assert batch.call(step_count_of) == [1, 0, 1]


@needs_two_cores
@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.quick), processes])
def test_a_scene_that_calls_exit_is_named(workers):
    with pytest.raises(WorkerError, match=r"called exit\(4\)") as caught:
        Session.batch(exiting_scene, 2, parameters=[{}, {"code": 4}], workers=workers)
    assert "This was copy 1, from 0." in caught.value.__notes__


def exiting_scene(root, code=None):
    if code is not None:
        raise SystemExit(code)
    root.addObject("DefaultAnimationLoop")


def exit_or_step(session, exits):
    if exits:
        raise SystemExit(3)
    session.step()


@pytest.mark.quick
def test_data_of_nodes_are_read_and_written():
    with Session.batch(BLOCK, 2) as batch:
        assert batch.read("/.dt").tolist() == batch.call(dt_of)
        batch.write("/.gravity", [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
        assert batch.read("/.gravity")[:, 2].tolist() == [0.0, -1.0]
        assert batch.read("/block.activated").tolist() == [True, True]


def dt_of(session):
    return session.dt


@pytest.mark.quick
def test_bad_batches_are_refused(tmp_path):
    with pytest.raises(SceneError, match=r"'/block/\S+' is 8 long in copy 1, and 27 long"):
        Session.batch(BLOCK, 2, parameters=[{"cells": 3}, {"cells": 2}])
    with pytest.raises(UsageError, match="Copies are 1 or more. Got: 0"):
        Session.batch(BLOCK, 0)
    with pytest.raises(TypeError, match="interpreted as an integer"):
        Session.batch(BLOCK, 2.5)
    with pytest.raises(UsageError, match=f"Got: {core_count() + 1}"):
        Session.batch(BLOCK, 1000, workers=core_count() + 1)
    with pytest.raises(UsageError, match="2 copies have as many parameters. Got: 1"):
        Session.batch(BLOCK, 2, parameters=[{}])
    with pytest.raises(ParameterError, match="takes no parameter 'mo'") as caught:
        Session.batch(BLOCK, 2, parameters=[{}, {"mo": 1}])
    assert "This was copy 1, from 0." in caught.value.__notes__
    with Session.batch(BLOCK, 2) as batch:
        with pytest.raises(SceneError, match="no component or node '/blok/dofs'"):
            batch.read("/blok/dofs.position")
        with pytest.raises(SceneError, match="'/block/dofs' has no Data: append its name"):
            batch.read("/block/dofs")
        for values, shape in ((1.0, "a number"), ([[[0.0] * 3]] * 3, r"shape \(3, 1, 3\)")):
            with pytest.raises(UsageError, match=rf"takes shape \(2, ...\). Got: {shape}"):
                batch.write(NODES, values)
        with pytest.raises(UsageError, match="2 copies take as many values. Got: 3"):
            batch.call(step_count_of, [1, 2, 3])
        with pytest.raises(UsageError, match="0 or more steps. Got: -1"):
            batch.step(-1)
    with pytest.raises(WorkerError, match="have ended"):
        batch.step()


@pytest.mark.quick
def test_ctrl_c_waits_for_the_steps_of_all_copies(Sofa):
    class PressingController(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            if self.getContext().time.value == 0.0:
                os.kill(os.getpid(), signal.SIGINT)

    def create(root, number=0):
        createScene(root)
        if number == 1:
            root.addObject(PressingController())

    createScene = load_scene(BLOCK).create
    with Session.batch(create, 3, parameters=[{"number": k} for k in range(3)]) as batch:
        with pytest.raises(KeyboardInterrupt):
            batch.step(2)
        assert batch.call(step_count_of) == [2, 2, 2]


@needs_two_cores
@pytest.mark.processes
def test_a_lost_process_is_named():
    with Session.batch(BLOCK, 2, workers=2) as batch:
        pid = batch.call(process_of)[0]
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="copies of the scene was lost"):
            batch.step(100)


@needs_two_cores
@pytest.mark.processes
def test_what_cannot_be_sent_to_a_process_is_refused(monkeypatch):
    lock = threading.Lock()
    with pytest.raises(UsageError, match="a function that can be sent to them: cannot pickle"):
        Session.batch(lambda root: lock, 2, workers=2)
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(UsageError, match="that a module or a scene file defines.*notebook"):
        Session.batch(lambda root: None, 2, workers=2)


NOTEBOOK = """
from sofa_softctl import Session

def createScene(root, dt=0.01):
    root.dt = dt
    root.addChild("ball").addObject("MechanicalObject", name="dofs", position=[[0, 0, shift]])

shift = 3.0
with Session.batch(createScene, 2, parameters=[{"dt": 0.1}, {"dt": 0.2}], workers=2) as batch:
    batch.step(2)
    print(*batch.call(lambda session: session.time), *batch.read("/ball/dofs.position")[:, 0, 2])
"""


@needs_two_cores
@pytest.mark.processes
@pytest.mark.parametrize("how", ["cell", "pipe"])
def test_processes_get_functions_of_a_notebook(how, tmp_path):
    """A cell's main module has no file; that of `python -` has one that does not exist."""
    pytest.importorskip("cloudpickle")
    cell = "import sys, types; main = sys.modules['__main__'] = types.ModuleType('__main__')\n"
    cell += f"exec({NOTEBOOK!r}, vars(main))"
    done = subprocess.run(
        [sys.executable, "-"],
        input=cell if how == "cell" else NOTEBOOK,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=100,
    )
    assert done.stdout.split() == ["0.2", "0.4", "3.0", "3.0"], done.stderr


@needs_two_cores
@pytest.mark.processes
def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    (tmp_path / "script.py").write_text(NOTEBOOK)
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path, timeout=100
    )
    assert done.returncode == 1 and not done.stdout
    assert 'below a line: if __name__ == "__main__":' in done.stderr


@needs_two_cores
@pytest.mark.processes
def test_ctrl_c_ends_processes_that_have_not_answered():
    batch = Session.batch(BLOCK, 2, workers=2)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        batch.call(sleep)
    with pytest.raises(WorkerError, match="have ended"):
        batch.step()
    batch.close()


def sleep(session):
    time.sleep(60.0)


def process_of(session):
    return os.getpid()
