"""The view in the browser of a scene that runs in SOFA."""

import numpy as np
import pytest

VIEW = """
from sofa_softctl import open_view

with open_view("scenes/trunk.py", parameters={"path": "point"}) as page:
    end = [page.motion.session.step_count + 50]
    page.player.set_speed(float("inf"))
    page.run(lambda: page.motion.session.step_count >= end[0])
    (point,) = page.panel._goals._points
    start = point.position
    page.request(lambda: point.move(start + [0.0, 8.0, 0.0]))
    end[0] += 100
    page.run(lambda: page.motion.session.step_count >= end[0])
    outputs = page.motion.session.controllers[0].outputs
    moved, tip = np.array(outputs["goal"].value)[0], np.array(outputs["tip"].value)[0]
    page.request(page.player.reset)
    page.run(lambda: page.motion.session.step_count < 50)
    result([start, moved, tip, [len(page.player.message), 0.0, 0.0]])
page.close_session()
"""


def test_a_goal_is_pulled_in_sofa(in_sofa):
    pytest.importorskip("viser")
    (start, moved, tip, (message, *_)), _ = in_sofa(VIEW)
    np.testing.assert_allclose(moved, np.add(start, [0.0, 8.0, 0.0]))
    np.testing.assert_allclose(tip, moved, atol=0.05)
    assert not message
