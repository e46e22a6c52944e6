"""Problems that Python files declare: FILE.py:NAME of a dict PROBLEMS."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.base.user_module import import_file
from sofa_softctl.errors import SoftctlError


def load_problem(name: str, *, error: type[SoftctlError], page: str, members: Sequence[str]) -> Any:
    """Return the problem NAME of a file's PROBLEMS, a dict of names to problems.

    Instead of a problem, the dict may have a function without arguments that makes one.

    Args:
        name: FILE.py:NAME; NAME may be left out if the file has one problem.
        error: Class of the errors.
        page: Page of the documentation on how a problem is declared.
        members: Attributes that a problem must have.

    Raises:
        SoftctlError: The problem is unknown or incomplete; of the class `error`.
    """
    path, colon, key = name.partition(":")
    if not path.endswith(".py"):
        raise error(
            f"'{name}' is not a Python file. Problems are named by the file that declares them: "
            f"FILE.py or FILE.py:NAME, see {page}."
        )
    if not Path(path).is_file():
        raise error(f"{path}: there is no such file.")
    problems = getattr(import_file(Path(path), "problem"), "PROBLEMS", {})
    if not isinstance(problems, Mapping):
        raise error(
            f"'{path}': expected PROBLEMS to be a dict, names to problems. Got: {_kind(problems)}. "
            f"See {page}."
        )
    if not colon and len(problems) == 1:
        (key,) = problems
    if key not in problems:
        raise error(_unknown_problem_message(problems, key, path, page))
    declared, location = problems[key], f"{path}:{key}"
    problem = _call(declared, location, error, page) if callable(declared) else declared
    missing = [member for member in members if not hasattr(problem, member)]
    if missing:
        raise error(
            f"{location} is not a problem, or a function that makes one: expected something with "
            f"{', '.join(members)}. Got: {_kind(problem)}, without {', '.join(missing)}. "
            f"See {page}."
        )
    return problem


def _unknown_problem_message(problems: Mapping[str, Any], name: str, path: str, page: str) -> str:
    """Return the message for a name that is not among the problems of a file."""
    names = sorted(map(str, problems))
    listed = f"It has: {', '.join(names) or 'none'}."
    if not name and len(problems) > 1:
        return f"'{path}' has several problems: say which, FILE.py:NAME. {listed}"
    label = f"problem '{name}'" if name else "problem"
    return (
        f"'{path}' has no {label}.{did_you_mean(name, names)} {listed} The problems of a file are "
        f"its dict PROBLEMS, name to problem or to a function that makes it, see {page}."
    )


def _call(make: Any, location: str, error: type[SoftctlError], page: str) -> Any:
    """Call a function without arguments that makes a problem."""
    if inspect.isabstract(make):
        missing = ", ".join(sorted(make.__abstractmethods__))
        raise error(f"{location}: class {make.__name__} must define {missing}. See {page}.")
    try:
        inspect.signature(make).bind()
    except TypeError as reason:
        raise error(
            f"{location}: expected a problem, or a function without arguments that makes one; "
            f"{reason}."
        ) from reason
    except ValueError:
        pass  # written in C: its arguments are not known
    return make()


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
