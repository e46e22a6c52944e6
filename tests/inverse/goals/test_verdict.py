"""What a run says of goals that it did not reach: the cause, from the step's own optimality."""

import math

import numpy as np
import pytest

from sofa_softctl.cli.app import main
from sofa_softctl.inverse.controller import InverseController
from sofa_softctl.inverse.goals.causes import break_down_error
from sofa_softctl.inverse.rows.effectors import add_effector
from sofa_softctl.qpcc.problem.problem import InverseProblem
from sofa_softctl.qpcc.solve.solve import solve
from sofa_softctl.scene.session.run import run
from sofa_softctl.scene.session.session import Session
from sofa_softctl.status import Verdict

TIP = [10.0, 10.0, 90.0]
SIDEWAYS = [9.0, 5.5, 89.0]
"""Near the tip's place when nothing pulls: reachable."""


def outcome(beam, steps=40, cables=2, limits=None, points=(TIP,), **options):
    """Run the beam with its tip as the effector; the goal's summary and the run's verdict."""

    def create(root):
        body = beam(root, cables=cables)
        actuators = [body.getChild(f"cable_{i}").getObject("cable") for i in range(cables)]
        for name, value in (limits or {}).items():
            for actuator in actuators:
                actuator.findData(name).value = value
        effectors = []
        for number, point in enumerate(points):
            node = body.addChild(f"tip_{number}")
            node.addObject("MechanicalObject", name="dofs", position=[point])
            effectors.append(add_effector(node))
            node.addObject("BarycentricMapping")
        given = {"root": root, "actuators": actuators, "effectors": effectors} | options
        root.addObject(InverseController(name="inverse", **given))

    summary = run(Session(create), steps)
    return summary.inverse[0].goal, summary.verdict


def test_a_goal_beyond_the_limits_is_out_of_reach_and_the_limit_is_named(beam):
    """The cable on the side of the goal would have to pull with more than 50 mN (dt: 0.01 s)."""
    goal, verdict = outcome(beam, goal=[-10.0, 4.0, 85.0], limits={"minForce": 0, "maxForce": 0.5})
    assert verdict is Verdict.CLOSEST and not goal.reached
    assert "; out of reach with these limits (effort at its " in goal.verdict
    assert "effort at its maximum: cable_0" in goal.verdict


def test_a_goal_beside_the_curve_of_one_cable_is_not_reached_and_said_so(beam):
    """Not CLOSEST: at small dt inertia decides what a step finds."""
    goal, verdict = outcome(beam, cables=1, goal=[-5.0, 20.0, 90.0], steps=80)
    assert verdict is Verdict.NOT_REACHED
    assert goal.reasons == [
        "these actuators find nothing closer, step by step: 1 actuator for goals of 3 coordinates. "
        "Give those that do not matter weight 0, or add actuators"
    ]


def test_an_energy_term_that_holds_back_is_named(beam):
    options = {"goal": [0.0, 0.0, 0.0], "weight": [[1.0, 0.0, 0.0]], "steps": 80}
    goal, verdict = outcome(beam, energy=10.0, **options)
    assert verdict is Verdict.NOT_REACHED
    assert goal.reasons == ["energy=10 holds it back: lower it"]
    assert outcome(beam, energy=1e-3, **options)[1] is Verdict.REACHED


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"energy": 10.0}, "energy=10 holds it back: lower it"),
        ({"energy": 10.0, "effort_min": 0.0}, "energy=10 holds it back: lower it"),
        ({"goal_distance": 1e-5, "energy": 0.0}, "goal_distance=1e-05 holds it back: widen it"),
    ],
)
def test_a_limit_that_only_another_answer_would_meet_is_no_reason(beam, option, reason):
    """With a rate of 200 mN a step, which without the energy term would hold the step back."""
    options = {"goal": [0.0, 0.0, 0.0], "weight": [[1.0, 0.0, 0.0]], "steps": 80}
    goal, verdict = outcome(beam, effort_rate=200.0, **option, **options)
    assert verdict is Verdict.NOT_REACHED
    assert goal.reasons == [reason]


