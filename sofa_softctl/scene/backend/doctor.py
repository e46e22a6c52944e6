"""Diagnosis of the SOFA installation: state, missing parts and remedies."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sofa_softctl.base.extras import install_command
from sofa_softctl.errors import BackendError
from sofa_softctl.scene.backend.backend import CHOICES, find_backend
from sofa_softctl.scene.backend.installation import (
    HERE,
    Installation,
    find_installation,
    installation_in,
    packages_below,
    plugin_library,
    plugin_version,
    sofa_root,
    version_of,
)
from sofa_softctl.scene.backend.probe import SofaProbe, probe
from sofa_softctl.scene.backend.problems import OLDEST, conda, problems


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    subject: str
    """Checked item, such as 'SOFA'."""
    good: bool
    """Whether it is as it should be; an absent optional item counts as good."""
    text: str
    """State of the item."""
    advice: str = ""
    """Remedy, or ""."""


WITHOUT = "Until then scenes run in the embedded runtime, which needs no SOFA."
MEANWHILE = "Until then --backend embedded (or SOFTCTL_BACKEND=embedded) runs without SOFA."


def sofa_findings() -> tuple[list[Finding], SofaProbe | None]:
    """Check the installation; return the trial import in a child process, or None if skipped."""
    installation = find_installation()
    if installation is None:
        return [_explain_absence(), *_check_run_sofa(None)], None
    reasons = problems(installation)
    trial = None if reasons else probe()
    findings = [_check_installation(installation, reasons), *_check_root(installation)]
    if trial is not None:
        findings += [_describe_trial(trial), *_check_plugins(installation)]
    return [*findings, *_check_run_sofa(installation)], trial


def _check_installation(installation: Installation, reasons: list[str]) -> Finding:
    python = f" for Python {' and '.join(installation.pythons)}" if installation.pythons else ""
    version = f"v{installation.version}" if installation.version != "unknown" else "unknown version"
    text = f"{version}, SofaPython3{python} in {installation.packages}"
    if reasons:
        return Finding("SOFA", False, text, "\n".join([*reasons, WITHOUT]))
    if installation.version == "unknown":
        advice = f"Its files do not say its version; v{OLDEST} or newer is needed."
        return Finding("SOFA", True, text, advice)
    return Finding("SOFA", True, text)


def _check_root(installation: Installation) -> Iterator[Finding]:
    root = sofa_root()
    if root is not None and version_of(root) is None and installation.root is not None:
        advice = (
            f"Here {installation.root} is taken instead; runSofa and other programs do not: set "
            f"SOFA_ROOT={installation.root}"
        )
        state = "is no folder" if not root.is_dir() else "holds no SOFA"
        yield Finding("SOFA_ROOT", False, f"'{root}' {state}", advice)


def _explain_absence() -> Finding:
    root = sofa_root()
    if root is not None and not root.is_dir():
        advice = "Set it to SOFA's folder, the one that holds bin, lib and plugins, or unset it."
        return Finding("SOFA_ROOT", False, f"'{root}' is no folder", advice)
    if root is not None:
        above = next((folder for folder in root.parents if packages_below(folder)), None)
        advice = (
            f"Set it to {above}, which does."
            if above is not None
            else "The release binaries have it in plugins/SofaPython3; a build needs the plugin "
            f"SofaPython3 switched on; conda brings it by '{conda()}'."
        )
        return Finding("SOFA_ROOT", False, f"'{root}' holds no SofaPython3", advice)
    misled = next(_misleading_path_entries(), None)
    if misled is not None:
        advice = (
            "Name the folder that holds the package Sofa: SOFA's folder/plugins/SofaPython3/lib/"
            "python3/site-packages. Or set SOFA_ROOT to SOFA's folder, which is enough here."
        )
        return Finding("PYTHONPATH", False, f"'{misled}' holds no package Sofa", advice)
    advice = (
        f"To run scenes in SOFA as well: '{conda()}', then '{install_command()}' there. Or "
        "unpack the release binaries of SOFA v25.06 or newer (for Python 3.12) and set SOFA_ROOT "
        "to their folder. Where the conda channel is served from: sofa-framework/conda-ci."
    )
    return Finding("SOFA", True, "not installed, and not needed", advice)


def _misleading_path_entries() -> Iterator[str]:
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if "sofapython3" in folder.lower():
            yield folder


def _describe_trial(trial: SofaProbe) -> Finding:
    if trial.good:
        return Finding("SOFA tried", True, "imports, loads its plugins, does a step")
    passed = f"{', '.join(trial.passed)}: good; then " if trial.passed else ""
    if not trial.crashed:
        return Finding("SOFA tried", False, f"{passed}fails", f"{trial.error} {MEANWHILE}")
    advice = (
        "What SOFA loads does not fit this Python: another build of SOFA, Qt or libstdc++ on "
        "LD_LIBRARY_PATH, or a Python that brings its own copy of libpython. Unset LD_LIBRARY_PATH "
        f"and try again, or take the conda packages, which fit together: '{conda()}'. {MEANWHILE}"
    )
    return Finding("SOFA tried", False, f"{passed}{trial.error}\n{trial.last_lines}", advice)


def _check_plugins(installation: Installation) -> Iterator[Finding]:
    soft = plugin_library(installation.root, "SoftRobots")
    if soft is not None:
        version = plugin_version(soft)
        location = f"in {soft.parent}"
        yield Finding("SoftRobots", True, f"v{version} {location}" if version else location)
    inverse = plugin_library(installation.root, "SoftRobots.Inverse")
    text = f"in {inverse.parent}" if inverse is not None else "not there, and not needed"
    advice = "" if inverse is not None else "Only for comparison (conda: sofa-softrobotsinverse)."
    yield Finding("SoftRobots.Inverse", True, text, advice)


def _check_run_sofa(installation: Installation | None) -> Iterator[Finding]:
    """Check that the shell's runSofa, if any, runs scenes in the same SOFA and Python."""
    program = shutil.which("runSofa")
    own_root = (
        installation.root.resolve()
        if installation is not None and installation.root is not None
        else None
    )
    if program is None:
        if own_root is not None and (own_root / "bin" / "runSofa").exists():
            advice = f"Add {own_root / 'bin'} to PATH to see scenes in SOFA's window."
            yield Finding("runSofa", True, "not on PATH", advice)
        return
    root = Path(program).resolve().parent.parent
    packages = packages_below(root)
    pythons = installation_in(packages).pythons if packages is not None else []
    if installation is None and packages is not None:
        yield Finding("runSofa", True, program, f"SOFA_ROOT={root} lets scenes run in that SOFA.")
    elif own_root is not None and own_root != root:
        advice = f"It belongs to another SOFA than the one in {own_root}: mind PATH."
        yield Finding("runSofa", False, program, advice)
    elif pythons and HERE not in pythons:
        advice = f"It runs scenes in Python {pythons[-1]}; sofa_softctl is in Python {HERE}."
        yield Finding("runSofa", False, program, advice)
    else:
        unseen = sys.prefix != sys.base_prefix and not os.environ.get("VIRTUAL_ENV")
        advice = "Activate this environment before runSofa, so that it finds sofa_softctl."
        yield Finding("runSofa", True, program, advice if unseen else "")


