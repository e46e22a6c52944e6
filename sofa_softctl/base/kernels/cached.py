"""Kernels whose machine code is kept on disk and, where they are separate, called by a symbol."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import llvmlite.binding
from numba.core import sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from sofa_softctl.base.kernels.cache import CACHE
from sofa_softctl.base.kernels.compile_ahead import AHEAD
from sofa_softctl.base.kernels.digest import KernelDigest


class Link(NamedTuple):
    """A separate kernel that machine code calls by a symbol."""

    module: str
    name: str
    arguments: tuple[Any, ...]
    """numba's types of its arguments."""
    symbol: str


class CachedKernel(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled for the types of its arguments, or loaded from the cache."""

    is_separate = False
    """True: callers call the code by a symbol. False: numba copies it into theirs."""
    _open: list[dict[str, Link]] = []
    """Links of the kernels that are being compiled, the innermost last."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.links: dict[tuple[Any, ...], dict[str, Link]] = {}
        """Separate kernels that the code for argument types calls, by symbol."""
        self._without_bitcode: set[tuple[Any, ...]] = set()
        """Argument types whose code can be called, and not be copied."""
        self._called_from_python: list[Any] = []
        """Compile results that numba's table of entries uses without owning them."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how a caller that is compiled calls this kernel.

        Otherwise numba would compile it again for each constant that a caller passes.
        """
        return super().get_call_template(
            [types.unliteral(kind) for kind in args],
            {name: types.unliteral(kind) for name, kind in kws.items()},
        )

    def get_overload(self, sig: Any) -> Any:
        """Return the key of the code for a signature, which a caller that is compiled asks for."""
        key = super().get_overload(sig)
        if not self._open:
            return key
        arguments = tuple(sigutils.normalize_signature(sig)[0])
        if self.is_separate:
            symbol = self._symbol(arguments)
            home = self.py_func.__module__, self.py_func.__name__
            self._open[-1][symbol] = Link(*home, arguments, symbol)
            return key
        if arguments in self._without_bitcode:
            key = self._load_bitcode(arguments)
        self._open[-1].update(self.links.get(arguments, {}))
        return key

    def compile(self, sig: Any) -> Any:
        """Make the kernel ready for a signature; return the entry point of its machine code."""
        compiled: Any = self.overloads
        arguments = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            if arguments in compiled:
                return compiled[arguments].entry_point
            try:
                name = self.name_in_cache(arguments)
            except TypeError:  # it uses what has no content to compare
                return self._compile(sig, arguments)
            if self._load(name):
                return compiled[arguments].entry_point
            AHEAD.kernel_is_missing()
            with CACHE.lock(name):
                if self._load(name):  # another process has compiled it meanwhile
                    return compiled[arguments].entry_point
                entry_point = self._compile(sig, arguments)
                if arguments in compiled:
                    CACHE.save(name, compiled[arguments], list(self.links[arguments].values()))
            return entry_point

    def name_in_cache(self, arguments: tuple[Any, ...]) -> str:
        """Return the name for argument types; raise TypeError if it is undefined."""
        return _DIGEST.of_kernel(self, arguments)

    def compile_unless_locked(self, arguments: tuple[Any, ...]) -> None:
        """Compile the kernel for the cache, unless it is there or a process is compiling it."""
        name = self.name_in_cache(arguments)
        if not CACHE.has(name) and not CACHE.is_locked(name):
            self.compile(arguments)

    def _compile(self, sig: Any, arguments: tuple[Any, ...]) -> Any:
        self._open.append({})
        try:
            entry_point = super().compile(sig)
        finally:
            self.links[arguments] = self._open.pop()
        self._separate(arguments)
        return entry_point

    def _separate(self, arguments: tuple[Any, ...]) -> None:
        """Make callers link to the code of a separate kernel by its symbol, and not copy it."""
        result: Any = self.overloads.get(arguments)
        if self.is_separate and result is not None:
            self.targetctx.remove_user_function(result.entry_point)
            self.targetctx.insert_user_function(result.entry_point, result.fndesc, ())
            self._name_code(arguments, self._symbol(arguments))

    def _symbol(self, arguments: tuple[Any, ...]) -> str:
        compiled: Any = self.overloads
        symbol: str = compiled[arguments].fndesc.llvm_func_name
        return symbol

    def _name_code(self, arguments: tuple[Any, ...], symbol: str) -> None:
        compiled: Any = self.overloads
        address = compiled[arguments].library.get_pointer_to_function(self._symbol(arguments))
        llvmlite.binding.add_symbol(symbol, address)

    def _link(self, link: Link) -> bool:
        """Make this kernel callable by a symbol of another compilation; False: it is missing.

        A symbol that nothing has would end the process when code that uses it is loaded.
        """
        if link.arguments not in self.overloads:
            if not self._load(self.name_in_cache(link.arguments)):
                return False
        self._name_code(link.arguments, link.symbol)
        return True

    def _load(self, name: str) -> bool:
        # Not targetctx.refresh(): its registries are for typing and lowering, 0.25 s; code
        # that compiles calls it. Machine code needs only reference counts.
        rtsys.initialize(self.targetctx)
        loaded = CACHE.load(name, self.targetctx, _make_links)
        if loaded is None:
            return False
        result, links = loaded
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.add_overload(result)
        arguments = tuple(result.signature.args)
        self.links[arguments] = {link.symbol: link for link in links}
        self._without_bitcode.add(arguments)
        self._separate(arguments)
        return True

    def _load_bitcode(self, arguments: tuple[Any, ...]) -> Any:
        """Load a kernel again, so that callers can copy it; return the key of its code.

        If its file is gone, it is compiled.
        """
        overloads: Any = self.overloads
        name = self.name_in_cache(arguments)
        loaded = CACHE.load(name, self.targetctx, _make_links, to_copy=True)
        called_from_python = overloads.pop(arguments)
        self._called_from_python.append(called_from_python)
        self.targetctx.remove_user_function(called_from_python.entry_point)
        self._without_bitcode.discard(arguments)
        if loaded is None:
            self._compile(arguments, arguments)
        else:
            result = loaded[0]
            self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            overloads[arguments] = result
        return overloads[arguments].entry_point


class InnerKernel(CachedKernel):
    """A kernel that only kernels call."""

    def add_overload(self, result: Any) -> None:
        """Store compiled code, without an entry from Python."""
        overloads: Any = self.overloads
        overloads[tuple(result.signature.args)] = result

    def _compile_for_args(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError(f"Only kernels can call {self.py_func.__name__}(): it is an inner kernel.")


def _make_links(links: list[Link]) -> bool:
    """Return True if all separate kernels that code calls are there."""
    kernels = (getattr(importlib.import_module(link.module), link.name) for link in links)
    return all(kernel._link(link) for kernel, link in zip(kernels, links, strict=True))


_DIGEST = KernelDigest()
