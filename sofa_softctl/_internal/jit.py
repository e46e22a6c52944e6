"""`njit`, the decorator of every compiled kernel.

Kernels are compiled at their first call, never at import, and kept on disk next to their source
(or under ~/.cache where the source cannot be written). numba compiles a file anew when that file
changes, but not when a kernel that it calls, or a named tuple that it takes, changed in ANOTHER
file: the old code stays in use. So kernels that call each other live in one file; after an edit of
the exceptions (`blas`, the tuples of `symbolic` and of `mechanism.arrays`; in `inverse`,
`small_algebra` and `active_set` below `relaxation_kernels` and `piece_kernels`, and these below
`piece_points`, `piece_qp` and `piece_curvature`, below `piece_sequence`), delete `__pycache__`.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Sums may be reordered, products fused into them, and a / b be a * (1 / b). NaN and infinity keep
# their meaning, unlike with numba's own fastmath=True: a diverged state must stay visible.
RELAXED = {"reassoc", "contract", "arcp", "nsz"}


@overload
def njit(function: Kernel) -> Kernel: ...


@overload
def njit(*, fastmath: bool = False) -> Callable[[Kernel], Kernel]: ...


def njit(
    function: Kernel | None = None, *, fastmath: bool = False
) -> Kernel | Callable[[Kernel], Kernel]:
    """Compile a function with numba; division by zero gives inf or NaN, as in NumPy.

    Args:
        function: The kernel. Absent when the decorator is written with brackets.
        fastmath: Let the compiler reorder sums and fuse products into them. Off by default: our
            numbers are compared with SOFA's to 12 digits. For factorisations, where the order of
            the sums is arbitrary anyway.
    """
    if function is None:
        return functools.partial(njit, fastmath=fastmath)
    compiled: Any = functools.partial(
        numba.njit,
        function,
        cache=True,
        error_model="numpy",
        boundscheck=False,
        fastmath=RELAXED if fastmath else False,
    )
    try:
        kernel: Kernel = compiled()
    except RuntimeError:  # no cache directory can be written, and numba then refuses to decorate
        use_temporary_cache()
        kernel = compiled()
    return kernel


@functools.cache
def use_temporary_cache() -> None:
    """Keep compiled kernels in a new directory for this process and those that it starts."""
    directory = tempfile.mkdtemp(prefix="sofa-softctl-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = directory
    numba.config.CACHE_DIR = directory  # type: ignore[attr-defined]
