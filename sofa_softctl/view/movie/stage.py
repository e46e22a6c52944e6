"""Objects of an animation in a plotter, updated every frame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sofa_softctl.base.colors import CONTACT
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedPoint,
    AnimatedSurface,
    Animation,
    Forces,
)
from sofa_softctl.view.movie.camera import VIEW_ANGLE, cloud_of, framing
from sofa_softctl.view.movie.direction import View, direction_of
from sofa_softctl.view.movie.renderer import check_renderer, suppress_warnings, window_without_x

GROUND = np.array([0.965, 0.972, 0.980])
"""Background; a single color, so that a GIF stays small and has no bands."""
SLACK = np.array([0.24, 0.29, 0.37])
"""Color of a cable without tension."""


@contextmanager
def open_stage(
    animation: Animation, size: tuple[int, int], title: str, view: View | None = None
) -> Iterator[Stage]:
    """Open the stage of an animation, with a size in pixels and a title at the top."""
    check_renderer()
    import pyvista

    with suppress_warnings(), window_without_x():
        plotter: Any = pyvista.Plotter(off_screen=True, window_size=list(size), notebook=False)
        try:
            plotter.enable_anti_aliasing("ssaa")
            stage = Stage(plotter, animation, title, view)
            plotter.show(auto_close=False, interactive=False)
            yield stage
        finally:
            plotter.close()


class Stage:
    """Objects of an animation in an off-screen plotter, moved from frame to frame."""

    def __init__(
        self, plotter: Any, animation: Animation, title: str, view: View | None = None
    ) -> None:
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
        self.tips: list[np.ndarray] = []  # of arrows, (n, 3) each: the picture holds them too
        pushed = [forces for forces in animation.forces if forces.points.shape[1]]
        self.forces = [self._add_forces(forces) for forces in pushed]
        large_first = sorted(animation.markers, key=lambda marker: -marker.size)
        self.markers = [self._add_marker(marker) for marker in large_first]
        font = {"font_size": max(6, round(5 * self.pixel)), "color": "#5b6470"}
        self.clock = plotter.add_text("t", position="lower_left", **font)
        if title:
            plotter.add_text(title, position="upper_left", **font)
        self._view = view
        self.frame_all()

    def frame_all(self) -> None:
        """Place the camera so that all frames of the animation fit."""
        self._place_camera(self._view)

    def _add_body(self, body: AnimatedSurface) -> tuple[AnimatedSurface, Any, Any, np.ndarray]:
        """Add a body with opaque far side and transparent near side, to show cables inside.

        Obstacles are opaque from all sides.
        """
        surface = _poly(body.positions[0], body.triangles)
        surface["source"] = np.arange(surface.n_points)
        skin = surface.compute_normals(
            cell_normals=False,
            consistent_normals=False,
            split_vertices=True,
            feature_angle=35.0,  # [degree] between faces with a visible edge
        )
        source = np.array(skin["source"])
        look = {"color": body.color, "smooth_shading": True, "ambient": 0.34}
        skin.set_active_scalars(None)
        if body.obstacle:
            self.plotter.add_mesh(skin, lighting=body.lit, **look)
            return body, surface, skin, source
        self.plotter.add_mesh(skin, culling="front", **look)
        self.plotter.add_mesh(
            skin, culling="back", opacity=0.28, specular=0.5, specular_power=20, **look
        )
        edge = 0.55 * _rgb(body.color)
        self.plotter.add_silhouette(surface, color=tuple(edge), line_width=1.6 * self.pixel)
        return body, surface, skin, source

    def _add_line(self, line: AnimatedCable) -> tuple[AnimatedCable, Any, Any]:
        mesh = _polyline(line.points[0])
        actor = self.plotter.add_mesh(
            mesh, color=tuple(SLACK), ambient=0.35, render_lines_as_tubes=True
        )
        return line, mesh, actor

    def _add_forces(self, forces: Forces) -> tuple[np.ndarray, Any]:
        """Add arrows; return their ends in each frame, shape (n_frames, 2 k, 3), and their mesh."""
        size = np.linalg.norm(forces.vectors, axis=2)
        size_max = size.max(initial=0.0)
        length_max = 0.22 * self.extent
        scale = length_max / size_max if size_max > 0.0 else 0.0
        tips = forces.points + scale * forces.vectors
        self.tips.append(tips[size > 0.0])
        ends = np.stack([forces.points, tips], axis=2).reshape(len(tips), -1, 3)
        mesh = _segments(ends[0])
        self.plotter.add_mesh(
            mesh,
            color=CONTACT,
            line_width=3.0 * self.pixel,
            render_lines_as_tubes=True,
            ambient=0.4,
        )
        return ends, mesh

    def _add_marker(self, marker: AnimatedPoint) -> tuple[AnimatedPoint, Any, Any]:
        """Add a transparent ball, so that a ball inside it is seen, and its path."""
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

    def _place_camera(self, view: View | None) -> None:
        width, height = self.plotter.window_size
        direction, up = direction_of(self.animation, view)
        cloud = np.concatenate([cloud_of(self.animation), *self.tips])
        position, focus = framing(cloud, direction, up, width / height)
        camera = self.plotter.camera
        camera.focal_point, camera.position, camera.up = focus, position, up
        camera.view_angle = VIEW_ANGLE
        camera.clipping_range = (0.01 * self.extent, 50.0 * self.extent)

    def picture(self, frame: int) -> np.ndarray:
        """Return the frame as pixels, shape (height, width, 3)."""
        for body, surface, skin, source in self.bodies:
            surface.points = body.positions[frame]
            skin.points = body.positions[frame][source]
            skin.compute_normals(
                cell_normals=False, consistent_normals=False, split_vertices=False, inplace=True
            )
        for line, mesh, actor in self.lines:
            mesh.points = line.points[frame]
            pull = 0.0 if line.tension is None else float(line.tension[frame]) / self.tension
            fraction = min(max(pull, 0.0), 1.0)
            actor.prop.color = tuple(SLACK + fraction * (_rgb(line.color) - SLACK))
            actor.prop.line_width = (3.0 + 5.0 * fraction) * self.pixel
        for ends, mesh in self.forces:
            mesh.points = ends[frame]
        time = self.animation.time
        for marker, path, actor in self.markers:
            actor.position = marker.positions[frame]
            path["color"] = _trail(_rgb(marker.color), time, frame)
        self.clock.set_text("lower_left", f" t = {time[frame]:.2f} {self.animation.time_unit}")
        self.plotter.render()
        picture: np.ndarray = self.plotter.screenshot(return_img=True)
        return picture


def _trail(color: np.ndarray, time: np.ndarray, frame: int) -> np.ndarray:
    """Return the colors of a path: faint, and strong behind the marker, shape (n, 4)."""
    fading_time = max(0.25 * (time[-1] - time[0]), 1e-12)
    age = (time[frame] - time) / fading_time
    fresh = np.where(age >= 0.0, np.clip(1.0 - age, 0.0, 1.0), 0.0)
    color = np.tile(np.append(color, 0.0), (len(time), 1))
    color[:, 3] = 0.25 + 0.75 * fresh
    return np.round(255.0 * color).astype(np.uint8)


def _rgb(color: str) -> np.ndarray:
    """Return red, green and blue from 0 to 1, shape (3,)."""
    import pyvista

    return np.array(pyvista.Color(color).float_rgb)


def _poly(points: np.ndarray, triangles: np.ndarray) -> Any:
    import pyvista

    faces = np.column_stack([np.full(len(triangles), 3), triangles])
    return pyvista.PolyData(np.array(points), faces.ravel())


def _segments(points: np.ndarray) -> Any:
    """Return a mesh with a line between each pair of points."""
    import pyvista

    mesh = pyvista.PolyData(np.array(points))
    mesh.verts = np.empty(0, dtype=int)
    pairs = np.arange(len(points)).reshape(-1, 2)
    mesh.lines = np.column_stack([np.full(len(pairs), 2), pairs]).ravel()
    return mesh


def _polyline(points: np.ndarray) -> Any:
    import pyvista

    mesh = pyvista.PolyData(np.array(points))
    mesh.verts = np.empty(0, dtype=int)  # or every point becomes a dot
    mesh.lines = np.concatenate([[len(points)], np.arange(len(points))])
    return mesh
