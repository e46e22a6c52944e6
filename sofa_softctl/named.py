"""Things by name: those of this package, and those of a dict in a Python file of the user's."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from sofa_softctl.errors import SoftctlError


def load_problem(
    name: str,
    built_in: Mapping[str, Callable[[], Any]],
    *,
    error: type[SoftctlError],
    page: str,
) -> Any:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    PROBLEMS is a dict of functions that make problems; NAME may be left out if there is one.

    Args:
        name: What the user wrote.
        built_in: Problems of this package.
        error: Is raised when there is no such problem.
        page: Of the documentation, which says how problems are declared.
    """
    path, colon, wanted = name.partition(":")
    if not path.endswith(".py"):
        return _pick(built_in, name, "This package", error, page)()
    if not Path(path).is_file():
        raise error(f"{path}: there is no such file.")
    known: dict[str, Any] = getattr(_imported(Path(path)), "PROBLEMS", {})
    if not colon and len(known) == 1:
        (wanted,) = known
    return _pick(known, wanted, f"'{path}'", error, page)()


def did_you_mean(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """A question that names the closest known name; empty when none is close."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"problem_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look up what annotations mean
    spec.loader.exec_module(module)
    return module


def _pick(
    known: Mapping[str, Any], name: str, where: str, error: type[SoftctlError], page: str
) -> Any:
    if name in known:
        return known[name]
    names = ", ".join(sorted(known)) or "none"
    raise error(
        f"{where} has no problem '{name}'.{did_you_mean(name, known)} It has: {names}. The "
        f"problems of a file are its dict PROBLEMS, name to function, see {page}."
    )
