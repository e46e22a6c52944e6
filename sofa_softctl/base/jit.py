"""`njit`, the decorator of every compiled kernel.

Kernels are compiled at their first call, never at import, and kept on disk by `base.kernels`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba

from sofa_softctl.base.kernels.cached import CachedKernel, InnerKernel
from sofa_softctl.base.kernels.compile_ahead import AHEAD

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be reordered, products fused into them, and a / b be a * (1 / b). NaN and infinity keep
# their meaning, unlike with numba's own fastmath=True: a diverged state must stay visible.
RELAXED = {"reassoc", "contract", "arcp", "nsz"}


@overload
def njit(function: Kernel) -> Kernel: ...


@overload
def njit(
    *,
    fastmath: bool = False,
    separate: bool = False,
    inner: bool = False,
    nogil: bool = False,
) -> Callable[[Kernel], Kernel]: ...


def njit(
    function: Kernel | None = None,
    *,
    fastmath: bool = False,
    separate: bool = False,
    inner: bool = False,
    nogil: bool = False,
) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile a function with numba; division by zero gives inf or NaN, as in NumPy.

    Args:
        function: The kernel. Absent when the decorator is written with brackets.
        fastmath: Let the compiler reorder sums and fuse products into them. Off by default: our
            numbers are compared with SOFA's to 12 digits. For factorisations, where the order of
            the sums is arbitrary anyway.
        separate: Link the kernel to its callers. numba copies callees into each caller and
            optimises them there again: in a tree of calls, as often as a kernel has ancestors. For
            kernels that are large compared with the cost of a call, about 0.1 us.
        inner: Leave out the entry from Python, which is large for arguments with many arrays: only
            kernels may call it.
        nogil: Let other threads of Python run meanwhile, for kernels that several threads call.
    """
    if function is None:
        return functools.partial(
            njit, fastmath=fastmath, separate=separate, inner=inner, nogil=nogil
        )
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    options = {
        "nopython": True,
        "error_model": "numpy",
        "boundscheck": False,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": inner,
        "nogil": nogil,
        "fastmath": RELAXED if fastmath else False,
    }
    kernel: Any = (InnerKernel if inner else CachedKernel)(function, targetoptions=options)
    kernel.is_separate = separate
    AHEAD.modules.add(function.__module__)
    compiled_kernel: Kernel = kernel
    return compiled_kernel
