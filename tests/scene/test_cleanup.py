"""cleanup() of controllers: once, however a session ends, whatever another one raises."""

import os
import signal

import pytest

from sofa_softctl.errors import DeviceFailedError, SceneError
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.session.loader import clean_up
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session


@pytest.fixture
def calls():
    """Names of the controllers whose cleanup was called, in order."""
    return []


@pytest.fixture
def motors(Sofa, calls, beam):
    """motors(step=..., load=..., init=...) -> createScene of two controllers that have a cleanup.

    The texts name what fails.
    """

    class Motor(Sofa.Core.Controller):
        fails = ""

        def onAnimateBeginEvent(self, event):
            if self.fails == "step" and self.getContext().time.value > 0.015:
                raise RuntimeError("the step")
            if self.fails == "ctrl-c" and self.getContext().time.value > 0.015:
                os.kill(os.getpid(), signal.SIGINT)

        def init(self):
            if self.fails == "init":
                raise RuntimeError("the start")

        def cleanup(self):
            calls.append(self.getName())
            if "cleanup" in self.fails:
                raise ValueError(f"port of {self.getName()}")

    class Bridge(SceneController):
        def cleanup(self):
            calls.append(self.getName())

    def make(fails=""):
        def createScene(root):
            root.dt = 0.01
            root.addObject("DefaultAnimationLoop")
            motor = root.addObject(Motor(name="motor"))
            motor.fails = fails
            root.addObject(Bridge(name="bridge", root=root))
            root.addChild("empty").addObject(Sofa.Core.Controller(name="plain"))
            if fails == "load":
                raise RuntimeError("the scene")

        return createScene

    return make


def test_it_is_called_once_at_the_end_of_a_session(motors, calls):
    with Session(motors(), backend="embedded") as session:
        session.step(3)
        assert calls == []
    assert calls == ["motor", "bridge"]
    session.close()
    assert calls == ["motor", "bridge"]
    with pytest.raises(SceneError, match=r"This session is closed.*Make another one\."):
        session.step()


@pytest.mark.parametrize(
    ("fails", "error"), [("step", "the step"), ("init", "the start"), ("load", "the scene")]
)
def test_it_is_called_once_after_an_error(motors, calls, fails, error):
    with pytest.raises(RuntimeError, match=error):
        with Session(motors(fails), backend="embedded") as session:
            session.step(5)
    assert calls == ["motor", "bridge"]


def test_it_is_called_once_after_ctrl_c_which_waits_for_the_end_of_the_step(motors, calls):
    with pytest.raises(KeyboardInterrupt):
        with Session(motors("ctrl-c"), backend="embedded") as session:
            session.step(5)
    assert calls == ["motor", "bridge"]
    assert session.step_count == 3


def test_a_run_that_ctrl_c_ends_has_the_step_that_was_going_on(motors):
    session = Session(motors("ctrl-c"), backend="embedded")
    summary = run(session, 9)
    assert (summary.steps, summary.interrupted, session.step_count) == (3, True, 3)


def test_an_error_in_it_is_said_and_does_not_keep_others_from_theirs(motors, calls, caplog):
    with pytest.raises(ValueError, match="port of motor"):
        with Session(motors("cleanup"), backend="embedded") as session:
            session.step()
    assert calls == ["motor", "bridge"]
    assert "[/motor] cleanup() failed at " in caplog.text
    assert "test_cleanup.py:" in caplog.text
    assert "ValueError: port of motor" in caplog.text


def test_a_second_signal_in_it_is_named_and_keeps_no_other_from_theirs(Sofa, calls, caplog):
    class Motor(Sofa.Core.Controller):
        def cleanup(self):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    class Other(Sofa.Core.Controller):
        def cleanup(self):
            calls.append("other")

    def scene(root):
        root.addObject(Motor(name="motor"))
        root.addObject(Other(name="other"))

    with pytest.raises(KeyboardInterrupt):
        Session(scene, backend="embedded").close()
    assert calls == ["other"]
    assert "[/motor] Ctrl-C came again: its clean-up is cut short. The other" in caplog.text


