"""The page in a real Chromium."""

import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl import Session, open_view, read_record
from sofa_softctl.view.browser.motion import LiveMotion
from sofa_softctl.view.browser.page import Page
from tests.support.chromium import Chromium, executable

pytest.importorskip("viser")

SCENE = "scenes/trunk.py"


def open_motion(parameters):
    return LiveMotion(Session(SCENE, backend="embedded", parameters=parameters))


@contextmanager
def running(page):
    """Run a page in another thread: the test is its viewers."""
    end = threading.Event()
    errors = []

    def run():
        try:
            page.run(end.is_set)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield page
    finally:
        end.set()
        thread.join(30.0)
        page.close()
    assert not errors


@pytest.fixture(scope="module")
def browser():
    executable()
    with Chromium((900, 600)) as chromium:
        yield chromium


@pytest.fixture
def page():
    parameters = {"path": "point"}
    with running(Page(open_motion(parameters), "trunk", open_scene=open_motion)) as page:
        yield page
        page.motion.session.close()


def open_tab(browser, page):
    tab = browser.open(page.address)
    tab.wait_for_text("Speed")
    return tab


def pixel_of(tab, page, point):
    """Return where a point of the scene [length] is in a tab that nobody has turned."""
    camera = page.server.initial_camera
    eye, focus, up = (np.array(v) for v in (camera.position, camera.look_at, camera.up))
    back = (eye - focus) / np.linalg.norm(eye - focus)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    x, y, depth = np.array([right, np.cross(back, right), back]) @ (page.stage.to_page(point) - eye)
    left, top, width, height = tab.evaluate(
        "(() => {const r = document.querySelector('canvas').getBoundingClientRect();"
        "return [r.x, r.y, r.width, r.height]})()"
    )
    scale = 0.5 * height / np.tan(camera.fov / 2.0) / -depth
    return left + width / 2.0 + x * scale, top + height / 2.0 - y * scale


def goal_and_tip(page):
    outputs = page.motion.session.controllers[0].outputs
    return np.array(outputs["goal"].value)[0], np.array(outputs["tip"].value)[0]


def wait(condition, seconds=20.0):
    for _ in range(round(seconds / 0.05)):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError("the condition did not become true")


def test_the_robot_follows_a_goal_that_is_dragged(browser, page):
    tab = open_tab(browser, page)
    wait(lambda: page.motion.time > 1.0)
    before, tip = goal_and_tip(page)
    assert np.linalg.norm(before - tip) < 1.0
    axis = page.stage.to_scene(np.array([0.0, 0.08, 0.0]))  # along the arrow that is y
    tab.read_events(1.0)
    start, end = (np.array(pixel_of(tab, page, before + k * axis)) for k in (1.0, 2.0))
    steps = np.linspace(0.0, 1.0, 12)[:, None]
    tab.drag((start + steps * (end - start)).tolist())
    wait(lambda: goal_and_tip(page)[0][1] - before[1] > 0.5 * axis[1])
    tab.read_events(1.0)
    moved, _ = goal_and_tip(page)
    assert np.allclose(moved[[0, 2]], before[[0, 2]], atol=1e-3)
    reached = page.motion.time + 2.0
    wait(lambda: page.motion.time > reached)
    goal, tip = goal_and_tip(page)
    assert np.array_equal(goal, moved)
    assert np.linalg.norm(goal - tip) < 0.2 * np.linalg.norm(moved - before)
    assert not tab.errors
    tab.close()


def times_of(tab):
    """Return the time in the panel's first line."""
    return float(tab.evaluate("document.body.innerText.match(/t = ([0-9.]+)/)[1]"))


