"""Objects of an animation before a camera, painted frame by frame."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.colors import CONTACT, SLACK
from sofa_softctl.view.movie.animation import (
    AnimatedPoint,
    AnimatedSurface,
    Animation,
    Forces,
)
from sofa_softctl.view.movie.camera import VIEW_ANGLE, cloud_of, framing
from sofa_softctl.view.movie.direction import View, direction_of
from sofa_softctl.view.movie.light import shade
from sofa_softctl.view.movie.raster import paint
from sofa_softctl.view.movie.shapes import Lines, Triangles, clip, has_length
from sofa_softctl.view.movie.skin import Skin
from sofa_softctl.view.movie.surface import unit_ball
from sofa_softctl.view.movie.text import write_text

GROUND = np.array([0.965, 0.972, 0.980])
"""Background; a single color, so that a GIF stays small and has no bands."""
SKIN_OPACITY = 0.28
"""Opacity of a body's near side, through which cables are seen [-]."""
LIFT = 0.0015
"""Distance by which lines lie in front of surfaces, by the size of the scene [-]."""
MARKER_RADIUS = 0.018
"""Radius of a marker of size 1, by the size of the scene [-]."""
BALL_ROUNDS = 2
"""Subdivisions of a marker's ball: 320 faces."""


SIZE_MIN, SIZE_MAX = 16, 16384
"""Smallest and largest width or height [pixel]."""


