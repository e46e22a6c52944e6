"""Import SOFA into this process: Python packages, then the plugins that scenes need."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from sofa_softctl.errors import BackendError
from sofa_softctl.runtime.bindings import modules
from sofa_softctl.scene.sofa.installation import (
    PLUGINS,
    Installation,
    find_installation,
    plugin_library,
    plugin_version,
    sofa_root,
    version_of,
)

PACKAGES = ("Sofa", "SofaRuntime", "SofaTypes")
"""The Python packages of SofaPython3."""


def start_sofa(found: Installation) -> None:
    """Import SOFA where nothing that can be seen before speaks against it.

    Raises:
        BackendError: Something does; or the import failed.
    """
    from sofa_softctl.scene.sofa.problems import problems

    for problem in problems(found):
        raise BackendError(problem)
    if str(found.packages) not in sys.path:
        sys.path.append(str(found.packages))
    given = sofa_root()
    if found.root is not None and (given is None or version_of(given) is None):
        os.environ["SOFA_ROOT"] = str(found.root)  # SOFA looks there for its plugins
    keep_embedded_out()
    import_module("Sofa")


def import_module(name: str) -> ModuleType:
    """Import a module of SOFA, without the banner that its package prints."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(name)
    except ImportError as error:
        from sofa_softctl.scene.sofa.import_errors import explain

        raise BackendError(explain(name, str(error), find_installation())) from error


def keep_embedded_out() -> None:
    """SOFA's modules and ours must not mix: what SOFA lacks would be answered by ours."""
    sys.meta_path[:] = [entry for entry in sys.meta_path if not isinstance(entry, modules.Finder)]


def forget_sofa() -> bool:
    """Undo an import that failed; False when compiled modules are in this process already."""
    names = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    files = [str(getattr(sys.modules[name], "__file__", "")) for name in names]
    if any(file.endswith((".so", ".pyd")) for file in files):
        return False
    for name in names:
        del sys.modules[name]
    return True


def plugins_with_versions() -> str:
    """The plugins, such as 'Sofa.Component and SoftRobots 1.0'."""
    found = find_installation()
    library = plugin_library(found.root, PLUGINS[-1]) if found is not None else None
    version = plugin_version(library) if library is not None else None
    return " and ".join(PLUGINS) + (f" {version}" if version else "")


@functools.cache
def load_plugins() -> None:
    """Load the plugins that scenes of this package need.

    Raises:
        BackendError: One cannot be loaded.
    """
    runtime: Any = sys.modules["SofaRuntime"]
    for plugin in PLUGINS:
        said: list[str] = []
        with _kept_from_terminal(said):
            loaded = runtime.importPlugin(plugin)
        if not loaded:
            raise BackendError(
                f"SOFA was found, but its plugin '{plugin}' cannot be loaded: "
                f"{' '.join(''.join(said).split()) or 'SOFA does not say why'}. Take it from the "
                "same release as SOFA (conda: sofa-softrobots; the release binaries have it below "
                f"plugins/), and set SOFA_PLUGIN_PATH to the folder of its library."
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
