"""Predict what keeps an installed SOFA from being used, without importing it."""

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
"""The Pythons that this package and the conda packages of SOFA have in common."""


def conda() -> str:
    """The command that brings SOFA, SofaPython3 and SoftRobots by conda, for this Python."""
    python = HERE if HERE in CONDA_PYTHONS else "3.12"
    inside = os.path.isdir(os.path.join(sys.prefix, "conda-meta")) and python == HERE
    return (
        f"conda {'install' if inside else 'create --name sofa'} --channel sofa-framework "
        f"--channel conda-forge python={python} sofa-app sofa-python3 sofa-softrobots"
    )


def problems(found: Installation) -> list[str]:
    """Why an installation cannot be used here, each with what to do; empty when it looks good."""
    return [text for check in CHECKS for text in [check(found)] if text is not None]


def _no_modules(found: Installation) -> str | None:
    if found.module("Core") or found.kinds:
        return None
    return (
        f"'{found.packages}' has the package Sofa, but none of its compiled modules (Sofa/Core.*): "
        "it may be SofaPython3's source. Take the site-packages of a build or of the release "
        "binaries (SOFA's folder/plugins/SofaPython3/lib/python3/site-packages)."
    )


def _other_python(found: Installation) -> str | None:
    if found.module("Core") or not found.pythons or HERE in found.pythons:
        return None
    newest = found.pythons[-1]
    advice = "sofa-softctl needs Python 3.11 or newer: take"
    if newest in CONDA_PYTHONS:
        advice = (
            f"Make an environment with Python {newest} (python{newest} -m venv .venv) and install "
            "sofa-softctl there, or take"
        )
    return (
        f"SofaPython3 in '{found.packages}' is compiled for Python {' and '.join(found.pythons)}, "
        f"and this is Python {HERE} ({sys.executable}). {advice} a SOFA for Python "
        f"{HERE if HERE in CONDA_PYTHONS else '3.12'}: '{conda()}'."
    )


def _other_machine(found: Installation) -> str | None:
    if found.module("Core") or HERE not in found.pythons:
        return None
    return (
        f"SofaPython3 in '{found.packages}' is compiled for '{' and '.join(found.kinds)}', and "
        f"this Python takes '{EXTENSION_SUFFIXES[0].split('.')[1]}': take the SOFA of this machine "
        f"and this kind of Python, for instance by '{conda()}'."
    )


def _too_old(found: Installation) -> str | None:
    if found.version == "unknown" or _number(found.version) >= _number(OLDEST):
        return None
    return (
        f"SOFA in '{found.root}' is v{found.version}, too old: v{OLDEST} or newer is needed. "
        f"Install a newer one, for instance by '{conda()}'."
    )


def _two_sofas(found: Installation) -> str | None:
    """Two copies of SOFA in one process hang or crash, even of the same build."""
    given = sofa_root()
    if given is None or found.root is None or given.resolve() == found.root.resolve():
        return None
    version = version_of(given)
    if version is None:
        return None  # no SOFA there: the right folder is set before the import
    return (
        f"Two SOFAs are mixed: 'import Sofa' takes '{found.packages}', of SOFA v{found.version} in "
        f"'{found.root}', but SOFA_ROOT is '{given}' with v{version}, whose plugins would be "
        "loaded into it. Let SOFA_ROOT and PYTHONPATH name the same SOFA."
    )


def _numpy_1(found: Installation) -> str | None:
    """Until 2.11 pybind11 reads NumPy's structures as NumPy 1 laid them out.

    Nothing fails at the import: NumPy 2 gives it 0 for the size of a number, so that every entry
    of some arrays is their first one. Since 2.12 it looks for NumPy's core by another name.
    """
    core = found.module("Core")
    if core is None or b"numpy.core.multiarray" not in core.read_bytes():
        return None
    return (
        f"SofaPython3 in '{found.packages}' is built with a pybind11 older than 2.12, which reads "
        "wrong numbers from the arrays of NumPy 2, without an error. Build it again with pybind11 "
        "2.12 or newer, or take the release binaries of SOFA v25.06 or newer, or the conda "
        f"packages: '{conda()}'."
    )


def _no_compliance(found: Installation) -> str | None:
    if not found.module("Core") or found.module("SofaConstraintSolver"):
        return None
    return (
        f"SofaPython3 in '{found.packages}' lacks the module Sofa.SofaConstraintSolver, by which "
        "controllers see the compliance matrix W: build SofaPython3 with all of its bindings "
        f"(Bindings.Modules), or take the conda packages: '{conda()}'."
    )


def _no_plugin(found: Installation) -> str | None:
    if plugin_library(found.root, "Sofa.Component") is None:
        where = "Its folder is unknown" if found.root is None else f"'{found.root}' lacks it"
        return (
            "SOFA's own components are not found (libSofa.Component in SOFA's lib folder). "
            f"{where}: set SOFA_ROOT to SOFA's folder, the one that holds bin, lib and plugins."
        )
    if plugin_library(found.root, "SoftRobots") is None:
        return (
            f"SOFA in '{found.root}' has no plugin SoftRobots, which brings the cables: install it "
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


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