REQUIRED = ("numpy", "scipy", "numba", "daqp", "proxsuite", "qpsolvers", "pluggy", "mcap")
EXTRAS = {"view": ("imageio_ffmpeg", "viser")}


def diagnose() -> list[Finding]:
    """Check backend, SOFA, versions, optional extras and the folder of compiled code."""
    sofa, trial = sofa_findings()
    findings = [_check_backend(trial), *sofa]
    findings.append(
        Finding("Python", True, f"{platform.python_version()} on {platform.platform()}")
    )
    findings += [_check_package(name) for name in REQUIRED]
    findings += [_check_extra(extra, names) for extra, names in EXTRAS.items()]
    findings.append(_check_kernel_cache())
    return findings


def _check_backend(trial: SofaProbe | None) -> Finding:
    """Check the backend without starting SOFA in this process."""
    choice = os.environ.get("SOFTCTL_BACKEND", "auto").lower()
    source = ", by SOFTCTL_BACKEND" if choice != "auto" else ""
    if choice not in CHOICES:
        advice = f"Set it to one of {', '.join(CHOICES)}, or unset it."
        return Finding("backend", False, f"SOFTCTL_BACKEND is '{choice}'", advice)
    if choice != "embedded" and trial is not None:
        if trial.good:
            return Finding("backend", True, f"{trial.description}{source}")
        return Finding("backend", False, f"SOFA{source}, which fails", "See below.")
    if choice == "sofa":
        advice = "See below what to do about SOFA; SOFTCTL_BACKEND=auto takes what can be had."
        return Finding(
            "backend", False, "SOFTCTL_BACKEND asks for SOFA, which cannot be used", advice
        )
    try:
        return Finding("backend", True, f"{find_backend('embedded').describe()}{source}")
    except BackendError as error:
        return Finding("backend", False, str(error))


def _check_package(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        advice = f"{install_command()} installs it."
        return Finding(name, False, "missing", advice)


def _check_extra(extra: str, names: tuple[str, ...]) -> Finding:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return Finding(f"extra [{extra}]", True, "installed")
    advice = f"{install_command(extra)} brings {', '.join(missing)}."
    return Finding(f"extra [{extra}]", True, "not installed: no movies", advice)


def _check_kernel_cache() -> Finding:
    from sofa_softctl.base.kernels.cache import CACHE, VARIABLE

    try:
        CACHE.check()
    except OSError as error:
        reason = error.strerror or str(error)
        advice = f"Set {VARIABLE} to a folder that can be written, so that runs start faster."
        return Finding("compiled code", True, f"cannot be kept in {CACHE.folder}: {reason}", advice)
    return Finding("compiled code", True, f"kept in {CACHE.folder}")
