"""Monitor: positions, velocities and forces of some nodes in text files for Gnuplot."""

from __future__ import annotations

from typing import Any

from sofa_softctl.runtime.components.playback.files import FileComponent, spell, spell_all
from sofa_softctl.runtime.core.data.types import Bool, Color, Integers, Real, Text
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.message import complain

_FILES = {
    "Positions": ("_x.txt", "position", "positions"),
    "Velocities": ("_v.txt", "velocity", "velocities"),
    "Forces": ("_f.txt", "force", "forces"),
}


class Monitor(FileComponent):
    """Writes a line of each file at the end of each step: the time, then the nodes' numbers.

    From the plugin SofaValidation, which SOFA does not include any more.
    """

    indices = Integers([], "Nodes; all by default.")
    fileName = Text(
        "", "Begin of the names of the files; the component's name by default.", follows="start"
    )
    ExportPositions = Bool(False, "Write positions.", follows="start")
    ExportVelocities = Bool(False, "Write velocities.", follows="start")
    ExportForces = Bool(False, "Write forces.", follows="start")
    showPositions = Bool(False, "Unused.")
    PositionsColor = Color([1.0, 1.0, 0.0, 1.0], "Unused.")
    showVelocities = Bool(False, "Unused.")
    VelocitiesColor = Color([1.0, 1.0, 0.0, 1.0], "Unused.")
    showForces = Bool(False, "Unused.")
    ForcesColor = Color([1.0, 1.0, 0.0, 1.0], "Unused.")
    showMinThreshold = Real(0.01, "Unused.")
    showTrajectories = Bool(False, "Unused.")
    TrajectoriesPrecision = Real(0.1, "Unused.")
    TrajectoriesColor = Color([1.0, 1.0, 0.0, 1.0], "Unused.")
    showSizeFactor = Real(1.0, "Unused.", aliases=("sizeFactor",))

    _paths: dict[str, str]

    def init(self) -> None:
        """Start the files."""
        self._paths = {}
        self._state: Any = self._context.find_upward("state") if self._context else None
        if self._state is None:
            complain(self, self.fault("needs a MechanicalObject in its node; nothing is written."))
        elif self.writes:
            self._begin()

    def _begin(self) -> None:
        nodes = self._nodes()
        base = self.path_of(self.fileName.get() or self.getName())
        for quantity, (ending, name, words) in _FILES.items():
            if not self._data[f"Export{quantity}"].get() or not self.claims(f"{base}{ending}"):
                continue
            self._paths[name] = f"{base}{ending}"
            if not self.first:  # in reinit(): the file continues
                continue
            try:
                with open(f"{base}{ending}", "w", encoding="ascii") as file:
                    file.write(f"# Gnuplot File : {words} of {len(nodes)} particle(s) Monitored\n")
                    file.write("# 1st Column : time, others : particle(s) number ")
                    file.write("".join(f"{node} " for node in nodes) + "\n")
            except OSError as error:
                complain(self, self.fault(f"cannot write '{base}{ending}' ({error.strerror})."))
                del self._paths[name]

    def _nodes(self) -> list[int]:
        count = self._state.count
        nodes: list[int] = self.indices.get().tolist() or list(range(count))
        wrong = [node for node in nodes if not 0 <= node < count]
        if wrong:
            raise self.fault(f"has node {wrong[0]} in 'indices', but there are {count} nodes.")
        return nodes

    def handle(self, event: Event) -> None:
        """Write a line at the end of a step."""
        if event["type"] != "AnimateEndEvent" or not self.listening.get():
            return
        for name, path in self._paths.items():
            rows = self._state._data[name].get()[self._nodes()]
            with open(path, "a", encoding="ascii") as file:
                file.write("\t".join([spell(self.current_time), *map(spell_all, rows)]) + "\t\n")