def test_play_pause_step_reset_and_the_time_slider(browser, page):
    tab = open_tab(browser, page)
    wait(lambda: page.motion.time > 0.5)
    tab.click("Pause")
    wait(lambda: not page.player.playing)
    paused = page.motion.session.step_count
    tab.wait_for_text("Play")
    tab.click("Step")
    wait(lambda: page.motion.session.step_count == paused + 1)
    tab.press("n", "KeyN", 78)
    wait(lambda: page.motion.session.step_count == paused + 2)
    wait(lambda: abs(times_of(tab) - page.motion.time) < 1e-3)
    page.request(lambda: page.player.show_time(0.25))  # as the slider does
    wait(lambda: abs(page.motion.time - 0.25) < 0.05)
    wait(lambda: abs(times_of(tab) - page.motion.time) < 1e-3)
    assert page.motion.session.step_count == paused + 2
    tab.click("Play")
    wait(lambda: page.motion.session.step_count > paused + 10)
    tab.press("p", "KeyP", 80)
    wait(lambda: not page.player.playing)
    tab.click("Reset")
    wait(lambda: page.motion.session.step_count == 0)
    assert not tab.errors
    tab.close()


def test_a_state_is_kept_and_returned_to(browser, page):
    tab = open_tab(browser, page)
    wait(lambda: page.motion.time > 0.3)
    tab.click("Pause")
    wait(lambda: not page.player.playing)
    tab.click("Keep")
    tab.wait_for_text("Kept t")
    kept = page.motion.session.positions()
    tab.click("Step")
    tab.click("Return")
    tab.wait_for_text("Back at t")
    after = page.motion.session.positions()
    assert all(np.array_equal(kept[name], after[name]) for name in kept)
    tab.close()


def test_three_viewers_stay_in_step_and_one_that_closes_harms_nobody(browser, page):
    tabs = [open_tab(browser, page) for _ in range(3)]
    tabs[0].click("Pause")
    for tab in tabs:
        wait(lambda tab=tab: abs(times_of(tab) - page.motion.time) < 1e-3)
    tabs.pop().close()
    tabs[1].click("Step")
    for tab in tabs:
        wait(lambda tab=tab: abs(times_of(tab) - page.motion.time) < 1e-3)
        assert not tab.errors
        tab.close()


def test_updates_a_second(browser, page):
    """At most 30 updates and 5 of the panel: how many more than one depends on the machine."""
    tab = open_tab(browser, page)
    tab.read_events(2.0)
    before, size = tab.events["Network.webSocketFrameReceived"], tab.bytes
    tab.read_events(4.0)
    count = tab.events["Network.webSocketFrameReceived"] - before
    assert 4 < count < 4.0 * 36.0
    assert (tab.bytes - size) / count < 20_000
    tab.close()


def test_parameters_open_the_scene_again(browser, page):
    tab = open_tab(browser, page)
    first = page.motion.session
    page.request(lambda: page.player.open_again({"path": "point", "young_modulus": 900.0}))
    wait(lambda: page.motion.session is not first)
    assert page.motion.session.parameters["young_modulus"] == 900.0
    tab.wait_for_text("opened again")
    shown = page.motion.session
    page.request(lambda: page.player.open_again({"path": "no_such_file.csv"}))
    wait(lambda: "no_such_file.csv" in page.player.message)
    assert page.motion.session is shown
    tab.close()


def test_a_scene_that_raises_stays_on_view(browser, page):
    tab = open_tab(browser, page)
    page.motion.session.controllers[0].goal = lambda time: 1 / 0
    tab.wait_for_text("ZeroDivisionError")
    tab.wait_for_text("This was in step")
    assert not page.player.playing
    tab.close()


def move_slider(tab, number, key, count):
    """Move a slider of the panel by its keys."""
    tab.wait_for("document.querySelectorAll('[role=slider]').length > 0")
    tab.evaluate(f"document.querySelectorAll('[role=slider]')[{number}].focus()")
    for _ in range(count):
        tab.press(key, key, {"ArrowLeft": 37, "ArrowRight": 39}[key])


