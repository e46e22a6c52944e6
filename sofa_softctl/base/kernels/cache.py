"""Machine code of kernels on disk, named by content.

One folder of the user's cache directory holds the kernels of all clones and environments. Below
it, a folder is named by what all machine code depends on (Python, numba, LLVM, NumPy, processor),
and a file by a digest of one kernel and its argument types: code is found again exactly if it is
the same, so that nothing can be stale. Files appear whole or not at all, hold a checksum, and are
removed a quarter of a year after their last use. A process that needs a kernel that another one is
compiling waits for it.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import hashlib
import io
import os
import pickle
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl
from numba.core.environment import _rebuild_env
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

VARIABLE = "SOFTCTL_KERNEL_CACHE"
"""Environment variable with another folder for compiled kernels."""
FALLBACK_VARIABLE = "SOFTCTL_KERNEL_CACHE_FALLBACK"
"""Variable set for child processes: folder of kernels that the cache cannot take."""
UNUSED_MAX = 90 * 86400.0
"""Time after which a file that was not used is removed [s]."""
DAY = 86400.0
"""Precision of the time of last use, and least time between two removals of old files [s]."""
_MAGIC = b"softctl kernel 4\n"
_CHECKSUM_SIZE = hashlib.sha256().digest_size


def default_folder() -> Path:
    """Return the user's folder of compiled kernels: SOFTCTL_KERNEL_CACHE, or below ~/.cache."""
    if folder := os.environ.get(VARIABLE):
        return Path(os.path.expanduser(folder)).absolute()  # no shell reads an ENV of a Dockerfile
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):  # invalid by the XDG specification: to be ignored
        home = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "sofa-softctl" / "kernels"


class KernelCache:
    """Compiled kernels in a folder; any failure costs time, but never a result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.is_usable = True
        """False after a kernel could not be kept."""
        self._locked: set[str] = set()

    def load(
        self,
        name: str,
        target_context: Any,
        make_links: Callable[[list[Any]], bool],
        *,
        to_copy: bool = False,
    ) -> tuple[Any, list[Any]] | None:
        """Return the compile result of a kernel and its links, or None if it is not in the cache.

        Args:
            name: Digest of the kernel.
            target_context: Target context of numba to load the code into.
            make_links: Called with the links first; returns False if the code cannot be used.
            to_copy: Also load the bitcode that compiled callers copy; it takes a third of the time.
        """
        for folder in (self._of_this_machine(), _fallback()):
            payload = _read(folder / f"{name}.kernel") if folder and _is_trusted(folder) else None
            if payload is not None:
                try:
                    links, content, bitcode = _Unpickler(io.BytesIO(payload)).load()
                    if make_links(links):
                        return _rebuild(target_context, content, bitcode * to_copy), links
                except Exception:  # unpickling may raise anything; the kernel is compiled again
                    continue
        return None

    def save(self, name: str, result: Any, links: list[Any]) -> None:
        """Save a compile result in the folder, or else for this process and its children."""
        if result.lifted or result.library.has_dynamic_globals:  # it holds addresses
            return
        content = dumps((links, *_reduce(result)))
        if self.is_usable:
            try:
                self._make_folder()
                _write(self._of_this_machine() / f"{name}.kernel", content)
                self._remove_unused()
                return
            except OSError as error:
                self.is_usable = False
                print_once(
                    f"compiled kernels cannot be kept in {self.folder} ({_reason(error)}): later "
                    f"runs compile them again. Set {VARIABLE} to a folder that can be written."
                )
        with contextlib.suppress(OSError):
            _write(_make_fallback() / f"{name}.kernel", content)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the right to compile a kernel; wait for another process that has it.

        A system without locks (some network disks) compiles twice instead.
        """
        file = self._open_lock(name) if self.is_usable and name not in self._locked else None
        if file is None:
            yield
            return
        self._locked.add(name)
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            self._locked.discard(name)
            with contextlib.suppress(OSError):
                os.unlink(file.name)
            file.close()

    def is_locked(self, name: str) -> bool:
        """Return True if a process is compiling the kernel now."""
        try:
            with open(self._of_this_machine() / f"{name}.lock", "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def check(self) -> None:
        """Raise OSError if kernels cannot be kept."""
        self._make_folder()
        with tempfile.TemporaryFile(dir=self._of_this_machine()):
            pass

    def has(self, name: str) -> bool:
        """Return True if the folder holds the kernel, and may be read."""
        folder = self._of_this_machine()
        return (folder / f"{name}.kernel").exists() and _is_trusted(folder)

    def _of_this_machine(self) -> Path:
        return self.folder / _machine()

    def _make_folder(self) -> None:
        folder = self._of_this_machine()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_trusted(folder):
            raise PermissionError("others can write it, or it belongs to another user")

    def _open_lock(self, name: str) -> Any:
        with contextlib.suppress(OSError):
            self._make_folder()
            return open(self._of_this_machine() / f"{name}.lock", "wb")
        return None

    def _remove_unused(self) -> None:
        """Remove files that nobody has used for a quarter of a year, once a day at most."""
        marker = self.folder / "cleaned"
        now = time.time()
        with contextlib.suppress(FileNotFoundError):
            if now - marker.stat().st_mtime < DAY:
                return
        marker.touch()
        for file in self.folder.glob("*/*"):
            with contextlib.suppress(OSError):
                if now - file.stat().st_mtime > UNUSED_MAX:
                    file.unlink()
        for folder in self.folder.glob("*/"):
            with contextlib.suppress(OSError):
                folder.rmdir()  # refused unless empty


class _Serializer(CompileResultCacheImpl):
    """numba's way to write and read a compile result, without its search for a folder."""

    def __init__(self) -> None:
        """Skip numba's search for a folder."""


class _Unpickler(pickle.Unpickler):
    """Reads kernels without importing the modules of numba that it copied functions from.

    Their names are all that machine code needs of them; the modules take 0.1 s.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Return the object that a pickle names."""
        value = super().find_class(module, name)
        return _make_environment if value is _rebuild_env else value


def _make_environment(module: str, constants: list[Any], name: str) -> Any:
    return _rebuild_env(module if module in sys.modules else "numba", constants, name)


def _reduce(result: Any) -> tuple[Any, bytes]:
    """Return a compile result that can be called, and the bitcode that callers copy."""
    (name, kind, (machine_code, bitcode)), *remaining_parts = _Serializer().reduce(result)
    return ((name, kind, (machine_code, _stubs(result))), *remaining_parts), bitcode


def _rebuild(target_context: Any, content: Any, bitcode: bytes) -> Any:
    """Return the compile result of these parts; without bitcode, no caller can copy it."""
    (name, kind, (machine_code, stubs)), *remaining_parts = content
    library = name, kind, (machine_code, bitcode or stubs)
    return _Serializer().rebuild(target_context, (library, *remaining_parts))


def _stubs(result: Any) -> bytes:
    """Return bitcode that defines a kernel's symbols: numba looks up no others."""
    names = result.fndesc.llvm_func_name, result.fndesc.llvm_cpython_wrapper_name
    defined = [name for name in names if result.library.get_pointer_to_function(name)]
    text = "\n".join(f'define void @"{name}"() {{ unreachable }}' for name in defined)
    stubs: bytes = llvmlite.binding.parse_assembly(text).as_bitcode()
    return stubs


@functools.cache
def _machine() -> str:
    """Name of the folder for this Python, these packages and this processor."""
    config: Any = numba.config
    flags = (config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE, config.BOUNDSCHECK)
    debug = (config.DEBUGINFO_DEFAULT, config.USING_SVML)
    versions = (platform.python_implementation(), sys.version_info[:3], numba.__version__)
    packages = (llvmlite.__version__, np.__version__)
    codegen: Any = cpu_target.target_context.codegen()
    content = (_MAGIC, versions, packages, flags, debug, codegen.magic_tuple())
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:16]
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"python-{python}-numba-{numba.__version__}-{digest}"


