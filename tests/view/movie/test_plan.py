"""Movies of plans: the robot where the plan has it, the beam to the spot, the cut until then."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sofa_softctl.cli.app import app
from sofa_softctl.surrogate.costs.costs import Following, Point
from sofa_softctl.surrogate.costs.obstacles import Box, HalfSpace, Obstacle, Sphere
from sofa_softctl.surrogate.scene.plan_scene import plan_scene
from sofa_softctl.view.movie import plan as plan_movie
from sofa_softctl.view.movie.plan import plan_animation, save_plan_movie

SCENE = Path(__file__).parents[3] / "scenes" / "laser_arm.py"
K, DT = 12, 0.2
PLATE = -180.0


@pytest.fixture(scope="module")
def found():
    """The way around two discs."""
    return plan_scene(SCENE, "obstacles", instants=K, parameters={"dt": DT})


@pytest.fixture(scope="module")
def seen(found):
    return plan_animation(found)


def body(seen, name):
    (one,) = [body for body in seen.bodies if body.name == name]
    return one


def instants(seen):
    return np.round(seen.time / DT).astype(int)


@pytest.mark.processes
def test_the_robot_is_where_the_plan_has_it(found, seen):
    """Single precision, 6e-8 of 100 mm."""
    assert seen.time[-1] == pytest.approx((K - 1) * DT)
    places = found.robot.positions(found.plan.a)[instants(seen)]
    assert body(seen, "/arm/dofs").positions == pytest.approx(places, abs=1e-4)
    assert np.ptp(places[:, :, 1], axis=0).max() > 5.0  # it bends


def test_lines_go_with_the_robot_and_have_their_tensions(found, seen):
    """Their lengths are those of the plan's map, but for 1e-4 by its splines."""
    now, layout = instants(seen), found.robot.dynamics.layout
    lengths = found.robot.dynamics.embedding.at(found.plan.a[now]).value[:, layout.length]
    for number, line in enumerate(seen.lines):
        drawn = np.linalg.norm(np.diff(line.points, axis=1), axis=2).sum(axis=1)
        assert drawn == pytest.approx(lengths[:, number], abs=1e-3)
        pulled = 4000.0 * found.plan.u[np.maximum(now - 1, 0), number]
        assert line.tension == pytest.approx(pulled)
    assert max(line.tension.max() for line in seen.lines) > 100.0


def test_the_beam_ends_at_the_spot(found, seen):
    ends = body(seen, "beam").positions.reshape(len(seen.time), 2, 8, 3).mean(axis=2)
    assert ends[:, 1] == pytest.approx(found.spot[instants(seen)])
    assert ends[:, 1, 2] == pytest.approx(np.full(len(ends), PLATE))
    assert ends[:, 0, 2] == pytest.approx(np.full(len(ends), -100.0), abs=3.0)  # the arm's tip
    spot = body(seen, "spot").positions
    assert spot.mean(axis=1) == pytest.approx(found.spot[instants(seen)], abs=1e-3)


def test_the_cut_is_the_path_until_now(found, seen):
    """The middle of a strip as wide as a beam is drawn."""
    now = instants(seen)
    middle = body(seen, "cut").positions.reshape(len(now), K, 2, 3).mean(axis=2)
    for frame, k in enumerate(now):
        assert middle[frame, : k + 1, :2] == pytest.approx(found.spot[: k + 1, :2])
        assert (middle[frame, k:] == middle[frame, k]).all()
    edges = body(seen, "cut").positions[-1].reshape(K, 2, 3)
    width = np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1)
    assert width == pytest.approx(np.full(K, width[0])) and 1.0 < width[0] < 2.0


def test_a_path_that_rests_keeps_its_direction():
    way = [(0, 0), (0, 0), (0, 0), (1, 0), (2, 0), (3, 0), (3, 0), (3, 0), (3, 1), (3, 2), (3, 2)]
    path = np.array([(*at, 0.0) for at in (*way, (3, 2))])
    points, _ = plan_movie._strip(path, np.array([0.0, 0.0, 1.0]), 0.5)
    left = points.reshape(-1, 2, 3)[:, 0] - path
    assert left[:7] == pytest.approx(np.tile([0.0, 0.25, 0.0], (7, 1)))
    assert left[7:] == pytest.approx(np.tile([-0.25, 0.0, 0.0], (5, 1)))
    still, _ = plan_movie._strip(np.zeros((3, 3)), np.array([0.0, 0.0, 1.0]), 0.5)
    assert not still.any()


