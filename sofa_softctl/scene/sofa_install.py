"""A SOFA installation as it lies on disk: what can be told of it before anything of it runs.

Importing compiled modules of another Python or of a SOFA that is too old may end the interpreter,
so everything here only looks at names of files.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OLDEST = "25.06"
"""The oldest SOFA whose names and events the package knows."""
CONDA = (
    "conda install sofa-app sofa-python3 sofa-softrobots --channel sofa-framework "
    "--channel conda-forge"
)
"""What brings SOFA, SofaPython3 and SoftRobots for this Python."""
BELOW_ROOT = (
    "plugins/SofaPython3/lib/python3/site-packages",  # release binaries
    "lib/python3/site-packages",  # a build, or an installation of one's own
    f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages",  # conda
)
"""Where the package Sofa lies below SOFA_ROOT."""


@dataclass(frozen=True)
class Installation:
    """SofaPython3, and the SOFA that it belongs to."""

    packages: Path
    """The folder that holds the package Sofa."""
    root: Path | None
    """SOFA's folder, None when it cannot be told."""
    version: str
    """Such as '25.06.00'; 'unknown' when it cannot be told."""
    python: str | None
    """The Python its modules are compiled for, such as '3.12'; None when there are none."""

    @property
    def problem(self) -> str | None:
        """Why it cannot be imported here, and what to do; None when it looks good."""
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        if self.python is None:
            return (
                f"SofaPython3 in '{self.packages}' has no compiled modules (Sofa/Core.*): install "
                f"it again, for instance by '{CONDA}'."
            )
        if self.python != here:
            return (
                f"SofaPython3 in '{self.packages}' is compiled for Python {self.python}, and this "
                f"is Python {here}. Make an environment with Python {self.python} "
                f"(python{self.python} -m venv .venv), or take a SOFA for Python {here}: '{CONDA}'."
            )
        if self.version != "unknown" and _number(self.version) < _number(OLDEST):
            return (
                f"SOFA in '{self.root}' is v{self.version}, too old: v{OLDEST} or newer is needed. "
                f"Install a newer one, for instance by '{CONDA}'."
            )
        return None


def find_installation() -> Installation | None:
    """The SofaPython3 that `import Sofa` finds, or the one below SOFA_ROOT."""
    for folder in _folders():
        if (folder / "Sofa" / "__init__.py").is_file():
            root = _root_of(folder)
            version = _version_of(root) if root is not None else "unknown"
            return Installation(folder, root, version, _python_of(folder))
    return None


def _folders() -> Iterator[Path]:
    yield from (Path(entry or ".") for entry in sys.path)
    root = os.environ.get("SOFA_ROOT")
    if root:
        yield from (Path(root) / below for below in BELOW_ROOT)


def _python_of(packages: Path) -> str | None:
    """From names such as Core.cpython-312-x86_64-linux-gnu.so or Core.cp312-win_amd64.pyd."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = set()
    for file in (packages / "Sofa").glob("Core.*"):
        match = re.match(r"Core\.(?:cpython-|cp)(\d)(\d+)", file.name)
        if match and file.suffix in (".so", ".pyd"):
            found.add(f"{match[1]}.{match[2]}")
    return here if here in found else max(found, default=None)


def _root_of(packages: Path) -> Path | None:
    """The nearest folder above with SOFA's libraries, or SOFA_ROOT."""
    given = os.environ.get("SOFA_ROOT")
    for folder in (*packages.resolve().parents, *([Path(given)] if given else [])):
        if _version_of(folder) != "unknown":
            return folder
    return Path(given) if given else None


def _version_of(root: Path) -> str:
    """From names such as libSofa.Core.so.25.06.00, or the CMake file of Sofa.Core."""
    for pattern in ("libSofa.Core.so.*.*", "libSofa.Core.*.*.dylib"):
        for file in sorted((root / "lib").glob(pattern), reverse=True):
            match = re.search(r"(\d+\.\d+(?:\.\d+)?)", file.name.removeprefix("libSofa.Core."))
            if match:
                return match[1]
    for file in (root / "lib" / "cmake").glob("Sofa.Core/Sofa.CoreConfigVersion.cmake"):
        match = re.search(r'PACKAGE_VERSION "([\d.]+)"', file.read_text(errors="replace"))
        if match:
            return match[1]
    return "unknown"


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
