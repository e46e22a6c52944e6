"""Kernels that are linked to their callers instead of being optimised again within each of them.

numba copies the code of all callees into a caller, so that it can inline them, and optimises the
whole: in a tree of calls, a kernel as often as it has ancestors. That pays for a few lines in an
inner loop. A large kernel is not inlined; as a separate one, `njit(separate=True)`, it is compiled
once, and callers only declare it. Its machine code has to be there, under the same symbol, before
that of a caller is loaded from the cache.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from llvmlite import binding


class Separate(NamedTuple):
    """A separate kernel, compiled for some types."""

    module: str
    """Module of the kernel."""
    name: str
    """Name of the kernel in it."""
    arguments: tuple[Any, ...]
    """numba's types of the arguments."""
    symbol: str
    """Symbol of the machine code; it differs between compilations."""


_KNOWN: dict[str, Separate] = {}
"""Separate kernels of this process by symbol."""


def separate(kernel: Any, arguments: tuple[Any, ...], result: Any) -> None:
    """Make a kernel that was compiled or loaded a separate one, before a caller is compiled."""
    symbol = result.fndesc.mangled_name
    library = result.library
    empty = library.codegen._create_empty_module(library.name)
    library._shared_module = binding.parse_assembly(str(empty))  # which callers would copy
    _KNOWN[symbol] = Separate(kernel.__module__, kernel.__name__, arguments, symbol)


def find_declared(result: Any) -> tuple[Separate, ...]:
    """Return the separate kernels that a compiled kernel declares."""
    functions = result.library._final_module.functions
    declared = (function.name for function in functions if function.is_declaration)
    return tuple(_KNOWN[symbol] for symbol in declared if symbol in _KNOWN)


def find_entry(result: Any) -> tuple[str, ...]:
    """Return the symbol of the entry from Python of a separate kernel that has one."""
    symbol = result.fndesc.llvm_cpython_wrapper_name
    defined = {function.name for function in result.library.get_defined_functions()}
    return (symbol,) if result.fndesc.mangled_name in _KNOWN and symbol in defined else ()


def announce(symbols: tuple[str, ...], target_context: Any) -> None:
    """Tell numba that machine code to be loaded defines symbols; it asks the code to be copied."""
    target_context.codegen()._engine._defined_symbols.update(symbols)


def is_ready(needed: Separate) -> bool:
    """Return True if a separate kernel can be linked; it is loaded if the cache has it."""
    kernel = getattr(sys.modules.get(needed.module), needed.name, None)
    return kernel is not None and kernel.symbol_of(needed.arguments) == needed.symbol
