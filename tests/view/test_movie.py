from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view import movie
from sofa_softctl.view.animation import Animation, Body, Line, Marker

SCENE = Path(__file__).parents[2] / "scenes" / "finger.py"


def tetrahedron_that_grows(frames=6):
    """A tetrahedron with a cable and a goal."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    size = np.linspace(1.0, 2.0, frames)[:, None, None]
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    return Animation(
        np.linspace(0.0, 0.5, frames),
        [Body("body", size * corners, faces)],
        [Line("cable", size * corners[[0, 3]], np.linspace(0.0, 5.0, frames))],
        [Marker("goal", np.tile([0.5, 0.5, 2.0], (frames, 1)))],
    )


def can_render():
    try:
        movie.check_renderer()
    except SoftctlError as error:
        return str(error)
    return ""


needs_renderer = pytest.mark.skipif(bool(can_render()), reason=can_render() or "can render")


@needs_renderer
def test_a_still_shows_the_body_on_a_bright_ground(tmp_path):
    from PIL import Image

    movie.save_still(tetrahedron_that_grows(), tmp_path / "still.png", size=(200, 160))
    pixels = np.asarray(Image.open(tmp_path / "still.png"))
    assert pixels.shape == (160, 200, 3)
    assert pixels[2, 2].min() > 200  # ground
    assert pixels.min() < 120  # lines and edges
    assert [file.name for file in tmp_path.iterdir()] == ["still.png"]


@needs_renderer
@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_movie_has_the_frames_of_real_time(tmp_path, suffix):
    """0.5 s at 10 frames a second: six frames."""
    told = []
    path = tmp_path / f"movie{suffix}"
    movie.save_movie(
        tetrahedron_that_grows(),
        path,
        size=(160, 128),
        frame_rate=10.0,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (6, 6)
    assert path.stat().st_size > 1000
    if suffix == ".gif":
        from PIL import Image

        with Image.open(path) as gif:
            assert gif.n_frames == 6
            assert gif.info["duration"] == 100


@needs_renderer
def test_the_camera_sees_the_scenes_body_cable_and_goal(tmp_path):
    from sofa_softctl.scene.session import Session
    from sofa_softctl.view.filming import Camera

    session = Session(SCENE, backend="embedded")
    camera = Camera(session, tmp_path / "finger.gif")
    for _ in range(3):
        session.step()
        camera.look()
    seen = camera.animation()
    assert [body.positions.shape for body in seen.bodies] == [(3, 444, 3)]
    assert [line.points.shape for line in seen.lines] == [(3, 8, 3)]
    assert [marker.name for marker in seen.markers] == ["tip", "goal"]
    assert seen.up[0] > 0.0  # gravity pulls along -x


def test_a_movie_of_unknown_kind_is_refused_before_the_run(tmp_path):
    with pytest.raises(SoftctlError, match=r"A movie needs a name in .gif or .mp4, got"):
        movie.check_suffix(tmp_path / "movie.avi")


def test_a_machine_without_rendering_libraries_is_told_what_to_install(monkeypatch):
    pytest.importorskip("pyvista")
    pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setattr(movie, "PROBE", "raise SystemExit(1)")  # as where VTK ends the process
    movie._can_render.cache_clear()
    try:
        with pytest.raises(SoftctlError, match="apt-get install libegl1"):
            movie.check_renderer()
    finally:
        movie._can_render.cache_clear()


def test_a_failed_write_leaves_no_file(tmp_path):
    from sofa_softctl.view.files import replacing

    (tmp_path / "kept.gif").write_text("old")
    with pytest.raises(RuntimeError), replacing(tmp_path / "kept.gif") as name:
        name.write_text("half")
        raise RuntimeError
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("kept.gif", "old")]
