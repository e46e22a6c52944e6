"""Formulas as machine code, in place of evaluating their operations one by one.

A tape becomes two functions without branches: its results, and their derivatives by its first
arguments. Each process compiles them, which takes some hundredths of a second; they are never
stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from sofa_softctl.library.ocp.kernels.formulas import OPERATIONS, Code

OPERATIONS_MAX = 4_000
"""Largest number of operations of a compiled function; longer tapes are evaluated one by one, since
compiling takes 0.1 ms per operation and per derivative."""
_REAL, _POINTER = ir.DoubleType(), ir.DoubleType().as_pointer()
_INDEX = ir.IntType(64)
Slopes = dict[int, Any]
"""Non-zero derivatives of a value by the indices of arguments."""


class Native(NamedTuple):
    """Addresses of a tape's functions for kernels, or 0."""

    values: int
    """Address of the function (memory, arguments, out, first operation)."""
    slopes: int
    """Address of the function (arguments, out, derivatives of shape (outputs, arguments))."""


NONE = Native(0, 0)
_made: dict[tuple[bytes, bytes, int, int, int], Native] = {}
_engines: list[Any] = []
"""Owners of the machine code."""


def native(code: Code, arguments: int) -> Native:
    """Return the machine code of a tape, or NONE if it is too long or has other operations.

    Args:
        code: Operations from `Tape.sort_by_dependence`, each with its own memory.
        arguments: Number of leading arguments by which results are differentiated.
    """
    key = (code.rows.tobytes(), code.constants.tobytes(), arguments, code.by_inputs, code.by_states)
    if key not in _made:
        is_known = {OPERATIONS[kind] for kind in np.unique(code.rows[:, 0])} <= NATIVE_OPERATIONS
        _made[key] = (
            _compile(code, arguments) if is_known and 0 < len(code.rows) <= OPERATIONS_MAX else NONE
        )
    return _made[key]


def _compile(code: Code, arguments: int) -> Native:
    module, differentiated = ir.Module(), len(code.rows) * (1 + arguments) <= OPERATIONS_MAX
    _emit_values(module, code)
    if differentiated:
        _emit_slopes(module, code, arguments)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    parsed = llvm.parse_assembly(str(module))
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    _engines.append(engine)
    slopes = engine.get_function_address("slopes") if differentiated else 0
    return Native(engine.get_function_address("values"), slopes)


def _emit_values(module: ir.Module, code: Code) -> None:
    """Emit the results, from one of three operations on; earlier results come from memory."""
    kind = ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _POINTER, _INDEX])
    function = ir.Function(module, kind, "values")
    memory, arguments, out, first = function.args
    starts = sorted({0, code.by_inputs, code.by_states})
    ends = [*starts[1:], len(code.rows)]
    builder = ir.IRBuilder(function.append_basic_block())
    blocks = [function.append_basic_block() for _ in starts]
    choice = builder.switch(first, blocks[0])
    for start, block in zip(starts[1:], blocks[1:], strict=True):
        choice.add_case(ir.Constant(_INDEX, start), block)
    for start, end, block, after in zip(starts, ends, blocks, [*blocks[1:], None], strict=True):
        builder.position_at_end(block)
        part = _Part(builder, code, arguments, memory, end)
        for row in code.rows[start:end].tolist():
            part.add(row, out)
        if after is None:
            builder.ret_void()
        else:
            builder.branch(after)


class _Part:
    """Emitter of operations that are evaluated together."""

    def __init__(
        self, builder: ir.IRBuilder, code: Code, arguments: Any, memory: Any, end: int
    ) -> None:
        self.builder, self.code, self.inputs, self.memory = builder, code, arguments, memory
        self.needed = set(code.rows[end:, 2:].ravel().tolist())
        self.results = {
            to: ir.Constant(_REAL, float(code.constants[i]))
            for kind, to, i, _ in code.rows.tolist()
            if OPERATIONS[kind] == "CONST"
        }

    def add(self, row: list[int], out: Any) -> None:
        kind, to, i, j = row
        builder, name = self.builder, OPERATIONS[kind]
        if name == "CONST":
            return
        if name == "INPUT":
            value = builder.load(_element_address(builder, self.inputs, i))
        elif name == "OUTPUT":
            builder.store(self.load_result(i), _element_address(builder, out, to))
            return
        else:
            value = _EMITTERS[name](builder, self.load_result(i), self.load_result(j))
        self.results[to] = value
        if to in self.needed:
            builder.store(value, _element_address(builder, self.memory, to))

    def load_result(self, index: int) -> Any:
        """Return an intermediate result; one of an earlier part is loaded from memory."""
        if index not in self.results:
            self.results[index] = self.builder.load(
                _element_address(self.builder, self.memory, index)
            )
        return self.results[index]


