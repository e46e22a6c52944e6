"""Compiled evaluation of tapes with derivatives, and calls of machine code by address."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sofa_softctl.base.jit import njit

OPERATIONS = tuple(
    """CONST INPUT OUTPUT ASSIGN ADD SUB MUL DIV NEG SQ TWICE SIN COS SQRT INV POW CONSTPOW EXP LOG
    TAN ASIN ACOS ATAN ATAN2 FABS SIGN FMIN FMAX LT LE EQ NE NOT AND OR IF_ELSE_ZERO SINH COSH TANH
    ASINH ACOSH ATANH FLOOR CEIL COPYSIGN LOG1P EXPM1 HYPOT""".split()
)
"""CasADi's names of the operations; `value` and `slopes` use their indices."""


class Code(NamedTuple):
    """Arrays of a tape, for kernels."""

    rows: np.ndarray
    """Rows of indices: operation in `OPERATIONS`, result in memory, two arguments in memory, shape
    (n, 4). Exceptions: the first argument of CONST indexes the constants, of INPUT the arguments;
    the result of OUTPUT indexes the results of the tape."""
    constants: np.ndarray
    """Constants, shape (n_c,)."""
    memory: int
    """Number of stored intermediate results."""
    inputs: int
    """Number of arguments."""
    outputs: int
    """Number of results."""
    by_inputs: int = 0
    """First operation that depends on inputs or states, see `Tape.sort_by_dependence`."""
    by_states: int = 0
    """First operation that depends on states, or is a result of the tape."""
    native: int = 0
    """Address of `Native.values`, or 0 if operations are evaluated one by one."""
    native_slopes: int = 0
    """Address of `Native.slopes`, or 0."""
    arguments: int = 0
    """Number of leading arguments that `Native.slopes` differentiates by."""


@njit
def run(
    code: Code, memory: np.ndarray, arguments: np.ndarray, out: np.ndarray, first: int = 0
) -> None:
    """Evaluate a tape: results `out` of `arguments`.

    With `first` above 0, earlier operations are skipped: their results are in `memory` already.
    """
    if code.native:
        call_values(code.native, memory, arguments, out, first)
        return
    rows, constants = code.rows, code.constants
    w = memory
    for k in range(first, len(rows)):
        kind, to, i, j = rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3]
        if kind == 0:
            w[to] = constants[i]
        elif kind == 1:
            w[to] = arguments[i]
        elif kind == 2:
            out[to] = w[i]
        else:
            w[to] = value(kind, w[i], w[j])


@njit
def value(kind: int, a: float, b: float) -> float:
    """Return the result of an operation, by its index in `OPERATIONS`."""
    if kind == 3:
        return a
    if kind == 4:
        return a + b
    if kind == 5:
        return a - b
    if kind == 6:
        return a * b
    if kind == 7:
        return a / b
    if kind == 8:
        return -a
    if kind == 9:
        return a * a
    if kind == 10:
        return 2.0 * a
    if kind == 11:
        return math.sin(a)
    if kind == 12:
        return math.cos(a)
    if kind == 13:
        return np.sqrt(a)
    if kind == 14:
        return 1.0 / a
    if kind == 15 or kind == 16:
        return np.power(a, b)
    if kind == 17:
        return np.exp(a)
    if kind == 18:
        return np.log(a)
    if kind == 19:
        return math.tan(a)
    if kind == 20:
        return np.arcsin(a)
    if kind == 21:
        return np.arccos(a)
    if kind == 22:
        return math.atan(a)
    if kind == 23:
        return math.atan2(a, b)
    if kind == 24:
        return abs(a)
    if kind == 25:
        return np.sign(a)
    if kind == 26:
        return np.fmin(a, b)
    if kind == 27:
        return np.fmax(a, b)
    if kind == 28:
        return 1.0 if a < b else 0.0
    if kind == 29:
        return 1.0 if a <= b else 0.0
    if kind == 30:
        return 1.0 if a == b else 0.0
    if kind == 31:
        return 1.0 if a != b else 0.0
    if kind == 32:
        return 1.0 if a == 0.0 else 0.0
    if kind == 33:
        return 1.0 if a != 0.0 and b != 0.0 else 0.0
    if kind == 34:
        return 1.0 if a != 0.0 or b != 0.0 else 0.0
    if kind == 35:
        return b if a != 0.0 else 0.0
    if kind == 36:
        return np.sinh(a)
    if kind == 37:
        return np.cosh(a)
    if kind == 38:
        return math.tanh(a)
    if kind == 39:
        return np.arcsinh(a)
    if kind == 40:
        return np.arccosh(a)
    if kind == 41:
        return np.arctanh(a)
    if kind == 42:
        return np.floor(a)
    if kind == 43:
        return np.ceil(a)
    if kind == 44:
        return math.copysign(a, b)
    if kind == 45:
        return np.log1p(a)
    if kind == 46:
        return np.expm1(a)
    if kind == 47:
        return np.hypot(a, b)
    return np.nan


