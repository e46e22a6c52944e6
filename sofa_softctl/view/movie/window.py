"""A window that replays a recording."""

from __future__ import annotations

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
from sofa_softctl.view.movie.capture import Camera
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.stage import Stage
from sofa_softctl.view.movie.surface import surface_triangles


def animation_of(record: Record) -> Animation:
    """Return bodies, cables, goals and contact forces of every recorded step.

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
    color = colors.GROUND if body.obstacle else colors.body(number)
    return AnimatedSurface(body.name, positions, triangles, color, body.obstacle)


def _line(record: Record, cable: Cable, number: int) -> AnimatedCable:
    points = cable.points(record.channels[f"{cable.state}.position"])
    tension = record.channels.get(f"{cable.name}.force")
    tension = None if tension is None else tension.reshape(-1)
    return AnimatedCable(cable.name, points, tension, colors.actuator(number))


class Window:
    """Pictures of a session at any time; the camera follows the robot.

    Args:
        session: The session.
        size: Width and height [pixel].
        view: View of the camera. By default, one that shows the motion.

    Raises:
        SoftctlError: There is nothing to show.
    """

    def __init__(
        self, session: Session, *, size: tuple[int, int] = (640, 480), view: View | None = None
    ) -> None:
        self.session, self._size, self._view = session, size, view
        self._camera = Camera(session)
        self._stage: Stage | None = None

    def picture(self) -> np.ndarray:
        """Return the current session as pixels, shape (height, width, 3)."""
        self._camera.clear()
        self._camera.capture_frame()
        animation = self._camera.animation()
        if self._stage is None:
            self._stage = Stage(animation, self._size, view=self._view)
        _copy_arrays(self._stage.animation, animation)
        pulls = [line.tension.max() for line in animation.lines if line.tension is not None]
        self._stage.tension = float(max([self._stage.tension, *pulls]))
        self._stage.frame_all()
        return self._stage.picture(0)


def _copy_arrays(target: Animation, source: Animation) -> None:
    """Copy the arrays of an animation to another one with the same objects."""
    target.time[:] = source.time
    for body, new_body in zip(target.bodies, source.bodies, strict=True):
        body.positions[:] = new_body.positions
    for line, new_line in zip(target.lines, source.lines, strict=True):
        line.points[:] = new_line.points
        if line.tension is not None and new_line.tension is not None:
            line.tension[:] = new_line.tension
    for marker, new_marker in zip(target.markers, source.markers, strict=True):
        marker.positions[:] = new_marker.positions
