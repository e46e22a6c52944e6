"""Objects of a frame in the page: bodies, cables, tips, contact forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.base.colors import CONTACT
from sofa_softctl.view.browser.reduction import reduce_triangles
from sofa_softctl.view.movie.animation import Animation
from sofa_softctl.view.movie.camera import VIEW_ANGLE, cloud_of, framing
from sofa_softctl.view.movie.direction import View, direction_of

TRIANGLES_MAX = 60_000
"""Number of triangles of all bodies above which meshes are shown coarser: one update is then below
half a megabyte, which a line of 100 Mbit/s carries 25 times a second."""
SEE_THROUGH = 0.55
"""Opacity of bodies with cables inside [-]."""
SLACK = np.array([61, 74, 94])
"""Color of a cable without tension."""
CABLE_WIDTH = 4.0
"""Width of a cable [pixel]."""
FORCE_LENGTH = 0.2
"""Length of the greatest contact force by the size of the scene [-]."""
MARKER_RADIUS = 0.016
"""Radius of a goal's ball by the size of the scene [-]."""
ASPECT = 1.2
"""Width of the picture beside the panel by its height, for the first look [-]."""
ROOM = 1.3
"""Distance of the camera by that at which a frame just fits: the robot will move [-]."""


class Stage:
    """Objects in the page, moved from frame to frame.

    The page has scenes of size 1, whatever unit of length they have: viser's lights, clipping and
    widths suit that.

    Args:
        server: Server of viser.
        animation: First frame; it gives the scale and the first look.
        view: View of the first look. By default, one that shows the motion.
    """

    def __init__(self, server: Any, animation: Animation, view: View | None = None) -> None:
        self._scene = server.scene
        low, high = animation.bounds()
        extent = float(np.linalg.norm(high - low))
        self.scale = 1.0 / extent if np.isfinite(extent) and extent > 0.0 else 1.0
        """Length in the page of one unit of length of the scene."""
        self.notes: list[str] = []
        """Sentences on what is left out."""
        self._tension = self._force = 1e-12  # the greatest so far
        self._shown_forces = 0
        self._add_bodies(animation)
        self._add_lines(animation)
        self._markers = [
            self._scene.add_icosphere(
                f"/markers/{marker.name} {k}", MARKER_RADIUS * marker.size, color=rgb(marker.color)
            )
            for k, marker in enumerate(animation.markers)
        ]
        self._forces = self._scene.add_arrows(
            "/contact forces", np.zeros((1, 2, 3)), rgb(CONTACT), visible=False,
            shaft_radius=0.004, head_radius=0.01, head_length=0.025,
        )  # fmt: skip
        self._scene.set_up_direction(tuple(map(float, animation.up)))
        self.place_camera(server.initial_camera, animation, view)
        self.show(animation, 0)

    def to_page(self, points: np.ndarray) -> np.ndarray:
        """Return points [length] in the page."""
        with np.errstate(over="ignore"):
            return np.asarray(points * self.scale, dtype=np.float32)

    def to_scene(self, points: np.ndarray) -> np.ndarray:
        """Return points of the page in the scene [length]."""
        return np.asarray(points, dtype=float) / self.scale

    def show(self, animation: Animation, frame: int) -> None:
        """Show a frame; numbers that are not finite leave the object where it was."""
        for body, (handle, nodes) in zip(animation.bodies, self._bodies, strict=True):
            points = self.to_page(body.positions[frame][nodes])
            if np.isfinite(points).all():
                handle.vertices = points
        if animation.lines:
            self._lines.points, colors = self._segments(animation, frame)
            if not np.array_equal(colors, self._lines.colors):
                self._lines.colors = colors
        for marker, handle in zip(animation.markers, self._markers, strict=True):
            position = self.to_page(marker.positions[frame])
            if np.isfinite(position).all():
                handle.position = position
        self._show_forces(animation, frame)

    def _show_forces(self, animation: Animation, frame: int) -> None:
        points = [forces.points[frame] for forces in animation.forces]
        vectors = [forces.vectors[frame] for forces in animation.forces]
        point = np.concatenate([np.empty((0, 3)), *points])
        vector = np.concatenate([np.empty((0, 3)), *vectors])
        size = np.linalg.norm(vector, axis=1)
        acts = np.isfinite(size) & (size > 0.0)
        self._force = max(self._force, size[acts].max(initial=0.0))
        if acts.any():
            start = self.to_page(point[acts])
            end = start + (FORCE_LENGTH / self._force) * vector[acts]
            self._forces.points = np.stack([start, end], axis=1).astype(np.float32)
        if acts.any() != self._forces.visible:
            self._forces.visible = bool(acts.any())

    def _segments(self, animation: Animation, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the segments of all cables, and their colors by tension, shapes (n, 2, 3)."""
        lines = animation.lines
        points = self.to_page(np.concatenate([line.points[frame] for line in lines]))
        tensions = np.array(
            [0.0 if line.tension is None else line.tension[frame] for line in lines]
        )
        tensions = np.nan_to_num(tensions)
        self._tension = max(self._tension, tensions.max())
        fraction = np.clip(tensions / self._tension, 0.0, 1.0)[:, None]
        colors = np.round(SLACK + fraction * (self._line_colors - SLACK)).astype(np.uint8)
        segments = np.nan_to_num(points)[self._line_ends]
        colors = colors[self._line_of_segment][:, None]
        return segments, np.broadcast_to(colors, segments.shape)

    def _add_bodies(self, animation: Animation) -> None:
        self._bodies = []
        counts = [len(body.triangles) for body in animation.bodies]
        share = min(1.0, TRIANGLES_MAX / max(1, sum(counts)))
        for body, count in zip(animation.bodies, counts, strict=True):
            nodes, triangles = reduce_triangles(
                body.positions[0], body.triangles, max(1, round(share * count))
            )
            if len(triangles) < count:
                self.notes.append(f"{body.name}: {len(triangles)} of {count} triangles are shown.")
            is_see_through = bool(animation.lines) and not body.obstacle
            handle = self._scene.add_mesh_simple(
                f"/bodies{_node_name(body.name)}",
                np.nan_to_num(self.to_page(body.positions[0][nodes])),
                triangles,
                color=rgb(body.color),
                opacity=SEE_THROUGH if is_see_through else None,
                side="double",
            )
            self._bodies.append((handle, nodes))

    def _add_lines(self, animation: Animation) -> None:
        """Add all cables as one object: each object costs its own messages."""
        if animation.lines:
            counts = np.array([len(line.points[0]) for line in animation.lines])
            begin = np.delete(np.arange(counts.sum()), counts.cumsum() - 1)
            self._line_ends = np.stack([begin, begin + 1], axis=1)
            self._line_of_segment = np.repeat(np.arange(len(counts)), counts - 1)
            self._line_colors = np.array([rgb(line.color) for line in animation.lines])
            points, colors = self._segments(animation, 0)
            self._lines = self._scene.add_line_segments(
                "/cables", points, colors, thickness=CABLE_WIDTH, thickness_units="screen"
            )

    def place_camera(self, camera: Any, animation: Animation, view: View | None = None) -> None:
        """Turn a camera of viser to the robot.

        Args:
            camera: Camera of a viewer, or the first one of all who come.
            animation: Frames that it shall see.
            view: View. By default, one that shows the motion.
        """
        direction, up = direction_of(animation, view)
        position, focus = framing(cloud_of(animation), direction, up, ASPECT)
        if len(animation.time) == 1:
            position = focus + ROOM * (position - focus)
        name = "up" if hasattr(camera, "up") else "up_direction"  # viser has both
        setattr(camera, name, tuple(map(float, up)))
        camera.position = tuple(map(float, self.to_page(position)))
        camera.look_at = tuple(map(float, self.to_page(focus)))
        camera.fov = float(np.radians(VIEW_ANGLE))


def rgb(color: str) -> tuple[int, int, int]:
    """Return red, green and blue from 0 to 255 of #rrggbb."""
    red, green, blue = bytes.fromhex(color[1:])
    return red, green, blue


def _node_name(name: str) -> str:
    return name if name.startswith("/") else f"/{name}"