class Stage:
    """Pictures of an animation.

    Args:
        animation: Contents.
        size: Width and height [pixel].
        title: Line at the top.
        view: View of the camera. By default, one that shows the motion.
        samples: Samples of a pixel along each side; more are smoother and take longer.

    Raises:
        ValueError: A side of the picture is shorter than `SIZE_MIN` or longer than `SIZE_MAX`.
    """

    def __init__(
        self,
        animation: Animation,
        size: tuple[int, int],
        title: str = "",
        view: View | None = None,
        *,
        samples: int = 2,
    ) -> None:
        check_size(size)
        self.animation, self.size, self.title, self._samples = animation, size, title, samples
        self._view = view
        low, high = animation.bounds()
        self._extent = max(float(np.linalg.norm(high - low)), 1e-9)
        self._pixel = size[1] / 300.0  # lines grow with the picture
        pulls = [line.tension.max() for line in animation.lines if line.tension is not None]
        self.tension = float(max([*pulls, 1e-12]))
        self._skins = [Skin(body.positions[0], body.triangles) for body in animation.bodies]
        pushed = [forces for forces in animation.forces if forces.points.shape[1]]
        self._arrows = [_arrows(forces, 0.22 * self._extent) for forces in pushed]
        self._ball = unit_ball(BALL_ROUNDS)
        self._markers = sorted(animation.markers, key=lambda marker: -marker.size)  # tips last
        self.frame_all()

    def frame_all(self) -> None:
        """Place the camera so that all frames of the animation fit."""
        direction, up = direction_of(self.animation, self._view)
        tips = [ends[has_length(ends)][:, 1] for ends in self._arrows]
        cloud = np.concatenate([cloud_of(self.animation), *tips])
        width, height = self.size
        self._eye, _ = framing(cloud, direction, up, width / height)
        right = np.cross(up, direction)
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(direction, right), direction])
        self._focal_length = height / 2.0 / np.tan(np.radians(VIEW_ANGLE / 2.0))  # [pixel]
        self._balls = [self._ball_of(marker) for marker in self._markers]
        paths = [self._project(self._to_camera(marker.positions)) for marker in self._markers]
        shown = [_separate(path, 2.0 * self._samples) for path in paths]
        self._paths = [(path[k], k) for path, k in zip(paths, shown, strict=True)]

    def picture(self, frame: int, *, transparent: bool = False) -> np.ndarray:
        """Return the frame as pixels, shape (height, width, 3).

        Args:
            frame: Index of the frame.
            transparent: Leave out background, clock and title; the shape is (height, width, 4).
        """
        solids: list[Triangles] = []
        veils: list[Triangles] = []
        lines: list[Lines] = []
        for body, skin in zip(self.animation.bodies, self._skins, strict=True):
            self._add_body(body, skin, frame, solids, veils, lines)
        self._add_cables(frame, lines)
        for arrows in self._arrows:
            ends = self._to_camera(arrows[frame][has_length(arrows[frame])])
            lines.append(Lines(ends, _rgb(CONTACT), 1.6 * self._pixel, True))
        for marker, ball in zip(self._markers, self._balls, strict=True):
            centre = self._to_camera(marker.positions[frame])
            veils.append(ball._replace(corners=ball.corners + centre))
        picture = self._paint(frame, solids, veils, lines, transparent)
        if transparent:
            return picture
        time, unit = self.animation.time[frame], self.animation.time_unit
        texts = {"lower left": f"t = {time:.2f} {unit}", "upper left": self.title}
        return write_text(picture, texts, max(9, round(11.0 * self._pixel)))

    def _to_camera(self, points: np.ndarray) -> np.ndarray:
        """Return points in axes of the camera: right, up, distance; shape (..., 3)."""
        offsets: np.ndarray = (points - self._eye) @ self._axes.T
        offsets[..., 2] *= -1.0
        return offsets

    def _add_body(
        self,
        body: AnimatedSurface,
        skin: Skin,
        frame: int,
        solids: list[Triangles],
        veils: list[Triangles],
        lines: list[Lines],
    ) -> None:
        """Add a body with opaque far side and transparent near side, to show cables inside.

        Obstacles are opaque from all sides.
        """
        positions = body.positions[frame]
        faces = skin.face_normals(positions)
        towards = self._eye - positions[skin.triangles[:, 0]]
        is_front = np.einsum("ij,ij->i", faces, towards) > 0.0
        corners = self._to_camera(positions)[skin.triangles]
        normals = (skin.corner_normals(faces) @ self._axes.T).reshape(-1, 3, 3)
        color = _rgb(body.color)

        def part(where: np.ndarray, opacity: float, shine: float = 0.0) -> Triangles:
            side = np.where(is_front[where], 1.0, -1.0)[:, None, None]
            facing = (side * normals[where]).reshape(-1, 3)
            colors = shade(facing, color, shine) if body.lit else np.tile(color, (len(facing), 1))
            return Triangles(corners[where], colors.reshape(-1, 3, 3), opacity)

        if body.obstacle:
            solids.append(part(np.ones(len(is_front), dtype=bool), 1.0))
            return
        solids.append(part(~is_front, 1.0))
        veils.append(part(is_front, SKIN_OPACITY, 0.5))
        outline = self._to_camera(positions[skin.outline(is_front)])
        lines.append(Lines(outline, 0.55 * color, 0.9 * self._pixel, False))

    def _add_cables(self, frame: int, lines: list[Lines]) -> None:
        """Add the cables; one that pulls is wider and has its color."""
        for line in self.animation.lines:
            points = self._to_camera(line.points[frame])
            pull = 0.0 if line.tension is None else float(line.tension[frame]) / self.tension
            fraction = min(max(pull, 0.0), 1.0)
            color = _rgb(SLACK) + fraction * (_rgb(line.color) - _rgb(SLACK))
            width = (1.5 + 2.5 * fraction) * self._pixel
            lines.append(Lines(np.stack([points[:-1], points[1:]], axis=1), color, width, True))

    def _ball_of(self, marker: AnimatedPoint) -> Triangles:
        """Return the near half of a marker's ball, about its centre."""
        normals, triangles = self._ball
        normals = normals @ self._axes.T
        front = triangles[normals[triangles][:, :, 2].mean(axis=1) > 0.0]
        offsets = MARKER_RADIUS * self._extent * marker.size * normals * [1.0, 1.0, -1.0]
        colors = shade(normals, _rgb(marker.color), 0.4)
        lead = MARKER_RADIUS * self._extent / marker.size  # a tip is painted over its goal
        return Triangles(offsets[front], colors[front], marker.opacity, lead)

    def _project(self, points: np.ndarray) -> np.ndarray:
        """Return x and y [sample], from the upper left, and 1 / distance, shape (..., 3)."""
        screen = np.empty(points.shape)
        screen[..., 2] = 1.0 / points[..., 2]
        scale = self._samples * self._focal_length * screen[..., 2]
        screen[..., 0] = 0.5 * self._samples * self.size[0] + scale * points[..., 0]
        screen[..., 1] = 0.5 * self._samples * self.size[1] - scale * points[..., 1]
        return screen

    def _paint(
        self,
        frame: int,
        solids: list[Triangles],
        veils: list[Triangles],
        lines: list[Lines],
        transparent: bool,
    ) -> np.ndarray:
        """Return the pixels, with their opacity if the background is left out."""
        distance_min = 0.01 * self._extent
        solids = [clip(triangles, distance_min) for triangles in solids]
        veils = [clip(triangles, distance_min) for triangles in veils]
        parts = [*solids, *veils, Triangles(np.empty((0, 3, 3)), np.empty((0, 3, 3)), 1.0)]
        corners = self._project(np.concatenate([part.corners for part in parts]))
        colors = np.concatenate([part.colors for part in parts])
        opacity = np.repeat([part.opacity for part in parts], [len(part.corners) for part in parts])
        solid_count = sum(len(part.corners) for part in solids)
        lead = np.repeat([part.lead for part in parts], [len(part.corners) for part in parts])
        nearness = corners[:, :, 2].mean(axis=1)
        nearness *= 1.0 + lead * nearness
        order = np.arange(len(corners))
        order[solid_count:] = solid_count + np.argsort(nearness[solid_count:])
        ends = [line.ends[(line.ends[..., 2] > distance_min).all(axis=1)] for line in lines]
        counts = [len(segments) for segments in ends]
        segments = self._project(np.concatenate([np.empty((0, 2, 3)), *ends]))
        segments[..., 2] *= 1.0 + LIFT * self._extent * segments[..., 2]
        line_colors = np.array([line.color for line in lines]).reshape(-1, 3)
        trails, starts = self._trails(frame)
        background = np.zeros(4) if transparent else np.append(GROUND, 1.0)
        markers = self._markers
        width, height = self.size
        picture = np.empty((height, width, 4 if transparent else 3), dtype=np.uint8)
        paint(
            picture,
            self._samples,
            background,
            corners[order],
            colors[order],
            opacity[order],
            solid_count,
            segments,
            np.repeat(line_colors, counts, axis=0),
            np.repeat([0.5 * self._samples * line.width for line in lines], counts),
            np.repeat(np.array([line.is_tube for line in lines], dtype=bool), counts),
            trails,
            starts,
            np.array([_rgb(marker.color) for marker in markers]).reshape(-1, 3),
            np.array([1.0 * self._samples * self._pixel * marker.size**2 for marker in markers]),
            1.0 - SKIN_OPACITY,
        )
        return picture

    def _trails(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of the markers' paths with their opacity, and where each begins."""
        opacity = trail_opacity(self.animation.time, frame)
        points = [np.column_stack([path, opacity[k]]) for path, k in self._paths]
        starts = np.cumsum([0, *(len(path) for path in points)])
        return np.concatenate([np.empty((0, 4)), *points]), starts


def check_size(size: tuple[int, int]) -> None:
    """Raise ValueError if a picture cannot have a width and height [pixel]."""
    if not all(SIZE_MIN <= side <= SIZE_MAX for side in size):
        raise ValueError(
            f"A picture is from {SIZE_MIN} to {SIZE_MAX} pixels wide and high. "
            f"Got: {size[0]}x{size[1]}."
        )


def _separate(path: np.ndarray, distance: float) -> np.ndarray:
    """Return the indices of points of a path (n, 2 or more) in steps of about a distance."""
    steps = np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1)
    passed = np.floor(np.concatenate([[0.0], np.cumsum(steps)]) / distance)
    (indices,) = np.nonzero(np.diff(passed, prepend=-1.0))
    return np.union1d(indices, [0, len(path) - 1])


def trail_opacity(time: np.ndarray, frame: int) -> np.ndarray:
    """Return the opacity of a path: faint, and strong behind the marker, shape (n_frames,)."""
    fading_time = max(0.25 * (time[-1] - time[0]), 1e-12)
    age = (time[frame] - time) / fading_time
    fresh = np.where(age >= 0.0, np.clip(1.0 - age, 0.0, 1.0), 0.0)
    return 0.25 + 0.75 * fresh


def _arrows(forces: Forces, length_max: float) -> np.ndarray:
    """Return the ends of arrows in each frame, shape (n_frames, k, 2, 3)."""
    size_max = np.linalg.norm(forces.vectors, axis=2).max(initial=0.0)
    scale = length_max / size_max if size_max > 0.0 else 0.0
    return np.stack([forces.points, forces.points + scale * forces.vectors], axis=2)


def _rgb(color: str) -> np.ndarray:
    """Return red, green and blue of #rrggbb from 0 to 1, shape (3,)."""
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
