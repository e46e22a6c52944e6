"""Movies and stills of animations, rendered without a screen by PyVista (extra [view])."""

from __future__ import annotations

import ctypes.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.animation import Animation, frames_at
from sofa_softctl.view.files import replacing

Progress = Callable[[int, int], None]
"""Called with frames done and frames in all."""

SUFFIXES = (".gif", ".mp4")
VIEW_ANGLE = 25.0
"""Of the camera [degree]."""
MARGIN = 1.08
"""Room around what is shown."""
SLACK, TAUT = np.array([0.35, 0.37, 0.40]), np.array([0.95, 0.45, 0.05])
"""Colors of a cable without tension and at the greatest tension of the movie."""


def save_movie(
    animation: Animation,
    path: str | Path,
    *,
    size: tuple[int, int] = (640, 480),
    frame_rate: float = 20.0,
    progress: Progress | None = None,
) -> None:
    """Write a movie in real time, .gif or .mp4.

    Args:
        animation: What to show.
        path: File to write; it appears when it is complete.
        size: Width and height [pixel].
        frame_rate: Frames a second.
        progress: Told how far it is.

    Raises:
        SoftctlError: another suffix, a missing extra, or no library to render with.
    """
    path = Path(path)
    check_suffix(path)
    frames = frames_at(animation.time, frame_rate)
    with _stage(animation, size) as stage:
        pictures = []
        for done, frame in enumerate(frames, start=1):
            pictures.append(stage.picture(int(frame)))
            if progress is not None:
                progress(done, len(frames))
    write = _write_gif if path.suffix == ".gif" else _write_mp4
    with replacing(path) as name:
        write(name, pictures, frame_rate)


def save_still(
    animation: Animation, path: str | Path, frame: int = -1, *, size: tuple[int, int] = (960, 720)
) -> None:
    """Write one frame as a picture (.png)."""
    with _stage(animation, size) as stage:
        picture = stage.picture(frame % len(animation.time))
    with replacing(Path(path)) as name:
        _write_picture(name, picture)


def check_suffix(path: Path) -> None:
    """SoftctlError when no movie of that suffix can be written."""
    if path.suffix not in SUFFIXES:
        raise SoftctlError(f"A movie needs a name in {' or '.join(SUFFIXES)}, got '{path}'.")


def check_renderer() -> None:
    """SoftctlError when movies cannot be rendered here; the message says what to install.

    VTK itself would end the process where it finds no OpenGL.
    """
    try:
        import imageio_ffmpeg  # noqa: F401
        import pyvista  # noqa: F401
    except ImportError as error:
        raise SoftctlError(
            f'Movies need the extra [view] ({error}): pip install "sofa-softctl[view]".'
        ) from error
    libraries = ("EGL", "OSMesa")
    if sys.platform == "linux" and not any(map(ctypes.util.find_library, libraries)):
        raise SoftctlError(
            "Movies need EGL or OSMesa to render without a screen, and neither is installed: "
            "apt-get install libegl1 libgl1-mesa-dri"
        )


