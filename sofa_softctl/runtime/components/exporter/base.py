"""Base class of exporters: when they write, and what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.runtime.components.playback.files import FileComponent
from sofa_softctl.runtime.core.data.types import Bool, Int, Text
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.strictness import complain
from sofa_softctl.runtime.mesh.mesh import ELEMENTS


class Exporter(FileComponent):
    """Writes a mesh file at the end of steps, or at the begin or end of the simulation."""

    filename = Text("", "File; the name of the component by default.")
    exportEveryNumberOfSteps = Int(0, "Steps from one file to the next; 0: none.")
    exportAtBegin = Bool(False, "Write once the scene is initialised.")
    exportAtEnd = Bool(False, "Write when the scene is unloaded.")
    enable = Bool(True, "Write at all.")

    _steps = 0

    def init(self) -> None:
        """Settle the name of the file."""
        if not self.filename.get():
            self.filename.set(self.getName())

    def handle(self, event: Event) -> None:
        """Write, where the event is one at which it writes."""
        if event["type"] == "AnimateEndEvent" and self.exportEveryNumberOfSteps.get():
            self._steps += 1
            if self._steps % self.exportEveryNumberOfSteps.get() == 0:
                self._try()
        elif event["type"] == "SimulationInitDoneEvent" and self.exportAtBegin.get():
            self._try()

    def cleanup(self) -> None:
        """Write at the end, where it is asked to."""
        if self.exportAtEnd.get() and self._initialised:
            self._try()

    def _try(self) -> None:
        if not self.enable.get() or not self.writes:
            return
        try:
            self.write()
        except OSError as error:
            complain(self, self.fault(f"cannot write '{error.filename}' ({error.strerror})."))

    def write(self) -> None:
        """Write the file."""
        raise NotImplementedError

    def numbered(self) -> str:
        """The path without its ending; with the number of the file where there are several."""
        path = self.path_of(self.filename.get())
        if os.path.isdir(path):
            path = os.path.join(path, self.getName())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        every = self.exportEveryNumberOfSteps.get()
        return f"{path}{self._steps // every:05d}" if every else path

    def beside(self, category: str) -> Any:
        """The first object of its node of that category, or of a node above."""
        return None if self._context is None else self._context.find_upward(category)

    def mesh(self, names: dict[str, str], position: np.ndarray) -> dict[str, np.ndarray]:
        """Points, and elements of the kinds that are asked for, in SOFA's order of kinds.

        Args:
            names: The Data that says whether a kind of element is written.
            position: Points, if the scene gives them: else the state's, else the topology's.
        """
        topology: Any = self.beside("topology")
        state: Any = self.beside("state")
        if topology is None:
            raise self.fault("needs a topology in its node, or above it.")
        points: np.ndarray = topology._data["position"].get()
        if len(position):
            points = position
        elif (
            state is not None
            and state.coord_size >= 3
            and (state.count == len(points) or not len(points))
        ):
            points = state._data["position"].get()[:, :3]
        found = {"points": points}
        for kind in ELEMENTS:
            if self._data[names[kind]].get():
                found[kind] = _elements_of(topology, kind)
        return found


def _elements_of(topology: Any, kind: str) -> np.ndarray:
    if kind in ("edges", "triangles", "quads") and hasattr(topology, "elements"):
        return np.asarray(topology.elements(kind))
    data = topology.findData(kind)
    return np.empty((0, ELEMENTS[kind]), np.int64) if data is None else data.get()


def replace(path: str, content: str | bytes) -> None:
    """Write a file at once: a reader sees the old one or the new one."""
    part = Path(f"{path}.part")
    part.write_bytes(content.encode("ascii") if isinstance(content, str) else content)
    part.replace(path)
