import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.movie import camera as framing
from sofa_softctl.view.movie import direction as views
from sofa_softctl.view.movie import encoding, movie, stage
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedPoint,
    AnimatedSurface,
    Animation,
    Forces,
)

SCENE = Path(__file__).parents[3] / "scenes" / "finger.py"
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def tetrahedron_that_grows(frames=6, **changes):
    """A tetrahedron with a cable that tightens and a goal."""
    size = np.linspace(1.0, 2.0, frames)[:, None, None]
    parts = {
        "time": np.linspace(0.0, 0.5, frames),
        "bodies": [AnimatedSurface("hand", size * CORNERS, FACES)],
        "lines": [AnimatedCable("cable", size * CORNERS[[0, 3]], np.linspace(0.0, 5.0, frames))],
        "markers": [AnimatedPoint("goal", np.tile([0.5, 0.5, 2.0], (frames, 1)))],
    }
    return Animation(**{**parts, **changes})


def save_still(animation, path, frame=-1, size=(960, 720)):
    encoding.write_picture(path, stage.Stage(animation, size).picture(frame % len(animation.time)))


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def is_ground(shown):
    return np.abs(shown - 255 * stage.GROUND).max(axis=-1) < 4


def test_a_still_shows_the_body_inside_a_bright_frame(tmp_path):
    """The camera leaves a margin of a few hundredths on every side, and no more than it must."""
    save_still(tetrahedron_that_grows(), tmp_path / "still.png", size=(300, 200))
    shown = pixels(tmp_path / "still.png")
    assert shown.shape == (200, 300, 3)
    ground = is_ground(shown)
    ground[170:, :60] = True  # the clock
    rows, columns = (np.flatnonzero(~ground.all(axis=axis)) for axis in (1, 0))
    assert 1 <= rows[0] <= 20
    assert 180 <= rows[-1] <= 198
    assert columns[0] >= 1
    assert columns[-1] <= 298
    assert [file.name for file in tmp_path.iterdir()] == ["still.png"]


def test_a_run_in_which_nothing_touches_has_a_picture_too(tmp_path):
    """Controllers of scenes without contacts have no forces at all to draw."""
    nothing = Forces(np.zeros((6, 0, 3)), np.zeros((6, 0, 3)))
    save_still(tetrahedron_that_grows(forces=[nothing]), tmp_path / "still.png")
    assert not is_ground(pixels(tmp_path / "still.png")).all()


def test_a_taut_cable_is_brighter_and_wider_than_a_slack_one(tmp_path):
    counts = []
    for frame in (0, 5):
        save_still(tetrahedron_that_grows(bodies=[], markers=[]), tmp_path / "still.png", frame)
        shown = pixels(tmp_path / "still.png")
        counts.append(int((shown[..., 0] - shown[..., 2] > 80).sum()))  # orange
    assert counts[0] == 0
    assert counts[1] > 500


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_movie_has_the_frames_of_real_time(tmp_path, suffix):
    """0.5 s at 10 frames a second: six frames of 0.1 s, from the first to the last."""
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg", reason="needs the extra [view]")
    told = []
    movie.save_movie(
        tetrahedron_that_grows(),
        tmp_path / f"movie{suffix}",
        size=(161, 121),
        frame_rate=10.0,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(done, 6) for done in range(1, 7)]
    assert [file.name for file in tmp_path.iterdir()] == [f"movie{suffix}"]
    if suffix == ".gif":
        with Image.open(tmp_path / "movie.gif") as gif:
            assert (gif.n_frames, gif.info["duration"], gif.size) == (6, 100, (161, 121))
    else:
        import imageio_ffmpeg

        frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "movie.mp4"))
        assert frames == 6
        assert seconds == pytest.approx(0.6, abs=0.01)
        film = imageio_ffmpeg.read_frames(str(tmp_path / "movie.mp4"))
        assert next(film)["size"] == (160, 120)  # the codec takes even numbers only
        film.close()


def test_a_palette_keeps_the_color_of_a_small_goal():
    """40 red pixels among 76,760 of a body; the palette's step is 4 of 255, two are allowed."""
    picture = np.random.default_rng(0).integers(150, 250, (240, 320, 3)).astype(np.uint8)
    red = np.array([192, 57, 43])
    picture[0, :40] = red
    colors = np.array(encoding.palette_of([picture]).getpalette()).reshape(-1, 3)
    assert np.abs(colors - red).max(axis=1).min() <= 8


