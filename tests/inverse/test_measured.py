"""Measured displacements: a model with slow motors waits for them."""

import numpy as np
import pytest

from sofa_softctl import InverseController, add_effector
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.scene import small_scene

SPEED, LEAD = 8.0, 0.5
"""Of the motors [mm/s], and how far the model may be ahead [mm]."""


class SlowMotors(SceneController):
    """Follow the displacements of a controller no faster than `SPEED`; say where they are."""

    def __init__(self, *, follows, silent=(), **options):
        super().__init__(**options)
        self.follows, self.silent, self.at = follows, silent, np.zeros(2)
        self.quantities = ("length", "length")
        self.add_output("measured", self.at, "Where they are [length].")

    def onAnimateEndEvent(self, event):
        most = SPEED * self.dt.value
        way = self.follows.outputs["displacement"].value - self.at
        self.at = self.at + np.clip(way, -most, most)
        now = self.time.value
        quiet = any(begin <= now < end for begin, end in self.silent)
        self.outputs["measured"].value = np.full(2, np.nan) if quiet else self.at


@pytest.fixture
def moved():
    """moved(steps, silent=(), **options) -> controller, its history and that of the motors."""

    def make(steps=40, silent=(), **options):
        made = {}

        def createScene(root):
            scene = small_scene(root)
            effector = add_effector(scene.tip.getContext())
            made["inverse"] = root.addObject(
                InverseController(
                    name="inverse",
                    root=root,
                    actuators=scene.cables,
                    effectors=[effector],
                    goal=[9.0, 5.0, 38.0],
                    effort_min=0.0,
                    **options,
                )
            )
            motors = SlowMotors(name="motors", root=root, follows=made["inverse"], silent=silent)
            root.addObject(motors)

        summary = run(Session(createScene, backend="embedded"), steps)
        histories = summary.histories
        found = {controller.getName(): history for controller, history in histories}
        return (
            made["inverse"],
            found["inverse"]["displacement"],
            found["motors"]["measured"],
            summary,
        )

    return make


def test_without_them_the_model_runs_ahead_of_slow_motors(moved):
    _, model, motors, _ = moved()
    assert np.abs(model - motors).max() > 4.0 * LEAD


def test_with_them_it_waits_within_the_lead_and_gets_there(moved):
    inverse, model, motors, summary = moved(measured="@motors.measured", lead=LEAD)
    # the motors are measured at the end of the step before
    assert np.abs(model[1:] - motors[:-1]).max() < LEAD * (1.0 + 1e-6)
    free = moved(200)[1][-1]
    assert moved(200, measured="@/motors.measured", lead=LEAD)[1][-1] == pytest.approx(
        free, abs=0.02
    )
    said = summary.inverse[0].warnings
    assert any("waited for its motor in" in text for text in said)


def test_motors_that_follow_hold_nothing_back(moved):
    _, model, _, _ = moved(measured="@motors.measured", lead=100.0)
    assert np.array_equal(model, moved()[1])


def test_where_nothing_is_measured_any_more_it_goes_on_with_a_warning(moved, caplog):
    _, model, motors, summary = moved(
        measured="@motors.measured", lead=LEAD, silent=[(0.015, 0.115)], steps=25
    )
    assert np.abs(model[2] - model[1]).max() > 2.0 * LEAD
    assert "cable_0, cable_1: no measurement any more, or too old" in caplog.text
    assert caplog.text.count("no measurement any more") == 1
    assert "cable_0 had no measurement in 10 steps" in summary.inverse[0].warnings


def test_a_model_is_not_forced_back(moved):
    """Motors that fall back, as by hand: the model keeps its place."""
    inverse, model, _, _ = moved(measured="@motors.measured", lead=LEAD)
    tightened = inverse.measured
    tightened._data.value = model[-1] - 10.0
    limits = {"displacement_min": np.full(2, -np.inf), "displacement_max": np.full(2, np.inf)}
    tightened.limit(limits, model[-1], 0.0)
    assert limits["displacement_max"] == pytest.approx(model[-1])
    assert limits["displacement_min"] == pytest.approx(model[-1] - 10.0 - LEAD)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measured": "@motors.measured"}, "lead must be given with `measured`"),
        ({"lead": 1.0}, "lead must be given with `measured`"),
        ({"measured": "motors", "lead": 1.0}, "measured must be a Data with a number for each"),
        ({"measured": "@motors.meazured", "lead": 1.0}, "'@motors.meazured' leads to no Data"),
        ({"measured": "@motor.measured", "lead": 1.0}, "'@motor.measured' leads to no Data"),
        ({"measured": "@inverse.gap", "lead": 1.0}, "a number for each of the 2 actuators"),
        ({"measured": "@motors.measured", "lead": -1.0}, "lead must be a number > 0"),
    ],
)
def test_what_is_wrong_is_said_with_the_line(moved, options, message):
    with pytest.raises(SceneError, match=message) as error:
        moved(1, **options)
    assert "test_measured.py:" in str(error.value)


def test_measured_efforts_are_refused(moved, monkeypatch):
    made = SlowMotors.__init__

    def efforts(self, **options):
        made(self, **options)
        self.quantities = ("force", "length")

    monkeypatch.setattr(SlowMotors, "__init__", efforts)
    with pytest.raises(SceneError, match="'measured' has force, not displacements"):
        moved(1, measured="@motors.measured", lead=1.0)
