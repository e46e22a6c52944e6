"""Engines that choose values by index, or indices by value."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.engine.base import Engine, Values
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Coords,
    DataType,
    Int,
    Integers,
    Real,
    Reals,
    Text,
)
from sofa_softctl.runtime.helper.message import complain


class ValuesFromIndices(Engine):
    """The values at the indices; the template says what they are: Vec3, Rigid3, int, ..."""

    inputs = ("in", "indices")

    indices = Integers([], "Which values.")
    out = Values("The values at the indices.", aliases=("output",), computed=True)
    outStr = Text("", "Those as a text.", computed=True)
    locals()["in"] = Values("Values to choose from.", aliases=("input",))

    @override
    def compute(self) -> None:
        values, indices = self._data["in"].get(), self.indices.get()
        bad = (indices < 0) | (indices >= len(values))
        if bad.any():
            problem = (
                f"has index {int(indices[bad][0])} in 'indices', but {len(values)} values; it is "
                "left out."
            )
            complain(self, self.fault(problem))
        self.out.set(values[indices[~bad]])
        self.outStr.set(" ".join(f"{entry:g}" for entry in self.out._value.ravel()))


_SAME = 1e-6  # SOFA's tolerance of equal coordinates, in single precision


class PointsFromIndices(Engine):
    """The points at the indices, but none that is within 1e-6 of an earlier one along each axis."""

    inputs = ("position", "indices")

    position = Coords([], "Points; those of the node's state by default.", unit="length")
    indices = Integers([], "Which points.", of="position")
    indices_position = Coords([], "The points at the indices.", unit="length", computed=True)

    def init(self) -> None:
        """Find the points."""
        if not len(self.position.get()) and self._context is not None:
            state: Any = self._context.find_upward("state")
            if state is not None:
                self.position.setParent(state.position)
        super().init()

    @override
    def compute(self) -> None:
        indices = self.indices.get()
        self.check_own_numbers()
        kept: list[np.ndarray] = []
        for point in self.position.get()[indices]:
            gaps = np.abs(np.array(kept).reshape(-1, 3) - point).astype(np.float32)
            if not (gaps <= _SAME).all(axis=1).any():
                kept.append(point)
        self.indices_position.set(np.array(kept).reshape(-1, 3))


class IndicesFromValues(Engine):
    """Where the values lie in a list, the first time each."""

    inputs = ("values", "global", "recursiveSearch")

    values = Values("Values to look for.")
    indices = Integers([], "Where they lie in 'global'.", computed=True)
    otherIndices = Integers(
        [], "Where others lie; empty without recursiveSearch, as in SOFA.", computed=True
    )
    recursiveSearch = Bool(False, "Every place, not the first only.")
    locals()["global"] = Values("Values among which they are looked for.")

    @override
    def compute(self) -> None:
        values, everything = self.values.get(), self._data["global"].get()
        same = values[:, None] == everything[None]
        same = same.all(axis=tuple(range(2, same.ndim)))  # (values, global)
        if self.recursiveSearch.get():
            self.indices.set(np.nonzero(same)[1])
            self.otherIndices.set(np.nonzero(~same)[1])
            return
        missing = ~same.any(axis=1)
        if missing.any():
            problem = f"does not find {values[missing][0].tolist()} in 'global'."
            complain(self, self.fault(problem))
        self.indices.set(same[~missing].argmax(axis=1) if same.size else np.array([], np.int64))


class IndexValueMapper(Engine):
    """A list of values in which those at the indices are replaced by one value."""

    inputs = ("inputValues", "indices", "value", "defaultValue")

    inputValues = Reals([], "Values to begin with.")
    indices = Integers([], "Which are replaced; the list grows where it is too short.")
    value = Real(0.0, "What they are replaced by.")
    outputValues = Reals([], "The list.", computed=True)
    defaultValue = Real(1.0, "Value of what is added when the list grows, but not named.")

    @override
    def compute(self) -> None:
        values, indices = self.inputValues.get(), self.indices.get()
        if indices.min(initial=0) < 0:
            raise self.fault(f"has {indices.min()} in 'indices': give numbers from 0 on.")
        size = max(len(values), int(indices.max(initial=-1)) + 1)
        found = np.full(size, self.defaultValue.get())
        found[: len(values)] = values
        found[indices] = self.value.get()
        self.outputValues.set(found)


class Indices2ValuesMapper(Engine):
    """Each input that equals an entry of 'indices' becomes the entry of 'values' at that place."""

    inputs = ("inputValues", "indices", "values", "defaultValue")

    inputValues = Reals([], "Numbers to replace.")
    indices = Reals([], "Numbers that are known.")
    values = Reals([], "What each of those becomes.")
    outputValues = Reals([], "What the inputs become.", computed=True)
    defaultValue = Real(1.0, "What an input becomes that is not known.")

    @override
    def compute(self) -> None:
        indices, values = self.indices.get(), self.values.get()
        if len(values) < len(indices):
            raise self.fault(f"has {len(indices)} 'indices' but {len(values)} 'values'.")
        table: dict[float, float] = {}
        for index, value in zip(indices.tolist(), values.tolist(), strict=False):
            table.setdefault(index, value)
        default = self.defaultValue.get()
        found = [table.get(entry, default) for entry in self.inputValues.get().tolist()]
        self.outputValues.set(np.array(found, dtype=float))


class ROIValueMapper(Engine):
    """A list in which indices1 have value1, indices2 value2 and so on."""

    numbered: ClassVar[dict[str, DataType]] = {
        "indices": Integers([], "Which entries."),
        "value": Real(0.0, "Their value."),
    }
    counted_by = "nbROIs"
    inputs = ("nbROIs", "defaultValue")

    nbROIs = Int(0, "How many pairs of indices and value.")
    outputValues = Reals([], "The list.", computed=True)
    defaultValue = Real(0.0, "Value of entries in no list of indices.")

    @override
    def compute(self) -> None:
        pairs = list(zip(self.numbered_data("indices"), self.numbered_data("value"), strict=False))
        size = max([0, *(int(indices.get().max(initial=-1)) + 1 for indices, _ in pairs)])
        found = np.full(size, self.defaultValue.get())
        for indices, value in pairs:
            if (least := indices.get().min(initial=0)) < 0:
                name = indices.getName()
                raise self.fault(f"has {least} in '{name}': give numbers from 0 on.")
            found[indices.get()] = value.get()
        self.outputValues.set(found)
