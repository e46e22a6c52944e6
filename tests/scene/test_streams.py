"""Rows that controllers add to recordings at times of their own, and those of their clean-up."""

import numpy as np
import pytest

from sofa_softctl.record.record import read_record
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.control.streams import StreamRows
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session


class Motor(SceneController):
    """Two rows a step, three more when it stops; fails in the step that begins at `fails`."""

    def __init__(self, *, fails=np.inf, **options):
        super().__init__(**options)
        self.fails, self.rows = fails, []
        self.add_output("angle", [0.0], "Angle.")

    def onAnimateEndEvent(self, event):
        time = self.time.value
        self.rows += [(time - 0.005, 1.0), (time, 2.0)]
        if time > self.fails:
            raise RuntimeError("the motor")

    def cleanup(self):
        self.rows += [(np.nan, 0.0)] * 3

    def streams(self):
        rows, self.rows = np.array(self.rows).reshape(-1, 2), []
        time, values = rows.T
        yield StreamRows("pull", time, time + 100.0, values[:, None], "force", "How it pulls.")
        yield StreamRows("state", time, time + 100.0, [f"at {value:g}" for value in values])


@pytest.fixture
def make(tmp_path):
    """make(fails) -> session with a motor that fails; its recording goes to `make.path`."""

    def session(fails=np.inf):
        def createScene(root):
            root.dt = 0.01
            root.addObject("DefaultAnimationLoop")
            root.addObject(Motor(name="motor", root=root, fails=fails))

        return Session(createScene, backend="embedded")

    session.path = tmp_path / "run.mcap"
    return session


def pulls(path):
    return read_record(path).streams["motor.pull"].values.ravel().tolist()


def test_every_step_brings_its_rows(make):
    session = make()
    session.step(2)  # before the recording
    with session.recording(make.path):
        session.step(3)
    record = read_record(make.path)
    stream = record.streams["motor.pull"]
    assert stream.values.shape == (6, 1) and stream.unit == "force"
    assert stream.time == pytest.approx([0.025, 0.03, 0.035, 0.04, 0.045, 0.05])
    assert stream.clock == pytest.approx(stream.time + 100.0)
    assert record.streams["motor.state"].values.tolist() == ["at 1", "at 2"] * 3
    assert list(record.channels) == ["motor.angle"] and record.complete


def test_a_session_that_is_closed_within_its_recording_gives_the_rows_of_its_clean_up(make):
    with make() as session, session.recording(make.path):
        session.step()
    assert pulls(make.path) == [1.0, 2.0]  # the recording ended first
    session = make()
    with session.recording(make.path), session:
        session.step()
    assert pulls(make.path) == [1.0, 2.0, 0.0, 0.0, 0.0]


def test_a_run_can_close_it_before_it_is_summed_up(make):
    session = make()
    with session.recording(make.path):
        run(session, 2, close=True)
    assert pulls(make.path)[-4:] == [2.0, 0.0, 0.0, 0.0]


def test_rows_of_the_clean_up_after_an_error_are_kept(make):
    session = make(fails=0.015)
    with pytest.raises(RuntimeError, match="the motor") as error:
        with session.recording(make.path), session:
            session.step(9)
    assert any("The recording of the 1 steps before is kept" in n for n in error.value.__notes__)
    record = read_record(make.path)
    assert len(record.time) == 1 and record.status == "stopped: RuntimeError: the motor"
    assert pulls(make.path) == [1.0, 2.0, 1.0, 2.0, 0.0, 0.0, 0.0]


def test_after_an_error_no_further_step_is_recorded_but_another_recording_can_begin(make, tmp_path):
    session = make(fails=0.015)
    with session.recording(make.path):
        with pytest.raises(RuntimeError):
            session.step(2)
        session.controllers[0].fails = np.inf
        session.step()
        with session.recording(tmp_path / "other.mcap"):
            session.step()
    assert len(read_record(make.path).time) == 1
    assert read_record(make.path).status.startswith("stopped")
    assert len(read_record(tmp_path / "other.mcap").time) == 1


def test_a_controller_may_list_what_is_recorded_of_itself(make):
    session = make()
    motor = session.controllers[0]
    motor.keep(recorded={"angle": ("rad", "Angle of the motor")})
    with session.recording(make.path):
        session.step()
    assert read_record(make.path).units["motor.angle"] == "rad"
