"""Formulas as tapes: lists of scalar operations, which do not need CasADi.

A library's file contains the formulas of its problem as tapes, so the file suffices to simulate and
correct answers.
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
"""Errors that reading a damaged .npz file raises; RuntimeError: invalid compression or
encryption."""
_VERSION = 1
"""Version of OPERATIONS and of the arrays in files."""


class Tape:
    """Function of a vector of numbers, as a list of operations.

    Args:
        code: Operations of the function.

    Raises:
        LibraryError: The operations do not fit each other: the file is damaged.
    """

    def __init__(self, code: Code) -> None:
        rows = code.rows
        kinds, to, a, b = rows.T if rows.size else np.empty((4, 0), int)
        is_constant, is_input, is_output = (
            kinds == OPERATIONS.index(n) for n in ("CONST", "INPUT", "OUTPUT")
        )
        has_arguments = ~(is_constant | is_input)
        is_valid = (
            ((0 <= kinds) & (kinds < len(OPERATIONS))).all()
            and ((0 <= to) & (to < np.where(is_output, code.outputs, code.memory))).all()
            and (
                (0 <= a)
                & (
                    a
                    < np.select(
                        [is_constant, is_input], [len(code.constants), code.inputs], code.memory
                    )
                )
            ).all()
            and ((0 <= b) & (b < code.memory))[has_arguments].all()
        )
        if rows.ndim != 2 or rows.shape[1] != 4 or not is_valid:
            raise LibraryError("The formulas are damaged: an operation has no such argument.")
        self.code = code
        self._memory = np.empty(code.memory)
        self._fast = dict[tuple[int, int, int], Code]()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without machine code, whose addresses only this process knows."""
        return vars(self) | {"_fast": {}}

    def fast_code(self, states: int, inputs: int, constants: int) -> Code:
        """Return the sorted code of a tape of (x, u, z, p), with machine code if possible.

        The code is valid only in this process. Derivatives are with respect to x, u and z.
        """
        key = states, inputs, constants
        if key not in self._fast:
            code, arguments = self.sort_by_dependence(states, inputs), states + inputs + constants
            addresses = native(code, arguments)
            self._fast[key] = code._replace(
                native=addresses.values, native_slopes=addresses.slopes, arguments=arguments
            )
        return self._fast[key]

    @classmethod
    def from_function(cls, function: Any) -> Tape:
        """Convert a CasADi function of scalar symbols with one dense column as result.

        The tape takes all arguments concatenated in one vector.

        Raises:
            LibraryError: An operation is not in OPERATIONS.
        """
        import casadi as ca

        names = {getattr(ca, f"OP_{name}"): number for number, name in enumerate(OPERATIONS)}
        starts = np.cumsum([0, *(function.nnz_in(k) for k in range(function.n_in()))])
        rows, constants = [], []
        for k in range(function.n_instructions()):
            operation = function.instruction_id(k)
            if operation not in names:
                operations = (name for name in dir(ca) if name.startswith("OP_"))
                full_name = next(name for name in operations if getattr(ca, name) == operation)
                raise LibraryError(
                    f"'{function.name()}' has the operation {full_name[3:].lower()}, which "
                    f"libraries cannot evaluate. Known: {', '.join(OPERATIONS[4:]).lower()}."
                )
            number = names[operation]
            to, sources = function.instruction_output(k), function.instruction_input(k)
            if OPERATIONS[number] == "CONST":
                constants.append(float(function.instruction_constant(k)))
                row = [number, to[0], len(constants) - 1, 0]
            elif OPERATIONS[number] == "INPUT":
                row = [number, to[0], int(starts[sources[0]]) + sources[1], 0]
            elif OPERATIONS[number] == "OUTPUT":
                row = [number, to[1], sources[0], sources[0]]
            else:
                row = [number, to[0], sources[0], sources[-1]]
            rows.append(row)
        code = Code(
            np.array(rows, np.int64).reshape(-1, 4),
            np.array(constants, float),
            max(int(function.sz_w()), 1),
            int(starts[-1]),
            int(function.nnz_out(0)),
        )
        return cls(code)

    def __call__(self, *arguments: Any) -> np.ndarray:
        """Return the results at arguments, shape (outputs,).

        Raises:
            ValueError: The number of arguments is wrong.
        """
        vector = (
            np.concatenate([np.ravel(argument) for argument in arguments])
            if arguments
            else np.empty(0)
        )
        if len(vector) != self.code.inputs:
            raise ValueError(f"The formula takes {self.code.inputs} numbers, got {len(vector)}.")
        out = np.zeros(self.code.outputs)
        run(self.code, self._memory, np.ascontiguousarray(vector, float), out)
        return out

    def slopes(self, arguments: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return the derivatives by arguments first to last - 1, shape (outputs, last - first)."""
        code, count = self.code, last - first
        along, out = np.zeros((code.inputs, count)), np.zeros(code.outputs)
        along[first:last] = np.eye(count)
        result, turns = np.zeros((code.outputs, count)), np.empty((code.memory, count))
        run_slopes(code, self._memory, turns, np.ascontiguousarray(arguments), along, out, result)
        return result

    def sort_by_dependence(self, states: int, inputs: int) -> Code:
        """Return the code of a tape of (x, u, z, p), sorted by the dependences of operations.

        Operations of only z and p come first, then operations of u, then of x. Each has its own
        memory, so while u is constant only the last ones need to be evaluated.

        Raises:
            LibraryError: An argument of an operation is not the result of an earlier one.
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
        """Return a mask of results that depend on arguments first to last - 1, shape (outputs,)."""
        touched, result_depends = (
            np.zeros(self.code.memory, bool),
            np.zeros(self.code.outputs, bool),
        )
        for kind, to, a, b in self.code.rows:
            name = OPERATIONS[kind]
            if name == "OUTPUT":
                result_depends[to] = touched[a]
            elif name in ("CONST", "INPUT"):
                touched[to] = name == "INPUT" and first <= a < last
            else:
                touched[to] = touched[a] or touched[b]
        return result_depends

    def degree(self, first: int, last: int) -> np.ndarray:
        """Return the degree of each result as a polynomial in arguments first to last - 1.

        It is an upper bound, infinite for other functions of these, shape (outputs,).
        """
        w, degrees = np.zeros(self.code.memory), np.zeros(self.code.outputs)
        for kind, to, a, b in self.code.rows:
            name = OPERATIONS[kind]
            if name == "OUTPUT":
                degrees[to] = w[a]
            elif name in ("CONST", "INPUT"):
                w[to] = float(name == "INPUT" and first <= a < last)
            elif name in ("ADD", "SUB", "ASSIGN", "NEG", "TWICE"):
                w[to] = max(w[a], w[b])
            elif name in ("MUL", "SQ"):  # both arguments of SQ are the same
                w[to] = w[a] + w[b]
            elif name == "DIV" and not w[b]:
                w[to] = w[a]
            else:
                w[to] = np.inf if w[a] or w[b] else 0.0
        return degrees

    def to_bytes(self) -> bytes:
        """Return the tape as an .npz file."""
        code, buffer = self.code, io.BytesIO()
        sizes = np.array([_VERSION, code.memory, code.inputs, code.outputs])
        np.savez(buffer, allow_pickle=False, rows=code.rows, constants=code.constants, sizes=sizes)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Tape:
        """Read a tape from `to_bytes`.

        Raises:
            LibraryError: The tape is damaged, or of another version.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                form, memory, inputs, outputs = (int(size) for size in arrays["sizes"])
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
        code, sha = self.code, sha256()
        for array in (
            code.rows,
            code.constants,
            np.array([code.memory, code.inputs, code.outputs], np.int64),
        ):
            sha.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return sha.hexdigest()
