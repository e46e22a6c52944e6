"""Versions of packages that can change results, and a digest of this package's sources."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - it loads BLAS
from threadpoolctl import ThreadpoolController

import sofa_softctl

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
