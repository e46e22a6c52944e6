"""SurrogateController: planned tensions reach the lines, whatever the plan and the scene are."""

from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.acceptance import AcceptanceReport, Criterion
from sofa_softctl.errors import RecordError, SceneError
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.scene.plan_file import PlanFile, robot_identity

find_backend("embedded")

from sofa_softctl import SurrogateController, controller  # noqa: E402
from sofa_softctl.scene.control.line_stiffness import has_line_stiffness  # noqa: E402

TENSIONS = np.array([[10.0, 0.0], [20.0, 5.0], [30.0, 0.0]])
SPOTS = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [4.0, 0.0, 1.0]])


PASSED = AcceptanceReport("embedded runtime", (Criterion("path", 0.1, 1.0),))
FAILED = AcceptanceReport("model", (Criterion("path", 2.0, 1.0),))


def written(path, report=PASSED, **changes):
    """A plan of three steps of 0.01."""
    times = 0.01 * np.arange(1, 4)
    plan = PlanFile(times, TENSIONS, SPOTS, np.zeros((3, 2)), {}, report=report)
    replace(plan, **changes).write(path)
    return path


def scene(plan, lines=2, first_order=False, width=10.0, held=(0, 1, 2), **options):
    """A block of one tetrahedron with cables, under a plan."""

    def create(root):
        root.dt = 0.01
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver", firstOrder=first_order)
        body.addObject("SparseLDLSolver")
        corners = [[0, 0, 0], [width, 0, 0], [0, 10, 0], [0, 0, 10]]
        body.addObject("MeshTopology", position=corners, tetrahedra=[[0, 1, 2, 3]])
        body.addObject("MechanicalObject", name="dofs")
        body.addObject("UniformMass", totalMass=0.1)
        body.addObject("TetrahedronFEMForceField", youngModulus=100.0, poissonRatio=0.3)
        body.addObject("FixedProjectiveConstraint", indices=list(held))
        body.addObject("LinearSolverConstraintCorrection")
        cables = [
            body.addObject(
                "CableConstraint",
                name=f"cable_{k}",
                indices=[3],
                pullPoint=[0.0, 20.0 * k, 0.0],
                valueType="force",
                value=[0.0],
            )
            for k in range(lines)
        ]
        root.addObject(SurrogateController(root=root, lines=cables, plan=plan, **options))

    return Session(create)


@pytest.mark.parametrize(("first_order", "factor"), [(False, 0.01), (True, 1.0)])
def test_each_step_pulls_with_its_own_tension(tmp_path, first_order, factor):
    """A cable takes an impulse in second order, tension times dt, and the tension in first order;
    after the plan the last tensions stay."""
    session = scene(written(tmp_path / "plan.mcap"), first_order=first_order)
    for tension in (*TENSIONS, TENSIONS[-1]):
        session.step()
        told = session.root.surrogate.tension.value
        assert told == pytest.approx(tension)
        forces = [session.root.body[f"cable_{k}"].force.value for k in range(2)]
        assert forces == pytest.approx(factor * tension)


def test_it_tells_where_the_point_is_to_be(tmp_path):
    session = scene(written(tmp_path / "plan.mcap"))
    session.step(2)
    assert session.root.surrogate.planned.value[0] == pytest.approx(SPOTS[1])
    assert session.root.surrogate.spot(0.015) == pytest.approx([1.0, 0.0, 1.0])


def test_what_is_no_plan_or_one_for_other_lines_is_refused(tmp_path):
    with RecordWriter(tmp_path / "run.mcap", {}) as file:
        file.add_channel("inverse.effort", shape=(2,))
        file.write(0.01, {"inverse.effort": np.zeros(2)})
    with pytest.raises(RecordError, match="this recording is no plan"):
        scene(tmp_path / "run.mcap")
    with pytest.raises(RecordError, match="the plan is for 2 lines, not 1"):
        scene(written(tmp_path / "plan.mcap"), lines=1)


