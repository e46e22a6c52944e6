"""Start of SOFA in this process, with explanations for failed imports."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sofa_softctl.errors import BackendError
from sofa_softctl.runtime.bindings import modules
from sofa_softctl.scene.backend.installation import (
    PLUGINS,
    Installation,
    find_installation,
    plugin_library,
    plugin_version,
    sofa_root,
    version_of,
)


def explain(module: str, error: str, sofa: Installation | None) -> str:
    """Explain an error at the import of one of SOFA's modules, with a remedy."""
    subject = f"SOFA in '{sofa.packages}'" if sofa is not None else "SOFA"
    text = f"{subject} was found, but '{module}' cannot be imported: {error.rstrip('.')}."
    return f"{text} {_remedy(error, sofa)}".strip()


def _remedy(error: str, sofa: Installation | None) -> str:
    folder = sofa.root / "lib" if sofa is not None and sofa.root is not None else Path("lib")
    python = re.search(r"libpython(3\.\d+)", error)
    library = re.search(r"libSofa\.[\w.]*?(?:so|dylib|dll)?\.(\d\d\.\d\d)", error)
    if python is not None:
        return (
            f"SOFA needs the shared library of Python {python[1]}: install it (Debian and Ubuntu: "
            f"libpython{python[1]}), or add its folder to LD_LIBRARY_PATH "
            f"('{sysconfig.get_config_var('LIBDIR')}' belongs to this Python)."
        )
    if library is not None and sofa is not None and library[1] != sofa.version[:5]:
        return (
            f"SofaPython3 was built for SOFA v{library[1]}, and v{sofa.version} is beside it in "
            f"'{sofa.root}': take both from the same release."
        )
    if any(
        sign in error for sign in ("cannot open shared object", "DLL load failed", "not loaded")
    ):
        return (
            "Let SOFA_ROOT be SOFA's folder, and add the folder of the library that is missing to "
            f"LD_LIBRARY_PATH (macOS: DYLD_LIBRARY_PATH, Windows: PATH); SOFA's own are in "
            f"'{folder}'."
        )
    if "GLIBC" in error or "undefined symbol" in error:
        from sofa_softctl.scene.backend.problems import conda

        return (
            "A library that was built for another system or another SOFA is loaded: look at "
            "LD_LIBRARY_PATH, or take the conda packages, which bring all that they need: "
            f"'{conda()}'."
        )
    return ""


PACKAGES = ("Sofa", "SofaRuntime", "SofaTypes")
"""The Python packages of SofaPython3."""


def start_sofa(sofa: Installation) -> None:
    """Import SOFA if it has no predictable problem.

    Raises:
        BackendError: SOFA has a problem, or the import failed.
    """
    from sofa_softctl.scene.backend.problems import problems

    for problem in problems(sofa):
        raise BackendError(problem)
    if str(sofa.packages) not in sys.path:
        sys.path.append(str(sofa.packages))
    root = sofa_root()
    if sofa.root is not None and (root is None or version_of(root) is None):
        os.environ["SOFA_ROOT"] = str(sofa.root)  # SOFA looks there for its plugins
    keep_embedded_out()
    import_module("Sofa")


def import_module(name: str) -> ModuleType:
    """Import a module of SOFA, without the banner that its package prints."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return importlib.import_module(name)
    except ImportError as error:
        raise BackendError(explain(name, str(error), find_installation())) from error


def keep_embedded_out() -> None:
    """Remove the embedded runtime's finder, which would supply the modules that SOFA lacks."""
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if not isinstance(finder, modules.Finder)
    ]


def forget_sofa() -> bool:
    """Undo a failed import; return False if compiled modules are loaded already."""
    names = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    files = [str(getattr(sys.modules[name], "__file__", "")) for name in names]
    if any(file.endswith((".so", ".pyd")) for file in files):
        return False
    for name in names:
        del sys.modules[name]
    return True


def plugins_with_versions() -> str:
    """Return the plugins, such as 'Sofa.Component and SoftRobots 1.0'."""
    sofa = find_installation()
    library = plugin_library(sofa.root, PLUGINS[-1]) if sofa is not None else None
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
        output: list[str] = []
        with _capture_output(output):
            loaded = runtime.importPlugin(plugin)
        if not loaded:
            raise BackendError(
                f"SOFA was found, but its plugin '{plugin}' cannot be loaded: "
                f"{' '.join(''.join(output).split()) or 'SOFA does not say why'}. Take it from the "
                "same release as SOFA (conda: sofa-softrobots; the release binaries have it below "
                f"plugins/), and set SOFA_PLUGIN_PATH to the folder of its library."
            )


@contextlib.contextmanager
def _capture_output(lines: list[str]) -> Iterator[None]:
    """Collect C++ output in `lines`, without its information on sixty plugins."""
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
            lines += [line for line in file if not line.startswith("[INFO]")]