def _read(path: Path) -> bytes | None:
    """Return the content of a file, or None if it is missing, damaged or untrusted."""
    try:
        with open(path, "rb") as file:
            content = file.read()
            status = os.fstat(file.fileno())
    except OSError:
        return None
    if not _only_we_wrote(status):
        return None
    if time.time() - status.st_mtime > DAY:
        with contextlib.suppress(OSError):  # a folder that can only be read
            os.utime(path)
    start = len(_MAGIC) + _CHECKSUM_SIZE
    payload = content[start:]
    if content[:start] != _MAGIC + _checksum(path.name, payload):
        return None
    return payload


def _write(path: Path, payload: bytes) -> None:
    """Write a file atomically, under another name first."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with open(handle, "wb") as file:
            file.write(_MAGIC + _checksum(path.name, payload) + payload)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _checksum(file_name: str, payload: bytes) -> bytes:
    """Return the checksum of a file; it differs between kernels and processors."""
    digest = hashlib.sha256(f"{_machine()}/{file_name}\n".encode())
    digest.update(payload)
    return digest.digest()


def _is_trusted(folder: Path) -> bool:
    """Return True if only this user or root can have written the folder: it holds pickles."""
    try:
        return _only_we_wrote(folder.stat())
    except OSError:
        return False


def _only_we_wrote(status: os.stat_result) -> bool:
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in (0, os.geteuid()) and not others_write


def _fallback() -> Path | None:
    folder = os.environ.get(FALLBACK_VARIABLE)
    return Path(folder) if folder else None


def _make_fallback() -> Path:
    """Return a temporary folder, for this process and its children; made once."""
    folder = _fallback()
    if folder is None or not folder.is_dir():
        folder = Path(tempfile.mkdtemp(prefix="sofa-softctl-"))
        atexit.register(_remove_fallback, folder, os.getpid())
        os.environ[FALLBACK_VARIABLE] = str(folder)
    return folder


def _remove_fallback(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves it
        shutil.rmtree(folder, ignore_errors=True)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


@functools.cache
def print_once(text: str) -> None:
    """Print a line once on standard error, to keep it apart from results."""
    print(f"sofa_softctl: {text}", file=sys.stderr)


CACHE = KernelCache(default_folder())
"""The cache of this process."""