def _emit_slopes(module: ir.Module, code: Code, arguments: int) -> None:
    """Emit results and forward derivatives; structurally zero derivatives need no code."""
    kind = ir.FunctionType(ir.VoidType(), [_POINTER] * 3)
    function = ir.Function(module, kind, "slopes")
    inputs, out, jacobian = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    values, slopes = dict[int, Any](), dict[int, Slopes]()
    unit, zero = ir.Constant(_REAL, 1.0), ir.Constant(_REAL, 0.0)
    for operation, to, i, j in code.rows.tolist():
        name = OPERATIONS[operation]
        if name == "CONST":
            values[to], slopes[to] = ir.Constant(_REAL, float(code.constants[i])), {}
        elif name == "INPUT":
            values[to] = builder.load(_element_address(builder, inputs, i))
            slopes[to] = {i: unit} if i < arguments else {}
        elif name == "OUTPUT":
            builder.store(values[i], _element_address(builder, out, to))
            for d in range(arguments):
                address = _element_address(builder, jacobian, to * arguments + d)
                builder.store(slopes[i].get(d, zero), address)
        else:
            a, b = values[i], values[j]
            value = _EMITTERS[name](builder, a, b)
            by_a, by_b = _SLOPES[name](builder, a, b, value) if slopes[i] or slopes[j] else (0, 0)
            total = _times(builder, by_a, slopes[i])
            for d, change in _times(builder, by_b, slopes[j]).items():
                total[d] = builder.fadd(total[d], change) if d in total else change
            values[to], slopes[to] = value, total
    builder.ret_void()


def _times(builder: ir.IRBuilder, by: Any, slopes: Slopes) -> Slopes:
    """Return the derivatives through an operation; `by` is 0 or 1, or a value."""
    if isinstance(by, int):
        return dict(slopes) if by == 1 else {}
    return {d: builder.fmul(by, slope) for d, slope in slopes.items()}


def _element_address(builder: ir.IRBuilder, array: Any, index: int) -> Any:
    return builder.gep(array, [ir.Constant(_INDEX, index)])


def _call(name: str, count: int = 1) -> Callable[..., Any]:
    """Return an emitter of calls of an LLVM intrinsic or a C library function."""

    def emit(builder: ir.IRBuilder, *values: Any) -> Any:
        kind = ir.FunctionType(_REAL, [_REAL] * count)
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, values[:count])

    return emit


def _constant(value: float) -> Any:
    return ir.Constant(_REAL, value)


