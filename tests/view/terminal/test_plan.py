"""The table of a plan says what was expected of it, and where its equilibria came from."""

from types import SimpleNamespace

from sofa_softctl.acceptance import AcceptanceReport, Criterion
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.units import Units
from sofa_softctl.view.terminal.plan import show_plan

TOLD = {
    "scene": "strip.py",
    "task": "lean",
    "status": "SOLVED",
    "message": "",
    "miss": 0.5,
    "defect": 1e-9,
    "dofs": 690,
    "iterations": 8,
    "evaluations": 31,
    "corners": {"0": 16, "1": 15},
    "branching": 0,
    "refused": 0,
    "from_store": 0,
    "coordinates": 121,
    "lost": 5e-8,
    "map_error": None,
    "seconds": 2.0,
    "seconds_exact": 1.5,
}


def shown(capsys, estimate=None, replay=None, **changes):
    found = {"estimate": estimate, "report": None, "units": Units.parse("mm, kg, s")} | (
        replay or {}
    )
    show_plan(SimpleNamespace(**found, to_dict=lambda: TOLD | changes))
    words = capsys.readouterr().out.replace("│", " ").split()
    return " ".join(words)


def test_a_plan_tells_what_was_expected(capsys):
    expected = CostEstimate({0: 16, 1: 14}, known=0, each=0.05, size=1000)
    assert "about 30 equilibria, 1.5 s, 0.03 MB in memory" in shown(capsys, expected)


def test_a_plan_tells_the_size_of_its_basis_and_what_that_leaves_out(capsys):
    assert "reduced basis 121 coordinates, 5e-08 left out" in shown(capsys)
    assert "reduced basis" not in shown(capsys, corners=None, coordinates=None, lost=None)


def test_a_plan_without_work_has_a_grid_all_the_same(capsys):
    assert "31 (no grid)" in shown(capsys, corners=None)
    assert "0, 86 from the store" in shown(capsys, corners={}, evaluations=0, from_store=86)


def test_a_plan_tells_what_its_replay_on_the_full_robot_measured(capsys):
    criteria = (Criterion("distance from the path", 0.25, 1.0), Criterion("depth", 2.0, 0.0))
    replay = {
        "report": AcceptanceReport("embedded", criteria),
        "flutter": 2.7,
        "corrections": 1,
        "exact_corrections": 2,
        "exact_seconds": 3.24,
        "delay": 20,
        "robot": SimpleNamespace(line_stiffness=True, dt=0.01),
    }
    told = shown(capsys, replay=replay)
    assert "full robot, distance from the path 0.25 mm, 1 mm allowed" in told
    assert "full robot, depth 2 mm, 0 mm allowed: NOT ACCEPTED" in told
    assert "flutter number 2.7: steps have the lines' stiffness" in told
    assert "tensions corrected 2 Gauss-Newton steps on the full robot, 3.2 s" in told
    assert "corrected once" in told and "begins after 0.2 s" in told
    assert "no, as the plan must not be executed" in shown(capsys)
