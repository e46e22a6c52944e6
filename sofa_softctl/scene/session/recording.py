"""Recording of a session: channels in every step, and rows of controllers' streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from sofa_softctl.errors import RecordError, SoftctlError
from sofa_softctl.record.file import RecordFile
from sofa_softctl.record.status import COMPLETE, INTERRUPTED
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.control.channels import DataChannel, channels_of
from sofa_softctl.scene.control.controller import SceneController
from sofa_softctl.scene.control.streams import write_rows
from sofa_softctl.scene.graph.nodes import nodes_of, path_of
from sofa_softctl.scene.session.geometry import geometry_of
from sofa_softctl.units import Units, symbol


class Recorder:
    """Records a scene to a file, from now to `end`.

    Args:
        root: Root of the scene.
        controllers: Controllers of the scene; the rows of their `streams` are recorded, too.
        path: Path of the file, or a reserved file.
        units: Units of the scene, or None if it declares none.
        about: Metadata on the provenance, as texts by name.
        overwrite: Replace an existing recording.

    Raises:
        RecordError: The scene has nothing to record, or the file cannot be written.
    """

    def __init__(
        self,
        root: Any,
        controllers: Sequence[Any],
        path: str | Path | RecordFile,
        *,
        units: Units | None,
        about: dict[str, str],
        overwrite: bool,
    ) -> None:
        self._root, self._units = root, units
        self.channels = channels_of(self._root)
        """Channels recorded in each step."""
        if not self.channels:
            raise RecordError(
                "There is nothing to record: the scene has no MechanicalObject, no cable and no "
                "controller with numbers or texts as Data."
            )
        self._writer = RecordWriter(path, about, overwrite=overwrite)
        self.path = self._writer.path
        """Path of the file."""
        self.seconds = 0.0
        """Time spent on recording steps [s]."""
        self._status = ""  # of a recording that an error ended
        self._streaming = [source for source in controllers if _has_streams(source)]
        self._graph = _graph_version(self._root)
        try:
            for controller in self._streaming:
                list(controller.streams())  # rows from before it
            self._add_channels(self.channels)
        except BaseException as error:
            self.fail(error)
            self.end()
            raise

    @property
    def has_failed(self) -> bool:
        """Return True if an error ended the steps."""
        return bool(self._status)

    def write(self, time: float) -> None:
        """Record the last step, unless an error ended an earlier one.

        Args:
            time: Simulated time at its end [time].
        """
        if self.has_failed:
            return
        start = perf_counter()
        self._find_new_channels()
        values = {channel.name: channel.read() for channel in self.channels}
        self._writer.write(time, values)
        self.write_streams()
        self.seconds += perf_counter() - start

    def write_streams(self) -> None:
        """Record the rows of streams since the last step."""
        if not self._writer.failed:
            for controller in self._streaming:
                path, rows = path_of(controller), controller.streams()
                write_rows(self._writer, path, rows, self._units)

    def fail(self, error: BaseException) -> None:
        """End the recording of steps because of an error, which gets a note on the file."""
        if self.has_failed:
            return
        self._status = _status_of(error)
        if not (self._writer.failed or self._writer.is_empty):  # a message names a failed file
            steps = self._writer.step_count
            error.add_note(f"The recording of the {steps} steps before is kept: '{self.path}'.")

    def end(self, status: str = "") -> None:
        """Complete the file, with the status of an error if one ended a step.

        Args:
            status: Status of the run, or "" for COMPLETE.
        """
        self._writer.close(status=self._status or status or COMPLETE)

    def _add_channels(self, channels: list[DataChannel]) -> None:
        """Declare channels, and attach the meshes of their bodies."""
        for channel in channels:
            self._writer.add_channel(
                channel.name,
                unit=symbol(self._units, channel.unit),
                shape=channel.shape,
                description=channel.help,
            )
        for name, arrays in geometry_of(self._root).attachments():
            if name not in self._writer.attached:
                self._writer.attach(name, arrays)

    def _find_new_channels(self) -> None:
        """Update the channels after components were added or removed."""
        version = _graph_version(self._root)
        if version == self._graph:
            return
        self._graph = version
        recorded = {channel.name: channel for channel in self.channels}
        present = {channel.name: channel for channel in channels_of(self._root)}
        self.channels = [
            replace(channel, data=present[name].data if name in present else None)
            for name, channel in recorded.items()
        ]
        new = [channel for name, channel in present.items() if name not in recorded]
        if new:
            self._add_channels(new)
            self.channels += new


def _graph_version(root: Any) -> Any:
    """Return a value that changes when nodes or components are added or removed."""
    version = getattr(root, "version", None)
    if version is not None:  # of the embedded runtime
        return version
    nodes = nodes_of(root)
    return len(nodes), sum(len(node.objects) for node in nodes)


def _has_streams(controller: Any) -> bool:
    """Return True if a controller may add rows to recordings."""
    return isinstance(controller, SceneController) and (
        type(controller).streams is not SceneController.streams
    )


def _status_of(error: BaseException) -> str:
    """Return the status of a recording that an error ends."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    text = str(error)
    if not isinstance(error, SoftctlError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"stopped: {text}"
