"""Movies and stills of animations, rendered without a screen by PyVista (extra [view])."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.animation import Animation, Body, Line, Marker, frames_at
from sofa_softctl.view.files import replacing

Progress = Callable[[int, int], None]
"""Called with frames done and frames in all."""

SUFFIXES = (".gif", ".mp4")
VIEW_ANGLE = 25.0
"""Of the camera, over the picture's height [degree]."""
MARGIN = 1.12
"""Room around what is shown."""
GROUND = np.array([0.965, 0.972, 0.980])
"""Color behind everything; a single one, so that a GIF stays small and has no bands."""
SLACK, TAUT = np.array([0.24, 0.29, 0.37]), np.array([0.91, 0.26, 0.02])
"""Colors of a cable without tension and at the greatest tension of the movie."""
GIF_RATE = 50.0
"""Frames a second that browsers play; above, they slow a GIF down to ten."""
TRAIL = 0.25
"""Share of the movie's time after which a marker's trail has faded."""
SHARP = 35.0
"""Angle between two faces from which light breaks at their edge [degree]."""


def save_movie(
    animation: Animation,
    path: str | Path,
    *,
    size: tuple[int, int] = (640, 480),
    frame_rate: float = 20.0,
    title: str = "",
    progress: Progress | None = None,
) -> None:
    """Write a movie in real time, .gif or .mp4.

    Args:
        animation: What to show.
        path: File to write; it appears when it is complete.
        size: Width and height [pixel].
        frame_rate: Frames a second; a GIF has at most 50.
        title: Line at the top.
        progress: Told how far it is.

    Raises:
        SoftctlError: another suffix, a missing extra, or nothing to render with.
        ValueError: an animation that cannot be shown.
    """
    path = Path(path)
    check_suffix(path)
    _check_animation(animation)
    if not frame_rate > 0.0:
        raise ValueError(f"The frame rate must be positive. Got: {frame_rate}.")
    if path.suffix == ".gif":
        frame_rate = min(frame_rate, GIF_RATE)
    frames = [int(frame) for frame in frames_at(animation.time, frame_rate)]
    with _stage(animation, size, title) as stage, replacing(path) as name:
        pictures = _telling(map(stage.picture, frames), len(frames), progress)
        if path.suffix == ".gif":
            sample = [stage.picture(frame) for frame in frames[:: 1 + len(frames) // 8]]
            _write_gif(name, pictures, _palette(sample), _delays(len(frames), frame_rate))
        else:
            _write_mp4(name, pictures, frame_rate)


def save_still(
    animation: Animation,
    path: str | Path,
    frame: int = -1,
    *,
    size: tuple[int, int] = (960, 720),
    title: str = "",
) -> None:
    """Write one frame as a picture (.png).

    Raises:
        SoftctlError: another suffix, a missing extra, or nothing to render with.
        ValueError: an animation that cannot be shown, or no such frame.
    """
    path = Path(path)
    if path.suffix != ".png":
        raise SoftctlError(f"A still needs a name in .png, got '{path}'.")
    _check_animation(animation)
    count = len(animation.time)
    if not -count <= frame < count:
        raise ValueError(f"There is no frame {frame}: the animation has {count}.")
    with _stage(animation, size, title) as stage, replacing(path) as name:
        _write_picture(name, stage.picture(frame % count))


def check_suffix(path: Path) -> None:
    """SoftctlError when no movie of that suffix can be written."""
    if path.suffix not in SUFFIXES:
        raise SoftctlError(f"A movie needs a name in {' or '.join(SUFFIXES)}, got '{path}'.")


def check_renderer() -> None:
    """SoftctlError when movies cannot be rendered here; the message says what to install.

    VTK itself ends the process where it finds no OpenGL, so another process tries first.
    """
    try:
        import imageio
        import imageio_ffmpeg
        import pyvista
    except ImportError as error:
        raise SoftctlError(
            f'Movies need the extra [view] ({error}): pip install "sofa-softctl[view]".'
        ) from error
    del imageio, imageio_ffmpeg, pyvista
    if not _can_render():
        raise SoftctlError(
            "Movies need OpenGL to render without a screen, and none works here. On Debian or "
            "Ubuntu: apt-get install libegl1 libgl1-mesa-dri"
        )


PROBE = """
from vtkmodules import vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderWindow
window = vtkRenderWindow()
window.SetOffScreenRendering(1)
window.Render()
"""


@functools.cache
def _can_render() -> bool:
    with _window_without_x():
        return subprocess.run([sys.executable, "-c", PROBE], capture_output=True).returncode == 0


@contextmanager
def _window_without_x() -> Iterator[None]:
    """VTK takes EGL, or OSMesa, and does not try X first: without libX11 that ends the process."""
    name = "VTK_DEFAULT_OPENGL_WINDOW"
    if name in os.environ or sys.platform != "linux":
        yield
        return
    os.environ[name] = "vtkEGLRenderWindow"
    try:
        yield
    finally:
        del os.environ[name]


def _check_animation(animation: Animation) -> None:
    """ValueError when there is nothing to show, or shapes or values do not fit."""
    count = len(animation.time)
    shown: list[Body | Line | Marker] = [*animation.bodies, *animation.lines, *animation.markers]
    if not count or not shown:
        raise ValueError(f"There is nothing to show: {count} frames of {len(shown)} objects.")
    if not (np.diff(animation.time) >= 0.0).all():
        raise ValueError("The times of an animation must not decrease.")
    for item in shown:
        what = f"{type(item).__name__.lower()} '{item.name}'"
        places = item.points if isinstance(item, Line) else item.positions
        shape = (count, 3) if isinstance(item, Marker) else (count, *places.shape[1:2], 3)
        if places.shape != shape:
            raise ValueError(f"The {what} must have shape {shape}. Got: {places.shape}.")
        finite = np.isfinite(places).reshape(count, -1).all(axis=1)
        if not finite.all():
            raise ValueError(f"The {what} is not finite in frame {int(np.argmin(finite))}.")
        if isinstance(item, Line) and item.tension is not None and item.tension.shape != (count,):
            raise ValueError(
                f"The tension of {what} must have shape ({count},). Got: {item.tension.shape}."
            )
        if isinstance(item, Body) and item.triangles.size:  # VTK does not check, it crashes
            first, last = int(item.triangles.min()), int(item.triangles.max())
            if first < 0 or last >= places.shape[1]:
                raise ValueError(
                    f"Triangles of the {what} name vertices {first} to {last}, "
                    f"but there are {places.shape[1]}."
                )


class _Stage:
    """The objects of an animation in one off-screen plotter, moved from frame to frame."""

    def __init__(self, plotter: Any, animation: Animation, title: str) -> None:
        self.plotter = plotter
        self.animation = animation
        low, high = animation.bounds()
        self.extent = max(float(np.linalg.norm(high - low)), 1e-9)
        self.pixel = plotter.window_size[1] / 300.0  # lines grow with the picture
        pulls = [line.tension.max() for line in animation.lines if line.tension is not None]
        self.tension = float(max([*pulls, 1e-12]))
        plotter.set_background(tuple(GROUND))
        self.bodies = [self._add_body(body) for body in animation.bodies]
        self.lines = [self._add_line(line) for line in animation.lines]
        large_first = sorted(animation.markers, key=lambda marker: -marker.size)
        self.markers = [self._add_marker(marker) for marker in large_first]
        font = {"font_size": max(6, round(5 * self.pixel)), "color": "#5b6470"}
        self.clock = plotter.add_text("t", position="lower_left", **font)
        if title:
            plotter.add_text(title, position="upper_left", **font)
        self._place_camera()

    def _add_body(self, body: Body) -> tuple[Body, Any, Any, np.ndarray]:
        """The far side opaque, the near side like glass: cables between them are seen."""
        whole = _poly(body.positions[0], body.triangles)
        whole["source"] = np.arange(whole.n_points)
        skin = whole.compute_normals(
            cell_normals=False,
            consistent_normals=False,
            split_vertices=True,
            feature_angle=SHARP,
        )
        source = np.array(skin["source"])
        look = {"color": body.color, "smooth_shading": True, "ambient": 0.34}
        skin.set_active_scalars(None)
        self.plotter.add_mesh(skin, culling="front", **look)
        self.plotter.add_mesh(
            skin, culling="back", opacity=0.28, specular=0.5, specular_power=20, **look
        )
        edge = 0.55 * _rgb(body.color)
        self.plotter.add_silhouette(whole, color=tuple(edge), line_width=1.6 * self.pixel)
        return body, whole, skin, source

    def _add_line(self, line: Line) -> tuple[Line, Any, Any]:
        mesh = _polyline(line.points[0])
        actor = self.plotter.add_mesh(
            mesh, color=tuple(SLACK), ambient=0.35, render_lines_as_tubes=True
        )
        return line, mesh, actor

    def _add_marker(self, marker: Marker) -> tuple[Marker, Any, Any]:
        """A ball like glass, so that one inside another is seen, and the path."""
        import pyvista

        path = _polyline(marker.positions)
        width = 5.0 * marker.size**2 * self.pixel
        path["color"] = np.zeros((path.n_points, 4), dtype=np.uint8)
        self.plotter.add_mesh(path, scalars="color", rgba=True, lighting=False, line_width=width)
        ball = pyvista.Sphere(radius=0.018 * self.extent * marker.size)
        actor = self.plotter.add_mesh(
            ball, color=marker.color, opacity=0.6, smooth_shading=True, specular=0.4, ambient=0.25
        )
        return marker, path, actor

    def _place_camera(self) -> None:
        width, height = self.plotter.window_size
        direction, up = _direction(self.animation)
        position, focus = _framing(_cloud(self.animation), direction, up, width / height)
        camera = self.plotter.camera
        camera.focal_point, camera.position, camera.up = focus, position, up
        camera.view_angle = VIEW_ANGLE
        camera.clipping_range = (0.01 * self.extent, 50.0 * self.extent)

    def picture(self, frame: int) -> np.ndarray:
        """The frame as pixels, shape (height, width, 3)."""
        for body, whole, skin, source in self.bodies:
            whole.points = body.positions[frame]
            skin.points = body.positions[frame][source]
            skin.compute_normals(
                cell_normals=False, consistent_normals=False, split_vertices=False, inplace=True
            )
        for line, mesh, actor in self.lines:
            mesh.points = line.points[frame]
            pull = 0.0 if line.tension is None else float(line.tension[frame]) / self.tension
            share = min(max(pull, 0.0), 1.0)
            actor.prop.color = tuple(SLACK + share * (TAUT - SLACK))
            actor.prop.line_width = (3.0 + 5.0 * share) * self.pixel
        time = self.animation.time
        for marker, path, actor in self.markers:
            actor.position = marker.positions[frame]
            path["color"] = _trail(_rgb(marker.color), time, frame)
        self.clock.set_text("lower_left", f" t = {time[frame]:.2f}")
        self.plotter.render()
        picture: np.ndarray = self.plotter.screenshot(return_img=True)
        return picture


@contextmanager
def _stage(animation: Animation, size: tuple[int, int], title: str) -> Iterator[_Stage]:
    check_renderer()
    import pyvista

    with _quiet(), _window_without_x():
        plotter: Any = pyvista.Plotter(off_screen=True, window_size=list(size))
        try:
            plotter.enable_anti_aliasing("ssaa")
            stage = _Stage(plotter, animation, title)
            plotter.show(auto_close=False, interactive=False)
            yield stage
        finally:
            plotter.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """VTK's own warnings are for those who build it."""
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject

    shown, verbosity = vtkObject.GetGlobalWarningDisplay(), vtkLogger.GetCurrentVerbosityCutoff()
    vtkObject.GlobalWarningDisplayOff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkObject.SetGlobalWarningDisplay(shown)
        vtkLogger.SetStderrVerbosity(vtkLogger.ConvertToVerbosity(int(verbosity)))


def _direction(animation: Animation) -> tuple[np.ndarray, np.ndarray]:
    """Towards the camera, and up: three quarters from the front, a little from above.

    The front is where the markers are: of the two ends of the longest extent across `up`, and from
    below where they are at the lower end of something that hangs.
    """
    low, high = animation.bounds()
    up = animation.up / np.linalg.norm(animation.up)
    forward = np.zeros(3)
    forward[int(np.argmax((high - low) * (1.0 - np.abs(up))))] = 1.0
    forward -= (forward @ up) * up
    forward /= np.linalg.norm(forward)
    places = [marker.positions.mean(axis=0) for marker in animation.markers] or [(low + high) / 2.0]
    offset = np.mean(places, axis=0) - (low + high) / 2.0
    room = 0.2 * np.linalg.norm(high - low)
    if offset @ forward < -1e-6 * room:
        forward = -forward
    rise = -0.2 if offset @ up < -room else 0.4
    direction = 0.75 * np.cross(up, forward) + 0.55 * forward + rise * up
    return direction / np.linalg.norm(direction), up


def _framing(
    cloud: np.ndarray, direction: np.ndarray, up: np.ndarray, aspect: float
) -> tuple[np.ndarray, np.ndarray]:
    """Place of the camera and what it looks at, so that all points just fit in the picture.

    Args:
        cloud: Points [length], shape (n, 3).
        direction: Towards the camera, of length 1, shape (3,).
        up: Direction that is up in the picture, shape (3,).
        aspect: Width of the picture by its height.
    """
    right = np.cross(up, direction) / np.linalg.norm(np.cross(up, direction))
    above = np.cross(direction, right)
    axes = np.stack([right, above, direction])
    half = np.tan(np.radians(VIEW_ANGLE / 2.0)) / MARGIN
    focus, distance = cloud.mean(axis=0), 0.0
    for _ in range(8):  # in perspective the middle depends on the distance; two or three would do
        x, y, depth = axes @ (cloud - focus).T  # (n,) each
        distance = float((np.maximum(np.abs(x) / aspect, np.abs(y)) / half + depth).max()) or 1.0
        slopes = np.stack([x, y]) / (distance - depth)  # (2, n)
        middle = (slopes.min(axis=1) + slopes.max(axis=1)) / 2.0
        focus = focus + distance * (middle @ axes[:2])
    return focus + distance * direction, focus


def _cloud(animation: Animation) -> np.ndarray:
    """Points that the picture must hold; of bodies, those of about fifty frames, (n, 3)."""
    return np.concatenate(
        [
            body.positions[:: 1 + len(body.positions) // 50].reshape(-1, 3)
            for body in animation.bodies
        ]
        + [line.points.reshape(-1, 3) for line in animation.lines]
        + [marker.positions for marker in animation.markers]
    )


def _trail(color: np.ndarray, time: np.ndarray, frame: int) -> np.ndarray:
    """Color of a path's points: faint, and strong where the marker has just been, (n, 4)."""
    age = (time[frame] - time) / max(TRAIL * (time[-1] - time[0]), 1e-12)
    fresh = np.where(age >= 0.0, np.clip(1.0 - age, 0.0, 1.0), 0.0)
    color = np.tile(np.append(color, 0.0), (len(time), 1))
    color[:, 3] = 0.25 + 0.75 * fresh
    return np.round(255.0 * color).astype(np.uint8)


def _rgb(color: str) -> np.ndarray:
    """A color's red, green and blue from 0 to 1, shape (3,)."""
    import pyvista

    return np.array(pyvista.Color(color).float_rgb)


def _poly(points: np.ndarray, triangles: np.ndarray) -> Any:
    import pyvista

    faces = np.column_stack([np.full(len(triangles), 3), triangles])
    return pyvista.PolyData(np.array(points), faces.ravel())


def _polyline(points: np.ndarray) -> Any:
    import pyvista

    mesh = pyvista.PolyData(np.array(points))
    mesh.verts = np.empty(0, dtype=int)  # or every point becomes a dot
    mesh.lines = np.concatenate([[len(points)], np.arange(len(points))])
    return mesh


def _telling(
    pictures: Iterable[np.ndarray], total: int, progress: Progress | None
) -> Iterator[np.ndarray]:
    """The same pictures; says after each how many there were."""
    for done, picture in enumerate(pictures, start=1):
        yield picture
        if progress is not None:
            progress(done, total)


def _write_picture(path: Path, picture: np.ndarray) -> None:
    from PIL import Image

    Image.fromarray(picture).save(path, optimize=True)


def _palette(pictures: list[np.ndarray]) -> Any:
    """One palette for a whole movie, so that what stands still costs nothing.

    Colors count by the square root of their pixels. Measured on a trunk with cables: the largest
    error of the few red pixels falls from 25 to 15 of 255, that of all others stays.
    """
    from PIL import Image

    pixels = np.concatenate([picture.reshape(-1, 3) for picture in pictures]) >> 2  # 6 bits each
    counts = np.bincount(pixels @ np.array([4096, 64, 1]))
    (seen,) = counts.nonzero()
    colors = np.stack([seen >> 12, seen >> 6 & 63, seen & 63], axis=1) * 4 + 2
    weighed = np.repeat(colors, np.ceil(np.sqrt(counts[seen])).astype(int), axis=0)  # (n, 3)
    image = Image.fromarray(weighed[None].astype(np.uint8))
    return image.quantize(240, method=Image.Quantize.MEDIANCUT, kmeans=4)


def _delays(count: int, frame_rate: float) -> list[int]:
    """Time that each frame stands [ms]: whole hundredths of a second that do not drift."""
    return [int(d) for d in 10 * np.diff(np.round(100.0 / frame_rate * np.arange(count + 1)))]


def _write_gif(path: Path, pictures: Iterator[np.ndarray], palette: Any, delays: list[int]) -> None:
    from PIL import Image

    frames = (
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    )
    next(frames).save(
        path,
        save_all=True,
        append_images=frames,
        duration=delays,
        loop=0,
        optimize=True,  # what stands still becomes transparent
        disposal=1,
    )


def _write_mp4(path: Path, pictures: Iterator[np.ndarray], frame_rate: float) -> None:
    import imageio

    writer: Any = imageio.get_writer(
        path, fps=frame_rate, codec="libx264", quality=8, macro_block_size=2
    )
    with writer:
        for picture in pictures:
            height, width, _ = picture.shape
            writer.append_data(picture[: height // 2 * 2, : width // 2 * 2])  # the codec needs even
