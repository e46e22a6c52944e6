"""Playback of recorded commands on the actuators of a scene."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import Record, read_record
from sofa_softctl.scene.control import options
from sofa_softctl.scene.control.controller import SceneController, pauses_on_error
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.control.units import QUANTITIES, declared_units, is_effort, value_quantity
from sofa_softctl.scene.graph.nodes import path_of
from sofa_softctl.units import QUANTITIES as ALL_QUANTITIES
from sofa_softctl.units import Units, of_columns, symbol

MULTIPLIER = "lambda"
"""Unit of channels that hold SOFA's multipliers."""
NEAR_RATIO_MAX = 0.2
"""Ratio of a column's distances to another and to its own actuator, below which it is misordered
[-]."""
FAR_MIN = 0.05
"""Distance between an actuator's present and recorded points, relative to its body's size, above
which it is another actuator [-]."""


class Playback(SceneController):
    """Controller that plays the commands of a recording on actuators, in open loop.

    Each step's command is the recorded one at the end of the step, interpolated in time and
    constant after the last. Lengths, volumes, forces and pressures are converted to the scene's
    units; SOFA's `value` of an effort is its multiplier, `effort_factor` times the effort.

    Args:
        root: Root of the scene.
        actuators: Constraint components such as CableConstraint, whose Data `value` is set, with
            the valueType of the commands: "displacement" or "force", for chambers
            "volumeGrowth" or "pressure".
        commands: Path of a recording.
        channel: The recording's channel with a column for each actuator.
        name: Name of the controller.

    Raises:
        SceneError: `actuators` are not components.
        RecordError: The recording cannot be read, lacks the channel, has another number of columns,
            or another quantity than an actuator's valueType requires.
    """

    def __init__(
        self,
        *,
        root: Any,
        actuators: Sequence[Any],
        commands: str | os.PathLike[str],
        channel: str = "inverse.displacement",
        name: str = "playback",
    ) -> None:
        super().__init__(name=name, root=root)
        self.actuators = options.components(self, "actuators", actuators, "cables")
        record = read_record(commands)
        if channel not in record.channels:
            names = ", ".join(sorted(record.channels))
            raise RecordError(
                f"{commands}: no channel '{channel}'. It has: {names}. Give one of them as channel."
            )
        values = record.channels[channel]
        if values.ndim == 1 and values.dtype.kind in "fiu":  # of one component
            values = values[:, None]
        if values.shape[1:] != (len(self.actuators),):
            raise RecordError(
                f"{commands}: '{channel}' has shape {values.shape}, expected a column for each of "
                f"{len(self.actuators)} actuators. Give those of the recorded scene, in its order."
            )
        units = of_columns(record.units[channel], len(self.actuators))
        scales = [
            self._scale(actuator, unit, record, f"{commands}: '{channel}'")
            for actuator, unit in zip(self.actuators, units, strict=True)
        ]
        self.times, self.commands = record.time, values * scales
        recorded = record.metadata.get(f"{channel.rpartition('.')[0]}.actuators", "[]")
        self._recorded_names: list[str] = json.loads(recorded)
        self._source = f"{commands}: '{channel}'"
        is_in_units = record.metadata.get("units") == str(declared_units(root))
        self._starts = {
            path: x[0][:, :3]
            for path, x in (record.channels.items() if is_in_units else ())
            if path.endswith(".position") and len(x) and x.ndim == 3
        }
        self._efforts = [
            constraint.getClassName() in QUANTITIES and is_effort(constraint) and unit != MULTIPLIER
            for constraint, unit in zip(self.actuators, units, strict=True)
        ]

    def start_warnings(self) -> list[str]:
        """Warn of actuators in another order than in the recording."""
        nodes = [actuator.getContext() for actuator in self.actuators]
        names, recorded = [node.getName() for node in nodes], self._recorded_names
        if names == recorded:
            return self._moved_actuators(nodes)
        if sorted(names) != sorted(recorded):
            return self._misordered_column(nodes) or self._moved_actuators(nodes)
        return [
            f"{self._source} has columns of {', '.join(self._recorded_names)}, and 'actuators' are "
            f"{', '.join(names)}: give them in the order of the recording."
        ]

    def _misordered_column(self, nodes: Sequence[Any]) -> list[str]:
        """Warn of an actuator at the recorded position of another one."""
        states = [node.getMechanicalState() for node in nodes]
        points = [np.asarray(state.position.value)[:, :3] for state in states if state is not None]
        for k, name in enumerate(self._recorded_names[: len(points)]):
            for path, x in self._starts.items():
                if f"/{name}/" in f"/{path}" and all(x.shape == y.shape for y in points):
                    distances = [float(np.abs(x - y).max()) for y in points]
                    nearest = int(np.argmin(distances))
                    if distances[nearest] < NEAR_RATIO_MAX * distances[k]:
                        return [
                            f"{self._source}, column {k} is of '{name}', which was where "
                            f"'{nodes[nearest].getPathName()}' is, and moves "
                            f"'{nodes[k].getPathName()}': give the recording's order."
                        ]
        return []

    def _moved_actuators(self, nodes: Sequence[Any]) -> list[str]:
        """Warn of actuators away from their recorded positions, in a body that has not moved."""
        texts = []
        for k, (name, node) in enumerate(zip(self._recorded_names, nodes, strict=False)):
            state = node.getMechanicalState()
            points = np.empty((0, 3)) if state is None else np.asarray(state.position.value)[:, :3]
            distances = [
                float(np.abs(x - points).max())
                for path, x in self._starts.items()
                if f"/{name}/" in f"/{path}" and x.shape == points.shape
            ]
            if distances and min(distances) > FAR_MIN * self._size_of_same(node) > 0.0:
                texts.append(
                    f"{self._source}, column {k} is of '{name}', whose points were up to "
                    f"{min(distances):.3g} away from those of '{node.getPathName()}', in the same "
                    "body. Is it another actuator's?"
                )
        return texts

    def _size_of_same(self, node: Any) -> float:
        """Return the size of the body above a node, or 0 if it has moved [length]."""
        state: Any = next((s for n in node.parents if (s := n.getMechanicalState())), None)
        x: Any = None if state is None else self._starts.get(f"{path_of(state)}.position")
        if x is None or x.shape != np.shape(state.position.value):
            return 0.0
        size = float(np.ptp(x, axis=0).max())
        return size if np.abs(x - state.position.value).max() < FAR_MIN * size else 0.0

    def _scale(self, actuator: Any, unit: str, record: Record, column: str) -> float:
        """Return the factor from a column's recorded unit to the scene's unit of the actuator."""
        if not unit or actuator.getClassName() not in QUANTITIES:
            return 1.0
        quantity, scene = value_quantity(actuator), declared_units(self.root)
        text = record.metadata.get("units")
        recorded = Units.parse(text) if text else scene
        if unit == MULTIPLIER and is_effort(actuator):
            if (dt := record.metadata.get("dt")) and float(dt) != self.dt.value:
                raise RecordError(
                    f"{column} holds SOFA's multipliers at dt = {dt}, which are other efforts at "
                    f"the scene's dt = {self.dt.value:g}. Take an effort, such as inverse.effort."
                )
            return 1.0
        if unit in (quantity, symbol(recorded, quantity)):
            if recorded is None or scene is None:
                return 1.0
            return recorded.in_si(quantity) / scene.in_si(quantity)
        if recorded is None and unit not in (*ALL_QUANTITIES, MULTIPLIER):
            return 1.0  # the quantity is unknown
        raise RecordError(
            f"{column} is in {unit}, but '{actuator.getPathName()}' has "
            f"valueType='{actuator.valueType.value}', a {quantity}"
            f"{'' if recorded is None else f' in {recorded.symbol(quantity)}'}. Give another "
            "channel, or set the valueType of what was recorded."
        )

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """Set the commands for the end of the step."""
        del event
        time = self.time.value + self.dt.value
        for actuator, column, effort in zip(
            self.actuators, self.commands.T, self._efforts, strict=True
        ):
            factor = effort_factor(self.root, actuator) if effort else 1.0
            actuator.value.value = [factor * float(np.interp(time, self.times, column))]
