"""Things by name: those of this package, and those of a dict in a Python file of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sofa_softctl._internal.suggestions import did_you_mean
from sofa_softctl._internal.user_module import import_file
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
    known = getattr(import_file(Path(path), "problem"), "PROBLEMS", {})
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
