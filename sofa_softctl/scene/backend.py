"""Which program answers `import Sofa`: SOFA itself, or the embedded runtime of this package."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from sofa_softctl.errors import BackendError
from sofa_softctl.runtime import modules

CHOICES = ("auto", "embedded", "sofa")
PLUGINS = ("Sofa.Component", "SoftRobots")
"""What scenes of this package need from SOFA."""


@dataclass(frozen=True)
class Backend:
    """What runs the scenes of this process."""

    name: str
    """'embedded' or 'sofa'."""
    version: str
    """Version of SOFA, or the one that the embedded runtime follows."""
    Sofa: ModuleType
    """The module that scenes import as Sofa."""

    def describe(self) -> str:
        """One line for people."""
        if self.name == "embedded":
            return f"embedded runtime (semantics of SOFA v{self.version})"
        return f"SOFA v{self.version} ({Path(str(self.Sofa.__file__)).parent})"


def find_backend(choice: str | None = None) -> Backend:
    """The backend of this process; it is chosen once.

    Args:
        choice: 'auto' takes SOFA where it can be imported; SOFTCTL_BACKEND is the default.

    Raises:
        BackendError: SOFA was asked for but cannot be imported, or the other backend already runs.
    """
    choice = (choice or os.environ.get("SOFTCTL_BACKEND") or "auto").lower()
    if choice not in CHOICES:
        raise BackendError(f"Unknown backend '{choice}'; known: {', '.join(CHOICES)}.")
    running = sys.modules.get("Sofa")
    if running is None:
        if choice == "auto":
            choice = "sofa" if sofa_spec() is not None else "embedded"
        if choice == "embedded":
            modules.put_first()
        elif sofa_spec() is None:
            raise BackendError(
                "SOFA cannot be imported: no module 'Sofa' on the path. Set SOFA_ROOT to SOFA's "
                "folder and add its plugins/SofaPython3/lib/python3/site-packages to PYTHONPATH, "
                "or use --backend embedded. 'softctl doctor' says more."
            )
        else:
            _add_sofa_path()
    module = _import("Sofa")
    name = "embedded" if modules.is_embedded(module) else "sofa"
    if choice not in ("auto", name):
        raise BackendError(
            f"This process already runs on the backend '{name}'; start another one for '{choice}'."
        )
    if name == "sofa":
        _load_plugins()
    for submodule in ("Sofa.Core", "Sofa.Simulation", "Sofa.SofaConstraintSolver", "SofaRuntime"):
        _import(submodule)
    return Backend(name, _version(module, name), module)


def sofa_spec() -> importlib.machinery.ModuleSpec | None:
    """Where SOFA's own Python modules are, None when they cannot be found."""
    _add_sofa_path()
    for finder in sys.meta_path:
        if isinstance(finder, modules.Finder):
            continue
        spec = finder.find_spec("Sofa", None)
        if spec is not None and spec.origin is not None:
            return spec
    return None


def _add_sofa_path() -> None:
    root = os.environ.get("SOFA_ROOT")
    if not root:
        return
    for below in ("plugins/SofaPython3/lib/python3/site-packages", "lib/python3/site-packages"):
        folder = Path(root) / below
        if folder.is_dir() and str(folder) not in sys.path:
            sys.path.append(str(folder))


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(
            f"SOFA was found, but '{name}' cannot be imported: {error}. Usually its Python version "
            f"differs from this one ({sys.version_info.major}.{sys.version_info.minor}), or "
            "SOFA_ROOT is not set. 'softctl doctor' says more; --backend embedded runs without."
        ) from error


def _load_plugins() -> None:
    runtime: Any = _import("SofaRuntime")
    for plugin in PLUGINS:
        if not runtime.importPlugin(plugin):
            raise BackendError(
                f"SOFA was found, but its plugin '{plugin}' cannot be loaded. Install it, or use "
                "--backend embedded."
            )


def _version(module: Any, name: str) -> str:
    if name == "embedded":
        return modules.VERSION
    # SofaPython3 tells no version; the libraries beside it carry it in their names.
    root = Path(os.environ.get("SOFA_ROOT") or Path(str(module.__file__)).parents[4])
    found = sorted((root / "lib").glob("libSofa.Core.so.*.*"))
    return found[-1].name.removeprefix("libSofa.Core.so.") if found else "unknown"
