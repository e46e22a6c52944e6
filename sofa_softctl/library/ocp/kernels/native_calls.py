"""Calls of machine code by its address, within kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _values(
    typing: Any, address: Any, memory: Any, given: Any, out: Any, first: Any
) -> tuple[Any, Any]:

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = [_data(context, builder, signature, values, k) for k in (1, 2, 3)]
        return _call(context, builder, values[0], [*pointers, values[4]])

    return types.void(types.int64, memory, given, out, types.int64), emit


def _slopes(typing: Any, address: Any, given: Any, out: Any, slopes: Any) -> tuple[Any, Any]:

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointers = [_data(context, builder, signature, values, k) for k in (1, 2, 3)]
        return _call(context, builder, values[0], pointers)

    return types.void(types.int64, given, out, slopes), emit


def _data(context: Any, builder: Any, signature: Any, values: Any, k: int) -> Any:
    """Pointer to the numbers of an array, which follow each other."""
    array = context.make_array(signature.args[k])(context, builder, values[k])
    return array.data


def _call(context: Any, builder: Any, address: Any, arguments: list[Any]) -> Any:
    kind = ir.FunctionType(ir.VoidType(), [each.type for each in arguments])
    builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)
    return context.get_dummy_value()


call_values: Any = intrinsic(_values)
"""call_values(address, memory, given, out, first): `Native.values`."""
call_slopes: Any = intrinsic(_slopes)
"""call_slopes(address, given, out, slopes): `Native.slopes`."""
