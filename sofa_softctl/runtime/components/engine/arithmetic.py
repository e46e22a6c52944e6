"""Engines that compute with vectors of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Choice, Coords, DataType, Int, Integers, Reals

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "<": np.minimum,
    ">": np.maximum,
}


class MathOp(Engine):
    """input1 + input2 + ..., and likewise - * / < (the smaller) > (the larger), entry by entry.

    As many entries as the shortest input has. A single input gives -x and 1/x. SOFA's logical
    operations on booleans are not there.
    """

    numbered: ClassVar[dict[str, DataType]] = {"input": Coords([], "Values.")}
    counted_by = "nbInputs"
    inputs = ("nbInputs", "op")
    default_width: ClassVar[int] = 1

    nbInputs = Int(2, "How many inputs.")
    op = Choice("+", "What is computed.", choices=tuple(_OPERATIONS))
    output = Coords([], "The result.", computed=True)

    def compute(self) -> None:
        """See Engine."""
        values = [data.get() for data in self.numbered_data("input")]
        operation = _OPERATIONS[self.op.get()]
        if not values:
            self.output.set(np.empty((0, self.coord_size)))
            return
        size = min(len(value) for value in values)
        filled = [value[:size] for value in values]
        if len(filled) == 1 and self.op.get() in "-/":
            filled.insert(0, np.full_like(filled[0], 0.0 if self.op.get() == "-" else 1.0))
        self.output.set(reduce(operation, filled))


class DifferenceEngine(Engine):
    """input - substractor, entry by entry."""

    inputs = ("input", "substractor")

    input = Coords([], "Values.")
    substractor = Coords([], "What is taken from them.")
    output = Coords([], "The differences.", computed=True)

    def compute(self) -> None:
        """See Engine."""
        values, taken = self.input.get(), self.substractor.get()
        if len(values) != len(taken):
            raise self.fault(f"has {len(values)} values in 'input', but {len(taken)} to subtract.")
        self.output.set(values - taken)


class SumEngine(Engine):
    """The sum of all values."""

    inputs = ("input",)

    input = Coords([], "Values.")
    output = Coords([], "Their sum, one value.", computed=True)

    def compute(self) -> None:
        """See Engine."""
        self.output.set(self.input.get().sum(axis=0, keepdims=True))


class NormEngine(Engine):
    """The norm of each value."""

    inputs = ("input", "normType")

    input = Coords([], "Values.")
    output = Reals([], "Their norms.", computed=True)
    normType = Int(2, "Which norm: 1, 2, ...; the largest entry where negative.")

    def compute(self) -> None:
        """See Engine."""
        order = self.normType.get()
        values = self.input.get()
        self.output.set(np.linalg.norm(values, ord=np.inf if order < 0 else order, axis=1))


class AverageCoord(Engine):
    """Average of a state's positions at the indices, or of all."""

    inputs = ("indices", "vecId")

    indices = Integers([], "Which nodes; all by default.")
    vecId = Int(1, "Not supported: only 1, the positions.")
    average = Coords([], "Their average, one value.", computed=True)

    @property
    def coord_size(self) -> int:
        """Numbers in a position of the node's state."""
        state = self._state()
        return 3 if state is None else int(state.coord_size)

    def init(self) -> None:
        """Check that positions are asked for.

        Raises:
            SceneError: other vectors are.
        """
        if self.vecId.get() != 1:
            raise self.fault(f"takes vecId=1 alone, the positions; got {self.vecId.get()}.")
        super().init()

    def sources(self) -> list[Data]:
        """See Engine."""
        state = self._state()
        return [*super().sources(), *([] if state is None else [state._data["position"]])]

    def compute(self) -> None:
        """See Engine."""
        state = self._state()
        if state is None:
            raise self.fault("finds no state: add a MechanicalObject before it.")
        values, indices = state._data["position"].get(), self.indices.get()
        values = values[indices] if len(indices) else values
        self.average.set(values.mean(axis=0, keepdims=True))

    def _state(self) -> Any:
        return None if self._context is None else self._context.find_upward("state")
