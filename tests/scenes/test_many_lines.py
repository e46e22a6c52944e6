"""The arm with many lines: half of them end in its middle, and a plan of six is executed."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.session.loader import load_scene
from sofa_softctl.surrogate.grid.embedding import Layout
from sofa_softctl.surrogate.models.robot import PlannedRobot
from sofa_softctl.surrogate.scene.plan_scene import prepare_scene

SCENE = Path(__file__).parents[2] / "scenes" / "many_lines.py"


@pytest.mark.parametrize(("lines", "short"), [(4, 0), (6, 3), (8, 4)])
def test_lines_are_around_the_arm_and_half_of_many_are_short(lines, short):
    """Lengths in the arm of 100 mm."""
    robot = PlannedRobot(SCENE, scale=4000.0, parameters={"lines": lines})
    lengths = robot.map(np.zeros(lines)).value[robot.map.layout.length]
    assert (lengths < 60.0).sum() == short
    assert len(lengths) == lines


def test_each_line_moves_the_spot_elsewhere():
    """Six directions that add to nothing, about equally far for lines of one length."""
    module = load_scene(SCENE).module
    robot = PlannedRobot(SCENE, **module.SURROGATE, parameters={"lines": 6})
    sample = robot.map(np.zeros(6))
    tip = list(robot.map.layout.point("/arm/beam.0"))[:2]
    slopes = sample.gradient[tip]  # (2, 6)
    size = np.linalg.norm(slopes, axis=0)
    assert size.min() > 5.0  # mm for a control of 1
    assert np.linalg.norm(slopes.sum(axis=1)) < 0.3 * size.sum()


@pytest.mark.soak
def test_eight_lines_are_planned_with_fewer_equilibria_than_one_cell_has_corners():
    """A cell of eight lines has 256 corners."""
    asked = {"instants": 25, "parameters": {"lines": 8, "dt": 0.08}}
    with prepare_scene(SCENE, "circle", **asked) as ready:
        assert ready.plan().plan.status.ok
    assert ready.robot.evaluations < 256


def test_random_paths_begin_in_the_middle_rest_at_the_end_and_are_as_large_as_asked_for():
    layout = Layout(1, 3, ("/arm/beam.0", "/arm/beam.1"))
    wander, share = load_scene(SCENE).module.wander, np.linspace(0.0, 1.0, 201)
    paths = [wander(layout, share, seed=seed, size=60.0).outputs[0].goal for seed in range(5)]
    for path in paths:
        far = np.linalg.norm(path[:, :2], axis=1)
        assert far[0] == 0.0 and far.max() == pytest.approx(60.0)
        assert (
            np.linalg.norm(path[-1] - path[-2])
            < 1e-3 * np.linalg.norm(np.diff(path, axis=0), axis=1).max()
        )
    assert np.abs(paths[0] - paths[1]).max() > 1.0
