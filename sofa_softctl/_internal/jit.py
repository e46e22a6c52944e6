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
from numba.core.runtime import rtsys

from sofa_softctl._internal.compile_ahead import AHEAD
from sofa_softctl._internal.kernel_cache import CACHE
from sofa_softctl._internal.kernel_digest import KernelDigest

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be reordered, products fused into them, and a / b be a * (1 / b). NaN and infinity keep
# their meaning, unlike with numba's own fastmath=True: a diverged state must stay visible.
RELAXED = {"reassoc", "contract", "arcp", "nsz"}


@overload
def njit(function: Kernel) -> Kernel: ...


@overload
def njit(*, fastmath: bool = False, inner: bool = False) -> Callable[[Kernel], Kernel]: ...


def njit(
    function: Kernel | None = None, *, fastmath: bool = False, inner: bool = False
) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile a function with numba; division by zero gives inf or NaN, as in NumPy.

    Args:
        function: The kernel. Absent when the decorator is written with brackets.
        fastmath: Let the compiler reorder sums and fuse products into them. Off by default: our
            numbers are compared with SOFA's to 12 digits. For factorisations, where the order of
            the sums is arbitrary anyway.
        inner: Leave out the entry from Python, which is large for arguments with many arrays: only
            kernels may call it.
    """
    if function is None:
        return functools.partial(njit, fastmath=fastmath, inner=inner)
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
    AHEAD.modules.add(function.__module__)
    compiled_kernel: Kernel = kernel
    return compiled_kernel


class CachedKernel(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled for the types of its arguments, or loaded from the cache."""

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
                return super().compile(sig)
            if self._load(name):
                return compiled[arguments].entry_point
            AHEAD.kernel_is_missing()
            with CACHE.lock(name):
                if self._load(name):  # another process has compiled it meanwhile
                    return compiled[arguments].entry_point
                entry_point = super().compile(sig)
                if arguments in compiled:
                    CACHE.save(name, compiled[arguments])
            return entry_point

    def name_in_cache(self, arguments: tuple[Any, ...]) -> str:
        """Return the name for argument types; raise TypeError if nothing says what it would be."""
        return _DIGEST.of_kernel(self, arguments)

    def compile_unless_locked(self, arguments: tuple[Any, ...]) -> None:
        """Compile the kernel for the cache, unless it is there or a process is compiling it."""
        name = self.name_in_cache(arguments)
        if not CACHE.has(name) and not CACHE.is_locked(name):
            self.compile(arguments)

    def _load(self, name: str) -> bool:
        # Not targetctx.refresh(): its registries are for typing and lowering, 0.25 s; whatever
        # compiles calls it. Machine code needs reference counts alone.
        rtsys.initialize(self.targetctx)
        result = CACHE.load(name, self.targetctx)
        if result is None:
            return False
        libraries = [result.library]
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, libraries)
        self.add_overload(result)
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
