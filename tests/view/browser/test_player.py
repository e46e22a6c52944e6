"""Playing without a browser: the requests of viewers, as the page's thread answers them."""

import math
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from sofa_softctl import Session
from sofa_softctl.errors import RecordError, UsageError
from sofa_softctl.record.record import read_record
from sofa_softctl.view.browser import motion as motions
from sofa_softctl.view.browser.goals import goal_points
from sofa_softctl.view.browser.inputs import Parameters, heard_keys
from sofa_softctl.view.browser.inspector import nodes_about, table_of
from sofa_softctl.view.browser.markdown import as_plain
from sofa_softctl.view.browser.motion import LiveMotion, RecordedMotion
from sofa_softctl.view.browser.player import Player

SCENE = "scenes/finger.py"


@pytest.fixture(scope="module")
def session():
    with Session(SCENE, backend="embedded") as session:
        yield session


@pytest.fixture
def player(session):
    session.reset()
    return Player(LiveMotion(session))


@pytest.mark.quick
def test_it_plays_at_its_speed(player):
    player.set_speed(0.5)
    player.play()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.6:
        player.do_requests(max(player.wait(), 0.0))
        player.advance()
    assert player.motion.time <= 0.5 * (time.perf_counter() - start) + player.session.dt + 1e-9
    assert player.motion.time > 0.0


def test_requests_are_done_between_steps_in_their_order_and_by_this_thread(player):
    threads, order = [], []
    for number in range(3):
        player.request(
            lambda number=number: (order.append(number), threads.append(threading.get_ident()))
        )
    assert player.do_requests(0.0)
    assert order == [0, 1, 2]
    assert set(threads) == {threading.get_ident()}
    assert not player.do_requests(0.01)


def test_an_error_pauses_and_is_shown_and_reset_goes_on(player):
    player.play()
    player.set_speed(math.inf)

    def fail():
        raise UsageError("Give a number.")

    player.request(fail)
    player.do_requests(0.0)
    assert not player.is_playing
    assert player.message == "Give a number."
    player.reset()
    player.play()
    assert player.advance()
    assert player.message == ""


def test_old_frames_are_thinned_out(session, monkeypatch):
    session.reset()
    motion = LiveMotion(session)
    frame = motion.camera.memory
    monkeypatch.setattr(motions, "HISTORY_BYTES", 10.5 * frame)
    for _ in range(40):
        motion.advance()
        motion.capture()
    assert len(motion.times) <= 11
    assert motion.times[0] == 0.0
    assert motion.times[-1] == pytest.approx(session.time)
    assert (np.diff(motion.times) > 0.0).all()
    motion.show_time(0.5 * session.time)
    assert abs(motion.time - 0.5 * session.time) < 0.5 * session.time


def test_return_forgets_what_came_after(session):
    session.reset()
    motion = LiveMotion(session)
    assert "press Keep" in motion.restore()
    for _ in range(3):
        motion.advance()
        motion.capture()
    motion.keep()
    kept = motion.session.positions()
    for _ in range(3):
        motion.advance()
        motion.capture()
    motion.restore()
    assert motion.times[-1] == session.time == pytest.approx(3.0 * session.dt)
    assert all(np.array_equal(kept[name], value) for name, value in session.positions().items())


def test_a_goal_is_moved_and_the_scenes_own_followed_again(session):
    session.reset()
    (point,) = goal_points(session)
    own = point.position
    point.move(own + [1.0, 2.0, 3.0])
    session.step(2)
    assert np.allclose(point.position, own + [1.0, 2.0, 3.0])
    point.follow()
    session.step(1)
    outputs = session.controllers[0].outputs
    assert not np.allclose(outputs["goal"].value[0], own + [1.0, 2.0, 3.0])


def test_parameters_that_a_viewer_changed_and_those_that_were_given(session):
    controls = {
        "young_modulus": (SimpleNamespace(value=700.0), 600.0),
        "path": (SimpleNamespace(value="a"), "a"),
    }
    parameters = Parameters.__new__(Parameters)
    parameters._given, parameters._controls = {"radius": 3.0}, controls
    assert parameters.values() == {"radius": 3.0, "young_modulus": 700.0}


def test_components_show_their_data_and_nodes(session):
    components = {item.getClassName(): item for node in session.nodes() for item in node.objects}
    fem = next(item for name, item in components.items() if "ForceField" in name)
    assert "**youngModulus** = " in table_of(fem)
    fixed = components["FixedProjectiveConstraint"]
    assert len(nodes_about(fixed)) == len(fixed.indices.value) > 0
    assert len(nodes_about(components["FreeMotionAnimationLoop"])) == 0


def test_keys_that_a_scene_hears():
    import Sofa.Core

    class Hearer(Sofa.Core.Controller):
        def onKeypressedEvent(self, event):
            if event["key"] in ("+", "-"):
                self.heard = event["key"]

    def create(root):
        root.addObject(Hearer(name="hearer"))

    with Session(create) as session:
        assert heard_keys(session) == ["+", "-"]


def test_a_recording_plays_to_its_end_and_from_its_begin(session, tmp_path):
    session.reset()
    with session.recording(tmp_path / "run.mcap"):
        session.step(5)
    motion = RecordedMotion(read_record(tmp_path / "run.mcap"))
    player = Player(motion)
    player.set_speed(math.inf)
    steps = 0
    while player.is_playing:
        steps += player.advance()
    assert steps == len(motion.times) - 1
    assert motion.time == pytest.approx(session.time)
    animation, index = motion.frame(motion.index)
    recorded = animation.bodies[0].positions[index]
    assert any(np.array_equal(recorded, now) for now in session.positions().values())
    player.play()
    assert motion.time == motion.times[0]


def test_a_recording_without_meshes_is_refused(tmp_path):
    def create(root):
        node = root.addChild("node")
        node.addObject("EulerImplicitSolver")
        node.addObject("CGLinearSolver")
        node.addObject("MechanicalObject", position=[[0.0, 0.0, 0.0]])
        node.addObject("UniformMass", totalMass=1.0)

    with Session(create) as session, session.recording(tmp_path / "run.mcap"):
        session.step(2)
    with pytest.raises(RecordError):
        RecordedMotion(read_record(tmp_path / "run.mcap"))


def test_goals_are_where_the_first_step_wants_them(session):
    """Before a step the Data of goals are zero: a handle would be at the origin."""
    session.reset()
    motion = LiveMotion(session)
    (point,) = goal_points(session)
    first = point.position
    assert not motion.status()
    motion.advance()
    assert np.array_equal(point.position, first)
    assert motion.status()
    point.move(first + 5.0)
    motion.advance()
    point.follow()
    motion.reset()
    assert np.array_equal(point.position, first)


def test_a_scene_that_calls_exit_is_paused(player):
    player.play()
    player.attempt(lambda: exit_scene())
    assert not player.is_playing
    assert "exit(5)" in player.message
    assert __file__ in player.message


def exit_scene():
    raise SystemExit(5)


def test_a_recording_knows_that_a_reset_ended_it(session, tmp_path):
    with session.recording(tmp_path / "run.mcap"):
        session.step(2)
        assert session.is_recording
        session.reset()
        assert not session.is_recording


@pytest.mark.quick
def test_texts_have_no_marks():
    assert as_plain("a*b <script>\n[x](y)") == r"a\*b \<script\> \[x\](y)"
