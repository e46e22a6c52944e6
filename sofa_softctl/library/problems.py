"""Problems by name: those of this package, and PROBLEMS of Python files."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from sofa_softctl.errors import LibraryError
from sofa_softctl.library.ocp import OptimalControlProblem


def built_in() -> dict[str, Callable[[], OptimalControlProblem]]:
    """Problems of this package."""
    from sofa_softctl.library import tasks
    from sofa_softctl.library.flexible_cart import flexible_cart

    return {
        "elastic_arm": partial(tasks.pick_and_place, "constant"),
        "elastic_arm_variable": partial(tasks.pick_and_place, "variable"),
        "rigid_arm": partial(tasks.pick_and_place, "rigid"),
        "flexible_cart": flexible_cart,
    }


def load_problem(name: str) -> OptimalControlProblem:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    PROBLEMS is a dict of functions that make problems; NAME may be left out if there is one.

    Raises:
        LibraryError: There is no such problem.
    """
    path, colon, wanted = name.partition(":")
    if not path.endswith(".py"):
        return _pick(built_in(), name, "This package")()
    if not Path(path).is_file():
        raise LibraryError(f"{path}: there is no such file.")
    known: dict[str, Any] = getattr(_imported(Path(path)), "PROBLEMS", {})
    if not colon and len(known) == 1:
        (wanted,) = known
    return _pick(known, wanted, f"'{path}'")()  # type: ignore[no-any-return]


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"problem_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _pick(known: dict[str, Any], name: str, where: str) -> Any:
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    names = ", ".join(sorted(known)) or "none"
    raise LibraryError(
        f"{where} has no problem '{name}'.{hint} It has: {names}. The problems of a file are its "
        "dict PROBLEMS, name to function, see docs/libraries.md."
    )
