"""Parts of a recording that become files of ParaView: bodies, cables, contacts, goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record
from sofa_softctl.scene.session.geometry import Body, Cable, geometry_in


@dataclass(frozen=True)
class Grid:
    """Points and cells at one time, with their values."""

    points: np.ndarray
    """Positions [length], shape (n, 3)."""
    kind: str
    """Type of the cells: 'tetra', 'hexahedron', 'triangle', 'line' or 'vertex'."""
    cells: np.ndarray
    """Vertex numbers, shape (m, k)."""
    point_data: dict[str, np.ndarray] = field(default_factory=dict)
    """Values of the points by their name, shape (n, ...)."""
    cell_data: dict[str, np.ndarray] = field(default_factory=dict)
    """Values of the cells by their name, shape (m, ...)."""


class Piece(ABC):
    """Part of the scene, with one file per step."""

    name: str
    """Name, such as 'trunk/dofs'."""

    @abstractmethod
    def grid(self, step: int) -> Grid:
        """Return the grid at a step of the recording."""


def pieces_of(record: Record) -> list[Piece]:
    """Return all parts of a recording that can be shown.

    Raises:
        RecordError: There are none, or the recording has no meshes.
    """
    geometry = geometry_in(record)
    pieces: list[Piece] = [BodyPiece(record, body) for body in geometry.bodies]
    if geometry.cables:
        pieces.append(CablesPiece(record, geometry.cables))
    for controller in _controllers_with(record, "contact_point", "contact_force"):
        pieces.append(ContactsPiece(record, controller))
    for controller in _controllers_with(record, "goal", "error"):
        pieces.append(GoalsPiece(record, controller))
    if not pieces:
        raise RecordError(
            "There is nothing to export: the recorded scene has no body with tetrahedra or "
            "triangles, no cables, no contacts and no goals."
        )
    return pieces


class BodyPiece(Piece):
    """Mesh of a body, with displacements, stresses, and other recorded values.

    Recorded channels in the node of the body, such as `trunk/dofs.velocity`, become data of points
    or cells if they have that number of values.
    """

    def __init__(self, record: Record, body: Body) -> None:
        self.name, self.body = body.name, body
        self._positions = record.channels[f"{body.name}.position"]
        counts = {"points": len(body.rest), "cells": len(body.cells[1])}
        node = body.name.rpartition("/")[0]
        self._channels: dict[str, dict[str, np.ndarray]] = {"points": {}, "cells": {}}
        for channel, values in record.channels.items():
            owner, _, data = channel.rpartition(".")
            if owner.rpartition("/")[0] != node or channel == f"{body.name}.position":
                continue
            for kind, count in counts.items():
                is_numeric = values.ndim > 1 and values.dtype.kind == "f"
                if is_numeric and values.shape[1] == count:
                    self._channels[kind][data] = values
                    break

    @override
    def grid(self, step: int) -> Grid:
        points = self._positions[step][:, :3]
        kind, cells = self.body.cells
        if not np.isfinite(points).all():  # the body is not in the scene
            return Grid(points[:0], kind, cells[:0], {})
        extra_data = {
            location: {name: values[step] for name, values in channels.items()}
            for location, channels in self._channels.items()
        }
        return Grid(
            points,
            kind,
            cells,
            {"displacement": points - self.body.rest} | extra_data["points"],
            self.body.cell_values(points) | extra_data["cells"],
        )


class CablesPiece(Piece):
    """All cables as lines, with force, displacement and number of each cable."""

    name = "cables"

    def __init__(self, record: Record, cables: list[Cable]) -> None:
        self.cables = cables
        states = [record.channels[f"{cable.state}.position"] for cable in cables]
        self._points = [
            cable.points(positions) for cable, positions in zip(cables, states, strict=True)
        ]
        sizes = [points.shape[1] for points in self._points]
        starts = np.cumsum([0, *sizes])
        firsts = [np.arange(a, a + size - 1) for a, size in zip(starts, sizes, strict=False)]
        first = np.concatenate(firsts)
        self._cells = np.stack([first, first + 1], axis=1)
        self._owner = np.repeat(np.arange(len(cables)), [len(indices) for indices in firsts])
        self._values = {
            "force": _cable_data(record, cables, "force")
            / np.array([cable.lambda_per_effort for cable in cables]),
            "displacement": _cable_data(record, cables, "displacement"),
        }

    @override
    def grid(self, step: int) -> Grid:
        points = np.concatenate([cable[step] for cable in self._points])
        is_finite = np.isfinite(points[self._cells]).all(axis=(1, 2))  # cables to come are NaN
        owner = self._owner[is_finite]
        values = {name: table[step][owner] for name, table in self._values.items()}
        used, cells = np.unique(self._cells[is_finite], return_inverse=True)
        cells = cells.reshape(-1, 2)
        return Grid(points[used], "line", cells, {}, {"cable": owner} | values)


class ContactsPiece(Piece):
    """Forces at contacts; each step has the same number of points, unused ones without a force."""

    def __init__(self, record: Record, controller: str) -> None:
        self.name = f"{controller}.contacts"
        self._points = record.channels[f"{controller}.contact_point"]
        self._forces = record.channels[f"{controller}.contact_force"]
        is_contact = self._points.any(axis=2) | self._forces.any(axis=2)  # (n_steps, n)
        self._count = max(1, int(is_contact.sum(axis=1).max(initial=0)))
        contacts = self._points[is_contact]
        self._default_point = contacts[0] if len(contacts) else np.zeros(3)

    @override
    def grid(self, step: int) -> Grid:
        points, forces = self._points[step, : self._count], self._forces[step, : self._count]
        is_contact = np.concatenate([points, forces], axis=1).any(axis=1, keepdims=True)
        points = np.where(is_contact, points, self._default_point)
        return Grid(points, "vertex", np.arange(len(points))[:, None], {"force": forces})


class GoalsPiece(Piece):
    """Goals of effectors, with the distance of each effector to its goal."""

    def __init__(self, record: Record, controller: str) -> None:
        self.name = f"{controller}.goals"
        self._goals = record.channels[f"{controller}.goal"]
        self._errors = record.channels[f"{controller}.error"]

    @override
    def grid(self, step: int) -> Grid:
        points = self._goals[step]
        cells = np.arange(len(points))[:, None]
        return Grid(points, "vertex", cells, {"error": self._errors[step]})


def _controllers_with(record: Record, points: str, values: str) -> list[str]:
    """Return controllers with a channel of points, shape (n_steps, n, 3), and one of values."""
    owners = [name.removesuffix(f".{points}") for name in record.channels if name.endswith(points)]
    return [
        owner
        for owner in owners
        if (x := record.channels.get(f"{owner}.{points}")) is not None
        and x.shape[2:] == (3,)
        and record.channels.get(f"{owner}.{values}", x[:0]).shape[:2] == x.shape[:2]
        and x.shape[1]
    ]


def _cable_data(record: Record, cables: list[Cable], data: str) -> np.ndarray:
    """Return a Data of each cable at each step, or NaN if not recorded, shape (n_steps, n)."""
    unknown = np.full(len(record.time), np.nan)
    columns = [record.channels.get(f"{cable.name}.{data}", unknown) for cable in cables]
    return np.stack([np.reshape(column, len(record.time)) for column in columns], axis=1)
