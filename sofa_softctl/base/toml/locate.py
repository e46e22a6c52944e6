"""Lines of tables and keys in a TOML document, for messages."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Path = tuple[str | int, ...]
"""Keys, and indices of lists, from the document's root."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'  # up to two quotes may stand before the closing ones
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]+|[^\s,\]}#]+")  # a date may have a space


def locate(text: str) -> dict[Path, int]:
    """Return the line of every table, key and element of a list, from 1.

    Args:
        text: A valid TOML document: one that `tomllib` has read.
    """
    return _Locator(text).lines


class _Locator:
    """Parser that goes through a valid document once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._counts: dict[Path, int] = {}  # of arrays of tables
        table: Path = ()
        while self._skip():
            if text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _skip(self) -> bool:
        """Skip blanks, ends of lines and comments; return True if anything follows."""
        self._match(_BLANK)
        return self.at < len(self.text)

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None, f"no TOML at line {self._line()}"
        self.at = match.end()
        return match.group()

    def _line(self) -> int:
        return bisect_right(self._ends, self.at - 1) + 1

    def _mark(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)

    def _dotted_keys(self) -> list[str]:
        keys = []
        while True:
            self._skip()
            key = self._match(_KEY)
            keys.append(tomllib.loads(f"key = {key}")["key"] if key[0] in "\"'" else key)
            self._skip()
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def _header(self) -> Path:
        line = self._line()
        is_array = self.text.startswith("[[", self.at)
        self.at += 1 + is_array
        keys = self._dotted_keys()
        self.at += 1 + is_array
        path = self._resolve((), keys[:-1], line)
        if is_array:
            number = self._counts[(*path, keys[-1])] = self._counts.get((*path, keys[-1]), 0) + 1
            self._mark((*path, keys[-1]), line)
            path = (*path, keys[-1], number - 1)
        else:
            path = (*path, keys[-1])
        self._mark(path, line)
        return path

    def _resolve(self, path: Path, keys: list[str], line: int) -> Path:
        """Return the path of a table; for an array of tables, of its last one."""
        for key in keys:
            path = (*path, key)
            self._mark(path, line)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        keys = self._dotted_keys()
        self.at += 1  # the equals sign
        path = table
        for key in keys:
            path = (*path, key)
            self._mark(path, line)
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip()
        first = self.text[self.at]
        if first in "\"'":
            self._match(_TEXT)
        elif first == "[":
            self._members(path, "]")
        elif first == "{":
            self._members(path, "}")
        else:
            self._match(_PLAIN)

    def _members(self, path: Path, end: str) -> None:
        """Read the elements of a list, or the pairs of an inline table."""
        self.at += 1
        count = 0
        while self._skip() and self.text[self.at] != end:
            if end == "}":
                self._pair(path)
            else:
                self._mark((*path, count), self._line())
                self._value((*path, count))
                count += 1
            self._skip()
            if self.text[self.at] == ",":
                self.at += 1
        self.at += 1
