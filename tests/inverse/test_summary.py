"""What a run says of an inverse controller at its end."""

import json
import math
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from sofa_softctl.inverse.aspects.objects import LostObjects
from sofa_softctl.inverse.aspects.step_counts import StepCounts
from sofa_softctl.inverse.goals.causes import group_limits
from sofa_softctl.inverse.summary import summarise
from sofa_softctl.scene.control.report import History
from sofa_softctl.status import Status, Verdict

UNITS = {"length": "mm", "time": "s", "force": "mN"}


@pytest.fixture(autouse=True)
def without_scene(monkeypatch):
    """Reasons that lie in the scene are asked of none."""
    monkeypatch.setattr("sofa_softctl.inverse.goals.causes.scene_reasons", lambda *args: [])
    monkeypatch.setattr(
        "sofa_softctl.inverse.goals.causes.find_causes",
        lambda controller, *args: (group_limits(controller.solution.active), False),
    )


def summed_up(
    *,
    search=(),
    tolerance=math.inf,
    error=3.0,
    active=(),
    relaxed=(),
    lost=(),
    last=Status.SOLVED,
    solved=10,
    moving=False,
    **counts,
):
    """Ten steps with contacts, of one effector and no actuators, that end with this error."""
    steps = 10
    errors = np.linspace(5.0, error, steps)[:, None] if moving else np.full((steps, 1), error)
    none = list(np.zeros((steps, 0)))
    values = {"error": list(errors), "effort": none, "displacement": none}
    tip = errors[:, :, None] * [1.0, 0.0, 0.0]
    values |= {"tip": list(tip), "goal": list(np.zeros_like(tip))}
    values |= dict.fromkeys(("contact_normal", "contact_slide", "contact_mode"), none)
    step_counts, lost_objects = StepCounts(), LostObjects()
    step_counts.statuses[Status.SOLVED] = solved
    step_counts.statuses |= {Status[name]: count for name, count in counts.items()}
    step_counts.searches = list(search)
    lost_objects.left = dict(lost)
    controller = SimpleNamespace(
        getPathName=lambda: "/inverse",
        step_counts=step_counts,
        aspects=[step_counts, lost_objects],
        solution=SimpleNamespace(active=active, relaxed=relaxed, status=last),
        names=(),
        driven=SimpleNamespace(quantities=()),
        search=SimpleNamespace(gap=1e-4),
        lost=lost_objects,
        tolerance=np.array([tolerance]),
        weight=np.ones(3),
        weighted_axes=np.ones((1, 3), dtype=bool),
        effector_names=["/tip"],
        problem=SimpleNamespace(contacts=()),
    )
    return summarise(controller, History(np.arange(1.0, steps + 1), values))


def lines_of(inverse):
    return [line.text for line in inverse.report(UNITS).lines]


def test_a_run_without_contacts_says_nothing_of_their_search():
    inverse = summed_up()
    assert inverse.search is None and inverse.goal is None and inverse.lost == {}
    assert lines_of(inverse) == []


def test_gaps_are_summed_up_over_the_steps_that_have_a_bound():
    """Of 0, 1e-4, 0.02, 0.3 the first two are proofs, the median is 0.01005; two have no bound."""
    search = [(0.0, 1), (math.inf, 1), (0.3, 0), (1e-4, 1), (math.inf, 0), (0.02, 1)]
    found = summed_up(search=search).search
    assert (found.steps, found.proven, found.unbounded, found.not_converged) == (6, 2, 2, 2)
    assert found.gap_median == pytest.approx(0.01005)
    assert found.gap_worst == 0.3
    (line,) = lines_of(summed_up(search=search))
    assert "2 of 6 steps with contacts proven optimal" in line
    assert "gap 0.01 in the median and 0.3 at worst over the 4 with a bound" in line
    assert "2 without a bound, 2 not converged" in line


def test_without_any_bound_no_gap_is_given():
    inverse = summed_up(search=[(math.inf, 1)] * 3)
    assert inverse.search.gap_median is None and inverse.search.gap_worst is None
    (line,) = lines_of(inverse)
    assert "0 of 3" in line and "gap" not in line


def test_the_summary_is_valid_json():
    """Neither Infinity nor NaN, which JSON has not."""
    inverse = summed_up(search=[(math.inf, 1)], tolerance=1.0, lost={"/box": 0.4})
    text = json.dumps(asdict(inverse), allow_nan=False)
    assert json.loads(text)["lost"] == {"/box": 0.4}


@pytest.mark.parametrize(("error", "reached"), [(0.999, True), (1.0, True), (1.001, False)])
def test_a_goal_is_reached_within_its_tolerance(error, reached):
    goal = summed_up(tolerance=1.0, error=error).goal
    assert goal.reached is reached and goal.tolerance == 1.0
    assert goal.verdict.startswith("reached: " if reached else "not reached: ")
    assert (goal.reasons == []) is reached


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ({"lost": {"/box": 0.4}}, "/box is lost"),
        ({"active": ("cable: effort at its maximum",)}, "effort at its maximum: cable"),
        (
            {"active": tuple(f"cell {k}: effort at its minimum" for k in range(4))},
            "effort at its minimum: cell 0, cell 1, cell 2, cell 3",
        ),
        (
            {"active": tuple(f"cell {k}: effort at its minimum" for k in range(12))},
            "effort at its minimum: cell 0, cell 1, cell 2 and 9 others",
        ),
        (
            {"relaxed": ("cable: displacement 2 above its maximum",)},
            "cable: displacement 2 above its maximum",
        ),
        ({"HELD": 3, "solved": 7}, "the efforts were held in 3 of 10 steps"),
        (
            {"CLOSEST_FEASIBLE": 1, "solved": 9},
            "the limits contradicted each other in 1 of 10 steps",
        ),
        ({"search": [(math.inf, 0)] * 2}, "the search ended early in 2 of 2 steps"),
        ({"moving": True, "error": 1.5}, "still approaching, 0.39 length a step: run longer"),
        ({}, "what is best for one step may lead nowhere"),
    ],
)
def test_a_goal_that_is_not_reached_says_why(what, reason):
    inverse = summed_up(**{"tolerance": 1.0, "error": 12.34, **what})
    off = f"{what.get('error', 12.3):g}"
    assert inverse.goal.verdict.startswith(f"not reached: {off} length off at the end, 1 allowed; ")
    assert len(inverse.goal.reasons) == 1 and reason in inverse.goal.reasons[0]
    assert reason in inverse.goal.verdict
    assert any(inverse.goal.verdict in line for line in lines_of(inverse))


def test_lost_objects_are_warned_of():
    inverse = summed_up(lost={"/box": 0.4})
    assert inverse.warnings == [
        "/box is lost: nothing touches it since t = 0.4, and no actuator moves it"
    ]


@pytest.mark.parametrize(
    ("tolerance", "last", "verdict"),
    [
        (math.inf, Status.SOLVED, None),
        (5.0, Status.SOLVED, Verdict.REACHED),
        (1.0, Status.CLOSEST_FEASIBLE, Verdict.NOT_REACHED),
        (math.inf, Status.HELD, Verdict.HELD),
        (5.0, Status.HELD, Verdict.HELD),
    ],
)
def test_a_run_has_the_verdict_of_its_end(tolerance, last, verdict):
    """3 mm off at the end."""
    inverse = summed_up(tolerance=tolerance, last=last)
    assert inverse.verdict is verdict
    assert any("Held at the end" in line for line in lines_of(inverse)) is (last is Status.HELD)
