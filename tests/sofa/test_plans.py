"""Plans in SOFA itself: the stiffness of lines, and replays by the steps of SOFA."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.bench.compare import compare
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.status import Status
from sofa_softctl.surrogate.scene.correction import correct_until_accepted
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene

SCENES = Path(__file__).parents[2] / "scenes"
ARM = SCENES / "laser_arm.py"


@pytest.fixture(scope="module")
def plans(sofa):
    """A circle that bends the arm by 30 degrees, raw and accepted by the embedded runtime."""
    find_backend("embedded")
    with prepare_scene(ARM, "circle", instants=150, task_parameters={"radius": 80.0}) as ready:
        raw = ready.plan()
        yield raw, correct_until_accepted(raw)


def test_a_plan_moves_the_robot_as_in_the_embedded_runtime(plans, tmp_path):
    """Over all steps; SOFA gets the lines' stiffness from Python. 1e-12 is what sums in another
    order come to, as in the other scenes."""
    _, found = plans
    file = tmp_path / "circle.mcap"
    found.write(file)
    steps = found.delay + 149
    assert compare(ARM, steps, parameters={"plan": str(file)}).deviation_max <= 1e-12


def test_a_plan_is_judged_by_the_steps_of_sofa(plans):
    _, found = plans
    again = correct_until_accepted(replace(found, judgement=None, backend="sofa"), corrections=0)
    assert again.status is Status.SOLVED
    assert again.report.simulator.startswith("SOFA v")
    assert again.delay == found.delay
    assert np.allclose(again.replayed_spot[1:], found.replayed_spot[1:], rtol=0.0, atol=1e-6)  # mm


def test_a_plan_is_corrected_by_the_steps_of_sofa(plans):
    raw, _ = plans
    found = correct_until_accepted(replace(raw, backend="sofa"))
    assert found.status is Status.SOLVED and found.corrections >= 1


def test_steps_of_sofa_alone_flutter_as_ours_do(plans):
    """Without the lines' stiffness the same tensions miss by 40 mm and more, in SOFA too."""
    _, found = plans
    found.robot.line_stiffness = False
    try:
        plan = replace(found, judgement=None)
        here, there = (
            correct_until_accepted(replace(plan, backend=backend), corrections=0)
            for backend in ("embedded", "sofa")
        )
    finally:
        found.robot.line_stiffness = True
    assert here.status is there.status is Status.REJECTED
    assert there.report.criteria[0].value > 10.0


def test_the_finger_is_planned_and_judged_in_sofa(sofa):
    find_backend("embedded")
    with prepare_scene(SCENES / "finger.py", "bend", backend="sofa") as ready:
        found = correct_until_accepted(ready.plan())
    assert found.status is Status.SOLVED
    assert found.report.simulator.startswith("SOFA v")
