"""Which program answers `import Sofa`: SOFA itself, or the embedded runtime of this package."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from sofa_softctl.errors import BackendError
from sofa_softctl.runtime import modules
from sofa_softctl.scene.sofa_install import CONDA, Installation, find_installation

CHOICES = ("auto", "embedded", "sofa")
PLUGINS = ("Sofa.Component", "SoftRobots")
"""What scenes of this package need from SOFA; a scene asks for more by RequiredPlugin."""
MODULES = ("Sofa", "Sofa.Core", "Sofa.Simulation", "Sofa.SofaConstraintSolver", "SofaRuntime")
"""What the package imports; SofaConstraintSolver brings W() and lambda_force()."""
WITHOUT = "--backend embedded runs without SOFA; 'softctl doctor' says more."


@dataclass(frozen=True)
class Backend:
    """What runs the scenes of this process."""

    name: str
    """'embedded' or 'sofa'."""
    version: str
    """Version of SOFA, or the one that the embedded runtime follows."""
    Sofa: ModuleType
    """The module that scenes import as Sofa."""
    note: str = ""
    """Why a SOFA that was found is not used; empty otherwise."""

    def describe(self) -> str:
        """One line for people."""
        if self.name == "embedded":
            text = f"embedded runtime (semantics of SOFA v{self.version})"
            return f"{text}. {self.note}" if self.note else text
        python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        folder = os.path.dirname(str(self.Sofa.__file__))
        return f"SOFA v{self.version} with {' and '.join(PLUGINS)} ({folder}, {python})"


def find_backend(choice: str | None = None) -> Backend:
    """The backend of this process; it is chosen once.

    Args:
        choice: 'embedded', 'sofa', or 'auto', which takes SOFA where it can be used and says why
            when one was found that cannot. SOFTCTL_BACKEND is the default, and stands for 'auto'.

    Raises:
        BackendError: SOFA was asked for but cannot be had, or the other backend already runs.
    """
    choice = (choice or "auto").lower()
    if choice == "auto":
        choice = os.environ.get("SOFTCTL_BACKEND", "auto").lower()
    if choice not in CHOICES:
        raise BackendError(f"Unknown backend '{choice}'; known: {', '.join(CHOICES)}.")
    note = ""
    if sys.modules.get("Sofa") is None:
        choice, note = _choose(choice)
    name = "embedded" if modules.is_embedded(_import("Sofa")) else "sofa"
    if choice not in ("auto", name):
        raise BackendError(
            f"This process already runs on the backend '{name}'; start another one for '{choice}'."
        )
    for module in MODULES:
        _import(module)
    if name == "sofa":
        _load_plugins()
    return Backend(name, _version(name), sys.modules["Sofa"], note)


def _choose(choice: str) -> tuple[str, str]:
    """'embedded' or 'sofa', made ready for import, and why a SOFA that is here is not taken."""
    found = find_installation() if choice != "embedded" else None
    problem = found.problem if found is not None else None
    if choice == "sofa" and found is None:
        raise BackendError(
            "SOFA cannot be imported: no package 'Sofa' on the path or below SOFA_ROOT. Set "
            f"SOFA_ROOT to SOFA's folder, or install it: '{CONDA}'. {WITHOUT}"
        )
    if choice == "sofa" and problem is not None:
        raise BackendError(f"{problem} {WITHOUT}")
    if found is None or problem is not None:
        modules.put_first()
        return "embedded", f"SOFA is not used: {problem}" if problem else ""
    _make_importable(found)
    return "sofa", ""


def _make_importable(found: Installation) -> None:
    if str(found.packages) not in sys.path:
        sys.path.append(str(found.packages))
    if found.root is not None:  # SOFA looks there for its resources and plugins
        os.environ.setdefault("SOFA_ROOT", str(found.root))


def _import(name: str) -> ModuleType:
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # the package Sofa prints a banner
            return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(f"{explain(name, str(error))} {WITHOUT}") from error


def explain(module: str, error: str) -> str:
    """What an error at the import of one of SOFA's modules means, and what to do."""
    found = find_installation()
    where = f"SOFA in '{found.packages}'" if found is not None else "SOFA"
    if any(sign in error for sign in ("compiled using NumPy 1", "_ARRAY_API", "numpy.core.multi")):
        return (
            f"{where} is compiled for NumPy 1, and this is NumPy {np.__version__}. Take a "
            f"SofaPython3 built with pybind11 2.12 or newer, as the conda packages are: '{CONDA}'."
        )
    if "cannot open shared object file" in error or "DLL load failed" in error:
        return (
            f"{where} was found, but a library of it was not: {error}. Set SOFA_ROOT to SOFA's "
            "folder, and add the folder of that library to LD_LIBRARY_PATH (Windows: PATH)."
        )
    if module == "Sofa.SofaConstraintSolver" and "No module named" in error:
        return (
            f"{where} lacks the module {module}, by which controllers see W: build SofaPython3 "
            "with its bindings of Sofa.Component, or take the conda packages."
        )
    return f"{where} was found, but '{module}' cannot be imported: {error}."


@functools.cache
def _load_plugins() -> None:
    runtime: Any = sys.modules["SofaRuntime"]
    for plugin in PLUGINS:
        said: list[str] = []
        with _kept_from_terminal(said):
            loaded = runtime.importPlugin(plugin)
        if not loaded:
            raise BackendError(
                f"SOFA was found, but its plugin '{plugin}' cannot be loaded. Install it (conda: "
                "sofa-softrobots; the release binaries have it below plugins/), or set "
                f"SOFA_PLUGIN_PATH to the folder of its library. {WITHOUT}\n{''.join(said)}".strip()
            )


@contextlib.contextmanager
def _kept_from_terminal(said: list[str]) -> Iterator[None]:
    """Collects what C++ prints, which names sixty plugins, line by line."""
    sys.stdout.flush()
    terminal = os.dup(1)
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(terminal, 1)
            os.close(terminal)
            file.seek(0)
            said += [line for line in file if not line.startswith("[INFO]")]


def _version(name: str) -> str:
    if name == "embedded":
        return modules.VERSION
    found = find_installation()
    return found.version if found is not None else "unknown"
