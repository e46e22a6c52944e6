"""Inspect a SOFA installation on disk, without running it.

Importing compiled modules of another Python, or mixing two SOFAs, may end the interpreter, so
everything here only looks at names of files, and at the text of small ones.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from pathlib import Path

PLUGINS = ("Sofa.Component", "SoftRobots")
"""Plugins that scenes of this package need; a scene requests more by RequiredPlugin."""
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
"""This Python, such as '3.12'."""
BELOW_ROOT = (
    "plugins/SofaPython3/lib/python3/site-packages",  # release binaries
    "lib/python3/site-packages",  # a build, or its installation
    f"lib/python{HERE}/site-packages",  # conda
    "lib/python3.*/site-packages",  # conda, for another Python
)
"""Possible locations of the package Sofa below SOFA_ROOT."""
VERSION = r"(\d\d\.\d\d(?:\.\d+)?)"
SIGNS = (
    ("lib/libSofa.Core.so.*", VERSION),
    ("lib/libSofaCore.so.*", VERSION),  # until v21.06
    ("lib/libSofa.Core.*.dylib", VERSION),
    ("bin/runSofa-*", VERSION),
    ("include/sofa/version.h", f'"{VERSION}"'),
    ("include/*/sofa/version.h", f'"{VERSION}"'),
    ("include/*/*/sofa/version.h", f'"{VERSION}"'),
    ("lib/cmake/Sofa.ConfigConfigVersion.cmake", f'"{VERSION}"'),
    ("lib/cmake/*/Sofa.ConfigConfigVersion.cmake", f'"{VERSION}"'),
    ("conda-meta/libsofa-*.json", VERSION),
)
"""Files below SOFA's folder with its version in their names or in a quoted text."""


@dataclass(frozen=True)
class Installation:
    """SofaPython3, and the SOFA that it belongs to."""

    packages: Path
    """The folder that holds the packages Sofa and SofaRuntime."""
    root: Path | None
    """SOFA's folder, with its libraries in lib (Windows: bin), or None if unknown."""
    version: str
    """Version of SOFA such as '25.06.00', or 'unknown'."""

    def module(self, name: str) -> Path | None:
        """Return the file that this Python takes for `import Sofa.<name>`, or None."""
        files = (self.packages / "Sofa" / f"{name}{suffix}" for suffix in all_suffixes())
        return next((file for file in files if os.path.isfile(file)), None)

    @property
    def kinds(self) -> list[str]:
        """ABI of Sofa.Core, such as 'cpython-312-x86_64-linux-gnu'."""
        names = sorted(file.name for file in (self.packages / "Sofa").glob("Core.*.*"))
        return [name.split(".")[1] for name in names if name.endswith((".so", ".pyd"))]

    @property
    def pythons(self) -> list[str]:
        """Supported versions of Python, such as ['3.9', '3.12'], oldest first."""
        matches = [re.match(r"(?:cpython-|cp)(\d)(\d+)", kind) for kind in self.kinds]
        numbers = sorted({(int(match[1]), int(match[2])) for match in matches if match})
        return [f"{major}.{minor}" for major, minor in numbers]


def find_installation() -> Installation | None:
    """Return the SofaPython3 that `import Sofa` takes, or the one below SOFA_ROOT, or None."""
    on_path = filter(_has_sofa, (Path(folder or ".") for folder in sys.path))
    root = sofa_root()
    packages = next(on_path, None) or (packages_below(root) if root is not None else None)
    return installation_in(packages) if packages is not None else None


def installation_in(packages: Path) -> Installation:
    """Return the SofaPython3 in a folder of Python packages, with the SOFA around it."""
    inside = (packages / "Sofa").resolve()  # users link it into their environment
    around = [folder for above in inside.parents for folder in (above, above / "Library")]
    root = sofa_root()
    for folder in (*around, *([root] if root is not None else [])):
        version = version_of(folder)
        if version is not None:
            return Installation(packages, folder, version)
    return Installation(packages, None, "unknown")


def packages_below(root: Path) -> Path | None:
    """Return the folder with the package Sofa below SOFA's root, or None."""
    folders = (folder for below in BELOW_ROOT for folder in sorted(root.glob(below)))
    return next(filter(_has_sofa, folders), None)


def sofa_root() -> Path | None:
    """Return SOFA_ROOT, or None if it is unset or empty."""
    folder = os.environ.get("SOFA_ROOT")
    return Path(folder) if folder else None


def version_of(root: Path) -> str | None:
    """Return the version of the SOFA in a folder, such as '25.06.00', or None if unknown."""
    for pattern, sign in SIGNS:
        for file in sorted(root.glob(pattern), reverse=True):
            quoted = sign.startswith('"')
            match = re.search(sign, file.read_text(errors="replace") if quoted else file.name)
            if match:
                return match[1]
    return None


def plugin_library(root: Path | None, name: str) -> Path | None:
    """Return the library of a plugin in the folders that SOFA searches, or None."""
    plugin_path = os.environ.get("SOFA_PLUGIN_PATH", "").split(os.pathsep)
    folders = [Path(text) for text in plugin_path if text]
    if root is not None:
        folders += [root / below for below in ("lib", "bin", "plugins")]
    for folder in folders:
        for inside in ("", name, f"{name}/lib", f"{name}/bin"):
            for library in (f"lib{name}.so", f"lib{name}.dylib", f"{name}.dll"):
                if os.path.isfile(folder / inside / library):
                    return folder / inside / library
    return None


def plugin_version(library: Path) -> str | None:
    """Return the version in the name of a library's file, such as libSoftRobots.so.1.0, or None."""
    match = re.search(r"(\d+(?:\.\d+)+)(?:\.dylib)?$", library.resolve().name)
    return match[1] if match else None


def _has_sofa(packages: Path) -> bool:
    return os.path.isfile(packages / "Sofa" / "__init__.py")  # False if unreadable
