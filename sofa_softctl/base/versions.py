"""Versions of what can change numbers, and a digest of this package's sources."""

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
"""Whose versions can change numbers."""
_PACKAGE = Path(sofa_softctl.__file__).resolve().parent


def made_of() -> dict[str, Any]:
    """What this process computes with: `versions`, and the digest of this `package`."""
    return {"versions": versions(), "package": digest_of_package()}


def versions() -> dict[str, str]:
    """Versions of this package, Python and `PACKAGES`, by name."""
    found = {"softctl": _version("sofa-softctl"), "python": platform.python_version()}
    return found | {name: _version(name) for name in PACKAGES}


@cache
def blas_kernels() -> str:
    """Processor for which BLAS has chosen its kernels, such as 'Haswell'; empty: not known.

    Those of others give other last digits.
    """
    found = ThreadpoolController().lib_controllers
    names = {getattr(each, "architecture", None) for each in found if each.user_api == "blas"}
    return ", ".join(sorted(filter(None, names)))


@cache
def digest_of_package() -> str:
    """SHA-256 of this package's sources."""
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        found.update(path.relative_to(_PACKAGE).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
