"""What plans say of the grid: its end, its basis, its store; and how nodes are looked at on it."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import StoreError
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.status import Status
from sofa_softctl.surrogate.costs.costs import Effort, Following, Point
from sofa_softctl.surrogate.models.grid_notes import with_grid_notes
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.scene.plan_scene import plan_scene

SCENE = Path(__file__).parents[2] / "scenes" / "laser_arm.py"
K = 12
SHARE = np.arange(K) / (K - 1)


def robot_of(**given):
    return PlannedRobot(
        SCENE,
        **{**load_scene(SCENE).module.SURROGATE, "eta": 0.5, "grid": "cells", **given},
        dt=0.2,
    )


def planned(robot):
    task = load_scene(SCENE).module.circle(robot.dynamics.layout, SHARE)
    return robot.plan(robot.problem(task, K))


@pytest.fixture(scope="module")
def usual():
    return planned(robot_of())


def test_a_plan_with_nothing_to_say_says_nothing(usual):
    assert (usual.status, usual.message) == (Status.SOLVED, "")


def test_a_basis_that_is_too_small_is_said_and_the_plan_is_not_solved():
    robot = robot_of(coordinates=6)
    found = planned(robot)
    assert robot.model.reduced.lost > 1e-3
    assert found.status is Status.NOT_CONVERGED
    assert found.message.startswith("The reduced basis is too small: 6 coordinates leave out ")
    assert 'Do not execute the plan; give SURROGATE "coordinates": 12.' in found.message


@pytest.mark.soak
def test_a_plan_that_is_held_at_the_end_of_the_grid_says_so(usual):
    """Limits just above the largest coordinate that it needs, and below it."""
    largest = float(usual.a.max())
    free = planned(robot_of(u_max=0.5 * largest, reach=0.6 * largest))
    held = planned(robot_of(u_max=0.5 * largest, reach=0.0))
    assert "leave the grid" not in free.message
    assert "The plan wants to leave the grid, and was held at its end: line " in held.message
    assert 'Raise "reach" of SURROGATE, or "u_max"' in held.message


def test_a_start_outside_the_grid_is_refused():
    robot = robot_of()
    task = load_scene(SCENE).module.circle(robot.dynamics.layout, SHARE)
    for name in ("start", "before"):
        with pytest.raises(ValueError, match=f"{name} must be within the grid, each .* to 1.25. G"):
            robot.problem(task, K, **{name: [2.0, 0.0, 0.0, 0.0]})


def test_a_plan_that_is_stuck_says_where_the_grid_had_no_equilibrium(usual):
    robot = robot_of()
    problem = robot.problem(Task(Point((0, 1, 2))), K)
    robot.grid.corners.failures[0, 3, 0, 0, 0] = "it buckles."
    robot.model.reduced.refused = np.array([[1.0, 0.0, 0.0, 0.0]])
    failed = replace(usual, status=Status.NOT_CONVERGED)
    stuck = with_grid_notes(failed, problem, robot.model.reduced)
    expected = "It wanted to go to a = [1.0, 0.0, 0.0, 0.0], where the grid has no equilibrium to"
    assert stuck.message == f"{expected} interpolate: it buckles."
    robot.grid.upper[:] = 0.9
    stuck = with_grid_notes(failed, problem, robot.model.reduced)
    assert stuck.message.endswith(', outside the grid: raise "reach" or "u_max".')
    assert with_grid_notes(usual, problem, robot.model.reduced).message == ""


@pytest.mark.soak
def test_damaged_equilibria_are_solved_again_and_the_plan_says_so(usual, tmp_path):
    path = tmp_path / "arm.corners"
    first = planned(robot_of(store=path))
    file = sqlite3.connect(path)
    file.execute("UPDATE samples SET gradient = zeroblob(length(gradient)) WHERE rowid IN (2, 5)")
    file.commit()
    file.close()
    robot = robot_of(store=path)
    again = planned(robot)
    assert robot.evaluations == 2
    assert again.u == pytest.approx(first.u, abs=1e-9)
    assert again.message == (
        "2 equilibria in the store were damaged, and were solved again where they were needed: "
        "check the disk."
    )
    healed = robot_of(store=path)
    assert planned(healed).message == "" and healed.evaluations == 0


def test_equilibria_that_could_not_be_kept_are_said(tmp_path):
    robot = robot_of(store=tmp_path / "arm.corners")
    file = robot.grid.corners.store.store._file
    file.execute(f"PRAGMA max_page_count = {file.row('PRAGMA page_count')[0] + 30}")
    found = planned(robot)
    assert found.status is Status.SOLVED
    unsaved = robot.grid.corners.store.unsaved_count
    assert unsaved > 0
    assert found.message.startswith(f"{unsaved} equilibria could not be kept. {tmp_path}")
    assert "the disk is full. Free some space" in found.message


def test_a_store_that_is_refused_is_not_laid_to_the_scene(tmp_path):
    path = tmp_path / "letter"
    path.write_text("a letter, long enough to be taken for a database of another program " * 9)
    with pytest.raises(
        StoreError, match=f"^{path}: the store is not a SQLite file. Choose another"
    ):
        plan_scene(SCENE, "circle", store=path)


NODE = 12


@pytest.mark.parametrize("exact", [False, True])
def test_a_node_of_the_body_is_looked_at_by_its_point(exact):
    """On a grid as without one; its place is that in the whole outputs."""
    robot = robot_of(points=("/arm",), exact=exact)
    rows = robot.dynamics.layout.point(f"/arm.{NODE}")
    a = np.array([[0.1, 0.0, 0.02, 0.0]])
    tip = Point(rows)
    expected = robot.map(a[0]).value[list(robot.map.layout.node(NODE))]
    assert robot.locate(tip, a)[0] == pytest.approx(expected, abs=0.01)  # the grid's error
    assert robot.positions(a)[0, NODE] == pytest.approx(expected, abs=0.01)
    if exact:
        assert robot.locate(Point(robot.dynamics.layout.node(NODE)), a)[0] == pytest.approx(
            expected
        )
    else:
        with pytest.raises(ValueError, match="no rows for single nodes"):
            robot.dynamics.layout.node(NODE)


def test_a_plan_for_a_node_reaches_it_on_a_grid():
    """The tip goes 5 mm aside and rests: in the map's own equilibrium it is there, to 1 %."""
    robot = robot_of(points=("/arm",))
    node = int(robot.map.map.rest[:, 2].argmin())
    tip = Point(robot.dynamics.layout.point(f"/arm.{node}"))
    start = robot.locate(tip, np.zeros((1, 4)))[0]
    path = start + np.outer(SHARE**2 * (3.0 - 2.0 * SHARE), [5.0, 0.0, 0.0])
    goal = Following(tip, path, np.where(SHARE > 0.99, 1.0, 1e-3), tolerance=0.5)
    task = Task(tip, outputs=(goal,), inputs=(Effort(1e-6),), rest=True)
    found = robot.plan(robot.problem(task, K))
    there = robot.map(found.a[-1]).value[list(robot.map.layout.node(node))]
    assert found.status is Status.SOLVED
    assert there[0] == pytest.approx(path[-1, 0], abs=0.05)
