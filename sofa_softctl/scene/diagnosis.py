"""What `softctl doctor` looks at."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from sofa_softctl.errors import BackendError
from sofa_softctl.scene.backend import find_backend, sofa_spec

REQUIRED = ("numpy", "scipy", "numba", "daqp", "proxsuite", "qpsolvers", "pluggy", "mcap")
EXTRAS = {"view": ("pyvista", "imageio", "imageio_ffmpeg")}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    """What."""
    good: bool
    """Whether it is as it should be; what is optional and absent counts as good."""
    text: str
    """What was found."""
    advice: str = ""
    """What to do about it."""


def diagnose() -> list[Finding]:
    """Backend, versions, optional extras, and where compiled code is kept."""
    found = [_backend(), _sofa()]
    found.append(Finding("Python", True, f"{platform.python_version()} on {platform.platform()}"))
    found += [_package(name) for name in REQUIRED]
    found += [_extra(extra, names) for extra, names in EXTRAS.items()]
    found.append(_cache())
    return found


def _backend() -> Finding:
    try:
        return Finding("backend", True, find_backend().describe())
    except BackendError as error:
        return Finding("backend", False, str(error), "Use --backend embedded.")


def _sofa() -> Finding:
    spec = sofa_spec()
    if spec is not None:
        return Finding("SOFA", True, f"found at {spec.origin}")
    root = os.environ.get("SOFA_ROOT")
    if root and not os.path.isdir(root):
        advice = f"SOFA_ROOT is '{root}', which is no folder: set it to SOFA's folder."
        return Finding("SOFA", False, "not importable", advice)
    if root:
        advice = (
            f"SOFA_ROOT is set, but there is no SofaPython3 below it for Python "
            f"{sys.version_info.major}.{sys.version_info.minor}."
        )
        return Finding("SOFA", False, "not importable", advice)
    advice = "To run scenes in SOFA as well, install it (conda: channel sofa-framework)."
    return Finding("SOFA", True, "not installed, and not needed", advice)


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
    from sofa_softctl.runtime.kernels import cable  # decorates its kernel, which finds the cache

    folder = os.environ.get("NUMBA_CACHE_DIR") or os.path.dirname(str(cable.__file__))
    if "sofa-softctl-" not in folder:
        return Finding("compiled code", True, f"kept in {folder}")
    advice = "Set NUMBA_CACHE_DIR to a folder that can be written, so that runs start faster."
    return Finding("compiled code", True, f"in {folder}, lost after this run", advice)
