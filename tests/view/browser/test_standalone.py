"""Motions as pages that are complete in themselves."""

import numpy as np
import pytest

from sofa_softctl import Session
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.browser.standalone import save_motion
from sofa_softctl.view.movie.animation import AnimatedSurface, Animation
from sofa_softctl.view.movie.capture import Camera
from tests.support.chromium import Chromium


@pytest.fixture(scope="module")
def animation():
    with Session("scenes/finger.py", backend="embedded") as session:
        camera = Camera(session)
        for _ in range(60):
            session.step()
            camera.capture_frame()
        return camera.animation()


def test_a_page_plays_without_a_server(animation, tmp_path):
    path = tmp_path / "finger.html"
    save_motion(animation, path)
    assert path.stat().st_size < 1_500_000
    with Chromium((900, 600)) as browser:
        tab = browser.open(path.as_uri())
        tab.wait_for("document.querySelector('canvas') !== null")
        played = "parseFloat(document.querySelector('input').value) > 0.1"
        tab.wait_for(played)
        assert not tab.errors
        assert tab.events["Network.webSocketCreated"] == 0
        requests = tab.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
        assert not [name for name in requests if name.startswith("http")]


@pytest.mark.quick
def test_suffixes(tmp_path):
    still = Animation(
        np.zeros(1), [AnimatedSurface("body", np.eye(3)[None], np.array([[0, 1, 2]]))]
    )
    with pytest.raises(SoftctlError, match=r"\.gif, \.mp4 or \.html"):
        save_motion(still, tmp_path / "robot.avi")
    save_motion(still, tmp_path / "robot.html")
    assert (tmp_path / "robot.html").read_text(encoding="utf-8").startswith("<!")