@njit
def slopes(kind: int, a: float, b: float, c: float) -> tuple[float, float]:
    """Return the derivatives of an operation's result c by its arguments a and b."""
    if kind == 3:
        return 1.0, 0.0
    if kind == 4:
        return 1.0, 1.0
    if kind == 5:
        return 1.0, -1.0
    if kind == 6:
        return b, a
    if kind == 7:
        return 1.0 / b, -c / b
    if kind == 8:
        return -1.0, 0.0
    if kind == 9:
        return 2.0 * a, 0.0
    if kind == 10:
        return 2.0, 0.0
    if kind == 11:
        return math.cos(a), 0.0
    if kind == 12:
        return -math.sin(a), 0.0
    if kind == 13:
        return 0.5 / c, 0.0
    if kind == 14:
        return -c * c, 0.0
    if kind == 15:
        return b * np.power(a, b - 1.0), np.log(a) * c if a > 0.0 else 0.0
    if kind == 16:
        return b * np.power(a, b - 1.0), 0.0
    if kind == 17:
        return c, 0.0
    if kind == 18:
        return 1.0 / a, 0.0
    if kind == 19:
        return 1.0 + c * c, 0.0
    if kind == 20:
        return 1.0 / np.sqrt(1.0 - a * a), 0.0
    if kind == 21:
        return -1.0 / np.sqrt(1.0 - a * a), 0.0
    if kind == 22:
        return 1.0 / (1.0 + a * a), 0.0
    if kind == 23:
        square = a * a + b * b
        return b / square, -a / square
    if kind == 24:
        return np.sign(a), 0.0
    if kind == 26:
        return (1.0, 0.0) if a <= b else (0.0, 1.0)
    if kind == 27:
        return (1.0, 0.0) if a >= b else (0.0, 1.0)
    if kind == 35:
        return (0.0, 1.0) if a != 0.0 else (0.0, 0.0)
    if kind == 36:
        return np.cosh(a), 0.0
    if kind == 37:
        return np.sinh(a), 0.0
    if kind == 38:
        return 1.0 - c * c, 0.0
    if kind == 39:
        return 1.0 / np.sqrt(1.0 + a * a), 0.0
    if kind == 40:
        return 1.0 / np.sqrt(a * a - 1.0), 0.0
    if kind == 41:
        return 1.0 / (1.0 - a * a), 0.0
    if kind == 44:
        return math.copysign(1.0, a) * math.copysign(1.0, b), 0.0
    if kind == 45:
        return 1.0 / (1.0 + a), 0.0
    if kind == 46:
        return 1.0 + c, 0.0
    if kind == 47:
        return (a / c, b / c) if c > 0.0 else (0.0, 0.0)
    return 0.0, 0.0


@njit
def run_slopes(
    code: Code,
    memory: np.ndarray,
    tangents: np.ndarray,
    arguments: np.ndarray,
    directions: np.ndarray,
    out: np.ndarray,
    out_directions: np.ndarray,
) -> None:
    """Evaluate a tape and its derivatives along several directions.

    With machine code, derivatives of arguments beyond `code.arguments` are taken as 0.

    `directions`: derivatives of the arguments, shape (inputs, n); `out_directions`: derivatives of
    the results, shape (outputs, n); `tangents`: workspace, shape (memory, n).
    """
    if code.native_slopes:
        jacobian = np.empty((code.outputs, code.arguments))
        call_slopes(code.native_slopes, arguments, out, jacobian)
        for i in range(code.outputs):
            for d in range(directions.shape[1]):
                total = 0.0
                for j in range(code.arguments):
                    total += jacobian[i, j] * directions[j, d]
                out_directions[i, d] = total
        return
    rows, constants = code.rows, code.constants
    w, n = memory, directions.shape[1]
    for k in range(len(rows)):
        kind, to, i, j = rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3]
        if kind == 0:
            w[to] = constants[i]
            tangents[to] = 0.0
        elif kind == 1:
            w[to] = arguments[i]
            for d in range(n):
                tangents[to, d] = directions[i, d]
        elif kind == 2:
            out[to] = w[i]
            for d in range(n):
                out_directions[to, d] = tangents[i, d]
        else:
            a, b = w[i], w[j]
            c = value(kind, a, b)
            by_a, by_b = slopes(kind, a, b, c)
            w[to] = c
            if by_b == 0.0:
                for d in range(n):
                    tangents[to, d] = by_a * tangents[i, d]
            else:
                for d in range(n):
                    tangents[to, d] = by_a * tangents[i, d] + by_b * tangents[j, d]


def _values(
    typing: Any, address: Any, memory: Any, arguments: Any, out: Any, first: Any
) -> tuple[Any, Any]:

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = [_data(context, builder, signature, values, k) for k in (1, 2, 3)]
        return _call(context, builder, values[0], [*pointers, values[4]])

    return types.void(types.int64, memory, arguments, out, types.int64), emit


def _slopes(typing: Any, address: Any, arguments: Any, out: Any, slopes: Any) -> tuple[Any, Any]:

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = [_data(context, builder, signature, values, k) for k in (1, 2, 3)]
        return _call(context, builder, values[0], pointers)

    return types.void(types.int64, arguments, out, slopes), emit


def _data(context: Any, builder: Any, signature: Any, values: Any, k: int) -> Any:
    """Return the pointer to the contiguous numbers of an array."""
    array = context.make_array(signature.args[k])(context, builder, values[k])
    return array.data


def _call(context: Any, builder: Any, address: Any, arguments: list[Any]) -> Any:
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)
    return context.get_dummy_value()


call_values: Any = intrinsic(_values)
"""call_values(address, memory, given, out, first): `Native.values`."""
call_slopes: Any = intrinsic(_slopes)
"""call_slopes(address, given, out, slopes): `Native.slopes`."""