def test_plate_and_goal_lie_below_the_cut(seen):
    """Seen from the robot: or one hides the other."""
    heights = [body(seen, name).positions[..., 2] for name in ("plate", "goal", "cut")]
    assert heights[0].max() < heights[1].min() and heights[1].max() < heights[2].min()
    a, b, c = body(seen, "plate").positions[0][body(seen, "plate").triangles[0]]
    assert np.cross(b - a, c - a)[2] < 0.0  # turned away, and so opaque from above


def test_obstacles_are_shown(seen):
    discs = [body.positions[0] for body in seen.bodies if body.name == "obstacle"]
    assert [np.ptp(disc, axis=0) for disc in discs] == [
        pytest.approx([10.0] * 3, rel=0.05),
        pytest.approx([8.0] * 3, rel=0.05),
    ]
    assert discs[0].mean(axis=0) == pytest.approx([2.0, 9.0, PLATE])


def test_solids_have_outward_faces_and_walls_lie_in_their_plane():
    """Divergence theorem: the volume under outward faces is that of the box, 1 x 2 x 3."""
    size = np.full(3, 10.0)
    (box,) = plan_movie._solid(Box((1, 1, 1), (2, 3, 4)), 2, np.zeros(3), size)
    a, b, c = (box.positions[1][box.triangles[:, i]] for i in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0 == pytest.approx(6.0)
    (wall,) = plan_movie._solid(HalfSpace((0, 3, 4), 2.0), 2, np.ones(3), size)
    assert wall.obstacle
    assert wall.positions[0] @ [0.0, 0.6, 0.8] == pytest.approx(np.full(4, 2.0))
    assert plan_movie._solid(object(), 2, np.zeros(3), size) == []


def test_a_point_has_markers_instead_of_a_beam(found):
    """A task about the tip: any scene with SURROGATE and TASKS has one."""
    tip = Point(found.robot.dynamics.layout.point("/arm/beam.0"))
    goal = np.tile([1.0, 2.0, -100.0], (K, 1))
    wall = Obstacle(tip, Sphere((0.0, 0.0, -120.0), 5.0), 1.0)
    task = replace(found.task, probe=tip, outputs=(Following(tip, goal),), obstacles=(wall,))
    told = replace(found, task=task)
    seen = plan_animation(told)
    assert [marker.name for marker in seen.markers] == ["point", "goal"]
    assert seen.markers[0].positions == pytest.approx(told.spot[instants(seen)])
    assert {body.name for body in seen.bodies} == {"/arm/dofs", "obstacle"}


def test_movies_are_refused_before_the_plan():
    command = ["plan", str(SCENE.parent / "missing.py"), "--task", "circle"]
    told = CliRunner().invoke(app, [*command, "--movie", "plan.avi"])
    assert "A movie needs a name in .gif or .mp4, got 'plan.avi'" in str(told.exception)
    told = CliRunner().invoke(app, [*command, "--plot", "plan.txt"])
    assert "A plot needs a name in .png, .svg or .pdf" in str(told.exception)


def test_the_movie_of_an_arm_that_hangs_is_upright(found, tmp_path, monkeypatch):
    monkeypatch.setattr(plan_movie, "FRAME_RATE", 2.0)
    done = []
    save_plan_movie(tmp_path / "plan.gif", found, progress=lambda *at: done.append(at))
    with Image.open(tmp_path / "plan.gif") as movie:
        assert movie.size == plan_movie.PORTRAIT
        assert movie.n_frames > 1
        movie.seek(movie.n_frames - 1)
        shown = np.asarray(movie.convert("RGB")).astype(int)
    assert done[-1][0] == done[-1][1]
    red = (shown[..., 0] > 200) & (shown[..., 1:].max(axis=-1) < 80)
    assert red.sum() > 100  # the beam
