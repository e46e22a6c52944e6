import numpy as np
import pytest
from PIL import Image

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.movie import stage
from sofa_softctl.view.movie.animation import AnimatedPoint, AnimatedSurface, Animation
from sofa_softctl.view.movie.picture import save_picture
from sofa_softctl.view.movie.stage import Stage
from sofa_softctl.view.movie.surface import unit_ball


def ball_that_moves(frames=5, **changes):
    """A ball that grows, and a goal; it is blue, to be told from the background."""
    points, triangles = unit_ball(2)
    size = np.linspace(1.0, 1.5, frames)[:, None, None]
    parts = {
        "time": np.linspace(0.0, 1.0, frames),
        "bodies": [AnimatedSurface("ball", size * points, triangles, "#3050d0")],
        "markers": [AnimatedPoint("goal", np.tile([0.0, 0.0, 2.5], (frames, 1)))],
    }
    return Animation(**{**parts, **changes})


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image).astype(int)


@pytest.mark.parametrize("name", ["ball.png", "ball.jpg", "ball.jpeg"])
def test_a_picture_has_its_size_and_shows_the_end(tmp_path, name):
    save_picture(ball_that_moves(), tmp_path / name, size=(203, 151))
    last = pixels(tmp_path / name)
    assert last.shape == (151, 203, 3)
    save_picture(ball_that_moves(), tmp_path / name, size=(203, 151), frame=0)
    first = pixels(tmp_path / name)
    blue = [(picture[..., 2] - picture[..., 0] > 60).sum() for picture in (first, last)]
    assert blue[1] / blue[0] == pytest.approx(1.5**2, rel=0.1)  # by perspective a little more
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_transparent_picture_holds_the_bodies_and_nothing_else(tmp_path):
    save_picture(ball_that_moves(), tmp_path / "ball.png", size=(300, 200), transparent=True)
    picture = pixels(tmp_path / "ball.png")
    assert picture.shape == (200, 300, 4)
    assert not picture[:20].any() or not picture[:20, :20].any()
    assert not picture[-20:, :60].any()  # no clock
    opaque = picture[..., 3] == 255
    assert 0.05 < opaque.mean() < 0.9
    edge = (picture[..., 3] > 0) & ~opaque
    assert edge.any()
    brightest = picture[edge][:, :3].max(axis=1)
    assert brightest.min() > 20  # of the outline, not mixed with a background


def test_more_samples_give_the_same_picture_but_smoother():
    """Pixels inside differ by rounding, edges by a quarter of their contrast at most on average."""
    coarse, fine = (Stage(ball_that_moves(), (160, 120), samples=k).picture(2) for k in (2, 4))
    difference = np.abs(coarse.astype(int) - fine).max(axis=2)
    assert np.median(difference) <= 1
    assert difference.mean() < 4.0


def test_ground_that_reaches_behind_the_camera_is_drawn_up_to_it():
    """The plane is 1000 times the scene, seen from above it: below the horizon all is ground."""
    corners = 1000.0 * np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]]) - [0, 1.6, 0]
    plane = AnimatedSurface(
        "ground", np.tile(corners, (5, 1, 1)), np.array([[0, 2, 1], [0, 3, 2]]), "#c8ccd2", True
    )
    ball = ball_that_moves()
    scene = ball_that_moves(bodies=[*ball.bodies, plane])
    picture = Stage(scene, (160, 120)).picture(0)
    background = np.round(255 * stage.GROUND)
    assert (np.abs(picture[-1, 60:] - background).max(axis=1) > 8).all()


def test_a_tip_is_seen_in_the_goal_that_it_has_reached():
    path = np.zeros((5, 3))
    markers = [AnimatedPoint("tip", path, "#16637a", 0.7, 0.9), AnimatedPoint("goal", path)]
    scene = ball_that_moves(bodies=[], markers=markers)
    width = np.tile([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]], (5, 1, 1))
    spread = AnimatedSurface("spread", width, np.zeros((0, 3), dtype=int))
    scene.bodies.append(spread)
    picture = Stage(scene, (200, 200)).picture(4).astype(int)
    teal = picture[..., 2] - picture[..., 0] > 40
    red = picture[..., 0] - picture[..., 2] > 60
    assert teal.sum() > 15 and red.sum() > 15


def test_a_scene_of_markers_only_without_time_has_a_picture(tmp_path):
    scene = ball_that_moves(frames=1, bodies=[])
    save_picture(scene, tmp_path / "goal.png", size=(64, 48))
    assert (pixels(tmp_path / "goal.png") < 200).any()


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("a.jpgx", {}, SoftctlError, r"needs a name in .png, .jpg or .jpeg, got '.*a.jpgx'"),
        ("a", {}, SoftctlError, "needs a name in .png"),
        ("a.jpg", {"transparent": True}, SoftctlError, "transparent background needs .* .png"),
        ("a.png", {"size": (0, 0)}, ValueError, "from 16 to 16384 pixels.* Got: 0x0"),
        ("a.png", {"size": (100, 99999)}, ValueError, "Got: 100x99999"),
        ("a.png", {"frame": 5}, ValueError, "no frame 5: the animation has 5 frames"),
        ("a.png", {"frame": -6}, ValueError, "no frame -6"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, name, options, error, message):
    with pytest.raises(error, match=message):
        save_picture(ball_that_moves(), tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_an_animation_without_frames_has_no_picture(tmp_path):
    with pytest.raises(ValueError, match="nothing to show: 0 frames"):
        save_picture(ball_that_moves(time=np.zeros(0)), tmp_path / "a.png")