def test_an_error_of_this_package_in_it_needs_no_place_in_the_code(Sofa, caplog):
    class Motor(Sofa.Core.Controller):
        def cleanup(self):
            raise DeviceFailedError("The motor is gone.")

    with pytest.raises(DeviceFailedError):
        Session(lambda root: root.addObject(Motor(name="motor")), backend="embedded").close()
    said = "[/motor] The motor is gone. The other controllers are cleaned up."
    assert said in caplog.text and "cleanup() failed" not in caplog.text


def test_an_error_in_it_does_not_hide_the_first_one(motors, calls, caplog):
    with pytest.raises(ZeroDivisionError):
        with Session(motors("cleanup"), backend="embedded"):
            1 / 0  # noqa: B018
    assert calls == ["motor", "bridge"]
    assert "ValueError: port of motor" in caplog.text


@pytest.mark.parametrize(
    ("step", "cleanup"),
    [
        ("raise DeviceFailedError('It was stopped.')", "signals(1)"),
        ("raise DeviceFailedError('It was stopped.')", "signals(3)"),
        ("signals(1)", "raise DeviceFailedError('It was stopped.')"),
        ("signals(3)", "raise DeviceFailedError('It was stopped.')"),
        ("stop_and_signals()", "pass"),
    ],
)
def test_a_robot_that_was_stopped_is_shown_where_signals_come_too(softctl, tmp_path, step, cleanup):
    (tmp_path / "scene.py").write_text(
        "import os, signal\n"
        "import Sofa.Core\n"
        "from sofa_softctl.errors import DeviceFailedError\n"
        "def signals(count):\n"
        "    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[:count]:\n"
        "        os.kill(os.getpid(), number)\n"
        "def stop_and_signals():\n"
        "    try:\n"
        "        raise DeviceFailedError('It was stopped.')\n"
        "    finally:\n"
        "        signals(3)\n"
        "class Mine(Sofa.Core.Controller):\n"
        "    def onAnimateBeginEvent(self, event):\n"
        f"        {step}\n"
        "    def cleanup(self):\n"
        f"        {cleanup}\n"
        "def createScene(root):\n"
        "    root.addObject(Mine(name='mine'))\n"
    )
    status, _, err = softctl("run", tmp_path / "scene.py", "--steps", "3", "--quiet")
    assert status == 1 and "Error: " in err and "It was stopped." in err, err


@pytest.mark.parametrize("status", [0, 1, 130, 143, 129])
def test_softctl_run_calls_it(softctl, tmp_path, status):
    line = {
        0: "pass",
        1: "raise RuntimeError('mine')",
        130: "os.kill(os.getpid(), signal.SIGINT)",
        143: "os.kill(os.getpid(), signal.SIGTERM)",
        129: "os.kill(os.getpid(), signal.SIGHUP)",
    }[status]
    (tmp_path / "scene.py").write_text(
        "import os, signal\n"
        "import Sofa.Core\n"
        "class Mine(Sofa.Core.Controller):\n"
        "    def onAnimateBeginEvent(self, event):\n"
        f"        {line}\n"
        "    def cleanup(self):\n"
        f"        with open({str(tmp_path / 'calls')!r}, 'a') as file:\n"
        "            file.write('stop\\n')\n"
        "def createScene(root):\n"
        "    root.addObject(Mine(name='mine'))\n"
    )
    found = softctl("run", tmp_path / "scene.py", "--steps", "3", "--quiet")
    assert found[0] == status
    assert (tmp_path / "calls").read_text() == "stop\n"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_whatever_one_raises_the_others_are_cleaned_up(error):
    """Motors of the others stop also where one is interrupted or calls exit()."""
    called = []

    class Controller:
        def __init__(self, name, raises=None):
            self.name, self.raises = name, raises

        def getPathName(self):
            return self.name

        def cleanup(self):
            called.append(self.name)
            if self.raises is not None:
                raise self.raises

    found = clean_up(find_backend("embedded").Sofa, [Controller("a", error), Controller("b")])
    assert found is error and called == ["a", "b"]
