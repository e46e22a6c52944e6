"""Explain errors at the import of SOFA."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from sofa_softctl.scene.sofa.installation import Installation
from sofa_softctl.scene.sofa.problems import conda


def explain(module: str, error: str, found: Installation | None) -> str:
    """Explain an error at the import of one of SOFA's modules, and what to do."""
    where = f"SOFA in '{found.packages}'" if found is not None else "SOFA"
    text = f"{where} was found, but '{module}' cannot be imported: {error.rstrip('.')}."
    return f"{text} {_remedy(error, found)}".strip()


def _remedy(error: str, found: Installation | None) -> str:
    folder = found.root / "lib" if found is not None and found.root is not None else Path("lib")
    python = re.search(r"libpython(3\.\d+)", error)
    library = re.search(r"libSofa\.[\w.]*?(?:so|dylib|dll)?\.(\d\d\.\d\d)", error)
    if python is not None:
        return (
            f"SOFA needs the shared library of Python {python[1]}: install it (Debian and Ubuntu: "
            f"libpython{python[1]}), or add its folder to LD_LIBRARY_PATH "
            f"('{sysconfig.get_config_var('LIBDIR')}' belongs to this Python)."
        )
    if library is not None and found is not None and library[1] != found.version[:5]:
        return (
            f"SofaPython3 was built for SOFA v{library[1]}, and v{found.version} is beside it in "
            f"'{found.root}': take both from the same release."
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
        return (
            "A library that was built for another system or another SOFA is loaded: look at "
            "LD_LIBRARY_PATH, or take the conda packages, which bring all that they need: "
            f"'{conda()}'."
        )
    return ""
