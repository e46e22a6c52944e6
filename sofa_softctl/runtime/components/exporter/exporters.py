"""Exporters: VTK, STL, OBJ and Gmsh files of the present meshes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.exporter import formats
from sofa_softctl.runtime.components.playback.files import FileComponent
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Choice,
    Elements,
    Int,
    Text,
    Texts,
    UInt,
    Vectors,
)
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.mesh.mesh import ELEMENTS

_NUMBERS = "_softctl_file_numbers"
"""Attribute of the root for `Exporter.numbers`, which thus survive a replaced exporter."""


class Exporter(FileComponent):
    """Writes a mesh file at the end of steps, or at the start or end of the simulation."""

    filename = Text("", "File; the name of the component by default.")
    exportEveryNumberOfSteps = UInt(0, "Steps from one file to the next; 0 for no file.")
    exportAtBegin = Bool(False, "Write once the scene is initialised.", follows="start")
    exportAtEnd = Bool(False, "Write when the scene is unloaded.")
    enable = Bool(True, "Write files.")

    _steps = 0
    _is_refused = False
    """True if another component writes its files."""

    def init(self) -> None:
        """Choose and claim the file name."""
        if not self.filename.get():
            self.filename.set(self.getName())
        self._is_refused = self.writes and not self.claims(self.path_of(self.filename.get()))

    def handle(self, event: Event) -> None:
        """Write at the events that the Data name."""
        if event["type"] == "AnimateEndEvent" and self.exportEveryNumberOfSteps.get():
            self._steps += 1
            if self._steps % self.exportEveryNumberOfSteps.get() == 0:
                self._write_if_enabled()
        elif event["type"] == "SimulationInitDoneEvent" and self.exportAtBegin.get():
            self._write_if_enabled()

    def cleanup(self) -> None:
        """Write at the end if `exportAtEnd` is set."""
        if self.exportAtEnd.get() and self._initialised:
            self._write_if_enabled()

    def _write_if_enabled(self) -> None:
        if not self.enable.get() or not self.writes:
            return
        try:
            self.write()
        except OSError as error:
            complain(self, self.fault(f"cannot write '{error.filename}' ({error.strerror})."))

    def write(self) -> None:
        """Write the file."""
        raise NotImplementedError

    def numbered_path(self) -> str:
        """Return the path without ending, with the file's number if there are several."""
        path = self.path_of(self.filename.get())
        if os.path.isdir(path):
            path = os.path.join(path, self.getName())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        interval = self.exportEveryNumberOfSteps.get()
        number = -(-self._steps // interval) if interval else 0
        numbers = self.numbers()  # no file of this run is overwritten
        steps, last = numbers.get(path, ("", -1))
        if not interval or f"{id(self)} {self._steps}" != steps:
            number = max(number, last + 1)
        numbers[path] = (f"{id(self)} {self._steps}", number)
        return f"{path}{number:05d}" if interval or number else path

    def numbers(self) -> dict[str, tuple[str, int]]:
        """Return writer and number of this run's last file by the beginning of its name."""
        assert self._context is not None
        root: Any = self._context.getRoot()
        last_files: dict[str, tuple[str, int]] = root.__dict__.setdefault(_NUMBERS, {})
        return last_files

    def save(self, path: str, content: str | bytes) -> None:
        """Write a file atomically, unless another component writes it."""
        if not self._is_refused:
            replace(path, content)

    def find_near(self, category: str) -> Any:
        """Return the first object of a category in its node, or in a node above."""
        return None if self._context is None else self._context.find_upward(category)

    def mesh(self, names: dict[str, str], position: np.ndarray) -> dict[str, np.ndarray]:
        """Return points, and elements of the kinds to write, in SOFA's order of kinds.

        Args:
            names: Name of the Data that enables each kind of element.
            position: Points of the scene; if empty, the state's or the topology's.
        """
        topology: Any = self.find_near("topology")
        state: Any = self.find_near("state")
        if topology is None:
            raise self.fault("needs a topology in its node, or above it.")
        points: np.ndarray = topology.position.get()
        if len(position):
            points = position
        elif (
            state is not None
            and state.coord_size >= 3
            and (state.count == len(points) or not len(points))
        ):
            points = state.position.get()[:, :3]
        arrays = {"points": points}
        for kind in ELEMENTS:
            if self._data[names[kind]].get():
                arrays[kind] = _elements_of(topology, kind)
        return arrays


def _elements_of(topology: Any, kind: str) -> np.ndarray:
    if kind in ("edges", "triangles", "quads") and hasattr(topology, "elements"):
        return np.asarray(topology.elements(kind))
    data = topology.findData(kind)
    return np.empty((0, ELEMENTS[kind]), np.int64) if data is None else data.get()


def replace(path: str, content: str | bytes) -> None:
    """Write a file atomically: a reader sees the old one or the new one."""
    part = Path(f"{path}.part")
    part.write_bytes(content.encode("ascii") if isinstance(content, str) else content)
    part.replace(path)


_KINDS = {
    "edges": "edges",
    "triangles": "triangles",
    "quads": "quads",
    "tetrahedra": "tetras",
    "hexahedra": "hexas",
}


class VTKExporter(Exporter):
    """Writes the mesh of its node as VTK, with values of points and elements.

    `pointsDataFields='dofs.velocity'`, or 'speed=dofs.velocity', names a Data of an object in its
    node or above.
    """

    XMLformat = Bool(True, "Write XML (.vtu); else legacy VTK.")
    position = Vectors(3, [], "Points; those of the state by default.", unit="length")
    edges = Bool(True, "Write edges.")
    triangles = Bool(False, "Write triangles.")
    quads = Bool(False, "Write quadrilaterals.")
    tetras = Bool(False, "Write tetrahedra.")
    hexas = Bool(False, "Write hexahedra.")
    pointsDataFields = Texts([], "Values of points.")
    cellsDataFields = Texts([], "Values of elements.")
    overwrite = Bool(False, "Always the same file; else numbered files.")

    @override
    def init(self) -> None:
        super().init()
        self._missing: set[str] = set()  # names with a warning already

    @override
    def write(self) -> None:
        path, xml = self.path_of(self.filename.get()), self.XMLformat.get()
        base, dot, ending = path.rpartition(".")
        if not dot or ending not in (("vtu",) if xml else ("vtu", "vtk")):
            base, ending = path, "vtu"
        count = self.numbers().get(path, ("", -1))[1] + 1
        number = "" if self.overwrite.get() else f"{'' if xml else '_'}{count}"
        mesh = self.mesh(_KINDS, self.position.get())
        arrays = [self._fields(self._data[f"{kind}DataFields"].get()) for kind in _PLACES]
        self.save(f"{base}{number}.{ending}", (formats.vtu if xml else formats.vtk)(mesh, *arrays))
        self.numbers()[path] = ("", count)

    def _fields(self, names: list[str]) -> dict[str, np.ndarray]:
        fields = {}
        for field in names:
            name, equals, path = field.rpartition("=")
            path = path.removeprefix("@")
            data: Any = self.resolve(f"@{path}", data=True)
            if data is None:
                if path not in self._missing:
                    self._missing.add(path)
                    complain(self, self.fault(f"finds no Data '{path}'. {self.explain_link(path)}"))
                continue
            fields[name if equals else path.rpartition(".")[2]] = np.asarray(data.get())
        return fields


_PLACES = ("points", "cells")


class MeshExporter(Exporter):
    """Writes the mesh of its node in one format or in all."""

    format = Choice(
        "ALL", "Format.", choices=("ALL", "vtkxml", "vtk", "netgen", "tetgen", "gmsh", "obj")
    )
    position = Vectors(3, [], "Points; those of the state by default.", unit="length")
    edges = Bool(True, "Write edges.")
    triangles = Bool(True, "Write triangles.")
    quads = Bool(True, "Write quadrilaterals.")
    tetras = Bool(True, "Write tetrahedra.")
    hexas = Bool(True, "Write hexahedra.")

    def init(self) -> None:
        """Choose the file name, with a warning about unsupported formats."""
        super().init()
        if self.format.get() in ("netgen", "tetgen"):
            complain(self, self.fault(f"does not write format '{self.format.get()}'."))

    @override
    def write(self) -> None:
        mesh = self.mesh(_KINDS, self.position.get())
        elements = sum(len(rows) for kind, rows in mesh.items() if kind != "points")
        path = self.numbered_path()
        for mark, value in (("%n", self._steps), ("%p", len(mesh["points"])), ("%E", elements)):
            path = path.replace(mark, str(value))
        texts = {
            "vtkxml": ("vtu", lambda: formats.vtu(mesh, {}, {})),
            "vtk": ("vtk", lambda: formats.vtk(mesh, {}, {})),
            "gmsh": ("gmsh", lambda: formats.gmsh(mesh)),
            "obj": ("obj", lambda: formats.obj(mesh)),
        }
        for name, (ending, text) in texts.items():
            if self.format.get() in ("ALL", name):
                self.save(f"{path}.{ending}", text())


class STLExporter(Exporter):
    """Writes the triangles of the visual model of its node, or of the topology, as STL.

    SOFA v25.06, in contrast, writes a text file if `binaryformat` is true.
    """

    binaryformat = Bool(True, "Write a binary file.")
    position = Vectors(3, [], "Points.", unit="length")
    triangle = Elements(3, [], "Triangles.", aliases=("triangles",))
    quad = Elements(4, [], "Quadrilaterals, if there are no triangles.", aliases=("quads",))

    def init(self) -> None:
        """Choose the file name, and link to a visual model or topology by default."""
        super().init()
        if self.position.isSet():
            return
        source: Any = self.find_near("visual") or self.find_near("topology")
        if source is None:
            raise self.fault("needs an OglModel or a topology.")
        self.position.setParent(source.position)
        self.triangle.setParent(source.triangles)
        self.quad.setParent(source.quads)

    def handle(self, event: Event) -> None:
        """Write at the events of Exporter, and when a GUI demands it."""
        if event["type"] == "GUIEvent" and event.get("valueName") == "STLExport":
            self._write_if_enabled()
        super().handle(event)

    @override
    def write(self) -> None:
        points, triangles, quads = self.position.get(), self.triangle.get(), self.quad.get()
        if not len(triangles) and len(quads):
            triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1)
        corners = triangles.reshape(-1, 3)
        if corners.size and not 0 <= corners.min() <= corners.max() < len(points):
            wrong = corners.min() if corners.min() < 0 else corners.max()
            raise self.fault(
                f"has a triangle with node {wrong}, but there are {len(points)} points."
            )
        content = formats.stl(points, corners, binary=self.binaryformat.get())
        self.save(f"{self.numbered_path()}.stl", content)


