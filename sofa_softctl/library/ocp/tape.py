"""Formulas as tapes: lists of scalar operations, which need no CasADi.

A library's file holds the formulas of its problem in this form, so that answers are simulated and
corrected wherever the file is.
"""

from __future__ import annotations

import io
import zlib
from functools import cached_property
from hashlib import sha256
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp.kernels.formulas import OPERATIONS, Code, run, run_slopes
from sofa_softctl.library.ocp.native import native

DAMAGED = (ValueError, KeyError, OSError, EOFError, BadZipFile, RuntimeError, zlib.error)
"""What a damaged .npz file raises; RuntimeError: of a compression or encryption that is none."""
_VERSION = 1
"""Of this list and the arrays."""


class Tape:
    """A function of a vector of numbers.

    Args:
        code: Its operations.

    Raises:
        LibraryError: The operations do not fit each other: the file is damaged.
    """

    def __init__(self, code: Code) -> None:
        rows = code.rows
        kinds, to, a, b = rows.T if rows.size else np.empty((4, 0), int)
        const, given, gives = (kinds == OPERATIONS.index(n) for n in ("CONST", "INPUT", "OUTPUT"))
        inner = ~(const | given)
        allowed = (
            ((0 <= kinds) & (kinds < len(OPERATIONS))).all()
            and ((0 <= to) & (to < np.where(gives, code.outputs, code.memory))).all()
            and (
                (0 <= a)
                & (a < np.select([const, given], [len(code.constants), code.inputs], code.memory))
            ).all()
            and ((0 <= b) & (b < code.memory))[inner].all()
        )
        if rows.ndim != 2 or rows.shape[1] != 4 or not allowed:
            raise LibraryError("The formulas are damaged: an operation has no such argument.")
        self.code = code
        self._memory = np.empty(code.memory)
        self._fast = dict[tuple[int, int, int], Code]()

    def __getstate__(self) -> dict[str, Any]:
        """Without addresses of this process."""
        return vars(self) | {"_fast": {}}

    def fast(self, states: int, inputs: int, constants: int) -> Code:
        """The code of a tape of (x, u, z, p): `sorted`, and as machine code where that is possible.

        It is of this process. Derivatives are those by x, u and z.
        """
        key = states, inputs, constants
        if key not in self._fast:
            code, arguments = self.sorted(states, inputs), states + inputs + constants
            found = native(code, arguments)
            self._fast[key] = code._replace(
                native=found.values, native_slopes=found.slopes, arguments=arguments
            )
        return self._fast[key]

    @classmethod
    def of(cls, function: Any) -> Tape:
        """The tape of a CasADi function of scalar symbols, with one dense column as result.

        Arguments follow each other in one vector.

        Raises:
            LibraryError: It has an operation that is none of OPERATIONS.
        """
        import casadi as ca

        names = {getattr(ca, f"OP_{name}"): number for number, name in enumerate(OPERATIONS)}
        starts = np.cumsum([0, *(function.nnz_in(k) for k in range(function.n_in()))])
        rows, constants = [], []
        for k in range(function.n_instructions()):
            operation = function.instruction_id(k)
            if operation not in names:
                every = (name for name in dir(ca) if name.startswith("OP_"))
                word = next(name for name in every if getattr(ca, name) == operation)
                raise LibraryError(
                    f"'{function.name()}' has the operation {word[3:].lower()}, which "
                    f"libraries cannot evaluate. Known: {', '.join(OPERATIONS[4:]).lower()}."
                )
            number = names[operation]
            to, takes = function.instruction_output(k), function.instruction_input(k)
            if OPERATIONS[number] == "CONST":
                constants.append(float(function.instruction_constant(k)))
                row = [number, to[0], len(constants) - 1, 0]
            elif OPERATIONS[number] == "INPUT":
                row = [number, to[0], int(starts[takes[0]]) + takes[1], 0]
            elif OPERATIONS[number] == "OUTPUT":
                row = [number, to[1], takes[0], takes[0]]
            else:
                row = [number, to[0], takes[0], takes[-1]]
            rows.append(row)
        code = Code(
            np.array(rows, np.int64).reshape(-1, 4),
            np.array(constants, float),
            max(int(function.sz_w()), 1),
            int(starts[-1]),
            int(function.nnz_out(0)),
        )
        return cls(code)

    def __call__(self, *given: Any) -> np.ndarray:
        """The results at arguments, shape (outputs,).

        Raises:
            ValueError: They have another number of arguments.
        """
        vector = np.concatenate([np.ravel(each) for each in given]) if given else np.empty(0)
        if len(vector) != self.code.inputs:
            raise ValueError(f"The formula takes {self.code.inputs} numbers, got {len(vector)}.")
        out = np.zeros(self.code.outputs)
        run(self.code, self._memory, np.ascontiguousarray(vector, float), out)
        return out

    def slopes(self, given: np.ndarray, first: int, last: int) -> np.ndarray:
        """Derivatives by the arguments first to last - 1, shape (outputs, last - first)."""
        code, count = self.code, last - first
        along, out = np.zeros((code.inputs, count)), np.zeros(code.outputs)
        along[first:last] = np.eye(count)
        found, turns = np.zeros((code.outputs, count)), np.empty((code.memory, count))
        run_slopes(code, self._memory, turns, np.ascontiguousarray(given), along, out, found)
        return found

    def sorted(self, states: int, inputs: int) -> Code:
        """The code of a tape of (x, u, z, p), sorted by what operations depend on.

        First come those of z and p alone, then those of u, then those of x. Each has a place of its
        own in memory, so that while u stays the last ones can be evaluated alone.

        Raises:
            LibraryError: An operation has an argument that none before it gives.
        """
        code, level, rows = self.code, list[int](), []
        place = dict[int, int]()
        try:
            for kind, to, a, b in code.rows.tolist():
                name = OPERATIONS[kind]
                if name == "CONST":
                    level.append(0)
                elif name == "INPUT":
                    level.append(2 if a < states else int(a < states + inputs))
                elif name == "OUTPUT":
                    level.append(2)
                    rows.append((kind, to, place[a], place[a]))
                    continue
                else:
                    a, b = place[a], place[b]
                    level.append(max(level[a], level[b]))
                place[to] = len(rows)
                rows.append((kind, len(rows), a, b))
        except KeyError as error:
            raise LibraryError("The formulas are damaged: an argument has no value.") from error
        order = np.argsort(level, kind="stable")
        starts = np.searchsorted(np.sort(level), [1, 2]).tolist()
        table = np.array(rows, np.int64).reshape(-1, 4)[order]
        return code._replace(
            rows=table, memory=max(len(rows), 1), by_inputs=starts[0], by_states=starts[1]
        )

    def depends(self, first: int, last: int) -> np.ndarray:
        """Whether results depend on the arguments first to last - 1, shape (outputs,)."""
        touched, found = np.zeros(self.code.memory, bool), np.zeros(self.code.outputs, bool)
        for kind, to, a, b in self.code.rows:
            name = OPERATIONS[kind]
            if name == "OUTPUT":
                found[to] = touched[a]
            elif name in ("CONST", "INPUT"):
                touched[to] = name == "INPUT" and first <= a < last
            else:
                touched[to] = touched[a] or touched[b]
        return found

    def to_bytes(self) -> bytes:
        """The tape as an .npz file."""
        code, buffer = self.code, io.BytesIO()
        sizes = np.array([_VERSION, code.memory, code.inputs, code.outputs])
        np.savez(buffer, allow_pickle=False, rows=code.rows, constants=code.constants, sizes=sizes)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Tape:
        """The tape from `to_bytes`.

        Raises:
            LibraryError: It is damaged, or of another version.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                form, memory, inputs, outputs = (int(each) for each in arrays["sizes"])
                rows = np.ascontiguousarray(arrays["rows"], np.int64)
                constants = np.ascontiguousarray(arrays["constants"], float)
        except DAMAGED as reason:
            raise LibraryError(f"The formulas are damaged ({reason}).") from reason
        if form != _VERSION:
            raise LibraryError(f"The formulas are of version {form}; known is {_VERSION}.")
        return cls(Code(rows, constants, memory, inputs, outputs))

    @cached_property
    def digest(self) -> str:
        """Digest of operations and constants."""
        code, found = self.code, sha256()
        for array in (
            code.rows,
            code.constants,
            np.array([code.memory, code.inputs, code.outputs], np.int64),
        ):
            found.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return found.hexdigest()
