"""A robot that leans left or right: what planning does where its shapes end."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import MapError
from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Following, Point
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.program.settings import Settings

STRIP = Path(__file__).with_name("heavy_strip.py")


def strip(**given):
    """It snaps to the other side where tensions differ by less than 0.5: between corners of a cell
    of level 0, not of level 1."""
    arguments = {"spacing": 0.5, "u_max": 1.5, "points": ["/strip/tip"], "dt": 0.02} | given
    return PlannedRobot(STRIP, scale=100.0, **arguments)


def leaning(robot, x, instants):
    """From where it is to x, across."""
    tip = Point(robot.dynamics.layout.point("/strip/tip.0"))
    here = robot.map(np.zeros(2)).value[list(robot.map.layout.point("/strip/tip.0"))]
    path = np.repeat(here[None], instants, axis=0)
    share = np.linspace(0.0, 1.0, instants)
    path[:, 0] += share**2 * (3.0 - 2.0 * share) * (x - here[0])
    task = Task(probe=tip, outputs=(Following(tip, path, tolerance=2.0),))
    return robot.problem(task, instants)


@pytest.fixture(scope="module")
def planned():
    """A robot whose grid cannot be used at the start at first, and a plan to its own side."""
    robot = strip(eta=0.25)
    problem = leaning(robot, -68.0, 20)
    assert robot.grid.level == 0 and not robot.grid.places(np.zeros((1, 2)))[0][0]
    return robot, robot.plan(problem, settings=Settings(iterations=20))


@pytest.mark.soak
def test_the_grid_is_refined_until_it_can_be_used_at_the_start(planned):
    robot, found = planned
    assert found.miss < 2.0
    assert robot.grid.level == robot.model.rounds == 1


@pytest.mark.soak
def test_a_grid_too_coarse_at_the_start_is_told():
    robot = strip(eta=0.5)
    task = Task(probe=Point(robot.dynamics.layout.point("/strip/tip.0")))
    with pytest.raises(MapError, match=r"no plan from a = \[0.0, 0.0\].*snaps to another shape"):
        robot.plan(robot.problem(task, 20))


@pytest.mark.soak
def test_a_plan_to_the_other_side_is_not_given_as_one_that_can_be_executed(planned):
    """From left to right there is no motion along shapes of rest: the strip would snap."""
    robot, _ = planned
    found = robot.plan(leaning(robot, 60.0, 12), settings=Settings(iterations=3))
    assert found.status in (Status.NOT_CONVERGED, Status.INFEASIBLE)
    assert "Do not execute it" in found.message