def test_a_run_that_ended_too_early_says_so(beam):
    goal, verdict = outcome(beam, cables=1, goal=[-9.0, 0.0, 85.0], effort_rate=200.0, steps=15)
    assert verdict is Verdict.NOT_REACHED
    (reason,) = goal.reasons
    assert reason.startswith("still approaching, ") and " a step: run longer" in reason
    assert reason.endswith("or widen what is reached (effort rate at its maximum: cable_0)")


def test_a_goal_that_is_approached_by_goal_distance_names_it(beam):
    options = {"cables": 1, "goal": [-20.0, 0.0, 0.0], "weight": [[1.0, 0.0, 0.0]]}
    goal, verdict = outcome(beam, goal_distance=0.2, energy=0.0, steps=15, **options)
    assert verdict is Verdict.NOT_REACHED
    (reason,) = goal.reasons
    assert reason.endswith(" a step: run longer, or widen goal_distance=0.2")


def test_a_goal_that_moves_away_is_said_to_move(beam):
    goal, verdict = outcome(
        beam, cables=1, goal=lambda t: [10.0 - 100.0 * t, 5.0, 90.0], effort_rate=1.0, steps=30
    )
    assert verdict is Verdict.NOT_REACHED
    assert "these limits hold it back (effort rate at its maximum: cable_0)" in goal.verdict
    assert goal.reasons[-1] == "the goal moves by 1 length a step"


def test_of_several_effectors_the_one_that_misses_most_is_named(beam):
    goals = [[10.0, 10.0, 45.0], [-30.0, 10.0, 90.0]]
    goal, _ = outcome(beam, points=([10.0, 10.0, 45.0], TIP), goal=goals)
    assert " off at the end (/beam/tip_1), 0.9 allowed; " in goal.verdict


def test_the_default_tolerance_is_one_percent_of_the_body(beam):
    """The beam is 90 long. Its weight moves the tip by more; one cable cannot lift it."""
    goal, _ = outcome(beam, cables=1, goal=TIP)
    assert goal.tolerance == pytest.approx(0.9)


@pytest.mark.parametrize("options", [{"goal_tolerance": math.inf}, {"weight": 0.0}])
def test_what_is_not_judged_has_no_verdict(beam, options):
    goal, verdict = outcome(beam, goal=[-30.0, 10.0, 90.0], steps=3, **options)
    assert goal is None and verdict is None


def test_each_effector_may_have_a_tolerance_of_its_own(beam):
    goals = [[-30.0, 10.0, 45.0], SIDEWAYS]
    points = ([10.0, 10.0, 45.0], TIP)
    options = {"points": points, "goal": goals, "weight": [1e-4, 1.0]}
    goal, verdict = outcome(beam, goal_tolerance=[math.inf, 20.0], **options)
    assert verdict is Verdict.REACHED and goal.tolerance == 20.0
    goal, verdict = outcome(beam, goal_tolerance=[20.0, 20.0], **options)
    assert not goal.reached and "/beam/tip_0" in goal.verdict


def test_axes_without_weight_do_not_count(beam):
    """The beam hangs down along y, and x and z are near their goals."""
    goal, _ = outcome(beam, goal=[10.0, 300.0, 88.0], weight=[[1.0, 0.0, 1.0]], goal_tolerance=5.0)
    assert goal.reached


SCENE = """\
import numpy as np
from sofa_softctl import InverseController, add_effector
from tests.conftest import add_beam

def createScene(root, x=9.0, tolerance=20.0):
    body = add_beam(root, cables=1)
    tip = body.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[[10.0, 10.0, 90.0]])
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")
    root.addObject(InverseController(
        name="inverse", root=root, actuators=[body.cable_0.cable], effectors=[effector],
        goal=[x, 5.5, 89.0], goal_tolerance=tolerance or None))
"""