def test_the_time_slider_shows_earlier_frames(browser, page):
    tab = open_tab(browser, page)
    wait(lambda: page.motion.time > 0.5)
    tab.click("Pause")
    wait(lambda: not page.player.playing)
    wait(lambda: abs(times_of(tab) - page.motion.time) < 1e-3)
    tab.read_events(1.0)
    last = page.motion.session.time
    move_slider(tab, 0, "ArrowLeft", 20)
    wait(lambda: page.motion.time < last - 0.1)
    wait(lambda: abs(times_of(tab) - page.motion.time) < 1e-3)
    assert page.motion.session.time == last
    tab.close()


def pulled_finger(root):
    """A finger whose cable nobody drives."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-9, maxIterations=500)
    finger = root.addChild("finger")
    finger.addObject("EulerImplicitSolver", rayleighStiffness=0.1)
    finger.addObject("SparseLDLSolver")
    finger.addObject("MeshVTKLoader", name="loader", filename="scenes/meshes/finger.vtk")
    finger.addObject("MeshTopology", src="@loader")
    finger.addObject("MechanicalObject")
    finger.addObject("UniformMass", totalMass=0.02)
    finger.addObject("TetrahedronFEMForceField", youngModulus=600.0, poissonRatio=0.45)
    finger.addObject("BoxROI", name="base", box=[-13, -11, -10, 1, 11, 10])
    finger.addObject("FixedProjectiveConstraint", indices="@base.indices")
    finger.addObject("LinearSolverConstraintCorrection")
    cable = finger.addChild("cable")
    cable.addObject("MechanicalObject", position=[[-23, -5.5, 0], [-61, -5.5, 0], [-93, -5.5, 0]])
    cable.addObject(
        "CableConstraint", name="cable", indices=[0, 1, 2], pullPoint=[0, -5.5, 0],
        valueType="displacement", value=[0.0],
    )  # fmt: skip
    cable.addObject("BarycentricMapping")


def tip_of(session):
    """Return how far the last point of the cable is to the side."""
    state = session.root.finger.cable.getMechanicalState()
    return float(state.position.value[-1, 1])


def test_a_slider_pulls_a_cable_that_no_controller_drives(browser):
    with Session(pulled_finger) as session, running(open_view(session)) as page:
        tab = browser.open(page.address)
        cable = session.root.finger.cable.cable
        tab.click("Scene")
        tab.wait_for_text("[displacement]")
        before = tip_of(session)
        move_slider(tab, 1, "ArrowRight", 20)
        wait(lambda: np.ravel(cable.value.value)[0] >= 1.0)
        begin = page.motion.time
        wait(lambda: page.motion.time > begin + 0.5)
        after = tip_of(session)
        assert after < before - 0.5  # the tip bends to the cable's side
        assert not tab.errors
        tab.close()


def test_what_cannot_be_drawn_is_said_and_the_page_stays(browser, page):
    """A Data of goals of another length than when the page was made."""
    tab = open_tab(browser, page)
    goal = page.player.session.controllers[0].outputs["goal"]
    page.request(page.player.pause)
    wait(lambda: not page.player.playing)
    page.request(lambda: setattr(goal, "value", []))
    wait(lambda: "Error" in page.player.message)
    tab.wait_for_text("Error")
    tab.click("Reset")
    wait(lambda: page.motion.session.step_count == 0)
    tab.click("Play")
    wait(lambda: page.motion.time > 0.3)
    assert page.player.message == ""
    tab.close()


def test_a_reset_ends_a_recording_and_the_page_says_so(browser, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scene = Path(__file__).parents[3] / SCENE
    with running(open_view(scene, backend="embedded", parameters={"path": "point"})) as page:
        tab = open_tab(browser, page)
        tab.click("Files")
        tab.click("Record")
        tab.wait_for_text("Recording to")
        tab.click("Reset")
        tab.wait_for_text("The recording ended")
        (file,) = tmp_path.glob("trunk-*.mcap")
        assert read_record(file).complete
        tab.click("Movie")
        tab.wait_for_text("A movie is being made")
        tab.wait_for_text("Movie:", 120.0)
        (movie,) = tmp_path.glob("trunk-*.mp4")
        assert movie.stat().st_size > 1000
        tab.close()
        page.close_session()
