"""Gauss-Newton steps on the full robot: exact, within the limits, where offsets do not suffice."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.status import Status
from sofa_softctl.surrogate.scene import correction, step_correction
from sofa_softctl.surrogate.scene.correction import correct_until_accepted
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene
from sofa_softctl.surrogate.scene.replay import replay
from sofa_softctl.surrogate.scene.step_correction import NoDerivative, StepCorrection

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
def said():
    """What is said while `corrected` is made."""
    return []


@pytest.fixture(scope="module")
def corrected(fast, said):
    return correct_until_accepted(fast, progress=said.append)


@pytest.fixture(scope="module")
def reach():
    """A short plan with its replay, for two lines."""
    with prepare_scene(PLANAR, "reach", instants=12) as ready:
        yield correct_until_accepted(ready.plan(), corrections=0)


def test_derivatives_of_a_plan_are_those_of_true_replays(reach):
    """Central differences of replays in a random direction of all tensions, without those of slack
    lines, which cannot push: they err by the square of 1e-3 of the tensions."""
    exact, file = StepCorrection(reach).sensitivity, reach.file()
    points, slope = exact.run(file.tension, delay=reach.delay)
    assert points == pytest.approx(reach.judgement.replay.points, abs=1e-9)
    change = 0.1 * np.random.default_rng(0).normal(size=file.tension.shape)
    change[file.tension < 1.0] = 0.0
    ends = [
        replay(PLANAR, replace(file, tension=file.tension + sign * change), ["/arm/tip"]).points
        for sign in (1.0, -1.0)
    ]
    found = np.einsum("kpjd,jd->kp", slope, change)
    expected = 0.5 * (ends[0] - ends[1])
    assert found == pytest.approx(expected, abs=2e-6 * np.abs(expected).max())


@pytest.mark.soak
def test_a_fast_motion_that_offsets_do_not_correct_is_solved_by_exact_steps(fast, corrected, said):
    """Offsets alone end above 0.3 mm, the task's; quadratic convergence leaves micrometres. After
    that nothing more is tried."""
    assert said[-1].startswith("correcting the tensions on the full robot")
    alone = correct_until_accepted(fast, exact_corrections=0)
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


def test_a_step_is_the_best_one_within_the_limits(reach, monkeypatch):
    """Limits that the unlimited step would leave: tensions are at them, and not beyond."""
    exact, u, dt = StepCorrection(reach), reach.plan.u, reach.robot.dt
    widest = replace(reach.robot.limits, rate=1e3, u_max=10.0)
    monkeypatch.setattr(reach.robot, "limits", widest)
    free = u + exact.step(reach)
    rate, u_max = np.abs(np.diff(u, axis=0, prepend=0.0)).max() / dt, u.max()
    assert free.max() > u_max + 1e-3
    monkeypatch.setattr(reach.robot, "limits", replace(widest, rate=rate, u_max=u_max))
    held = u + exact.step(reach)
    assert held.max() == pytest.approx(u_max, abs=1e-9) and held.min() >= 0.0
    assert np.abs(np.diff(held, axis=0, prepend=0.0)).max() / dt <= rate * (1.0 + 1e-9)


@pytest.mark.soak
def test_tensions_that_cannot_do_it_are_said_to_be_at_their_limits(reach, monkeypatch):
    """Half of the tension that the plan takes."""
    slow = replace(reach.plan, u=np.minimum(reach.plan.u, 0.1))
    monkeypatch.setattr(reach.robot, "limits", replace(reach.robot.limits, u_max=0.1))
    monkeypatch.setattr(correction, "_plan_again", lambda found, number: None)
    found = correct_until_accepted(replace(reach, plan=slow, judgement=None))
    assert found.status is Status.REJECTED
    assert "Gauss-Newton steps did not suffice. Limits that it is at: u_max = 0.1" in found.message


def scene_with(tmp_path, old, new):
    """A file with the planar arm after a change of its text."""
    path = tmp_path / "arm.py"
    text = PLANAR.read_text().replace("os.path.abspath(__file__)", repr(str(PLANAR)))
    assert old in text
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.soak
def test_a_scene_without_known_derivatives_keeps_its_corrections_by_offsets(tmp_path):
    """An elasticity with a damping of its own, 1e-4 of a step: two corrections leave a third."""
    own = 'name="elasticity", rayleighStiffness=1e-6,'
    scene = scene_with(tmp_path, 'name="elasticity",', own)
    with prepare_scene(scene, "reach", instants=20, replay_tolerance=0.02) as ready:
        raw = ready.plan()
    first, found = (
        correct_until_accepted(raw, corrections=0),
        correct_until_accepted(raw, corrections=2),
    )
    assert found.status is Status.REJECTED and found.exact_corrections == 0
    assert found.corrections == 2 and found.error < 0.5 * first.error
    assert "No Gauss-Newton steps on the full robot: " in found.message
    assert "has a rayleighStiffness of its own" in found.message
    assert "has a rayleighStiffness of its own" in found.to_dict()["no_derivative"]


def test_steps_that_flutter_are_not_corrected(reach):
    robot = reach.robot
    robot.line_stiffness = False
    try:
        with pytest.raises(NoDerivative, match="its steps amplify every error"):
            StepCorrection(replace(reach, flutter=1.5))
    finally:
        robot.line_stiffness = True


def test_a_replay_by_other_steps_is_noticed(reach):
    """Such as of a scene in which a controller acts only beside a plan."""
    seen = reach.judgement.replay
    other = replace(reach.judgement, replay=replace(seen, points=seen.points + 0.1))
    with pytest.raises(NoDerivative, match="the replay is 0.1 apart from the steps whose"):
        StepCorrection(replace(reach, judgement=other))


def test_a_point_that_is_nowhere_is_said(fast):
    """The laser points away from the plate at an instant of the replay."""
    outputs = np.zeros((60, 6))
    outputs[:, 2], outputs[:, 5] = -100.0, -140.0
    outputs[30, 5] = -60.0
    with pytest.raises(NoDerivative, match="nowhere at some instants"):
        step_correction._towards(fast, outputs, np.zeros((60, 6, 59, 4)))
