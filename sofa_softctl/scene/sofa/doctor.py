"""Checks of `softctl doctor`."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib.metadata import PackageNotFoundError, version

from sofa_softctl.errors import BackendError
from sofa_softctl.scene.backend import CHOICES, find_backend
from sofa_softctl.scene.sofa.findings import Finding, sofa_findings
from sofa_softctl.scene.sofa.probe import SofaProbe

REQUIRED = ("numpy", "scipy", "numba", "daqp", "proxsuite", "qpsolvers", "pluggy", "mcap")
EXTRAS = {"view": ("pyvista", "imageio", "imageio_ffmpeg")}


def diagnose() -> list[Finding]:
    """Backend, SOFA, versions, optional extras, and where compiled code is kept."""
    sofa, tried = sofa_findings()
    found = [_backend(tried), *sofa]
    found.append(Finding("Python", True, f"{platform.python_version()} on {platform.platform()}"))
    found += [_package(name) for name in REQUIRED]
    found += [_extra(extra, names) for extra, names in EXTRAS.items()]
    found.append(_cache())
    return found


def _backend(tried: SofaProbe | None) -> Finding:
    """Check of the backend, without starting SOFA here."""
    asked = os.environ.get("SOFTCTL_BACKEND", "auto").lower()
    by = ", by SOFTCTL_BACKEND" if asked != "auto" else ""
    if asked not in CHOICES:
        advice = f"Set it to one of {', '.join(CHOICES)}, or unset it."
        return Finding("backend", False, f"SOFTCTL_BACKEND is '{asked}'", advice)
    if asked != "embedded" and tried is not None:
        if tried.good:
            return Finding("backend", True, f"{tried.description}{by}")
        return Finding("backend", False, f"SOFA{by}, which fails", "See below.")
    if asked == "sofa":
        advice = "See below what to do about SOFA; SOFTCTL_BACKEND=auto takes what can be had."
        return Finding(
            "backend", False, "SOFTCTL_BACKEND asks for SOFA, which cannot be used", advice
        )
    try:
        return Finding("backend", True, f"{find_backend('embedded').describe()}{by}")
    except BackendError as error:
        return Finding("backend", False, str(error))


def _package(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        advice = "pip install sofa-softctl installs it."
        return Finding(name, False, "missing", advice)


def _extra(extra: str, names: tuple[str, ...]) -> Finding:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return Finding(f"extra [{extra}]", True, "installed")
    advice = f'pip install "sofa-softctl[{extra}]" brings {", ".join(missing)}.'
    return Finding(f"extra [{extra}]", True, "not installed: no movies", advice)


def _cache() -> Finding:
    from sofa_softctl.base.kernel_cache import CACHE, VARIABLE  # imports numba

    try:
        CACHE.check()
    except OSError as error:
        reason = error.strerror or str(error)
        advice = f"Set {VARIABLE} to a folder that can be written, so that runs start faster."
        return Finding("compiled code", True, f"cannot be kept in {CACHE.folder}: {reason}", advice)
    return Finding("compiled code", True, f"kept in {CACHE.folder}")
