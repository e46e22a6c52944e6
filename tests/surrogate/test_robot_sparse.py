"""Robots with many lines: planned on a sparse grid, as with the exact map, with few equilibria."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sofa_softctl.cli.app import app
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.status import Status
from sofa_softctl.surrogate.cells.uniform import Grid
from sofa_softctl.surrogate.costs.costs import Following, Point
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.models.task import Task
from sofa_softctl.surrogate.program.settings import Settings
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene
from sofa_softctl.surrogate.sparse.sparse import SparseGrid

SCENE = Path(__file__).parents[2] / "scenes" / "many_lines.py"
STRIP = Path(__file__).with_name("heavy_strip.py")
K = 20
SLOW = {"instants": K, "parameters": {"dt": 0.1, "lines": 6}}
"""The plan of two seconds with a tenth of the instants."""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    store = tmp_path_factory.mktemp("sparse") / "kept"
    with prepare_scene(SCENE, "circle", store=store, **SLOW) as ready:
        yield ready, ready.plan(), store


def test_three_lines_take_a_sparse_grid_and_two_do_not():
    module = load_scene(SCENE).module

    def kind(lines, **given):
        return PlannedRobot(SCENE, **module.SURROGATE, **given, parameters={"lines": lines}).grid

    two = PlannedRobot(STRIP, scale=100.0)
    assert isinstance(two.grid, Grid) and isinstance(kind(3), SparseGrid)
    assert isinstance(PlannedRobot(STRIP, scale=100.0, grid="sparse").grid, SparseGrid)
    assert isinstance(kind(6, grid="cells"), Grid)
    with pytest.raises(ValueError, match=r"grid must be one of auto, cells, sparse\. Got: 'dense'"):
        kind(6, grid="dense")


@pytest.mark.soak
def test_a_plan_takes_fewer_equilibria_than_a_cell_has_corners(planned):
    """64 corners; the plan on cells of these instants takes 900. Steps are those of the whole
    map: the error of positions at fresh points beside the plan is below the estimate."""
    _, found, _ = planned
    robot = found.robot
    assert found.plan.status is Status.SOLVED
    assert robot.evaluations < 64
    rng = np.random.default_rng(4)
    away = rng.normal(size=(20, 6))
    away *= 0.01 / np.linalg.norm(away, axis=1)[:, None]
    points = found.plan.a + away
    exact = np.array([robot.map(u).value for u in points])
    error = np.abs(robot.grid.at(points).value - exact).max(axis=1)
    assert (error <= robot.model.error(found.plan.a)).mean() >= 0.9
    assert robot.model.error(found.plan.a) < 1e-3  # mm


def test_the_number_of_equilibria_is_estimated_before(planned):
    """Within a factor of two, and what was solved for it is not solved again."""
    ready, found, _ = planned
    assert 0.5 < ready.estimate.equilibria / found.robot.evaluations < 2.0
    assert ready.estimate.size == found.robot.grid.corners.data[0].nbytes
    assert "map_error" in found.to_dict()


def test_a_store_serves_the_same_plan_and_others(planned):
    _, found, store = planned
    with prepare_scene(SCENE, "circle", store=store, **SLOW) as ready:
        again = ready.plan()
    assert again.robot.evaluations == 0
    assert again.plan.u == pytest.approx(found.plan.u, abs=1e-12)


@pytest.mark.soak
def test_measured_positions_give_coordinates(planned):
    """A shape beside the plan, from a guess of no tension."""
    _, found, _ = planned
    robot, u = found.robot, found.plan.a[12] + 0.02
    x = robot.map(u).value[robot.map.layout.position].reshape(-1, 3)
    assert robot.nearest(x) == pytest.approx(u, abs=0.01)  # of the fit near a, in one tube
    robot.grid.cover(found.plan.a, 0.02, 1e-3)  # as it was


def test_estimate_from_the_command_line():
    command = ["plan", str(SCENE), "--task", "circle", "--instants", "12", "--estimate", "--json"]
    command += ["--set", "dt=0.2", "--set", "lines=8"]
    told = json.loads(CliRunner().invoke(app, command).output)
    assert 24 <= told["equilibria"] < 200 and told["bytes"] > 0


def test_a_wrong_grid_in_a_scene_file_is_named(tmp_path):
    file = tmp_path / "scene.py"
    file.write_text(SCENE.read_text().replace('"eta": 0.2,', '"eta": 0.2, "grid": "none",'))
    with (
        pytest.raises(SceneError, match="SURROGATE: grid must be one of auto, cells, sparse"),
        prepare_scene(file, "circle", instants=12),
    ):
        pass


def leaning(robot, x, instants):
    """The strip's tip goes across to x."""
    tip = Point(robot.dynamics.layout.point("/strip/tip.0"))
    here = robot.map(np.zeros(2)).value[list(robot.map.layout.point("/strip/tip.0"))]
    path = np.repeat(here[None], instants, axis=0)
    share = np.linspace(0.0, 1.0, instants)
    path[:, 0] += share**2 * (3.0 - 2.0 * share) * (x - here[0])
    task = Task(probe=tip, outputs=(Following(tip, path, tolerance=2.0),))
    return robot.problem(task, instants)


@pytest.mark.soak
def test_a_robot_that_snaps_is_planned_on_its_side_and_not_across():
    """The strip leans left. Right of the middle is another branch, as `test_robot_branches`."""
    given = {"spacing": 0.5, "u_max": 1.5, "points": ["/strip/tip"], "dt": 0.02, "eta": 0.25}
    robot = PlannedRobot(STRIP, scale=100.0, grid="sparse", **given)
    near = robot.plan(leaning(robot, -68.0, 20), settings=Settings(iterations=20))
    assert near.miss < 2.0 and near.status is Status.SOLVED
    robot = PlannedRobot(STRIP, scale=100.0, grid="sparse", **given)
    across = robot.plan(leaning(robot, 60.0, 12), settings=Settings(iterations=5))
    assert not across.status.ok
    assert across.miss > 60.0 and across.message
