"""A window that replays a recording."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.record.record import Record
from sofa_softctl.scene.session.geometry import Body, Cable, geometry_in
from sofa_softctl.scene.session.session import Session
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedSurface,
    Animation,
    Forces,
    markers_of,
)
from sofa_softctl.view.movie.capture import COLORS, Camera
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.stage import Stage, open_stage
from sofa_softctl.view.movie.surface import surface_triangles


def animation_of(record: Record) -> Animation:
    """Bodies, cables, goals and contact forces of every recorded step.

    Raises:
        RecordError: The recording has no meshes.
    """
    geometry = geometry_in(record)
    moving = [body.name for body in geometry.bodies if not body.obstacle]
    bodies = [
        _surface(record, body, moving.index(body.name) if body.name in moving else 0)
        for body in geometry.bodies
    ]
    lines = [_line(record, cable, k) for k, cable in enumerate(geometry.cables)]
    markers, forces = [], []
    for name, points in record.channels.items():
        owner, _, data = name.rpartition(".")
        if data == "goal" and points.shape[2:] == (3,):
            tips = record.channels.get(f"{owner}.tip", np.zeros((len(points), 0, 3)))
            markers += markers_of(points, tips)
        elif data == "contact_point" and f"{owner}.contact_force" in record.channels:
            forces.append(Forces(points, record.channels[f"{owner}.contact_force"]))
    up = -geometry.gravity if geometry.gravity.any() else np.array([0.0, 1.0, 0.0])
    unit = record.metadata.get("units", "").rpartition(", ")[2]
    return Animation(record.time, bodies, lines, markers, forces, up, unit)


def _surface(record: Record, body: Body, number: int) -> AnimatedSurface:
    positions = record.channels[f"{body.name}.position"][..., :3]
    triangles = body.triangles
    if len(body.tetrahedra):
        triangles = surface_triangles(body.tetrahedra, body.rest)
    color = colors.GROUND if body.obstacle else COLORS[number % len(COLORS)]
    return AnimatedSurface(body.name, positions, triangles, color, body.obstacle)


def _line(record: Record, cable: Cable, number: int) -> AnimatedCable:
    points = cable.points(record.channels[f"{cable.state}.position"])
    tension = record.channels.get(f"{cable.name}.force")
    tension = None if tension is None else tension.reshape(-1)
    return AnimatedCable(cable.name, points, tension, colors.actuator(number))


class Window:
    """A look at a session whenever it is asked for; the camera goes with the robot.

    Args:
        session: The session.
        size: Width and height [pixel].
        view: Where the camera stands; None: its own choice.

    Raises:
        SoftctlError: A missing extra, or nothing to render with or to show.
    """

    def __init__(
        self, session: Session, *, size: tuple[int, int] = (640, 480), view: View | None = None
    ) -> None:
        self.session, self._size, self._view = session, size, view
        self._camera = Camera(session)
        self._stack = ExitStack()
        self._stage: Stage | None = None

    def picture(self) -> np.ndarray:
        """The session now as pixels, shape (height, width, 3)."""
        self._camera.forget()
        self._camera.look()
        animation = self._camera.animation()
        if self._stage is None:
            self._stage = self._stack.enter_context(
                open_stage(animation, self._size, "", self._view)
            )
        _renew(self._stage.animation, animation)
        pulls = [line.tension.max() for line in animation.lines if line.tension is not None]
        self._stage.tension = float(max([self._stage.tension, *pulls]))
        self._stage.frame_all()
        return self._stage.picture(0)

    def close(self) -> None:
        """Let go of the renderer."""
        self._stack.close()
        self._stage = None


def _renew(shown: Animation, now: Animation) -> None:
    """Write the arrays of one animation into those of another, of the same objects."""
    shown.time[:] = now.time
    for body, new in zip(shown.bodies, now.bodies, strict=True):
        body.positions[:] = new.positions
    for line, other in zip(shown.lines, now.lines, strict=True):
        line.points[:] = other.points
        if line.tension is not None and other.tension is not None:
            line.tension[:] = other.tension
    for marker, place in zip(shown.markers, now.markers, strict=True):
        marker.positions[:] = place.positions
