"""A copy of a scene does what the scene does."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.aspects.look_ahead import CANDIDATES, LookAhead
from sofa_softctl.scene.copies.rollout import SceneCopy
from sofa_softctl.scene.session.session import Session

RING = Path(__file__).parents[3] / "scenes" / "rolling_ring.py"


def test_a_copy_goes_on_as_the_scene_does():
    """From step 40 on, with contacts and on ground that another controller tilts: bit for bit."""
    session = Session(RING, parameters={"ground": "tilting", "slope": 5.0, "look_ahead": False})
    session.step(40)
    copy = SceneCopy(session.root)
    copy.set_state(copy.state())
    for _ in range(10):
        session.step()
        copy.step()
    twin = copy.twin(session.root.inverse.getPathName())
    assert np.array_equal(twin.tip.value, session.root.inverse.tip.value)
    assert np.array_equal(copy.root.ring.dofs.position.value, session.root.ring.dofs.position.value)


@pytest.mark.soak
def test_goals_that_remember_something_go_on_in_the_copy():
    """Those of the cup start from where it hung at 0.5 s."""
    session = Session(RING.with_name("trunk_cup.py"))
    session.step(55)
    copy = SceneCopy(session.root)
    copy.set_state(copy.state())
    session.step()
    copy.step()
    twin = copy.twin("/inverse")
    assert np.array_equal(twin.goal.value, session.root.inverse.goal.value)


@pytest.mark.soak
def test_rollouts_leave_the_scene_as_it_is():
    """The scene is the same with rollouts in between as without, bit for bit."""
    positions = []
    for looks in (False, True):
        session = Session(RING, parameters={"look_ahead": False})
        session.step(32)
        if looks:
            runner = session.root.inverse.look_ahead_runner
            runner.options = LookAhead(horizon=3)
            rollout = runner.rollouts(SceneCopy(session.root))
            ends = [rollout(candidate, 3)[-1] for candidate in CANDIDATES]
            runner.options = None
            assert len(set(ends)) > 1
        session.step(3)
        positions.append(session.root.ring.dofs.position.value.copy())
    assert np.array_equal(*positions)


def test_a_root_that_nobody_built_has_no_copy():
    from sofa_softctl import Sofa

    with pytest.raises(SceneError, match="not known how the scene was made"):
        SceneCopy(Sofa.Core.Node("root"))
