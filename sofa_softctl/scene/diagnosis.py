"""What `softctl doctor` looks at."""

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
from sofa_softctl.scene.backend import explain, find_backend
from sofa_softctl.scene.sofa_install import CONDA, Installation, find_installation
from sofa_softctl.scene.sofa_probe import probe

REQUIRED = ("numpy", "scipy", "numba", "daqp", "proxsuite", "qpsolvers", "pluggy", "mcap")
EXTRAS = {"view": ("pyvista", "imageio", "imageio_ffmpeg")}
WITHOUT = "Until then scenes run in the embedded runtime, which needs no SOFA."


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
    """Backend, SOFA, versions, optional extras, and where compiled code is kept."""
    sofa = list(_sofa())
    found = [_backend(usable=all(finding.good for finding in sofa)), *sofa]
    found.append(Finding("Python", True, f"{platform.python_version()} on {platform.platform()}"))
    found += [_package(name) for name in REQUIRED]
    found += [_extra(extra, names) for extra, names in EXTRAS.items()]
    found.append(_cache())
    return found


def _backend(*, usable: bool) -> Finding:
    choice = None if usable else "embedded"  # what cannot be used may end this process
    try:
        text = find_backend(choice).describe()
    except BackendError as error:
        return Finding("backend", False, str(error), "Use --backend embedded.")
    chosen = os.environ.get("SOFTCTL_BACKEND")
    return Finding("backend", True, f"{text}, by SOFTCTL_BACKEND" if chosen else text)


def _sofa() -> Iterator[Finding]:
    """SOFA on disk, in a process of its own, and the runSofa that the shell finds."""
    found = find_installation()
    if found is None:
        yield _absent()
        return
    text = f"v{found.version}, SofaPython3 for Python {found.python} in {found.packages}"
    problem = found.problem
    yield Finding("SOFA", problem is None, text, f"{problem} {WITHOUT}" if problem else "")
    if problem is None:
        yield _tried()
        yield _run_sofa(found)


def _absent() -> Finding:
    root = os.environ.get("SOFA_ROOT")
    if root and not os.path.isdir(root):
        advice = f"SOFA_ROOT is '{root}', which is no folder: set it to SOFA's folder."
        return Finding("SOFA", False, "not found", advice)
    if root:
        advice = (
            f"SOFA_ROOT is '{root}', but SofaPython3 is not below it: the release binaries have it "
            "in plugins/SofaPython3, a build needs SofaPython3 switched on. Or install it: "
            f"'{CONDA}'."
        )
        return Finding("SOFA", False, "not found", advice)
    advice = (
        f"To run scenes in SOFA as well: '{CONDA}' (Python 3.11 to 3.13), or unpack the release "
        "binaries and set SOFA_ROOT to their folder."
    )
    return Finding("SOFA", True, "not installed, and not needed", advice)


def _tried() -> Finding:
    tried = probe()
    if tried.good:
        return Finding("SOFA tried", True, "imports, loads its plugins, does a step")
    passed = f"{', '.join(tried.passed)} went well; then: " if tried.passed else ""
    advice = tried.error if tried.passed == () else explain("Sofa", tried.error)
    if "killed by" in tried.error:
        advice = (
            "Something that SOFA loads does not fit this Python: another NumPy, Qt or libstdc++ on "
            f"LD_LIBRARY_PATH, or modules of another build. The conda packages fit together: "
            f"'{CONDA}'."
        )
    text = f"{passed}{tried.error}\n{tried.last_lines}".strip()
    return Finding("SOFA tried", False, text, f"{advice} {WITHOUT}")


def _run_sofa(found: Installation) -> Finding:
    program = shutil.which("runSofa")
    if program is None and found.root is not None and (found.root / "bin" / "runSofa").exists():
        advice = f"Add {found.root / 'bin'} to PATH to start scenes in SOFA's window."
        return Finding("runSofa", True, f"not on PATH, but in {found.root / 'bin'}", advice)
    if program is None:
        return Finding("runSofa", True, "not on PATH", "Only needed for SOFA's window.")
    if found.root is not None and found.root.resolve() not in Path(program).resolve().parents:
        advice = f"It belongs to another SOFA than the one in {found.root}: mind PATH."
        return Finding("runSofa", False, program, advice)
    inside = sys.prefix != sys.base_prefix and not os.environ.get("VIRTUAL_ENV")
    advice = "Activate this environment before runSofa, so that it finds sofa_softctl."
    return Finding("runSofa", True, program, advice if inside else "")


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
