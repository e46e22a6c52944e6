"""Contents of a movie: bodies, cables and markers over time. Arrays only, no scene."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.base.colors import BODIES, GOAL, TIP


@dataclass(frozen=True)
class AnimatedSurface:
    """Deforming surface."""

    name: str
    """Name in error messages."""
    positions: np.ndarray
    """Vertices in each frame [length], shape (n_frames, n, 3)."""
    triangles: np.ndarray
    """Vertex numbers, shape (k, 3)."""
    color: str = BODIES[0]
    """Color as #rrggbb."""
    obstacle: bool = False
    """Whether the body is ground or a wall: drawn opaque, and ignored by the camera."""
    lit: bool = True
    """Whether light shades it; lines drawn as bands keep their color from all sides."""


@dataclass(frozen=True)
class AnimatedCable:
    """Cable, drawn brighter the more it pulls."""

    name: str
    """Name in error messages."""
    points: np.ndarray
    """Points in each frame [length], shape (n_frames, m, 3)."""
    tension: np.ndarray | None = None
    """Tension in each frame [force], shape (n_frames,)."""
    color: str = "#e84305"
    """Color at the greatest tension of the movie."""


@dataclass(frozen=True)
class AnimatedPoint:
    """Point with a trail."""

    name: str
    """Name in error messages."""
    positions: np.ndarray
    """Position in each frame [length], shape (n_frames, 3)."""
    color: str = GOAL
    """Color as #rrggbb."""
    size: float = 1.0
    """Radius relative to a marker of size 1 [-]."""
    opacity: float = 0.75
    """Opacity of its ball [-]."""


def markers_of(goals: np.ndarray, tips: np.ndarray) -> list[AnimatedPoint]:
    """Return markers of goals (n_frames, n, 3) and of their tips, if there are any."""
    markers = []
    for e in range(goals.shape[1]):
        if tips.shape[1]:
            markers.append(AnimatedPoint("tip", tips[:, e], TIP, 0.7, 0.9))
        markers.append(AnimatedPoint("goal", goals[:, e], GOAL))
    return markers


@dataclass(frozen=True)
class Forces:
    """Arrows, such as the forces of contacts; all of a movie have one scale."""

    points: np.ndarray
    """Start of each arrow in each frame [length], shape (n_frames, k, 3)."""
    vectors: np.ndarray
    """Force of each arrow [force], shape (n_frames, k, 3); zero: no arrow."""


@dataclass(frozen=True)
class Animation:
    """Frames of a run."""

    time: np.ndarray
    """Time of each frame [time], shape (n_frames,)."""
    bodies: list[AnimatedSurface] = field(default_factory=list)
    """Surfaces."""
    lines: list[AnimatedCable] = field(default_factory=list)
    """Cables."""
    markers: list[AnimatedPoint] = field(default_factory=list)
    """Points."""
    forces: list[Forces] = field(default_factory=list)
    """Arrows."""
    up: np.ndarray = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    """Direction against gravity, shape (3,)."""
    time_unit: str = ""
    """Unit of the time, for the clock."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest corner of the whole animation [length], shapes (3,)."""
        robots = [body for body in self.bodies if not body.obstacle]
        clouds = [
            array.reshape(-1, 3)
            for array in (
                *(body.positions for body in robots or self.bodies),
                *(line.points for line in self.lines),
                *(marker.positions for marker in self.markers),
            )
        ]
        return (
            np.min([cloud.min(axis=0) for cloud in clouds], axis=0),
            np.max([cloud.max(axis=0) for cloud in clouds], axis=0),
        )


def frames_at(time: np.ndarray, frame_rate: float) -> np.ndarray:
    """Return the indices of the frames for a movie in real time, with the last frame."""
    count = max(1, round((time[-1] - time[0]) * frame_rate))
    times = time[0] + np.arange(count + 1) / frame_rate
    return np.minimum(np.searchsorted(time, times - 1e-9), len(time) - 1)


def check_animation(animation: Animation) -> None:
    """Raise ValueError if there is nothing to show, or a shape or value is invalid."""
    count = len(animation.time)
    items: list[tuple[str, AnimatedSurface | AnimatedCable | AnimatedPoint]] = [
        *(("body", body) for body in animation.bodies),
        *(("line", line) for line in animation.lines),
        *(("marker", marker) for marker in animation.markers),
    ]
    if not count or not items:
        raise ValueError(f"There is nothing to show: {count} frames of {len(items)} objects.")
    if not (np.diff(animation.time) >= 0.0).all():
        raise ValueError("The times of an animation must not decrease.")
    for kind, item in items:
        label = f"{kind} '{item.name}'"
        positions = item.points if isinstance(item, AnimatedCable) else item.positions
        shape = (count, 3) if isinstance(item, AnimatedPoint) else (count, *positions.shape[1:2], 3)
        if positions.shape != shape:
            raise ValueError(f"The {label} must have shape {shape}. Got: {positions.shape}.")
        finite = np.isfinite(positions).reshape(count, -1).all(axis=1)
        if not finite.all():
            raise ValueError(f"The {label} is not finite in frame {int(np.argmin(finite))}.")
        tension = item.tension if isinstance(item, AnimatedCable) else None
        if tension is not None and tension.shape != (count,):
            raise ValueError(
                f"The tension of {label} must have shape ({count},). Got: {tension.shape}."
            )
        if isinstance(item, AnimatedSurface) and item.triangles.size:  # else VTK crashes
            first, last = int(item.triangles.min()), int(item.triangles.max())
            if first < 0 or last >= positions.shape[1]:
                raise ValueError(
                    f"Triangles of the {label} name vertices {first} to {last}, "
                    f"but there are {positions.shape[1]}."
                )
