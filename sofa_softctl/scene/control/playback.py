"""Play recorded commands on the actuators of a scene."""

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
"""Distance of recorded points to those of an actuator by that to the one that their column moves,
below which it is rather meant [-]."""
FAR_MIN = 0.05
"""Distance of an actuator's points to the recorded ones by its body's size, above which it is
another one [-]."""


class Playback(SceneController):
    """Gives actuators the commands of a recording, in open loop.

    Each step's command is the recording's at the end of the step, interpolated in time; after the
    last one it stays. Lengths, volumes, forces and pressures are converted to the scene's units;
    SOFA's `value` of an effort is its multiplier, dt times the effort or as the integrator has it.

    Args:
        root: Root of the scene.
        actuators: Constraint components such as CableConstraint, whose Data `value` is set; each
            with the valueType of the commands: "displacement" or "force", of chambers
            "volumeGrowth" or "pressure".
        commands: Path of a recording.
        channel: The recording's channel with a column for each actuator.
        name: Of the controller.

    Raises:
        SceneError: `actuators` are no components.
        RecordError: The recording cannot be read, lacks the channel, has another number of columns,
            or another quantity than an actuator's valueType asks for.
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
            known = ", ".join(sorted(record.channels))
            raise RecordError(
                f"{commands}: no channel '{channel}'. It has: {known}. Give one of them as channel."
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
            entry.getClassName() in QUANTITIES and is_effort(entry) and unit != MULTIPLIER
            for entry, unit in zip(self.actuators, units, strict=True)
        ]

    def start_warnings(self) -> list[str]:
        """See SceneController: actuators in another order than those of the recording."""
        nodes = [entry.getContext() for entry in self.actuators]
        names, recorded = [node.getName() for node in nodes], self._recorded_names
        if names == recorded:
            return self._far(nodes)
        if sorted(names) != sorted(recorded):
            return self._elsewhere(nodes) or self._far(nodes)
        return [
            f"{self._source} has columns of {', '.join(self._recorded_names)}, and 'actuators' are "
            f"{', '.join(names)}: give them in the order of the recording."
        ]

    def _elsewhere(self, nodes: Sequence[Any]) -> list[str]:
        """Name an actuator that is where another one was in the recording."""
        states = [node.getMechanicalState() for node in nodes]
        points = [np.asarray(state.position.value)[:, :3] for state in states if state is not None]
        for k, name in enumerate(self._recorded_names[: len(points)]):
            for path, x in self._starts.items():
                if f"/{name}/" in f"/{path}" and all(x.shape == y.shape for y in points):
                    apart = [float(np.abs(x - y).max()) for y in points]
                    nearest = int(np.argmin(apart))
                    if apart[nearest] < NEAR_RATIO_MAX * apart[k]:
                        return [
                            f"{self._source}, column {k} is of '{name}', which was where "
                            f"'{nodes[nearest].getPathName()}' is, and moves "
                            f"'{nodes[k].getPathName()}': give the recording's order."
                        ]
        return []

    def _far(self, nodes: Sequence[Any]) -> list[str]:
        """Name actuators that are not where they were in the recording, in a body that is."""
        texts = []
        for k, (name, node) in enumerate(zip(self._recorded_names, nodes, strict=False)):
            state = node.getMechanicalState()
            points = np.empty((0, 3)) if state is None else np.asarray(state.position.value)[:, :3]
            apart = [
                float(np.abs(x - points).max())
                for path, x in self._starts.items()
                if f"/{name}/" in f"/{path}" and x.shape == points.shape
            ]
            if apart and min(apart) > FAR_MIN * self._size_of_same(node) > 0.0:
                texts.append(
                    f"{self._source}, column {k} is of '{name}', whose points were up to "
                    f"{min(apart):.3g} away from those of '{node.getPathName()}', in the same "
                    "body. Is it another actuator's?"
                )
        return texts

    def _size_of_same(self, node: Any) -> float:
        """Size of the body above a node if it is where it was in the recording, else 0 [length]."""
        state: Any = next((s for n in node.parents if (s := n.getMechanicalState())), None)
        x: Any = None if state is None else self._starts.get(f"{path_of(state)}.position")
        if x is None or x.shape != np.shape(state.position.value):
            return 0.0
        size = float(np.ptp(x, axis=0).max())
        return size if np.abs(x - state.position.value).max() < FAR_MIN * size else 0.0

    def _scale(self, actuator: Any, unit: str, record: Record, where: str) -> float:
        """Factor from the recording's unit of a column to the scene's unit of the actuator."""
        if not unit or actuator.getClassName() not in QUANTITIES:
            return 1.0
        quantity, scene = value_quantity(actuator), declared_units(self.root)
        text = record.metadata.get("units")
        recorded = Units.parse(text) if text else scene
        if unit == MULTIPLIER and is_effort(actuator):
            if (dt := record.metadata.get("dt")) and float(dt) != self.dt.value:
                raise RecordError(
                    f"{where} holds SOFA's multipliers at dt = {dt}, which are other efforts at "
                    f"the scene's dt = {self.dt.value:g}. Take an effort, such as inverse.effort."
                )
            return 1.0
        if unit in (quantity, symbol(recorded, quantity)):
            if recorded is None or scene is None:
                return 1.0
            return recorded.in_si(quantity) / scene.in_si(quantity)
        if recorded is None and unit not in (*ALL_QUANTITIES, MULTIPLIER):
            return 1.0  # nobody knows what it is
        raise RecordError(
            f"{where} is in {unit}, but '{actuator.getPathName()}' has "
            f"valueType='{actuator.valueType.value}', a {quantity}"
            f"{'' if recorded is None else f' in {recorded.symbol(quantity)}'}. Give another "
            "channel, or set the valueType of what was recorded."
        )

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """The commands for the end of the step."""
        del event
        time = self.time.value + self.dt.value
        for actuator, column, effort in zip(
            self.actuators, self.commands.T, self._efforts, strict=True
        ):
            factor = effort_factor(self.root, actuator) if effort else 1.0
            actuator.value.value = [factor * float(np.interp(time, self.times, column))]
