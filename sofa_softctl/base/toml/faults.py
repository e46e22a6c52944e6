"""Kinds of TOML files, and the errors of a file, collected before one is raised."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sofa_softctl.base.toml.locate import Path
from sofa_softctl.errors import SoftctlError


@dataclass(frozen=True)
class FileKind:
    """Kind of a TOML file."""

    name: str
    """Noun for such a file, such as 'configuration file'."""
    error: type[SoftctlError]
    """Class of the error for a wrong file."""
    tables: Collection[str] = ()
    """Names of the tables [NAME]."""
    named: Collection[str] = ()
    """Kinds of the tables [KIND.NAME]."""


LISTED_ERRORS_MAX = 10
"""Largest number of errors in a message."""


class Faults:
    """Errors of one TOML file, with line numbers.

    Args:
        file: Name of the file.
        lines: Line of every table and key, see `locate`, or None if there is no text.
        kind: Kind of the file.
    """

    def __init__(self, file: str, lines: dict[Path, int] | None, kind: FileKind) -> None:
        self.file, self.lines, self.kind = file, lines, kind
        self.found: list[tuple[int, str]] = []

    def line(self, path: Path) -> int:
        """Return the line of a key, or of the innermost known table around it; at least 1."""
        lines = self.lines or {}
        while path and path not in lines:
            path = path[:-1]
        return lines.get(path, 1)

    def add(self, path: Path, text: str) -> None:
        """Add an error of the key or table at a path, as a sentence that says what to do."""
        self.found.append((self.line(path), f"{place(path, self.kind)}{text}"))

    def wrong(self, path: Path, expected: str, got: Any, advice: str) -> None:
        """Add an error for an invalid value."""
        self.add(path, f"expected {expected}, got {format_value(got)}. {advice}")

    def raise_any(self) -> None:
        """Raise the errors, if any.

        Raises:
            SoftctlError: `kind.error`: all errors in the order of their lines, each on one line, at
                most `LISTED_ERRORS_MAX`.
        """
        if not self.found:
            return
        numbers = "" if self.lines is None else ":{}"
        lines = [f"{self.file}{numbers.format(n)}: {text}" for n, text in sorted(self.found)]
        lines = list(dict.fromkeys(lines))
        if len(lines) > LISTED_ERRORS_MAX:
            lines[LISTED_ERRORS_MAX:] = [
                f"{self.file}: and {len(lines) - LISTED_ERRORS_MAX} more errors."
            ]
        raise self.kind.error("\n".join(lines))


def place(path: Path, kind: FileKind) -> str:
    """Return the position of a key for a message: '[actuators.left] map.radius: '."""
    if not path:
        return ""
    split = 2 if path[0] in kind.named else 1
    table, keys = ".".join(map(toml_key, path[:split])), path[split:]
    if split == 1 and path[0] not in kind.tables:
        return f"{table}: "
    inner = "".join(f"[{k}]" if isinstance(k, int) else f".{toml_key(k)}" for k in keys)
    return f"[{table}]{' ' * bool(keys)}{inner.lstrip('.')}: "


def toml_key(key: str | int) -> str:
    """Return a key in TOML's syntax, with quotes if it needs them."""
    text = str(key)
    plain = text.isascii() and text.replace("_", "").replace("-", "").isalnum()
    return text if plain else repr(text)


def format_value(value: Any) -> str:
    """Format a value of a TOML document for a message, cut if it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, str):
        text = repr(value)
    elif isinstance(value, list):
        text = f"[{', '.join(map(format_value, value[:6]))}{', ...' if len(value) > 6 else ''}]"
    elif isinstance(value, int) and abs(value) >= 10**15:
        text = "a number of more than 15 digits"  # str() refuses those of thousands
    else:
        text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
