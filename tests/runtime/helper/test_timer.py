"""Timers of scripts, and the phases of a step in them."""

import pytest

from sofa_softctl.runtime.helper import timer


@pytest.fixture(autouse=True)
def fresh():
    timer.clear()
    yield
    timer.clear()


def test_a_timer_records_only_while_it_is_enabled_and_begun():
    timer.begin("mine")
    assert timer.getRecords("mine") == {}
    timer.setEnabled("mine", True)
    assert timer.isEnabled("mine")
    timer.begin("mine")
    assert list(timer.getRecords("mine")) == ["start_time"]
    timer.end("mine")
    assert list(timer.getRecords("mine")) == ["start_time", "end_time", "total_time"]
    timer.end("never begun")
    timer.setEnabled("mine", False)
    assert not timer.isEnabled("mine")


def test_steps_lie_within_each_other_and_become_a_list_when_they_repeat():
    timer.setEnabled("mine", True)
    timer.begin("mine")
    timer.stepBegin("outer")
    for _ in range(3):
        timer.stepBegin("inner")
        timer.stepEnd("inner")
    timer.stepEnd("outer")
    timer.stepEnd("never begun")
    timer.end("mine")
    outer = timer.getRecords("mine")["outer"]
    assert len(outer["inner"]) == 3
    for step in (outer, *outer["inner"]):
        assert step["total_time"] == step["end_time"] - step["start_time"]
    assert sum(step["total_time"] for step in outer["inner"]) <= outer["total_time"]


def test_records_are_copies():
    timer.setEnabled("mine", True)
    timer.begin("mine")
    records = timer.getRecords("mine")
    timer.end("mine")
    assert "end_time" not in records


def test_the_phases_of_a_step_are_in_a_timer_that_runs(Sofa, root, beam):
    """As examples use it: begun at the beginning of a step, read at its end."""
    import SofaRuntime

    found = []

    class Times(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            SofaRuntime.Timer.setEnabled("step", True)
            SofaRuntime.Timer.begin("step")

        def onAnimateEndEvent(self, event):
            found.append(SofaRuntime.Timer.getRecords("step"))
            SofaRuntime.Timer.end("step")

    root.addObject(Times(name="times"))
    beam(root)
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.01)
    assert found[0]["free motion"]["total_time"] > 0.0
    assert found[0]["mappings"]["start_time"] >= found[0]["free motion"]["start_time"]


def test_steps_of_solvers_have_sofas_names(Sofa, root):
    """solve, Mechanical (node), StaticSolver::Solve, NewtonStep, MBKSolve, with their counts."""
    root.gravity = [0, -9.81, 0]
    root.addObject("DefaultAnimationLoop")
    arm = root.addChild("arm")
    arm.addObject("StaticSolver")
    arm.addObject("NewtonRaphsonSolver", maxNbIterationsNewton=2, warnWhenDiverge=False)
    arm.addObject("CGLinearSolver", iterations=5, tolerance=1e-9, threshold=1e-20)
    arm.addObject("MechanicalObject", position=[[0, 0, 0], [1, 0, 0]])
    arm.addObject("UniformMass", totalMass=1.0)
    arm.addObject("RestShapeSpringsForceField", stiffness=10.0, points=[0, 1])
    Sofa.Simulation.init(root)
    timer.setEnabled("mine", True)
    timer.begin("mine")
    Sofa.Simulation.animate(root, 0.01)
    timer.end("mine")
    solve = timer.getRecords("mine")["solve"]["Mechanical (arm)"]["StaticSolver::Solve"]
    step = solve["NewtonStep"]  # a single one, as the springs are linear; several are a list
    assert solve["nb_iterations"] == 1
    assert step["MBKSolve"]["CG iterations"] >= 1
    assert 0.0 <= step["MBKSolve"]["total_time"] <= step["total_time"]
