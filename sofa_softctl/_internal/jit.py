"""`njit`, the decorator of every compiled kernel.

Kernels are compiled at their first call, never at import, and kept on disk by `kernel_cache`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba
from numba.core import sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from sofa_softctl._internal.compile_ahead import AHEAD
from sofa_softctl._internal.kernel_cache import CACHE
from sofa_softctl._internal.kernel_digest import KernelDigest
from sofa_softctl._internal.separate_kernels import separate as make_separate

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be reordered, products fused into them, and a / b be a * (1 / b). NaN and infinity keep
# their meaning, unlike with numba's own fastmath=True: a diverged state must stay visible.
RELAXED = {"reassoc", "contract", "arcp", "nsz"}


@overload
def njit(function: Kernel) -> Kernel: ...


@overload
def njit(
    *, fastmath: bool = False, separate: bool = False, inner: bool = False
) -> Callable[[Kernel], Kernel]: ...


def njit(
    function: Kernel | None = None,
    *,
    fastmath: bool = False,
    separate: bool = False,
    inner: bool = False,
) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile a function with numba; division by zero gives inf or NaN, as in NumPy.

    Args:
        function: The kernel. Absent when the decorator is written with brackets.
        fastmath: Let the compiler reorder sums and fuse products into them. Off by default: our
            numbers are compared with SOFA's to 12 digits. For factorisations, where the order of
            the sums is arbitrary anyway.
        separate: Link the kernel to its callers, see `separate_kernels`: for kernels that are large
            beside the cost of a call, about 0.1 us.
        inner: Leave out the entry from Python, which is large for arguments with many arrays: only
            kernels may call it.
    """
    if function is None:
        return functools.partial(njit, fastmath=fastmath, separate=separate, inner=inner)
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    options = {
        "nopython": True,
        "error_model": "numpy",
        "boundscheck": False,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": inner,
        "fastmath": RELAXED if fastmath else False,
    }
    kernel: Any = (InnerKernel if inner else CachedKernel)(function, targetoptions=options)
    kernel.is_separate = separate
    AHEAD.modules.add(function.__module__)
    compiled_kernel: Kernel = kernel
    return compiled_kernel


class CachedKernel(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled for the types of its arguments, or loaded from the cache."""

    is_separate = False
    """Whether callers link it, see `separate_kernels`."""

    def compile(self, sig: Any) -> Any:
        """Make the kernel ready for a signature; return the entry point of its machine code."""
        compiled: Any = self.overloads
        arguments = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            if arguments in compiled:
                return compiled[arguments].entry_point
            try:
                name = _DIGEST.of_kernel(self, arguments)
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
                    CACHE.save(name, compiled[arguments])
            return entry_point

    def compile_unless_locked(self, arguments: tuple[Any, ...]) -> None:
        """Compile the kernel for the cache, unless it is there or a process is compiling it."""
        name = _DIGEST.of_kernel(self, arguments)
        if not CACHE.has(name) and not CACHE.is_locked(name):
            self.compile(arguments)

    def symbol_of(self, arguments: tuple[Any, ...]) -> str:
        """Return the symbol of the machine code for argument types, or "" if it is not compiled."""
        compiled: Any = self.overloads
        if arguments not in compiled and not self._load(_DIGEST.of_kernel(self, arguments)):
            return ""
        symbol: str = compiled[arguments].fndesc.mangled_name
        return symbol

    def _compile(self, sig: Any, arguments: tuple[Any, ...]) -> Any:
        entry_point = super().compile(sig)
        result: Any = self.overloads.get(arguments)
        if self.is_separate and result is not None:
            make_separate(self, arguments, result)
        return entry_point

    def _load(self, name: str) -> bool:
        self.targetctx.refresh()
        result = CACHE.load(name, self.targetctx)
        if result is None:
            return False
        libraries = [result.library]
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, libraries)
        self.add_overload(result)
        if self.is_separate:
            make_separate(self, tuple(result.signature.args), result)
        return True


class InnerKernel(CachedKernel):
    """A kernel that only kernels call."""

    def add_overload(self, result: Any) -> None:
        """Note compiled code; the caller from Python does not learn of it."""
        overloads: Any = self.overloads
        overloads[tuple(result.signature.args)] = result

    def _compile_for_args(self, *arguments: Any, **keywords: Any) -> Any:
        raise TypeError(f"Only kernels can call {self.py_func.__name__}(): it is an inner kernel.")


_DIGEST = KernelDigest()