@pytest.mark.parametrize(
    ("report", "reason"), [(None, "was never replayed"), (FAILED, "path: 2, 1 allowed")]
)
def test_a_plan_that_did_not_pass_its_replay_is_executed_on_demand_alone(tmp_path, report, reason):
    """It then says so as it starts, and after the run. As a goal for another controller it pulls
    nothing, and is taken."""
    plan = written(tmp_path / "plan.mcap", report)
    with pytest.raises(RecordError, match=f"{reason}.*anyway=True"):
        scene(plan)
    session = scene(plan, anyway=True)
    assert reason in session.root.surrogate.start_warnings()[0]
    summary = session.root.surrogate.summary(None)
    assert not summary.accepted
    line, _ = summary.report({}).lines
    assert reason in line.text and line.level == "doubt"
    assert scene(plan, lines=0).root.surrogate.spot(0.01) == pytest.approx(SPOTS[0])


def test_lines_are_slack_until_a_plan_begins(tmp_path):
    session = scene(written(tmp_path / "plan.mcap", times=0.01 * np.arange(4, 7)))
    for tension in (*3 * [np.zeros(2)], *TENSIONS):
        session.step()
        assert session.root.surrogate.tension.value == pytest.approx(tension)


def test_a_run_that_ends_before_its_plan_says_so(tmp_path):
    """The plan is from 0.03 to 0.06."""
    session = scene(written(tmp_path / "plan.mcap", times=0.01 * np.arange(4, 7)))
    found = []
    for _ in range(6):
        session.step()
        report = session.root.surrogate.summary(None).report({})
        found.append([line.text.partition("ended after ")[2] for line in report.lines[1:]])
    rest = "of its 0.03 of time. It takes a run until 0.06."
    assert found == [[f"{done} {rest}"] for done in ("0", "0", "0", "0.01", "0.02")] + [[]]


@pytest.mark.parametrize("stiffness", [False, True])
def test_steps_are_those_of_the_replay(tmp_path, stiffness):
    session = scene(written(tmp_path / "plan.mcap", line_stiffness=stiffness))
    assert has_line_stiffness(session.root) == stiffness


def test_a_plan_that_would_flutter_says_so_before_it_runs(tmp_path):
    flutters = written(tmp_path / "plan.mcap", line_stiffness=False, flutter=2.7)
    (warning,) = scene(flutters).root.surrogate.start_warnings()
    assert "2.7" in warning and "add_line_stiffness" in warning
    good = written(tmp_path / "plan.mcap", line_stiffness=True, flutter=2.7)
    assert scene(good).root.surrogate.start_warnings() == []


def test_a_plan_that_was_replayed_on_another_backend_says_so(tmp_path):
    report = replace(PASSED, simulator="SOFA v25.06, steps of 0.01")
    elsewhere = written(tmp_path / "plan.mcap", report=report)
    (warning,) = scene(elsewhere).root.surrogate.start_warnings()
    assert "replayed on another backend: SOFA v25.06" in warning
    assert "Plan with --backend embedded" in warning


def test_a_plan_for_another_robot_is_refused_with_what_differs(tmp_path):
    plan = tmp_path / "plan.mcap"
    session = scene(written(plan))
    robot = robot_identity(session.root, session.root.surrogate.lines)
    scene(written(plan, robot=robot)).step()
    (key,) = [name for name in robot if name.endswith("youngModulus")]
    session = scene(written(plan, robot=robot | {key: [80.0], "dt": [0.02]}))
    with pytest.raises(SceneError, match="80 planned, 100 here; dt: 0.02 planned, 0.01 here"):
        session.step()


@pytest.mark.parametrize(
    ("given", "key"), [({"width": 12.0}, "dofs.position"), ({"held": (0, 1)}, "indices")]
)
def test_a_robot_of_another_shape_or_held_elsewhere_is_another_robot(tmp_path, given, key):
    """Lines are as long as before, materials and masses the same."""
    plan = written(tmp_path / "plan.mcap")
    session = scene(plan)
    robot = robot_identity(session.root, session.root.surrogate.lines)
    session = scene(written(plan, robot=robot), **given)
    with pytest.raises(SceneError, match=f"for another robot: /body/[^ ]*{key}: "):
        session.step()


def test_it_is_a_controller_of_the_package():
    assert controller("surrogate") is SurrogateController
