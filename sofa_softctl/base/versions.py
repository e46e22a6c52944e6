"""Versions of what can change numbers: this package, its libraries, and the threads of BLAS."""

from __future__ import annotations

import functools
import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - it loads BLAS
from threadpoolctl import ThreadpoolController

import sofa_softctl


class one_blas_thread:
    """Context in which NumPy's and SciPy's BLAS use one thread: with more, small calls are slower.

    Two threads on two cores make the factorisation of 6000 unknowns 1.6 times slower. Entering
    and leaving takes about 3 microseconds, the first time 2 ms. Applies to the whole process.
    """

    def __enter__(self) -> None:
        self.threads = [(library, library.get_num_threads()) for library in blas_libraries()]
        for library, count in self.threads:
            if count != 1:
                library.set_num_threads(1)

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        for library, count in self.threads:
            if count != 1:
                library.set_num_threads(count)


@functools.cache
def blas_libraries() -> list[Any]:
    """Return the BLAS libraries of this process, as threadpoolctl's controllers."""
    controllers = ThreadpoolController().lib_controllers
    return [library for library in controllers if library.user_api == "blas"]


PACKAGES = ("numpy", "scipy", "numba")
"""Packages whose versions can change results."""
_PACKAGE = Path(sofa_softctl.__file__).resolve().parent


def made_of() -> dict[str, Any]:
    """Return the `versions` that this process uses, and the digest of this `package`."""
    return {"versions": versions(), "package": digest_of_package()}


def versions() -> dict[str, str]:
    """Return the versions of this package, Python and `PACKAGES`, by name."""
    own_versions = {"softctl": _version("sofa-softctl"), "python": platform.python_version()}
    return own_versions | {name: _version(name) for name in PACKAGES}


@cache
def blas_kernels() -> str:
    """Return the processor for which BLAS has chosen its kernels, such as 'Haswell', or "".

    Kernels of other processors give other last digits.
    """
    controllers = ThreadpoolController().lib_controllers
    names = {
        getattr(controller, "architecture", None)
        for controller in controllers
        if controller.user_api == "blas"
    }
    return ", ".join(sorted(filter(None, names)))


@cache
def digest_of_package() -> str:
    """Return the SHA-256 of this package's sources."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