class _Stage:
    """The objects of an animation in one off-screen plotter, moved from frame to frame."""

    def __init__(self, plotter: Any, animation: Animation) -> None:
        self.plotter = plotter
        self.animation = animation
        low, high = animation.bounds()
        self.size = float(np.linalg.norm(high - low))
        self.tension = max(
            [float(line.tension.max()) for line in animation.lines if line.tension is not None]
            + [1e-12]
        )
        plotter.set_background("white", top="#dfe8ee")
        self._add_bodies()
        self._add_lines()
        self._add_markers()
        self.clock = plotter.add_text("", position="lower_left", font_size=9, color="#444444")
        self._place_camera(low, high)

    def _add_bodies(self) -> None:
        self.bodies = []
        for body in self.animation.bodies:
            mesh = _poly(body.positions[0], body.triangles)
            self.plotter.add_mesh(
                mesh,
                color=body.color,
                opacity=0.55,
                smooth_shading=True,
                split_sharp_edges=False,
                specular=0.3,
                specular_power=15,
            )
            outline = self.plotter.add_silhouette(mesh, color="#7a5546", line_width=1.5)
            del outline
            self.bodies.append((body, mesh))

    def _add_lines(self) -> None:
        self.lines = []
        for line in self.animation.lines:
            mesh = _polyline(line.points[0])
            actor = self.plotter.add_mesh(
                mesh, color=tuple(SLACK), line_width=5, render_lines_as_tubes=True
            )
            self.lines.append((line, mesh, actor))

    def _add_markers(self) -> None:
        import pyvista

        self.markers = []
        radius = 0.014 * self.size
        for marker in self.animation.markers:
            path = _polyline(marker.positions)
            self.plotter.add_mesh(path, color=marker.color, line_width=2, opacity=0.55)
            ball = pyvista.Sphere(radius=radius * marker.size)
            rest = np.array(ball.points)
            self.plotter.add_mesh(ball, color=marker.color, smooth_shading=True, specular=0.4)
            self.markers.append((marker, ball, rest))

    def _place_camera(self, low: np.ndarray, high: np.ndarray) -> None:
        """Three quarters from the front, a little from above, everything of the movie in view."""
        up = self.animation.up / np.linalg.norm(self.animation.up)
        flat = (high - low) * (1.0 - np.abs(up))
        forward = np.zeros(3)
        forward[int(np.argmax(flat))] = 1.0
        forward -= (forward @ up) * up
        forward /= np.linalg.norm(forward)
        side = np.cross(up, forward)
        direction = 0.75 * side + 0.55 * forward + 0.4 * up
        direction /= np.linalg.norm(direction)
        right = np.cross(up, direction) / np.linalg.norm(np.cross(up, direction))
        above = np.cross(direction, right)
        center = (low + high) / 2.0
        corners = np.array([np.where(mask, high, low) for mask in np.ndindex(2, 2, 2)]) - center
        width, height = self.plotter.window_size
        half = np.tan(np.radians(VIEW_ANGLE / 2.0))
        reach = np.maximum(
            np.abs(corners @ above), np.abs(corners @ right) * height / width
        ) / half + (corners @ direction)
        camera = self.plotter.camera
        camera.focal_point = center
        camera.position = center + MARGIN * reach.max() * direction
        camera.up = up
        camera.view_angle = VIEW_ANGLE
        camera.clipping_range = (0.05 * self.size, 20.0 * self.size)

    def picture(self, frame: int) -> np.ndarray:
        """The frame as pixels, shape (height, width, 3)."""
        for body, mesh in self.bodies:
            mesh.points = body.positions[frame]
            mesh.compute_normals(cell_normals=False, split_vertices=False, inplace=True)
        for line, mesh, actor in self.lines:
            mesh.points = line.points[frame]
            if line.tension is not None:
                share = float(np.clip(line.tension[frame] / self.tension, 0.0, 1.0))
                actor.prop.color = tuple(SLACK + share * (TAUT - SLACK))
                actor.prop.line_width = 4.0 + 5.0 * share
        for marker, ball, rest in self.markers:
            ball.points = rest + marker.positions[frame]
        self.clock.set_text("lower_left", f"t = {self.animation.time[frame]:.2f}")
        self.plotter.render()
        picture: np.ndarray = self.plotter.screenshot(return_img=True)
        return picture


@contextmanager
def _stage(animation: Animation, size: tuple[int, int]) -> Iterator[_Stage]:
    check_renderer()
    import pyvista
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject

    vtkObject.GlobalWarningDisplayOff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    plotter: Any = pyvista.Plotter(off_screen=True, window_size=list(size))
    try:
        plotter.enable_anti_aliasing("ssaa")
        plotter.enable_depth_peeling(number_of_peels=8)
        stage = _Stage(plotter, animation)
        plotter.show(auto_close=False, interactive=False)
        yield stage
    finally:
        plotter.close()


def _poly(points: np.ndarray, triangles: np.ndarray) -> Any:
    import pyvista

    faces = np.column_stack([np.full(len(triangles), 3), triangles])
    return pyvista.PolyData(np.array(points), faces.ravel())


def _polyline(points: np.ndarray) -> Any:
    import pyvista

    mesh = pyvista.PolyData(np.array(points))
    mesh.lines = np.concatenate([[len(points)], np.arange(len(points))])
    return mesh


def _write_picture(path: Path, picture: np.ndarray) -> None:
    from PIL import Image

    Image.fromarray(picture).save(path, optimize=True)


def _write_gif(path: Path, pictures: list[np.ndarray], frame_rate: float) -> None:
    """One palette for all frames, so that what stands still costs nothing."""
    from PIL import Image

    images = [Image.fromarray(picture) for picture in pictures]
    sample = Image.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // 8)]))
    palette = sample.quantize(160, method=Image.Quantize.MEDIANCUT)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    frames[0].save(
        path,
        save_all=True,
        append_images=frames[1:],
        duration=round(1000.0 / frame_rate),
        loop=0,
        optimize=False,
        disposal=1,
    )


def _write_mp4(path: Path, pictures: list[np.ndarray], frame_rate: float) -> None:
    import imageio

    writer: Any = imageio.get_writer(path, fps=frame_rate, codec="libx264", quality=8)
    with writer:
        for picture in pictures:
            writer.append_data(picture)