def test_the_delays_of_a_gif_do_not_drift():
    """Hundredths of a second: at 30 frames a second they alternate, and a minute is a minute."""
    delays = encoding.delays_of(1800, 30.0)
    assert sum(delays) == 60000
    assert set(delays) == {30, 40}


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_framing_holds_every_point_and_touches_the_margin(aspect, seed):
    """Projected by hand: |x| <= aspect and |y| <= 1 over the tangent, equality to a percent."""
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(200, 3)) * [1.0, 5.0, 0.2] + [10.0, -3.0, 2.0]
    direction, up = np.array([0.6, 0.0, 0.8]), np.array([0.0, 1.0, 0.0])
    position, focus = framing.framing(cloud, direction, up, aspect)
    right = np.cross(up, direction)
    depth = (position - cloud) @ direction
    half = np.tan(np.radians(framing.VIEW_ANGLE / 2.0))
    x = (cloud - focus) @ right / depth / half / aspect
    y = (cloud - focus) @ np.cross(direction, right) / depth / half
    assert max(np.abs(x).max(), np.abs(y).max()) == pytest.approx(1.0 / framing.MARGIN, rel=0.01)


def test_the_camera_is_on_the_side_of_the_goal_and_below_what_hangs():
    beam = np.array([[x, y, z] for x in (0, 10) for y in (0, 1) for z in (0, 1)], dtype=float)
    for sign in (1.0, -1.0):
        goal = AnimatedPoint("goal", np.array([[5.0 + 5.0 * sign, 0.5, 0.5]]))
        seen = Animation(np.zeros(1), [AnimatedSurface("beam", beam[None], FACES)], markers=[goal])
        direction, up = views.direction_of(seen)
        assert direction[0] * sign > 0.0
        assert direction @ up > 0.0
        hanging = Animation(seen.time, seen.bodies, markers=[goal], up=np.array([sign, 0.0, 0.0]))
        assert views.direction_of(hanging)[0] @ hanging.up > 0.0
        standing = Animation(seen.time, seen.bodies, markers=[goal], up=np.array([-sign, 0, 0]))
        assert views.direction_of(standing)[0] @ standing.up < 0.0


def test_a_trail_fades_and_does_not_show_the_future():
    time = np.linspace(0.0, 4.0, 41)
    alpha = stage.trail_opacity(time, 20)
    assert alpha[20] == 1.0
    assert (np.diff(alpha[10:21]) > 0).all()  # a quarter of 4 s is ten frames
    assert set(alpha[:11]) | set(alpha[21:]) == {0.25}  # the faint path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": np.zeros(0)}, "nothing to show: 0 frames of 3 objects"),
        ({"bodies": [], "lines": [], "markers": []}, "nothing to show: 6 frames of 0 objects"),
        ({"time": np.linspace(1.0, 0.0, 6)}, "times of an animation must not decrease"),
        (
            {"bodies": [AnimatedSurface("hand", np.zeros((5, 4, 3)), FACES)]},
            r"The body 'hand' must have shape \(6, 4, 3\). Got: \(5, 4, 3\)",
        ),
        (
            {"bodies": [AnimatedSurface("hand", np.zeros((6, 3, 3)), FACES)]},
            "Triangles of the body 'hand' name vertices 0 to 3, but there are 3",
        ),
        (
            {"markers": [AnimatedPoint("goal", np.zeros((6, 2)))]},
            r"The marker 'goal' must have shape \(6, 3\). Got: \(6, 2\)",
        ),
        (
            {"lines": [AnimatedCable("cable", np.zeros((6, 2, 3)), np.zeros(5))]},
            r"tension of line 'cable' must have shape \(6,\). Got: \(5,\)",
        ),
        (
            {
                "markers": [
                    AnimatedPoint("goal", np.where(np.arange(18) == 9, np.nan, 0).reshape(6, 3))
                ]
            },
            "The marker 'goal' is not finite in frame 3",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        movie.save_movie(tetrahedron_that_grows(**changes), tmp_path / "movie.gif")
    assert not list(tmp_path.iterdir())


def test_unknown_kinds_rates_and_frames_are_refused(tmp_path):
    seen = tetrahedron_that_grows()
    with pytest.raises(SoftctlError, match=r"A movie needs a name in .gif or .mp4, got"):
        movie.save_movie(seen, tmp_path / "movie.avi")
    with pytest.raises(ValueError, match="frame rate must be positive. Got: 0"):
        movie.save_movie(seen, tmp_path / "movie.gif", frame_rate=0)


def test_a_movie_that_fails_leaves_the_old_file(tmp_path):
    def fail(done, total):
        raise RuntimeError

    (tmp_path / "movie.gif").write_text("old")
    with pytest.raises(RuntimeError):
        movie.save_movie(
            tetrahedron_that_grows(), tmp_path / "movie.gif", size=(80, 60), progress=fail
        )
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("movie.gif", "old")]


