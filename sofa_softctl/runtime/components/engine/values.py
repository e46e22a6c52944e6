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

    indices = Integers([], "Indices of the values.")
    out = Values("The values at the indices.", aliases=("output",), computed=True)
    outStr = Text("", "The values as text.", computed=True)
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
        self.outStr.set(" ".join(f"{value:g}" for value in self.out._value.ravel()))


_EQUAL_TOLERANCE = 1e-6  # SOFA's tolerance of equal coordinates, in single precision


class PointsFromIndices(Engine):
    """The points at the indices, except any within 1e-6 of an earlier one along each axis."""

    inputs = ("position", "indices")

    position = Coords([], "Points; of the node's state by default.", unit="length")
    indices = Integers([], "Indices of the points.", of="position")
    indices_position = Coords([], "The points at the indices.", unit="length", computed=True)

    def init(self) -> None:
        """Link the points to the state's positions by default."""
        if not len(self.position.get()) and self._context is not None:
            state: Any = self._context.find_upward("state")
            if state is not None:
                self.position.setParent(state.position)
        super().init()

    @override
    def compute(self) -> None:
        indices = self.indices.get()
        self.check_own_numbers()
        distinct: list[np.ndarray] = []
        for point in self.position.get()[indices]:
            gaps = np.abs(np.array(distinct).reshape(-1, 3) - point).astype(np.float32)
            if not (gaps <= _EQUAL_TOLERANCE).all(axis=1).any():
                distinct.append(point)
        self.indices_position.set(np.array(distinct).reshape(-1, 3))


class IndicesFromValues(Engine):
    """Indices of the first occurrences of values in a list."""

    inputs = ("values", "global", "recursiveSearch")

    values = Values("Values to look for.")
    indices = Integers([], "Indices of the values in 'global'.", computed=True)
    otherIndices = Integers(
        [], "Indices of other values; empty without recursiveSearch, as in SOFA.", computed=True
    )
    recursiveSearch = Bool(False, "Find all occurrences, not only the first.")
    locals()["global"] = Values("Values among which they are looked for.")

    @override
    def compute(self) -> None:
        values, candidates = self.values.get(), self._data["global"].get()
        is_equal = values[:, None] == candidates[None]
        is_equal = is_equal.all(axis=tuple(range(2, is_equal.ndim)))  # (values, global)
        if self.recursiveSearch.get():
            self.indices.set(np.nonzero(is_equal)[1])
            self.otherIndices.set(np.nonzero(~is_equal)[1])
            return
        missing = ~is_equal.any(axis=1)
        if missing.any():
            problem = f"does not find {values[missing][0].tolist()} in 'global'."
            complain(self, self.fault(problem))
        self.indices.set(
            is_equal[~missing].argmax(axis=1) if is_equal.size else np.array([], np.int64)
        )


class IndexValueMapper(Engine):
    """A list of values, replaced by one value at the indices."""

    inputs = ("inputValues", "indices", "value", "defaultValue")

    inputValues = Reals([], "Values to begin with.")
    indices = Integers([], "Indices to replace; a list that is too short is extended.")
    value = Real(0.0, "Value at the indices.")
    outputValues = Reals([], "The list.", computed=True)
    defaultValue = Real(1.0, "Value of other entries that extend the list.")

    @override
    def compute(self) -> None:
        values, indices = self.inputValues.get(), self.indices.get()
        if indices.min(initial=0) < 0:
            raise self.fault(f"has {indices.min()} in 'indices': give numbers from 0 on.")
        size = max(len(values), int(indices.max(initial=-1)) + 1)
        result = np.full(size, self.defaultValue.get())
        result[: len(values)] = values
        result[indices] = self.value.get()
        self.outputValues.set(result)


class Indices2ValuesMapper(Engine):
    """Each input equal to an entry of 'indices' becomes the corresponding entry of 'values'."""

    inputs = ("inputValues", "indices", "values", "defaultValue")

    inputValues = Reals([], "Numbers to replace.")
    indices = Reals([], "Numbers to look for.")
    values = Reals([], "Replacement of each entry of 'indices'.")
    outputValues = Reals([], "Replaced inputs.", computed=True)
    defaultValue = Real(1.0, "Output for inputs that match no entry.")

    @override
    def compute(self) -> None:
        indices, values = self.indices.get(), self.values.get()
        if len(values) < len(indices):
            raise self.fault(f"has {len(indices)} 'indices' but {len(values)} 'values'.")
        table: dict[float, float] = {}
        for index, value in zip(indices.tolist(), values.tolist(), strict=False):
            table.setdefault(index, value)
        default = self.defaultValue.get()
        results = [table.get(number, default) for number in self.inputValues.get().tolist()]
        self.outputValues.set(np.array(results, dtype=float))


class ROIValueMapper(Engine):
    """A list in which indices1 have value1, indices2 value2 and so on."""

    numbered: ClassVar[dict[str, DataType]] = {
        "indices": Integers([], "Indices of entries."),
        "value": Real(0.0, "Value of the entries."),
    }
    counted_by = "nbROIs"
    inputs = ("nbROIs", "defaultValue")

    nbROIs = Int(0, "Number of pairs of indices and value.")
    outputValues = Reals([], "The list.", computed=True)
    defaultValue = Real(0.0, "Value of entries in no list of indices.")

    @override
    def compute(self) -> None:
        pairs = list(zip(self.numbered_data("indices"), self.numbered_data("value"), strict=False))
        size = max([0, *(int(indices.get().max(initial=-1)) + 1 for indices, _ in pairs)])
        result = np.full(size, self.defaultValue.get())
        for indices, value in pairs:
            if (index_min := indices.get().min(initial=0)) < 0:
                name = indices.getName()
                raise self.fault(f"has {index_min} in '{name}': give numbers from 0 on.")
            result[indices.get()] = value.get()
        self.outputValues.set(result)