@pytest.mark.parametrize(
    ("x", "tolerance", "status", "text"),
    [
        (9.0, 20.0, 0, "Goal reached: "),
        (60.0, 0.0, 3, "Goal not reached: "),
        (60.0, math.inf, 0, ""),
    ],
)
def test_the_verdict_decides_the_exit_status(
    tmp_path, monkeypatch, capsys, x, tolerance, status, text
):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    arguments = ["softctl", "run", str(path), "--steps", "20"]
    arguments += ["--set", f"x={x}", "--set", f"tolerance={tolerance}"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code == status
    out = capsys.readouterr().out
    assert text in out and ("Goal " in out) is bool(text)


def problem(**options):
    """Two actuators with an effect along x and y each."""
    values = {
        "W_ea": np.diag([1.0, 2.0, 0.0])[:, :2],
        "W_aa": np.eye(2),
        "delta_e_free": np.array([-3.0, -4.0, 0.5]),
        "delta_a_free": np.zeros(2),
    }
    return InverseProblem(**values | options)


def parts_of(given, missing=(0.0, 0.0, 0.0)):
    answer = solve(given)
    return break_down_error(given, answer.effector_error, np.array(missing))


def test_what_no_actuator_moves_is_the_actuators_part():
    parts = parts_of(problem())
    assert parts.error == pytest.approx(0.5) and parts.actuators == pytest.approx(0.5)
    assert parts.limits == pytest.approx(0.0, abs=1e-9) and parts.binding == ()


def test_what_a_limit_takes_is_the_limits_part_and_its_multiplier_names_it():
    """With the first effort at most 1 the x error is 2; the minimum of the second is not met."""
    parts = parts_of(
        problem(effort_max=np.array([1.0, 9.0]), effort_min=np.zeros(2), names=("a", "b"))
    )
    assert parts.error == pytest.approx(math.hypot(2.0, 0.5))
    assert parts.limits == pytest.approx(math.hypot(2.0, 0.5) - 0.5)
    assert [limit.text for limit in parts.binding] == ["a: effort at its maximum"]


def test_a_displacement_limit_is_found_by_its_row_of_the_compliance():
    parts = parts_of(problem(displacement_max=np.array([math.inf, 0.5]), names=("a", "b")))
    assert [limit.text for limit in parts.binding] == ["b: displacement at its maximum"]


def test_what_the_energy_term_takes_is_its_part():
    parts = parts_of(problem(energy=1.0))
    assert parts.energy > 0.8 * (parts.error - 0.5) > 0.0
    assert parts.limits == pytest.approx(0.0, abs=1e-3)


def test_a_goal_that_was_moved_nearer_counts_from_where_it_was():
    """The answer reaches its target; what is missing to the goal is out of the limit's range."""
    given = problem(effort_max=3.0, delta_e_free=np.array([-1.0, 0.0, 0.0]), names=("a", "b"))
    parts = parts_of(given, missing=(-9.0, 0.0, 0.0))
    assert (parts.error, parts.nearer) == (pytest.approx(9.0), pytest.approx(2.0))
    assert parts.limits == pytest.approx(7.0) and parts.energy == pytest.approx(0.0, abs=1e-6)
    assert [limit.text for limit in parts.binding] == ["a: effort at its maximum"]


@pytest.mark.usefixtures("tolerant")
def test_a_scene_in_which_no_constraint_counts_says_so(beam):
    def create(root):
        body = beam(root, cables=1, loop="DefaultAnimationLoop")
        tip = body.addChild("tip")
        tip.addObject("MechanicalObject", position=[[10.0, 10.0, 90.0]])
        effector = add_effector(tip)
        tip.addObject("BarycentricMapping")
        actuator = body.getChild("cable_0").getObject("cable")
        root.addObject(
            InverseController(
                root=root, actuators=[actuator], effectors=[effector], goal=[0.0, 0.0, 60.0]
            )
        )

    summary = run(Session(create), 3)
    assert "no step was solved" in summary.inverse[0].goal.verdict
