"""Things by name: those of this package, and those of a dict in a Python file of the user's."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
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
    has: Sequence[str] = (),
) -> Any:
    """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

    PROBLEMS is a dict of problems, or of functions that make them; NAME may be left out if there is
    one.

    Args:
        name: What the user wrote.
        built_in: Problems of this package.
        error: Is raised when there is no such problem.
        page: Of the documentation, which says how problems are declared.
        has: Names of what a problem must have.
    """
    path, colon, wanted = name.partition(":")
    if not path.endswith(".py"):
        return _pick(built_in, name, "This package", error, page)()
    if not Path(path).is_file():
        raise error(f"{path}: there is no such file.")
    known = getattr(_imported(Path(path)), "PROBLEMS", {})
    if not isinstance(known, Mapping):
        raise error(
            f"'{path}': expected PROBLEMS to be a dict, names to problems. Got: {_kind(known)}. "
            f"See {page}."
        )
    if not colon and len(known) == 1:
        (wanted,) = known
    found = _made(_pick(known, wanted, f"'{path}'", error, page), f"{path}:{wanted}", error)
    lacks = [one for one in has if not hasattr(found, one)]
    if lacks:
        raise error(
            f"{path}:{wanted} is no problem, or a function that makes one: expected something with "
            f"{', '.join(has)}. Got: {_kind(found)}, without {', '.join(lacks)}. See {page}."
        )
    return found


def _made(entry: Any, where: str, error: type[SoftctlError]) -> Any:
    """The problem that an entry of PROBLEMS is, or makes."""
    if not callable(entry):
        return entry
    try:
        inspect.signature(entry).bind()
    except TypeError as why:
        raise error(
            f"{where}: expected a problem, or a function without arguments that makes one; {why}."
        ) from why
    except ValueError:
        pass  # written in C: what it takes is not known
    return entry()


def _kind(found: Any) -> str:
    return "None" if found is None else type(found).__name__


def did_you_mean(name: str, known: Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """A question that names the closest known name; empty when none is close."""
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean '{close[0]}'?" if close else ""


def some(names: Sequence[str], *, near: str = "", most: int = 8) -> str:
    """Names for a message: all if they are few, otherwise the closest to one, and how many more."""
    if len(names) <= most:
        return ", ".join(names)
    close = difflib.get_close_matches(near, names, n=most) if near else []
    first = [*close, *(name for name in names if name not in close)][:most]
    return f"{', '.join(first)} and {len(names) - most} more"


def _imported(path: Path) -> ModuleType:
    """The file as a module; its folder is on the path from then on, as with scene files."""
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
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
    names = [str(one) for one in known]
    told = f"It has: {', '.join(sorted(names)) or 'none'}."
    if not name and len(known) > 1:
        raise error(f"{where} has several problems: say which, FILE.py:NAME. {told}")
    what = f"problem '{name}'" if name else "problem"
    raise error(
        f"{where} has no {what}.{did_you_mean(name, names)} {told} The problems of a file are its "
        f"dict PROBLEMS, name to problem or to a function that makes it, see {page}."
    )
