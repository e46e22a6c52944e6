"""Gauss-Newton steps on the full robot: exact, within the limits, where offsets do not suffice."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.status import Status
from sofa_softctl.surrogate import step_correction
from sofa_softctl.surrogate.correction import accepted
from sofa_softctl.surrogate.plan_scene import prepare_scene
from sofa_softctl.surrogate.replay import replay
from sofa_softctl.surrogate.step_correction import NoDerivative, StepCorrection

SCENES = Path(__file__).parents[2] / "scenes"
ARM, PLANAR = SCENES / "laser_arm.py", SCENES / "planar_arm.py"


@pytest.fixture(scope="module")
def fast(tmp_path_factory):
    """A plan for a circle of 30 mm in 0.6 s by a coarse arm, for its first natural period of 0.2 s;
    it was not replayed."""
    mesh = tmp_path_factory.mktemp("arm") / "coarse.vtk"
    make = [sys.executable, SCENES / "meshes" / "arm.py", "--nodes", "3", "3", "12", "--out", mesh]
    subprocess.run(make, check=True, capture_output=True)
    given = {"parameters": {"mesh": str(mesh)}, "task_parameters": {"radius": 30.0}}
    with prepare_scene(ARM, "circle", instants=60, **given) as ready:
        yield ready.plan()


@pytest.fixture(scope="module")
def corrected(fast):
    return accepted(fast)


@pytest.fixture(scope="module")
def reach():
    """A short plan with its replay, for two lines."""
    with prepare_scene(PLANAR, "reach", instants=12) as ready:
        yield accepted(ready.plan(), corrections=0)


def test_derivatives_of_a_plan_are_those_of_true_replays(reach):
    """Central differences of replays in a random direction of all tensions err by the square of
    1e-3 of the tensions: 1e-6 of the motion. The steps themselves are those of the replay."""
    exact, file = StepCorrection(reach).sensitivity, reach.file()
    points, slope = exact.run(file.tension, delay=reach.delay)
    assert points == pytest.approx(reach.judgement.replay.points, abs=1e-9)
    change = 0.5 * np.random.default_rng(0).normal(size=file.tension.shape)
    ends = [
        replay(PLANAR, replace(file, tension=file.tension + sign * change), ["/arm/tip"]).points
        for sign in (1.0, -1.0)
    ]
    found = np.einsum("kpjd,jd->kp", slope, change)
    expected = 0.5 * (ends[0] - ends[1])
    assert found == pytest.approx(expected, abs=2e-6 * np.abs(expected).max())


def test_a_fast_motion_that_offsets_do_not_correct_is_solved_by_exact_steps(fast, corrected):
    """Offsets alone end above 0.3 mm, the task's; quadratic convergence leaves micrometres."""
    alone = accepted(fast, exact_corrections=0)
    assert alone.status is Status.REJECTED and alone.report.criteria[0].value > 0.3
    assert corrected.status is Status.SOLVED
    assert 1 <= corrected.exact_corrections <= 2 and corrected.corrections <= alone.corrections
    assert corrected.report.criteria[0].value < 0.03
    data = corrected.to_dict()
    assert data["exact_corrections"] == corrected.exact_corrections
    assert data["seconds"] > data["exact_seconds"] > 0.0


def test_the_planned_path_stays_and_tensions_keep_their_limits(corrected):
    """All limits of the plan, to rounding; some tensions are at them."""
    limits, u = corrected.robot.limits, corrected.plan.u
    rates = np.diff(u, axis=0, prepend=0.0) / corrected.robot.dynamics.dt
    assert u.min() >= 0.0 and u.max() <= limits.u_max
    assert np.abs(rates).max() <= limits.rate * (1.0 + 1e-9)
    goal = corrected.task.outputs[0].goal
    assert np.linalg.norm(corrected.spot - goal, axis=1)[1:].max() < 0.01


def test_a_step_within_narrow_limits_is_the_best_one_there(fast, corrected):
    """Against the unlimited step: it is at the limits, and leaves more of the error."""
    start = accepted(fast, corrections=0)
    exact = StepCorrection(start)
    free = exact.step(start)
    narrow = replace(start.robot.limits, rate=1.05 * np.abs(np.diff(start.plan.u, axis=0)).max() / start.robot.dt)
    tight = replace(start, robot=_with_limits(start.robot, narrow))
    held = exact.step(tight)
    rates = np.abs(np.diff(start.plan.u + held, axis=0, prepend=0.0)) / start.robot.dt
    assert rates.max() == pytest.approx(narrow.rate, rel=1e-6)
    assert np.abs(np.diff(start.plan.u + free, axis=0)).max() / start.robot.dt > narrow.rate
