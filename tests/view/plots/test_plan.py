"""Plots of plans: units, goals that stay are seen, the plane of the motion."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.base import colors
from sofa_softctl.surrogate.costs.costs import Following
from sofa_softctl.surrogate.costs.obstacles import Box, Obstacle
from sofa_softctl.surrogate.scene.plan_scene import plan_scene
from sofa_softctl.view.plots.plan import save_plan_plot

SCENE = Path(__file__).parents[3] / "scenes" / "laser_arm.py"


class Along:
    """A probe that is on a path, wherever the robot is."""

    rows = (0, 1, 2)

    def __init__(self, path):
        self.path = path

    def locate(self, y):
        return self.path, np.zeros((len(y), 3, 3))


@pytest.fixture(scope="module")
def found():
    return plan_scene(SCENE, "obstacles", instants=12, parameters={"dt": 0.2})


@pytest.mark.processes
def test_axes_have_the_scenes_units_and_lines_their_names(found, drawn, check_readable, tmp_path):
    save_plan_plot(tmp_path / "plan.png", found)
    check_readable(drawn[0])
    path, tensions, solved = drawn[0].axes
    assert (path.get_xlabel(), path.get_ylabel()) == ("x [mm]", "y [mm]")
    assert (tensions.get_xlabel(), tensions.get_ylabel()) == ("time [s]", "tension [mN]")
    assert solved.get_ylabel() == "equilibria solved [-]"
    names = [text.get_text() for text in tensions.get_legend().get_texts()]
    assert names == ["line_0", "line_1", "line_2", "line_3"]
    assert [line.get_color() for line in tensions.lines] == list(colors.PALETTE[:4])


def test_a_goal_that_stays_is_a_ring_around_the_end(found, drawn, tmp_path):
    still = Following(found.task.probe, np.tile([5.0, 20.0, -180.0], (12, 1)))
    task = replace(found.task, outputs=(still,), obstacles=())
    save_plan_plot(tmp_path / "plan.png", replace(found, task=task))
    rings = [line for line in drawn[0].axes[0].lines if line.get_markerfacecolor() == "none"]
    assert rings[0].get_markeredgecolor() == colors.GOAL
    assert len(rings) == 1 and rings[0].get_markersize() >= 10.0
    assert rings[0].get_xydata() == pytest.approx(np.array([[5.0, 20.0]]))


@pytest.mark.processes
def test_a_motion_in_another_plane_is_seen_in_that_plane(found, drawn, check_readable, tmp_path):
    """A path in x and z, with a box in its way, is not a line seen from above."""
    share = np.linspace(0.0, 1.0, 12)
    spot = np.stack([10.0 * share, 0.0 * share, 5.0 * share**2], axis=1)
    box = Obstacle(found.task.probe, Box((2.0, -1.0, 3.0), (4.0, 1.0, 4.0)), weight=1.0)
    task = replace(found.task, probe=Along(spot), outputs=(), obstacles=(box,))
    save_plan_plot(tmp_path / "plan.png", replace(found, task=task))
    check_readable(drawn[0])
    path = drawn[0].axes[0]
    assert (path.get_xlabel(), path.get_ylabel()) == ("x [mm]", "z [mm]")
    (patch,) = path.patches
    assert patch.get_xy() == pytest.approx((2.0, 3.0)) and patch.get_height() == pytest.approx(1.0)
