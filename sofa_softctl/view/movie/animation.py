"""Contents of a movie: bodies, cables and markers over time. Arrays only, no scene."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sofa_softctl.base.colors import GOAL, TIP


@dataclass(frozen=True)
class AnimatedSurface:
    """A surface that deforms."""

    name: str
    """Its name."""
    positions: np.ndarray
    """Vertices in each frame [length], shape (n_frames, n, 3)."""
    triangles: np.ndarray
    """Vertex numbers, shape (k, 3)."""
    color: str = "#e3b7a0"
    """Its color."""
    obstacle: bool = False
    """Whether it is ground or wall: drawn opaque, and the picture does not widen for it."""
    lit: bool = True
    """Whether light falls on it; lines that are drawn as bands have their color from all sides."""


@dataclass(frozen=True)
class AnimatedCable:
    """A cable; drawn brighter the more it pulls."""

    name: str
    """Its name."""
    points: np.ndarray
    """Points in each frame [length], shape (n_frames, m, 3)."""
    tension: np.ndarray | None = None
    """Tension in each frame [force], shape (n_frames,)."""
    color: str = "#e84305"
    """Its color at the greatest tension of the movie."""


@dataclass(frozen=True)
class AnimatedPoint:
    """A point, with the path that it leaves behind."""

    name: str
    """Its name."""
    positions: np.ndarray
    """Place in each frame [length], shape (n_frames, 3)."""
    color: str = GOAL
    """Its color."""
    size: float = 1.0
    """Radius relative to that of other markers."""


def markers_of(goals: np.ndarray, tips: np.ndarray) -> list[AnimatedPoint]:
    """Markers of goals (n_frames, n, 3), with those of tips, where there are any."""
    found = []
    for e in range(goals.shape[1]):
        if tips.shape[1]:
            found.append(AnimatedPoint("tip", tips[:, e], TIP, 0.7))
        found.append(AnimatedPoint("goal", goals[:, e], GOAL))
    return found


@dataclass(frozen=True)
class Forces:
    """Arrows, such as the forces of contacts; all of a movie have one scale."""

    points: np.ndarray
    """Where each begins in each frame [length], shape (n_frames, k, 3)."""
    vectors: np.ndarray
    """The forces [force], shape (n_frames, k, 3). Zero where there is none."""


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
        """Lowest and highest corner of all that is ever shown [length], shapes (3,)."""
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
    """Numbers of the frames that a movie in real time shows, the last one included."""
    count = max(1, round((time[-1] - time[0]) * frame_rate))
    wanted = time[0] + np.arange(count + 1) / frame_rate
    return np.minimum(np.searchsorted(time, wanted - 1e-9), len(time) - 1)
