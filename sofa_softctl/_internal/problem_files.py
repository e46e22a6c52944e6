"""Registries of problems: the built-in ones by name, and PROBLEMS of users' Python files."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from sofa_softctl._internal.suggestions import did_you_mean
from sofa_softctl._internal.user_module import import_file
from sofa_softctl.errors import SoftctlError

P = TypeVar("P")


@dataclass(frozen=True)
class ProblemRegistry(Generic[P]):
    """Problems of one kind by name, built-in or in a file of the user's.

    Both are declared alike: PROBLEMS of a module is a dict, names to problems or to functions
    without arguments that make them.
    """

    modules: Sequence[str]
    """Modules that declare the built-in problems; imported when a problem is loaded."""
    error: type[SoftctlError]
    """Raised where there is no such problem."""
    page: str
    """Page of the documentation on how a problem is declared."""
    members: Sequence[str]
    """Attributes that a problem must have."""

    def load(self, name: str) -> P:
        """The problem of that name, or FILE.py:NAME of a file's PROBLEMS.

        NAME may be left out if the file has one problem.

        Raises:
            SoftctlError: There is no such problem; of the class `error`.
        """
        path, colon, wanted = name.partition(":")
        if not path.endswith(".py"):
            return self._made(self._pick(self._built_in(), name, "This package"), name)
        if not Path(path).is_file():
            raise self.error(f"{path}: there is no such file.")
        known = getattr(import_file(Path(path), "problem"), "PROBLEMS", {})
        if not isinstance(known, Mapping):
            raise self.error(
                f"'{path}': expected PROBLEMS to be a dict, names to problems. Got: "
                f"{_kind(known)}. See {self.page}."
            )
        if not colon and len(known) == 1:
            (wanted,) = known
        return self._made(self._pick(known, wanted, f"'{path}'"), f"{path}:{wanted}")

    def _built_in(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for module in self.modules:
            found |= import_module(module).PROBLEMS
        return found

    def _pick(self, known: Mapping[str, Any], name: str, where: str) -> Any:
        """The entry of that name."""
        if name in known:
            return known[name]
        names = [str(one) for one in known]
        listed = f"It has: {', '.join(sorted(names)) or 'none'}."
        if not name and len(known) > 1:
            raise self.error(f"{where} has several problems: say which, FILE.py:NAME. {listed}")
        what = f"problem '{name}'" if name else "problem"
        raise self.error(
            f"{where} has no {what}.{did_you_mean(name, names)} {listed} The problems of a file "
            f"are its dict PROBLEMS, name to problem or to a function that makes it, see "
            f"{self.page}."
        )

    def _made(self, entry: Any, where: str) -> P:
        """The problem that an entry of PROBLEMS is, or makes."""
        found = self._called(entry, where) if callable(entry) else entry
        lacks = [one for one in self.members if not hasattr(found, one)]
        if lacks:
            raise self.error(
                f"{where} is no problem, or a function that makes one: expected something with "
                f"{', '.join(self.members)}. Got: {_kind(found)}, without {', '.join(lacks)}. See "
                f"{self.page}."
            )
        problem: P = found
        return problem

    def _called(self, make: Any, where: str) -> Any:
        if inspect.isabstract(make):
            lacks = ", ".join(sorted(make.__abstractmethods__))
            raise self.error(
                f"{where}: class {make.__name__} must define {lacks}. See {self.page}."
            )
        try:
            inspect.signature(make).bind()
        except TypeError as why:
            raise self.error(
                f"{where}: expected a problem, or a function without arguments that makes one; "
                f"{why}."
            ) from why
        except ValueError:
            pass  # written in C: its arguments are not known
        return make()


def _kind(found: Any) -> str:
    return "None" if found is None else type(found).__name__