def _less(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.uitofp(builder.fcmp_ordered("<", a, b), _REAL)


def _less_equal(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.uitofp(builder.fcmp_ordered("<=", a, b), _REAL)


def _equal(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.uitofp(builder.fcmp_ordered("==", a, b), _REAL)


def _true(builder: ir.IRBuilder, a: Any) -> Any:
    return builder.fcmp_unordered("!=", a, _constant(0.0))


def _not_equal(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.uitofp(builder.fcmp_unordered("!=", a, b), _REAL)


def _not(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return _equal(builder, a, _constant(0.0))


def _and(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.uitofp(builder.and_(_true(builder, a), _true(builder, b)), _REAL)


def _or(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.uitofp(builder.or_(_true(builder, a), _true(builder, b)), _REAL)


def _if(builder: ir.IRBuilder, a: Any, b: Any) -> Any:
    return builder.select(_true(builder, a), b, _constant(0.0))


_EMITTERS: dict[str, Callable[..., Any]] = {
    "ASSIGN": lambda b, x, y: x,
    "ADD": lambda b, x, y: b.fadd(x, y),
    "SUB": lambda b, x, y: b.fsub(x, y),
    "MUL": lambda b, x, y: b.fmul(x, y),
    "DIV": lambda b, x, y: b.fdiv(x, y),
    "NEG": lambda b, x, y: b.fneg(x),
    "SQ": lambda b, x, y: b.fmul(x, x),
    "TWICE": lambda b, x, y: b.fmul(_constant(2.0), x),
    "SIN": _call("llvm.sin.f64"),
    "COS": _call("llvm.cos.f64"),
    "SQRT": _call("llvm.sqrt.f64"),
    "INV": lambda b, x, y: b.fdiv(_constant(1.0), x),
    "POW": _call("llvm.pow.f64", 2),
    "CONSTPOW": _call("llvm.pow.f64", 2),
    "EXP": _call("llvm.exp.f64"),
    "LOG": _call("llvm.log.f64"),
    "TAN": _call("tan"),
    "ATAN": _call("atan"),
    "ATAN2": _call("atan2", 2),
    "FABS": _call("llvm.fabs.f64"),
    "FMIN": _call("llvm.minnum.f64", 2),
    "FMAX": _call("llvm.maxnum.f64", 2),
    "LT": _less,
    "LE": _less_equal,
    "EQ": _equal,
    "NE": _not_equal,
    "NOT": _not,
    "AND": _and,
    "OR": _or,
    "IF_ELSE_ZERO": _if,
    "TANH": _call("tanh"),
}
"""(builder, a, b) -> result, by the name of the operation."""


def _by_division(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    return b.fdiv(_constant(1.0), y), b.fdiv(b.fneg(c), y)


def _by_base(b: ir.IRBuilder, x: Any, y: Any) -> Any:
    less = b.fsub(y, _constant(1.0))
    return b.fmul(y, _EMITTERS["POW"](b, x, less))


def _by_power(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    positive = b.fcmp_ordered(">", x, _constant(0.0))
    by_exponent = b.fmul(_EMITTERS["LOG"](b, x, y), c)
    return _by_base(b, x, y), b.select(positive, by_exponent, _constant(0.0))


def _by_angle(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    square = b.fadd(b.fmul(x, x), b.fmul(y, y))
    return b.fdiv(y, square), b.fdiv(b.fneg(x), square)


def _by_size(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    zero = _constant(0.0)
    falling = b.select(b.fcmp_ordered("<", x, zero), _constant(-1.0), x)
    return b.select(b.fcmp_ordered(">", x, zero), _constant(1.0), falling), 0


def _by_least(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    first = b.uitofp(b.fcmp_ordered("<=", x, y), _REAL)
    return first, b.fsub(_constant(1.0), first)


def _by_largest(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    first = b.uitofp(b.fcmp_ordered(">=", x, y), _REAL)
    return first, b.fsub(_constant(1.0), first)


def _by_condition(b: ir.IRBuilder, x: Any, y: Any, c: Any) -> tuple[Any, Any]:
    return 0, b.select(_true(b, x), _constant(1.0), _constant(0.0))


def _inverse_of_one_and_square(b: ir.IRBuilder, x: Any) -> Any:
    unit = _constant(1.0)
    return b.fdiv(unit, b.fadd(unit, b.fmul(x, x)))


_SLOPES: dict[str, Callable[..., tuple[Any, Any]]] = {
    "ASSIGN": lambda b, x, y, c: (1, 0),
    "ADD": lambda b, x, y, c: (1, 1),
    "SUB": lambda b, x, y, c: (1, _constant(-1.0)),
    "MUL": lambda b, x, y, c: (y, x),
    "DIV": _by_division,
    "NEG": lambda b, x, y, c: (_constant(-1.0), 0),
    "SQ": lambda b, x, y, c: (b.fmul(_constant(2.0), x), 0),
    "TWICE": lambda b, x, y, c: (_constant(2.0), 0),
    "SIN": lambda b, x, y, c: (_EMITTERS["COS"](b, x, y), 0),
    "COS": lambda b, x, y, c: (b.fneg(_EMITTERS["SIN"](b, x, y)), 0),
    "SQRT": lambda b, x, y, c: (b.fdiv(_constant(0.5), c), 0),
    "INV": lambda b, x, y, c: (b.fneg(b.fmul(c, c)), 0),
    "POW": _by_power,
    "CONSTPOW": lambda b, x, y, c: (_by_base(b, x, y), 0),
    "EXP": lambda b, x, y, c: (c, 0),
    "LOG": lambda b, x, y, c: (b.fdiv(_constant(1.0), x), 0),
    "TAN": lambda b, x, y, c: (b.fadd(_constant(1.0), b.fmul(c, c)), 0),
    "ATAN": lambda b, x, y, c: (_inverse_of_one_and_square(b, x), 0),
    "ATAN2": _by_angle,
    "FABS": _by_size,
    "FMIN": _by_least,
    "FMAX": _by_largest,
    **dict.fromkeys(("LT", "LE", "EQ", "NE", "NOT", "AND", "OR"), lambda b, x, y, c: (0, 0)),
    "IF_ELSE_ZERO": _by_condition,
    "TANH": lambda b, x, y, c: (b.fsub(_constant(1.0), b.fmul(c, c)), 0),
}
"""(builder, a, b, result) -> derivatives by a and b, by the name of the operation; 0 and 1 need no
code."""
NATIVE_OPERATIONS = {"CONST", "INPUT", "OUTPUT", *_EMITTERS}
"""Names of the supported operations."""
