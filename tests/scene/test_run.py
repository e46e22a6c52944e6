"""How many steps a run does, and what it tells."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.run import run, step_count
from sofa_softctl.scene.session.session import Session


@pytest.fixture
def session(beam):
    def createScene(root, dt=0.01):
        beam(root, cables=1, value=5.0)
        root.dt = dt

    return lambda **parameters: Session(createScene, backend="embedded", parameters=parameters)


@pytest.mark.parametrize(
    ("steps", "duration", "expected"), [(7, None, 7), (None, 0.5, 50), (None, None, 200)]
)
def test_steps_come_from_their_number_the_duration_or_the_scene(session, steps, duration, expected):
    assert step_count(session(), steps, duration, default=2.0) == expected


def test_a_duration_is_counted_in_spite_of_rounding(session):
    """0.3 / 0.1 is 2.9999999999999996."""
    assert step_count(session(dt=0.1), None, 0.3, default=2.0) == 3


@pytest.mark.parametrize(
    ("steps", "duration", "message"),
    [
        (3, 1.0, "Give either steps or a duration, not both"),
        (0, None, "At least one step is needed, got 0"),
        (-2, None, "At least one step is needed, got -2"),
        (None, 0.015, "A duration of 0.015 is no multiple of the scene's dt = 0.01"),
        (None, 0.0, "A duration must be positive and finite, got 0"),
        (None, -1.0, "A duration must be positive and finite, got -1"),
        (None, float("nan"), "A duration must be positive and finite, got nan"),
        (None, float("inf"), "A duration must be positive and finite, got inf"),
    ],
)
def test_a_number_of_steps_that_cannot_be_is_refused(session, steps, duration, message):
    with pytest.raises(SceneError, match=message):
        step_count(session(), steps, duration, default=2.0)


@pytest.mark.parametrize("dt", [0.0, -0.01])
def test_a_scene_without_a_time_step_is_told_at_its_line(session, dt):
    with pytest.raises(SceneError, match=r"test_run\.py:\d+: dt must be positive, got "):
        step_count(session(dt=dt), None, 1.0, default=2.0)


def test_a_run_is_summed_up(session):
    done = []
    summary, histories = run(session(), 5, done.append)
    assert done == [1, 2, 3, 4, 5]
    assert (summary.steps, summary.scene, histories) == (5, "createScene", [])
    assert summary.time == pytest.approx(0.05)
    assert summary.ms_per_step > 0.0
    assert np.isfinite(list(summary.phases.values())).all()
    assert summary.to_dict()["backend"].startswith("embedded runtime")
