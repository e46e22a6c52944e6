"""Plans of a scene's robot: where they start, how far they refine, and what is told meanwhile."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.status import Status
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.planning.cost_estimate import CostEstimate
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.scene.plan_scene import PreparedPlan
from sofa_softctl.view.terminal.plan import Watch

SCENE = Path(__file__).parents[2] / "scenes" / "laser_arm.py"
K = 12


@pytest.fixture(scope="module")
def planned():
    """The circle in few instants, on the finer of two levels: robot, task, rehearsal and plan."""
    module = load_scene(SCENE).module
    robot = PlannedRobot(SCENE, **{**module.SURROGATE, "eta": 0.3, "grid": "cells"}, dt=0.2)
    task = module.circle(robot.dynamics.layout, np.arange(K) / (K - 1))
    rehearsal = robot.rehearse(robot.problem(task, K))
    return robot, task, rehearsal, robot.plan(robot.problem(task, K), guess=rehearsal)


@pytest.mark.soak
def test_a_plan_starts_from_the_rehearsal(planned):
    """Its first iteration is within a percent of the optimum; from rest it costs seven times."""
    robot, task, rehearsal, found = planned
    assert rehearsal.status is Status.SOLVED
    problem = robot.problem(task, K)
    first = robot.plan(problem).history[0]
    unknown = replace(rehearsal, u=np.full((K - 1, 4), np.nan))
    from_rest = robot.plan(problem, guess=unknown)
    assert first.cost == pytest.approx(-found.reward, rel=0.01)
    assert from_rest.history[0].cost > -3.0 * found.reward
    assert from_rest.u == pytest.approx(found.u, abs=1e-4)  # also where a guess has no finite cost


def test_a_second_plan_refines_no_further(planned):
    """eta is the spacing below which no level is made; the rehearsal is near enough for it."""
    robot, task, _, found = planned
    again = robot.plan(robot.problem(task, K))
    assert robot.grid.level == robot.model.rounds == 1
    assert {step.round for step in found.history} == {0}
    assert {step.round for step in again.history} == {0}


def test_where_no_optimum_is_found_there_is_no_rehearsal(planned):
    robot, task, _, _ = planned
    assert robot.rehearse(robot.problem(task, K), Settings(iterations=1)) is None


def test_the_line_that_is_watched_counts_equilibria_between_iterations(planned):
    robot, task, rehearsal, found = planned
    expected = CostEstimate({0: 16, 1: 15}, known=0, each=0.02, size=63_400)
    watch = Watch(PreparedPlan("arm.py", "circle", task, K, robot, rehearsal, expected, 0.0))
    solved = robot.evaluations
    assert str(watch) == f"{solved} of ~31 equilibria"
    robot.grid.counts.fallbacks += 1
    watch.steps.extend(found.history)
    line = str(watch)
    last = f"round 1, iteration {found.iterations}, cost"
    assert line.startswith(f"{solved + 1} of ~31 equilibria, {last}")
    assert len(line) <= 78  # a terminal of 80, with the wheel before it


@pytest.mark.soak
def test_the_start_level_is_the_finest_that_the_rehearsal_allows():
    """That of the circle is off by 0.006, cells of the finest level have 0.125; from one that is
    ten times as far, and without any, planning begins on a coarser level."""
    module = load_scene(SCENE).module
    robot = PlannedRobot(SCENE, **module.SURROGATE, grid="cells")
    task = module.circle(robot.dynamics.layout, np.linspace(0.0, 1.0, 200))
    problem = robot.problem(task, 200)
    guess = robot.rehearse(problem)
    robot.model.choose_level(problem, None)
    assert robot.grid.level == 0
    robot.model.choose_level(problem, guess)
    assert robot.grid.level == robot.model.rounds == 2
    robot.grid.level = 0
    far = replace(guess, a=10.0 * guess.a)
    robot.model.choose_level(problem, far)
    assert robot.grid.level < 2


@pytest.mark.soak
def test_the_circle_takes_the_equilibria_of_the_finest_level():
    module = load_scene(SCENE).module
    robot = PlannedRobot(SCENE, **module.SURROGATE, grid="cells")
    task = module.circle(robot.dynamics.layout, np.linspace(0.0, 1.0, 200))
    found = robot.plan(robot.problem(task, 200))
    assert found.status is Status.SOLVED
    assert robot.evaluations <= 65  # with the coarser levels as well it was 86
