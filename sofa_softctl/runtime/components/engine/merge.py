"""Engines that put sets, points, vectors or meshes together."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.engine.base import Engine, Values
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Coords,
    DataType,
    Elements,
    Int,
    Integers,
    Text,
    Texts,
    UInt,
    Vectors,
)
from sofa_softctl.runtime.helper.message import complain

_SETS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "u": np.union1d,
    "i": np.intersect1d,
    "d": np.setdiff1d,
    "s": np.setxor1d,
}
"""Operations by the first letter of their names, as in SOFA."""


class MergeSets(Engine):
    """Union, intersection, difference or symmetric difference of two sets of indices, ascending."""

    inputs = ("in1", "in2", "op")

    in1 = Integers([], "First set.")
    in2 = Integers([], "Second set.")
    out = Integers([], "Result.", computed=True)
    op = Text("union", "union, intersection, difference or symmetric_difference.")

    @override
    def compute(self) -> None:
        merge = _SETS.get((self.op.get() or "union")[0].lower())
        if merge is None:
            problem = (
                "takes one of 'union', 'intersection', 'difference', 'symmetric_difference' as "
                f"'op', got '{self.op.get()}'; the result is empty."
            )
            complain(self, self.fault(problem))
            self.out.set(np.empty(0, dtype=np.int64))
            return
        self.out.set(merge(self.in1.get(), self.in2.get()))


class MergePoints(Engine):
    """Points of two objects, one after the other; or the second's replace some of the first's."""

    inputs = ("position1", "position2", "mappingX2")

    position1 = Coords([], "Points of the first object.", unit="length")
    position2 = Coords([], "Points of the second object.", unit="length")
    mappingX2 = Integers(
        [], "Points of the first object that the second's points replace.", of="position1"
    )
    indices1 = Integers([], "Numbers of the first object's points.", computed=True)
    indices2 = Integers([], "Numbers of the second object's points.", computed=True)
    points = Coords([], "All points.", unit="length", computed=True)
    noUpdate = Bool(False, "Compute nothing at all, as in SOFA.")

    @override
    def compute(self) -> None:
        first, second = self.position1.get(), self.position2.get()
        if self.noUpdate.get():
            return
        indices = self.mappingX2.get()
        if len(indices):
            self.check_own_numbers()
            if len(indices) > len(second):
                raise self.fault(
                    f"has 'mappingX2' of {len(indices)} numbers, but {len(second)} points to put "
                    "there."
                )
            points = first.copy()
            points[indices] = second[: len(indices)]
        else:
            points = np.concatenate([first, second])
            indices = np.arange(len(first), len(points))
        self.points.set(points)
        self.indices1.set(np.setdiff1d(np.arange(len(points)), indices))
        self.indices2.set(np.unique(indices))


class MergeVectors(Engine):
    """Values of input1, input2 and so on, one after the other, of the kind of the template."""

    numbered: ClassVar[dict[str, DataType]] = {"input": Values("Values.")}
    counted_by = "nbInputs"
    inputs = ("nbInputs",)

    nbInputs = Int(2, "Number of inputs.")
    output = Values("All values.", computed=True)

    @override
    def compute(self) -> None:
        values = [data.get() for data in self.numbered_data("input")]
        self.output.set(np.concatenate([self.output.type.initial(self), *values]))


class MergeMeshes(Engine):
    """position1, triangles1, ... position2, triangles2 and so on as one mesh."""

    numbered: ClassVar[dict[str, DataType]] = {
        "position": Vectors(3, [], "Vertices.", unit="length"),
        "edges": Elements(2, [], "Edges."),
        "triangles": Elements(3, [], "Triangles."),
        "quads": Elements(4, [], "Quads."),
        "tetrahedra": Elements(4, [], "Tetrahedra."),
        "hexahedra": Elements(8, [], "Hexahedra."),
    }
    counted_by = "nbMeshes"
    inputs = ("nbMeshes",)

    nbMeshes = Int(2, "Number of meshes.")
    npoints = UInt(0, "Number of vertices.", computed=True)
    position = Vectors(3, [], "All vertices.", unit="length", computed=True)
    edges = Elements(2, [], "All edges.", computed=True)
    triangles = Elements(3, [], "All triangles.", computed=True)
    quads = Elements(4, [], "All quads.", computed=True)
    polygons = Texts([], "Unused.", computed=True)
    tetrahedra = Elements(4, [], "All tetrahedra.", computed=True)
    hexahedra = Elements(8, [], "All hexahedra.", computed=True)

    @override
    def compute(self) -> None:
        count = self.nbMeshes.get()
        merged: dict[str, list[np.ndarray]] = {kind: [] for kind in self.numbered}
        point_count = 0
        for number in range(1, count + 1):
            for kind, parts in merged.items():
                data = self._data.get(f"{kind}{number}")
                if data is not None:
                    parts.append(data.get() + (0 if kind == "position" else point_count))
            points = self._data.get(f"position{number}")
            point_count += 0 if points is None else len(points.get())
        for kind, parts in merged.items():
            if parts:
                self._data[kind].set(np.concatenate(parts))
        self.npoints.set(point_count)
