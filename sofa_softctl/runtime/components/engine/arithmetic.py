"""Engines that compute with vectors of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.engine.base import Engine, Values
from sofa_softctl.runtime.core.data.types import (
    Choice,
    Coord,
    Coords,
    DataType,
    Int,
    Integers,
    Reals,
    UInt,
)
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.mapping.rigid import product

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "<": np.minimum,
    ">": np.maximum,
}


class MathOp(Engine):
    """input1 + input2 + ..., or - * / < (the smaller) > (the larger), entry by entry.

    The output is as long as the shortest input. A single input gives -x and 1/x. Quotients of
    integers are cut off. Vectors are added, whatever `op` says, as in SOFA. SOFA's logical
    operations on booleans are not supported.
    """

    numbered: ClassVar[dict[str, DataType]] = {"input": Values("Values.")}
    counted_by = "nbInputs"
    inputs = ("nbInputs", "op")

    nbInputs = Int(2, "Number of inputs.")
    op = Choice("+", "Operation.", choices=tuple(_OPERATIONS))
    output = Values("The result.", computed=True)

    def init(self) -> None:
        """Warn of an operation on vectors that SOFA does not support."""
        if self.value_kind[0] and self.op.get() != "+":
            problem = f"adds vectors although 'op' is '{self.op.get()}': SOFA knows only '+' there."
            complain(self, self.fault(problem))
        super().init()

    @override
    def compute(self) -> None:
        values = [data.get() for data in self.numbered_data("input")]
        size = min((len(value) for value in values), default=0)
        if not size:
            self.output.set(self.output.type.initial(self))
            return
        operands, (width, is_integer) = [value[:size] for value in values], self.value_kind
        op = "+" if width else self.op.get()
        if len(operands) == 1 and op in "-/":
            operands.insert(0, np.full_like(operands[0], 0 if op == "-" else 1))
        # C++ cuts quotients of integers off toward zero
        operation = _integer_quotient if is_integer and op == "/" else _OPERATIONS[op]
        self.output.set(reduce(operation, operands))


def _integer_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(a / b).astype(a.dtype)


class DifferenceEngine(Engine):
    """input - substractor, entry by entry."""

    inputs = ("input", "substractor")

    input = Coords([], "Values.")
    substractor = Coords([], "Values to subtract.", per="input")
    output = Coords([], "The differences.", computed=True)

    @override
    def compute(self) -> None:
        values, amounts = self.input.get(), self.substractor.get()
        if len(values) != len(amounts):
            problem = (
                f"has {len(values)} values in 'input', but {len(amounts)} to subtract; 'output' "
                "stays as it is."
            )
            complain(self, self.fault(problem))
            return
        self.output.set(values - amounts)


class SumEngine(Engine):
    """The sum of all values."""

    inputs = ("input",)

    input = Coords([], "Values.")
    output = Coord("Their sum.", computed=True)

    @override
    def compute(self) -> None:
        self.output.set(self.input.get().sum(axis=0))


class NormEngine(Engine):
    """The norm of each value."""

    inputs = ("input", "normType")

    input = Coords([], "Values.")
    output = Reals([], "Their norms.", computed=True)
    normType = Int(2, "Order of the norm: 1, 2, ...; if negative, the largest entry.")

    @override
    def compute(self) -> None:
        order = self.normType.get()
        values = self.input.get()
        self.output.set(np.linalg.norm(values, ord=np.inf if order < 0 else order, axis=1))


_VECTORS = {1: "position", 2: "rest_position", 3: "free_position", 4: "reset_position"}


class AverageCoord(Engine):
    """Average of a state's positions at the indices, or of all.

    Computed when it is first read, when the indices change, and with listening=True at the start
    of each step. As in SOFA, orientations of frames are multiplied instead of averaged.
    """

    category: ClassVar[str] = "controller"  # to receive the events of steps
    inputs = ("indices", "vecId")

    indices = Integers([], "Nodes; all by default.", of="node")
    vecId = UInt(1, "Positions to average: 1 present, 2 at rest, 3 free, 4 at the start.")
    average = Coord("Their average.", computed=True)

    @property
    def coord_size(self) -> int:
        """Count of numbers in a position of the node's state."""
        state = self._state()
        return 3 if state is None else int(state.coord_size)

    @classmethod
    @override
    def getCategories(cls) -> list[str]:
        return ["Engine"]

    def init(self) -> None:
        """Check that the positions exist.

        Raises:
            SceneError: They do not.
        """
        if self.vecId.get() not in _VECTORS:
            raise self.fault(f"takes a 'vecId' from 1 to 4, got {self.vecId.get()}.")
        if self._state() is None:
            raise self.fault("finds no state: add a MechanicalObject before it.")
        self.average.set(np.zeros(self.coord_size))
        super().init()

    def handle(self, event: Event) -> None:
        """Compute at the start of a step."""
        if event["type"] == "AnimateBeginEvent" and self.listening.get():
            self._seen = None
            self.update_outputs()

    @override
    def compute(self) -> None:
        state = self._state()
        if state is None:
            return
        if (vector := _VECTORS.get(self.vecId.get())) is None:
            raise self.fault(f"takes a 'vecId' from 1 to 4, got {self.vecId.get()}.")
        values, indices = state._data[vector].get(), self.indices.get()
        self.check_own_numbers()
        values = values[indices] if len(indices) else values
        if not len(values):
            complain(self, self.fault("has no positions to average."))
            return
        average = values.sum(axis=0) * (1.0 / len(values))
        if values.shape[1] == 7:
            average[3:] = reduce(product, values[:, 3:])
        self.average.set(average)

    @override
    def range_of(self, of: str) -> tuple[int, str] | None:
        state = self._state()
        return None if state is None else (state.count, f"nodes of '{state.getPathName()}'")

    def _state(self) -> Any:
        context = self.__dict__.get("_context")
        return None if context is None else context.find_upward("state")
