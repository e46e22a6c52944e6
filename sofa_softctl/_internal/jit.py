"""`njit`, the decorator of every compiled kernel.

Kernels are compiled at their first call, never at import, and kept on disk next to their source
(or under ~/.cache where the source cannot be written). They are recompiled when their file
changes, or one with a kernel or intrinsic that they call or a named tuple that they take: numba
itself checks their own file alone, and would reuse stale code.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from types import ModuleType
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
        no_cfunc_wrapper=True,
        fastmath=RELAXED if fastmath else False,
    )
    try:
        kernel: Any = compiled()
    except RuntimeError:  # no cache directory is writable, and numba then refuses to decorate
        use_temporary_cache()
        kernel = compiled()
    kernel.sources = _sources(function)
    _keep_with(kernel, kernel.sources)
    compiled_kernel: Kernel = kernel
    return compiled_kernel


Sources = frozenset[tuple[str, float, int]]
"""Files, with the time of their last change and their size [bytes]."""


def _sources(function: Any) -> Sources:
    """Source files of a kernel and its callees, as far as its module has imported them."""
    found = set(_stamp(function.__code__.co_filename))
    for value in list(function.__globals__.values()):
        module_of_kernels = isinstance(value, ModuleType) and "njit" in vars(value)
        for entry in tuple(vars(value).values()) if module_of_kernels else (value,):
            found |= getattr(entry, "sources", frozenset()) if hasattr(entry, "py_func") else set()
            intrinsic = getattr(entry, "_defn", None)  # numba's, such as a call by an address
            found |= set(_stamp(getattr(getattr(intrinsic, "__code__", None), "co_filename", None)))
            if isinstance(entry, type) and issubclass(entry, tuple) and hasattr(entry, "_fields"):
                module = sys.modules.get(entry.__module__)
                found |= set(_stamp(getattr(module, "__file__", None)))
    return frozenset(found)


def _stamp(path: str | None) -> Iterator[tuple[str, float, int]]:
    if path and os.path.isfile(path):
        status = os.stat(path)
        yield path, status.st_mtime, status.st_size


def _keep_with(kernel: Any, sources: Sources) -> None:
    """Let numba's cache be renewed when any of the files changes, and be written by many at once.

    Its index is a pickle, which cannot be read once a class in it has moved: then all is
    recompiled. Where numba caches in another way, that way decides.
    """
    index = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    wanted = ("_source_stamp", "_load_index", "_save_index", "_save_data", "_data_name")
    if index is None or not all(hasattr(index, name) for name in wanted):
        return
    index._source_stamp = index._source_stamp, tuple(sorted(sources))
    load = index._load_index

    def load_index() -> Any:
        try:
            return load()
        except Exception:  # unpickling may raise anything
            return {}

    index._load_index = load_index
    index.save = functools.partial(_save, index)


def _save(index: Any, key: Any, code: Any) -> None:
    """Keep compiled code under a name that belongs to its key, and only then name it in the index.

    numba numbers its files, and names them first. Processes that compile at the same time for
    different types take the same number, and one then runs the other's code on its own data.
    """
    number = int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:6], "big")
    name = index._data_name(number)
    index._save_data(name, code)
    index._save_index({**index._load_index(), key: name})


@functools.cache
def use_temporary_cache() -> None:
    """Cache compiled kernels in a new directory for this process and its children."""
    directory = tempfile.mkdtemp(prefix="sofa-softctl-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = directory
    numba.config.CACHE_DIR = directory  # type: ignore[attr-defined]
