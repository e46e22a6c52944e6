"""The page on learning: its code runs, and is that of the scene."""

import numpy as np
import pytest

from tests.docs.pages import ROOT, run


@pytest.fixture(scope="module")
def page():
    return run("how-to/learn-a-policy")


def test_its_task_is_the_scenes(page):
    """What the page declares and what scenes/finger.py declares have one interface and start."""
    from sofa_softctl.learning import SceneEnv
    from sofa_softctl.learning.environments.named import task_of

    scene = ROOT / "scenes" / "finger.py"
    mine, its = (
        SceneEnv.of_task(scene, task) for task in (page["bend_to"](), task_of(scene, "bend"))
    )
    try:
        assert mine.interface.digest == its.interface.digest
        assert mine.reset(seed=4)[0].tobytes() == its.reset(seed=4)[0].tobytes()
    finally:
        mine.close()
        its.close()


def test_its_surrogate_takes_a_step(page):
    assert page["seen"].shape == (64, 2) and np.isfinite(page["rewards"]).all()
