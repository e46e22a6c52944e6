"""Whether SOFA runs here: what is installed, what is missing, and how to get it."""

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
    """One thing that was looked at."""

    subject: str
    """What."""
    good: bool
    """Whether it is as it should be; what is optional and absent counts as good."""
    text: str
    """What was found."""
    advice: str = ""
    """What to do about it."""


WITHOUT = "Until then scenes run in the embedded runtime, which needs no SOFA."
MEANWHILE = "Until then --backend embedded (or SOFTCTL_BACKEND=embedded) runs without SOFA."


def sofa_findings() -> tuple[list[Finding], SofaProbe | None]:
    """Check the installation, and import it in a child process; None where that was not tried."""
    found = find_installation()
    if found is None:
        return [_absent(), *_run_sofa(None)], None
    wrong = problems(found)
    tried = None if wrong else probe()
    findings = [_where(found, wrong), *_root(found)]
    if tried is not None:
        findings += [_tried(tried), *_plugins(found)]
    return [*findings, *_run_sofa(found)], tried


def _where(found: Installation, wrong: list[str]) -> Finding:
    python = f" for Python {' and '.join(found.pythons)}" if found.pythons else ""
    version = f"v{found.version}" if found.version != "unknown" else "unknown version"
    text = f"{version}, SofaPython3{python} in {found.packages}"
    if wrong:
        return Finding("SOFA", False, text, "\n".join([*wrong, WITHOUT]))
    if found.version == "unknown":
        advice = f"Its files do not say its version; v{OLDEST} or newer is needed."
        return Finding("SOFA", True, text, advice)
    return Finding("SOFA", True, text)


def _root(found: Installation) -> Iterator[Finding]:
    given = sofa_root()
    if given is not None and version_of(given) is None and found.root is not None:
        advice = (
            f"Here {found.root} is taken instead; runSofa and other programs do not: set "
            f"SOFA_ROOT={found.root}"
        )
        what = "is no folder" if not given.is_dir() else "holds no SOFA"
        yield Finding("SOFA_ROOT", False, f"'{given}' {what}", advice)


def _absent() -> Finding:
    given = sofa_root()
    if given is not None and not given.is_dir():
        advice = "Set it to SOFA's folder, the one that holds bin, lib and plugins, or unset it."
        return Finding("SOFA_ROOT", False, f"'{given}' is no folder", advice)
    if given is not None:
        above = next((folder for folder in given.parents if packages_below(folder)), None)
        advice = (
            f"Set it to {above}, which does."
            if above is not None
            else "The release binaries have it in plugins/SofaPython3; a build needs the plugin "
            f"SofaPython3 switched on; conda brings it by '{conda()}'."
        )
        return Finding("SOFA_ROOT", False, f"'{given}' holds no SofaPython3", advice)
    misled = next(_misled(), None)
    if misled is not None:
        advice = (
            "Name the folder that holds the package Sofa: SOFA's folder/plugins/SofaPython3/lib/"
            "python3/site-packages. Or set SOFA_ROOT to SOFA's folder, which is enough here."
        )
        return Finding("PYTHONPATH", False, f"'{misled}' holds no package Sofa", advice)
    advice = (
        f"To run scenes in SOFA as well: '{conda()}', then 'pip install sofa-softctl' there. Or "
        "unpack the release binaries of SOFA v25.06 or newer (for Python 3.12) and set SOFA_ROOT "
        "to their folder. Where the conda channel is served from: sofa-framework/conda-ci."
    )
    return Finding("SOFA", True, "not installed, and not needed", advice)


def _misled() -> Iterator[str]:
    for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if "sofapython3" in entry.lower():
            yield entry


def _tried(tried: SofaProbe) -> Finding:
    if tried.good:
        return Finding("SOFA tried", True, "imports, loads its plugins, does a step")
    passed = f"{', '.join(tried.passed)}: good; then " if tried.passed else ""
    if not tried.crashed:
        return Finding("SOFA tried", False, f"{passed}fails", f"{tried.error} {MEANWHILE}")
    advice = (
        "What SOFA loads does not fit this Python: another build of SOFA, Qt or libstdc++ on "
        "LD_LIBRARY_PATH, or a Python that brings its own copy of libpython. Unset LD_LIBRARY_PATH "
        f"and try again, or take the conda packages, which fit together: '{conda()}'. {MEANWHILE}"
    )
    return Finding("SOFA tried", False, f"{passed}{tried.error}\n{tried.last_lines}", advice)


def _plugins(found: Installation) -> Iterator[Finding]:
    soft = plugin_library(found.root, "SoftRobots")
    if soft is not None:
        version = plugin_version(soft)
        where = f"in {soft.parent}"
        yield Finding("SoftRobots", True, f"v{version} {where}" if version else where)
    inverse = plugin_library(found.root, "SoftRobots.Inverse")
    text = f"in {inverse.parent}" if inverse is not None else "not there, and not needed"
    advice = "" if inverse is not None else "Only for comparison (conda: sofa-softrobotsinverse)."
    yield Finding("SoftRobots.Inverse", True, text, advice)


def _run_sofa(found: Installation | None) -> Iterator[Finding]:
    """The runSofa that the shell finds, and whether it runs scenes in the same SOFA and Python."""
    program = shutil.which("runSofa")
    own = found.root.resolve() if found is not None and found.root is not None else None
    if program is None:
        if own is not None and (own / "bin" / "runSofa").exists():
            advice = f"Add {own / 'bin'} to PATH to see scenes in SOFA's window."
            yield Finding("runSofa", True, "not on PATH", advice)
        return
    root = Path(program).resolve().parent.parent
    packages = packages_below(root)
    pythons = installation_in(packages).pythons if packages is not None else []
    if found is None and packages is not None:
        yield Finding("runSofa", True, program, f"SOFA_ROOT={root} lets scenes run in that SOFA.")
    elif own is not None and own != root:
        advice = f"It belongs to another SOFA than the one in {own}: mind PATH."
        yield Finding("runSofa", False, program, advice)
    elif pythons and HERE not in pythons:
        advice = f"It runs scenes in Python {pythons[-1]}; sofa_softctl is in Python {HERE}."
        yield Finding("runSofa", False, program, advice)
    else:
        unseen = sys.prefix != sys.base_prefix and not os.environ.get("VIRTUAL_ENV")
        advice = "Activate this environment before runSofa, so that it finds sofa_softctl."
        yield Finding("runSofa", True, program, advice if unseen else "")


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
