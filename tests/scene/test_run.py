"""How many steps a run does, and what it tells."""

import math

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.displacement import ROWS_MAX, Displacement, displacement_table
from sofa_softctl.scene.session.run import Observer, run, step_count
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
    summary = run(session(), 5)
    assert (summary.steps, summary.scene, summary.histories) == (5, "createScene", [])
    assert summary.time == pytest.approx(0.05)
    assert summary.ms_per_step > 0.0
    assert np.isfinite(list(summary.phases.values())).all()
    assert summary.to_dict()["backend"].startswith("embedded runtime")


class Noted(Observer):
    """An observer that notes its calls."""

    def __init__(self, name, calls, last=math.inf):
        self.name, self.calls, self.last = name, calls, last

    def begin(self, session):
        self.calls.append((self.name, "begin", session.step_count))

    def step(self, session, done):
        self.calls.append((self.name, done, session.step_count))
        if done == self.last:
            raise ValueError("enough")

    def end(self):
        self.calls.append((self.name, "end"))


def test_observers_look_at_every_step_in_order_and_end_in_reverse(session):
    calls = []
    run(session(), 2, [Noted("a", calls), Noted("b", calls)])
    assert calls == [
        ("a", "begin", 0),
        ("b", "begin", 0),
        ("a", 1, 1),
        ("b", 1, 1),
        ("a", 2, 2),
        ("b", 2, 2),
        ("b", "end"),
        ("a", "end"),
    ]


def test_observers_end_where_one_of_them_fails(session):
    calls = []
    with pytest.raises(ValueError, match="enough"):
        run(session(), 5, [Noted("a", calls), Noted("b", calls, last=2)])
    assert calls[-3:] == [("b", 2, 2), ("b", "end"), ("a", "end")]


def test_a_run_says_how_far_bodies_and_tips_moved(beam):
    """A beam that hangs sags by more at its tip than in the mean; nothing moves across."""

    def createScene(root):
        body = beam(root)
        root.gravity = [0.0, -9810.0, 0.0]
        tip = body.addChild("tip")
        tip.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 90.0]])
        tip.addObject("BarycentricMapping")
        root.addChild("goal").addObject("MechanicalObject", name="dofs", position=[[0, 0, 0]])

    session = Session(createScene, backend="embedded")
    start = {name: x for name, x in session.positions().items() if "goal" not in name}
    summary = run(session, 10)
    moved = {f"{name}.position": motion for name, motion in summary.displacements.items()}
    assert moved.keys() == start.keys()  # not the goal, which nothing moves
    for name, x in session.positions().items():
        if name in moved:
            np.testing.assert_allclose(moved[name].center, (x - start[name]).mean(axis=0))
            largest = np.linalg.norm(x - start[name], axis=1).max()
            assert moved[name].largest == pytest.approx(largest)
    body, tip = moved["beam/dofs.position"], moved["beam/tip/dofs.position"]
    assert tip.distance > body.distance > 0.0 and tip.center[1] < 0.0
    assert summary.to_dict()["displacements"]["beam/tip/dofs"]["largest"] == tip.largest


@pytest.mark.parametrize(("count", "left_out"), [(1, False), (40, True)])
def test_the_table_of_displacements_has_the_farthest(count, left_out):
    moved = {f"bar{i}/dofs": Displacement([0.0, 1e-14, float(i)], i + 0.5) for i in range(count)}
    table = displacement_table(moved, {"length": "mm"})
    assert len(table.rows) == min(count, ROWS_MAX) and "[mm]" in table.title
    assert table.rows[0][0] == f"bar{count - 1}/dofs" and table.rows[0][3] == "0"
    assert (f"{count - ROWS_MAX} more" in table.caption) == left_out
