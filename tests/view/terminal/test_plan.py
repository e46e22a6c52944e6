"""The table of a plan says what was expected of it, and where its equilibria came from."""

from types import SimpleNamespace

from sofa_softctl.status import Status
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.view.terminal.plan import show_plan

TOLD = {
    "scene": "strip.py",
    "task": "lean",
    "miss": 0.5,
    "defect": 1e-9,
    "dofs": 690,
    "iterations": 8,
    "evaluations": 31,
    "corners": {"0": 16, "1": 15},
    "branching": 0,
    "refused": 0,
    "from_store": 0,
    "map_error": None,
    "seconds": 2.0,
    "seconds_exact": 1.5,
}


def shown(capsys, estimate=None, **changes):
    plan = SimpleNamespace(status=Status.SOLVED, message="")
    show_plan(SimpleNamespace(plan=plan, estimate=estimate, to_dict=lambda: TOLD | changes))
    words = capsys.readouterr().out.replace("│", " ").split()
    return " ".join(words)


def test_a_plan_tells_what_was_expected(capsys):
    expected = CostEstimate({0: 16, 1: 14}, known=0, each=0.05, size=1000)
    assert "about 30 equilibria, 1.5 s, 0.03 MB in memory" in shown(capsys, expected)


def test_a_plan_without_work_has_a_grid_all_the_same(capsys):
    assert "31 (no grid)" in shown(capsys, corners=None)
    assert "0, 86 from the store" in shown(capsys, corners={}, evaluations=0, from_store=86)
