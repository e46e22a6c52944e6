"""The page in a real Chromium."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from sofa_softctl import Session
from tests.support.chromium import Chromium, executable

pytest.importorskip("viser")
from sofa_softctl.view.browser.motion import LiveMotion
from sofa_softctl.view.browser.page import Page

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
    with Chromium() as chromium:
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
    moved, _ = goal_and_tip(page)
    assert moved[1] - before[1] > 0.5 * axis[1]
    assert np.allclose(moved[[0, 2]], before[[0, 2]], atol=1e-3)
    reached = page.motion.time + 2.0
    wait(lambda: page.motion.time > reached)
    goal, tip = goal_and_tip(page)
    assert np.array_equal(goal, moved)
    assert np.linalg.norm(goal - tip) < 0.2 * np.linalg.norm(moved - before)
    assert not tab.errors
    tab.close()
