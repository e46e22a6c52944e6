"""Animation of a recording: what a movie of its run would have shown, without the scene."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base import colors
from sofa_softctl.record.record import Record
from sofa_softctl.scene.geometry import Body, Cable, geometry_in
from sofa_softctl.view.movie.animation import (
    AnimatedCable,
    AnimatedSurface,
    Animation,
    Forces,
    markers_of,
)
from sofa_softctl.view.movie.capture import COLORS
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
