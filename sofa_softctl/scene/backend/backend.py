"""Choose the backend: SOFA, or the embedded runtime."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

from sofa_softctl.base.processes import call_first_in_workers
from sofa_softctl.errors import BackendError
from sofa_softctl.runtime.bindings import modules
from sofa_softctl.scene.backend import start as sofa_start
from sofa_softctl.scene.backend.installation import HERE, find_installation, sofa_root

CHOICES = ("auto", "embedded", "sofa")
MODULES = ("Sofa.Core", "Sofa.Simulation", "Sofa.SofaConstraintSolver", "SofaRuntime")
"""Modules that the package imports; SofaConstraintSolver brings W() and lambda_force()."""
WITHOUT = "--backend embedded runs without SOFA; 'softctl doctor' says more."


@dataclass(frozen=True)
class Backend:
    """Backend of this process."""

    name: str
    """'embedded' or 'sofa'."""
    version: str
    """Version of SOFA, or the one that the embedded runtime follows."""
    Sofa: ModuleType
    """The module that scenes import as Sofa."""
    note: str = ""
    """Reason for not using an installed SOFA, or ""."""

    def describe(self) -> str:
        """Return name, version and location in one line."""
        if self.name == "embedded":
            text = f"embedded runtime (semantics of SOFA v{self.version})"
            return f"{text}. {self.note}" if self.note else text
        location = f"{Path(str(self.Sofa.__file__)).parent}, Python {HERE}"
        return f"SOFA v{self.version} with {sofa_start.plugins_with_versions()} ({location})"

    def component_names_among(self, names: Iterable[str]) -> list[str]:
        """Return the names, of those given, that are classes of components and not aliases."""
        if self.name == "embedded":
            from sofa_softctl.runtime.core import factory

            kinds = {name: factory.find(name) for name in names}
            return [name for name, kind in kinds.items() if kind and kind.__name__ == name]
        class_names = {component.className for component in self.Sofa.Core.ObjectFactory.components}
        return [name for name in names if name in class_names]


def find_backend(choice: str | None = None) -> Backend:
    """Return the backend of this process and its workers; it is chosen once.

    'auto' takes SOFA if it is usable. If an installed SOFA is not, the embedded runtime is taken,
    and `Backend.describe()` gives the reason; with 'sofa' that is an error.

    Args:
        choice: 'embedded', 'sofa' or 'auto'. SOFTCTL_BACKEND is the default, and replaces 'auto'.

    Raises:
        BackendError: SOFA is requested but not usable, or the other backend already runs.
    """
    choice = (choice or "auto").lower()
    if choice == "auto" and sys.modules.get("Sofa") is None:  # otherwise it is chosen already
        choice = os.environ.get("SOFTCTL_BACKEND", "auto").lower()
    if choice not in CHOICES:
        raise BackendError(f"Unknown backend '{choice}'; known: {', '.join(CHOICES)}.")
    note = ""
    if sys.modules.get("Sofa") is None:
        note = _start(choice)
    Sofa = sys.modules["Sofa"]
    name = "embedded" if modules.is_embedded(Sofa) else "sofa"
    if choice not in ("auto", name):
        raise BackendError(
            f"This process already runs on the backend '{name}'; start another one for '{choice}'."
        )
    call_first_in_workers("backend", partial(find_backend, name))
    if name == "sofa":
        sofa_start.keep_embedded_out()
    try:
        for module in MODULES:
            sofa_start.import_module(module)
        if name == "embedded":
            return Backend(name, modules.VERSION, Sofa, note)
        sofa_start.load_plugins()
    except BackendError as error:
        raise BackendError(f"{error} {WITHOUT}") from error
    installation = find_installation()
    return Backend(name, installation.version if installation is not None else "unknown", Sofa)


def _start(choice: str) -> str:
    """Import Sofa for a choice; return the reason for not taking an installed SOFA, or ""."""
    installation = find_installation() if choice != "embedded" else None
    if choice == "sofa" and installation is None:
        raise BackendError(missing_sofa_message())
    note = ""
    if installation is not None:
        try:
            sofa_start.start_sofa(installation)
            return ""
        except BackendError as error:
            if choice == "sofa" or not sofa_start.forget_sofa():
                raise BackendError(f"{error} {WITHOUT}") from error
            note = f"SOFA is not used: {error}"
    modules.put_first()
    sofa_start.import_module("Sofa")
    return note


def missing_sofa_message() -> str:
    """Return the error text for a missing SOFA, with a remedy."""
    from sofa_softctl.scene.backend.problems import conda

    root = sofa_root()
    location = "on the path, and SOFA_ROOT is not set"
    if root is not None:
        location = f"on the path or below SOFA_ROOT '{root}'"
    return (
        f"SOFA cannot be imported: no package 'Sofa' {location}. Set SOFA_ROOT to SOFA's folder, "
        f"or install it: '{conda()}'. {WITHOUT}"
    )