class VisualModelOBJExporter(Exporter):
    """Writes the visual models of its node and below as OBJ, with a file of materials."""

    aliases = ("ObjExporter", "OBJExporter")

    @override
    def write(self) -> None:
        assert self._context is not None
        base = self.numbered_path().removesuffix(".obj")
        first, text, materials = 0, "", ""
        models: list[Any] = [m for node in self._context.walk() for m in node.of("visual")]
        for count, model in enumerate(models):
            position = model.position.get()
            mesh = {"points": position}
            mesh |= {kind: model._data[kind].get() for kind in ("triangles", "quads")}
            text += f"g {model.getName()}\nusemtl mat{count}\n{formats.obj(mesh, first)}"
            materials += f"newmtl mat{count}\nillum 4\n"
            first += len(position)
        self.save(f"{base}.obj", text)
        self.save(f"{base}.mtl", materials)


class BlenderExporter(Exporter):
    """SOFA's exporter for Blender's cache: it writes nothing, with a warning."""

    path = Text("", "Unused.")
    baseName = Text("", "Unused.")
    simulationType = Int(0, "Unused.")
    step = Int(2, "Unused.")
    nbPtsByHair = Int(20, "Unused.")

    def init(self) -> None:
        """Warn that nothing is written."""
        super().init()
        complain(self, self.fault("writes nothing here: take a VTKExporter or an STLExporter."))

    def write(self) -> None:
        """Write the file."""
