"""Play recorded commands on the actuators of a scene."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import RecordError
from sofa_softctl.record.record import read_record
from sofa_softctl.scene import options
from sofa_softctl.scene.controller import SceneController, pauses_on_error


class Playback(SceneController):
    """Gives actuators the commands of a recording, in open loop.

    Each step's command is the recording's at the end of the step, interpolated in time; after the
    last one it stays.

    Args:
        root: Root of the scene.
        actuators: Constraint components such as CableConstraint, whose Data `value` is set; each
            with the valueType of the commands, "displacement" or "force".
        commands: Path of a recording.
        channel: The recording's channel with a column for each actuator.
        name: Of the controller.

    Raises:
        SceneError: `actuators` are no components.
        RecordError: The recording cannot be read, lacks the channel, or has another number of
            columns.
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
        if values.shape[1:] != (len(self.actuators),):
            raise RecordError(
                f"{commands}: '{channel}' has shape {values.shape}, expected a column for each of "
                f"{len(self.actuators)} actuators. Give those of the recorded scene, in its order."
            )
        self.times, self.commands = record.time, values

    @pauses_on_error
    def onAnimateBeginEvent(self, event: Any) -> None:
        """The commands for the end of the step."""
        del event
        time = self.time.value + self.dt.value
        for actuator, column in zip(self.actuators, self.commands.T, strict=True):
            actuator.value.value = [float(np.interp(time, self.times, column))]
