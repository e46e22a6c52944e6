"""What of a recording becomes files of ParaView: bodies, cables, contacts, goals."""

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
    """Of the cells: 'tetra', 'triangle', 'line' or 'vertex'."""
    cells: np.ndarray
    """Vertex numbers, shape (m, k)."""
    point_data: dict[str, np.ndarray] = field(default_factory=dict)
    """Values of the points by their name, shape (n, ...)."""
    cell_data: dict[str, np.ndarray] = field(default_factory=dict)
    """Values of the cells by their name, shape (m, ...)."""


class Piece(ABC):
    """A part of the scene: one file a step."""

    name: str
    """Its name, such as 'trunk/dofs'."""

    @abstractmethod
    def grid(self, step: int) -> Grid:
        """What it is at a step of the recording."""


def pieces_of(record: Record) -> list[Piece]:
    """All parts of a recording that can be shown.

    Raises:
        RecordError: There are none, or the recording has no meshes.
    """
    geometry = geometry_in(record)
    found: list[Piece] = [BodyPiece(record, body) for body in geometry.bodies]
    if geometry.cables:
        found.append(CablesPiece(record, geometry.cables))
    for controller in _having(record, "contact_point", "contact_force"):
        found.append(ContactsPiece(record, controller))
    for controller in _having(record, "goal", "error"):
        found.append(GoalsPiece(record, controller))
    if not found:
        raise RecordError(
            "There is nothing to export: the recorded scene has no body with tetrahedra or "
            "triangles, no cables, no contacts and no goals."
        )
    return found


class BodyPiece(Piece):
    """The mesh of a body, with displacements, stresses, and what else is known of its nodes.

    Recorded values of components beside it are those of its points, or cells, where there are as
    many: a channel `trunk/dofs.velocity`, or `trunk/elasticity.vonMisesPerElement`.
    """

    def __init__(self, record: Record, body: Body) -> None:
        self.name, self.body = body.name, body
        self._positions = record.channels[f"{body.name}.position"]
        counts = {"points": len(body.rest), "cells": len(body.cells[1])}
        node = body.name.rpartition("/")[0]
        self._more: dict[str, dict[str, np.ndarray]] = {"points": {}, "cells": {}}
        for channel, values in record.channels.items():
            owner, _, data = channel.rpartition(".")
            if owner.rpartition("/")[0] != node or channel == f"{body.name}.position":
                continue
            for where, count in counts.items():
                numbers = values.ndim > 1 and values.dtype.kind == "f"
                if numbers and values.shape[1] == count:
                    self._more[where][data] = values
                    break

    @override
    def grid(self, step: int) -> Grid:
        points = self._positions[step][:, :3]
        kind, cells = self.body.cells
        if not np.isfinite(points).all():  # the body is not in the scene
            return Grid(points[:0], kind, cells[:0], {})
        stress = self.body.von_mises(points)
        more = {
            where: {name: values[step] for name, values in found.items()}
            for where, found in self._more.items()
        }
        return Grid(
            points,
            kind,
            cells,
            {"displacement": points - self.body.rest} | more["points"],
            ({} if stress is None else {"von_mises": stress}) | more["cells"],
        )


class CablesPiece(Piece):
    """All cables as lines, with the force and the displacement of each, and its number."""

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
        self._owner = np.repeat(np.arange(len(cables)), [len(each) for each in firsts])
        self._values = {
            "force": _of_cables(record, cables, "force")
            / np.array([cable.lambda_per_effort for cable in cables]),
            "displacement": _of_cables(record, cables, "displacement"),
        }

    @override
    def grid(self, step: int) -> Grid:
        points = np.concatenate([each[step] for each in self._points])
        here = np.isfinite(points[self._cells]).all(axis=(1, 2))  # not so of cables to come
        owner = self._owner[here]
        values = {name: found[step][owner] for name, found in self._values.items()}
        used, cells = np.unique(self._cells[here], return_inverse=True)
        cells = cells.reshape(-1, 2)
        return Grid(points[used], "line", cells, {}, {"cable": owner} | values)


class ContactsPiece(Piece):
    """Forces at contacts, as many points in each step; those without a contact have no force."""

    def __init__(self, record: Record, controller: str) -> None:
        self.name = f"{controller}.contacts"
        self._points = record.channels[f"{controller}.contact_point"]
        self._forces = record.channels[f"{controller}.contact_force"]
        there = self._points.any(axis=2) | self._forces.any(axis=2)  # (n_steps, kept)
        self._most = max(1, int(there.sum(axis=1).max(initial=0)))
        known = self._points[there]
        self._nowhere = known[0] if len(known) else np.zeros(3)

    @override
    def grid(self, step: int) -> Grid:
        points, forces = self._points[step, : self._most], self._forces[step, : self._most]
        there = np.concatenate([points, forces], axis=1).any(axis=1, keepdims=True)
        points = np.where(there, points, self._nowhere)
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


def _having(record: Record, place: str, value: str) -> list[str]:
    """Controllers with a channel of points, shape (n_steps, n, 3), and one of their values."""
    owners = [name.removesuffix(f".{place}") for name in record.channels if name.endswith(place)]
    return [
        owner
        for owner in owners
        if (points := record.channels.get(f"{owner}.{place}")) is not None
        and points.shape[2:] == (3,)
        and record.channels.get(f"{owner}.{value}", points[:0]).shape[:2] == points.shape[:2]
        and points.shape[1]
    ]


def _of_cables(record: Record, cables: list[Cable], data: str) -> np.ndarray:
    """A Data of each cable at each step, NaN where it is not recorded, shape (n_steps, n)."""
    unknown = np.full(len(record.time), np.nan)
    columns = [record.channels.get(f"{cable.name}.{data}", unknown) for cable in cables]
    return np.stack([np.reshape(column, len(record.time)) for column in columns], axis=1)
