"""Problems of an installed SOFA, predicted without importing it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES

from sofa_softctl.scene.backend.installation import (
    HERE,
    Installation,
    plugin_library,
    sofa_root,
    version_of,
)

OLDEST = "25.06"
"""The oldest SOFA whose names and events the package knows."""
CONDA_PYTHONS = ("3.11", "3.12", "3.13")
"""Versions of Python that both this package and SOFA's conda packages support."""


def conda() -> str:
    """Return the command that installs SOFA, SofaPython3 and SoftRobots by conda."""
    python = HERE if HERE in CONDA_PYTHONS else "3.12"
    inside = os.path.isdir(os.path.join(sys.prefix, "conda-meta")) and python == HERE
    return (
        f"conda {'install' if inside else 'create --name sofa'} --channel sofa-framework "
        f"--channel conda-forge python={python} sofa-app sofa-python3 sofa-softrobots"
    )


def problems(sofa: Installation) -> list[str]:
    """Return the reasons, with remedies, for which an installation cannot be used here."""
    return [text for check in CHECKS for text in [check(sofa)] if text is not None]


def _no_modules(sofa: Installation) -> str | None:
    if sofa.module("Core") or sofa.kinds:
        return None
    return (
        f"'{sofa.packages}' has the package Sofa, but none of its compiled modules (Sofa/Core.*): "
        "it may be SofaPython3's source. Take the site-packages of a build or of the release "
        "binaries (SOFA's folder/plugins/SofaPython3/lib/python3/site-packages)."
    )


def _other_python(sofa: Installation) -> str | None:
    if sofa.module("Core") or not sofa.pythons or HERE in sofa.pythons:
        return None
    newest = sofa.pythons[-1]
    advice = "sofa-softctl needs Python 3.11 or newer: take"
    if newest in CONDA_PYTHONS:
        advice = (
            f"Make an environment with Python {newest} (python{newest} -m venv .venv) and install "
            "sofa-softctl there, or take"
        )
    return (
        f"SofaPython3 in '{sofa.packages}' is compiled for Python {' and '.join(sofa.pythons)}, "
        f"and this is Python {HERE} ({sys.executable}). {advice} a SOFA for Python "
        f"{HERE if HERE in CONDA_PYTHONS else '3.12'}: '{conda()}'."
    )


def _other_machine(sofa: Installation) -> str | None:
    if sofa.module("Core") or HERE not in sofa.pythons:
        return None
    return (
        f"SofaPython3 in '{sofa.packages}' is compiled for '{' and '.join(sofa.kinds)}', and "
        f"this Python takes '{EXTENSION_SUFFIXES[0].split('.')[1]}': take the SOFA of this machine "
        f"and this kind of Python, for instance by '{conda()}'."
    )


def _too_old(sofa: Installation) -> str | None:
    if sofa.version == "unknown" or _version_numbers(sofa.version) >= _version_numbers(OLDEST):
        return None
    return (
        f"SOFA in '{sofa.root}' is v{sofa.version}, too old: v{OLDEST} or newer is needed. "
        f"Install a newer one, for instance by '{conda()}'."
    )


def _two_sofas(sofa: Installation) -> str | None:
    """Return a problem if two copies of SOFA are loaded, which hang or crash, even of one build."""
    root = sofa_root()
    if root is None or sofa.root is None or root.resolve() == sofa.root.resolve():
        return None
    version = version_of(root)
    if version is None:
        return None  # no SOFA there: the right folder is set before the import
    return (
        f"Two SOFAs are mixed: 'import Sofa' takes '{sofa.packages}', of SOFA v{sofa.version} in "
        f"'{sofa.root}', but SOFA_ROOT is '{root}' with v{version}, whose plugins would be "
        "loaded into it. Let SOFA_ROOT and PYTHONPATH name the same SOFA."
    )


def _numpy_1(sofa: Installation) -> str | None:
    """Return a problem if the modules are built with pybind11 before 2.12, made for NumPy 1.

    The import succeeds, but with NumPy 2 the size of a number reads as 0, so every entry of some
    arrays is their first one. Since 2.12 pybind11 names NumPy's core differently.
    """
    core = sofa.module("Core")
    if core is None or b"numpy.core.multiarray" not in core.read_bytes():
        return None
    return (
        f"SofaPython3 in '{sofa.packages}' is built with a pybind11 older than 2.12, which reads "
        "wrong numbers from the arrays of NumPy 2, without an error. Build it again with pybind11 "
        "2.12 or newer, or take the release binaries of SOFA v25.06 or newer, or the conda "
        f"packages: '{conda()}'."
    )


def _no_compliance(sofa: Installation) -> str | None:
    if not sofa.module("Core") or sofa.module("SofaConstraintSolver"):
        return None
    return (
        f"SofaPython3 in '{sofa.packages}' lacks the module Sofa.SofaConstraintSolver, by which "
        "controllers see the compliance matrix W: build SofaPython3 with all of its bindings "
        f"(Bindings.Modules), or take the conda packages: '{conda()}'."
    )


def _no_plugin(sofa: Installation) -> str | None:
    if plugin_library(sofa.root, "Sofa.Component") is None:
        location = "Its folder is unknown" if sofa.root is None else f"'{sofa.root}' lacks it"
        return (
            "SOFA's own components are not found (libSofa.Component in SOFA's lib folder). "
            f"{location}: set SOFA_ROOT to SOFA's folder, the one that holds bin, lib and plugins."
        )
    if plugin_library(sofa.root, "SoftRobots") is None:
        return (
            f"SOFA in '{sofa.root}' has no plugin SoftRobots, which brings the cables: install it "
            "(conda: sofa-softrobots; the release binaries have it in plugins/SoftRobots), or set "
            "SOFA_PLUGIN_PATH to the folder of libSoftRobots."
        )
    return None


CHECKS: tuple[Callable[[Installation], str | None], ...] = (
    _no_modules,
    _other_python,
    _other_machine,
    _too_old,
    _two_sofas,
    _numpy_1,
    _no_compliance,
    _no_plugin,
)


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