def test_a_failed_write_leaves_no_file(tmp_path):
    from sofa_softctl.base.files import replace_atomically

    (tmp_path / "kept.gif").write_text("old")
    with pytest.raises(RuntimeError), replace_atomically(tmp_path / "kept.gif") as name:
        name.write_text("half")
        raise RuntimeError
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("kept.gif", "old")]


def test_the_camera_sees_the_scenes_body_cable_and_goal(tmp_path):
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.movie.capture import Camera

    session = Session(SCENE, backend="embedded")
    camera = Camera(session, tmp_path / "finger.gif")
    for _ in range(3):
        session.step()
        camera.capture_frame()
    seen = camera.animation()
    assert [body.positions.shape for body in seen.bodies] == [(3, 444, 3)]
    assert [line.points.shape for line in seen.lines] == [(3, 8, 3)]
    assert [marker.name for marker in seen.markers] == ["tip", "goal"]
    assert seen.up[0] > 0.0  # gravity pulls along -x


def test_a_movie_of_unknown_kind_is_refused_before_the_run(tmp_path):
    with pytest.raises(SoftctlError, match=r"A movie needs a name in .gif or .mp4, got"):
        movie.check_suffix(tmp_path / "movie.avi")


def test_nothing_of_the_extra_is_imported_before_it_is_needed():
    code = (
        "import sys, sofa_softctl.view.movie.movie; "
        "assert not {'PIL', 'matplotlib', 'imageio_ffmpeg'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cables_have_the_colors_that_their_efforts_have_in_plots(tmp_path):
    """The gripper's cables come after its three motors."""
    from sofa_softctl.base import colors
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.movie.capture import Camera

    camera = Camera(Session(SCENE.with_name("gripper.py")), tmp_path / "gripper.gif")
    camera.capture_frame()
    found = {line.name.split("/")[-2]: line.color for line in camera.animation().lines}
    assert found == {"cable_left": colors.actuator(3), "cable_right": colors.actuator(4)}


def test_a_view_is_that_of_the_picture(tmp_path):
    """From the right one looks along x: the tetrahedron's corner at x = 1 is in front."""
    pictures = []
    for view in (views.VIEWS["right"], views.VIEWS["top"], None):
        movie.save_movie(tetrahedron_that_grows(), tmp_path / "m.gif", size=(80, 60), view=view)
        pictures.append(pixels(tmp_path / "m.gif"))
    assert (pictures[0] != pictures[1]).any() and (pictures[0] != pictures[2]).any()


def test_the_picture_holds_the_arrows_of_forces(tmp_path):
    """Arrows that point out of the body on both sides are not cut: no color at the edges."""
    tips = np.array([[[30.0, 0.0, 0.0], [-30.0, 0.0, 0.0]]] * 6)
    forces = Forces(np.zeros((6, 2, 3)), tips)
    seen = tetrahedron_that_grows(forces=[forces], lines=[], markers=[])
    save_still(seen, tmp_path / "still.png", size=(120, 300))
    ground = is_ground(pixels(tmp_path / "still.png"))
    assert ground[:, :2].all() and ground[:, -2:].all()


def test_threads_paint_the_same_movie(tmp_path, monkeypatch):
    """Frames are painted by several threads and encoded in their order: equal bit for bit."""
    written = []
    for threads in (1, 3):
        monkeypatch.setattr(movie, "thread_count", lambda count=threads: count)
        movie.save_movie(tetrahedron_that_grows(30), tmp_path / "m.gif", size=(80, 60))
        written.append((tmp_path / "m.gif").read_bytes())
    assert written[0] == written[1]


def test_an_mp4_differs_little_from_its_pictures(tmp_path):
    """Errors of the codec, whose colors have half the resolution, are below 1 % of white."""
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra [view]")
    shown = tetrahedron_that_grows()
    movie.save_movie(shown, tmp_path / "m.mp4", size=(320, 240), frame_rate=10.0)
    film = imageio_ffmpeg.read_frames(str(tmp_path / "m.mp4"))
    next(film)
    picture = stage.Stage(shown, (320, 240)).picture(0).astype(int)
    frame = np.frombuffer(next(film), dtype=np.uint8).reshape(240, 320, 3)
    film.close()
    assert np.abs(frame - picture).mean() < 2.55
