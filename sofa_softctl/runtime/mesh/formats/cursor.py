"""Bounds-checked reader over the bytes of a mesh file.

`TextCursor` and `BinaryCursor` have the same methods, so that each format is written once.
Counts are checked against the length of the file: a damaged count costs no memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Literal

import numpy as np

from sofa_softctl.errors import MeshError

Path = str | PathLike[str]

CUT_SHORT = "The file is cut short or damaged: copy or export it again."


def fault(path: Path, problem: str, advice: str = CUT_SHORT) -> MeshError:
    """Return a MeshError with the fault of a mesh file and the advice."""
    return MeshError(f"{path}: {problem}. {advice}")


def excerpt(data: bytes, size: int = 32) -> str:
    """Return the first bytes of a line, for a message."""
    line = data[:size].split(b"\n")[0].decode("latin-1")
    return repr("".join(c if c.isprintable() and c.isascii() else "?" for c in line))


class TextCursor:
    """Reader of the words of a text, in their order."""

    def __init__(self, path: Path, text: bytes) -> None:
        self.path = path
        self._words = text.split()
        self._next = 0

    def find_section(self, names: Mapping[bytes, int]) -> list[bytes] | None:
        """Return the next of these keywords with its arguments, or None; continue behind them."""
        while self._next < len(self._words):
            word = self._words[self._next].upper()
            if word in names:
                section = [word, *self._words[self._next + 1 : self._next + 1 + names[word]]]
                self._next += len(section)
                return self._complete(section, names[word])
            self._next += 1
        return None

    def _complete(self, section: list[bytes], arguments: int) -> list[bytes]:
        if len(section) != 1 + arguments:
            raise fault(self.path, f"expected {arguments} words after {section[0].decode()}")
        return section

    def skip_word(self, word: bytes) -> None:
        """Skip the next word; raise a MeshError if it is not `word`."""
        got = self._words[self._next] if self._next < len(self._words) else b"the end of the file"
        if got != word:
            raise fault(self.path, f"expected {word.decode()}, got {excerpt(got)}")
        self._next += 1

    def read(self, count: int, dtype: str, label: str) -> np.ndarray:
        """Return the next `count` numbers."""
        words = self._words[self._next : self._next + max(count, 0)]
        if len(words) != count:
            raise fault(self.path, f"expected {count} numbers of {label}, got {len(words)}")
        self._next += count
        return numbers(words, dtype, label, self.path)

    def read_until(self, word: bytes, dtype: str, label: str) -> np.ndarray:
        """Return all numbers before this word, and skip it."""
        try:
            end = self._words.index(word, self._next)
        except ValueError:
            raise fault(self.path, f"expected {word.decode()} after {label}, got none") from None
        array = self.read(end - self._next, dtype, label)
        self._next += 1
        return array


class BinaryCursor:
    """Reader of a file whose headings are lines of text and whose numbers are binary."""

    def __init__(
        self, path: Path, data: bytes, at: int = 0, order: Literal["<", ">"] = ">"
    ) -> None:
        self.path = path
        self._data = data
        self._next = at
        self._order = order

    def find_section(self, names: Mapping[bytes, int]) -> list[bytes] | None:
        """Return the words of the next line that begins with one of these keywords, or None."""
        while self._next < len(self._data):
            words = self.line().split()
            if words and words[0].upper() in names:
                keyword = words[0].upper()
                if len(words) < 1 + names[keyword]:
                    raise fault(
                        self.path, f"expected {names[keyword]} words after {keyword.decode()}"
                    )
                return [keyword, *words[1 : 1 + names[keyword]]]
        return None

    def line(self) -> bytes:
        """Return the remaining bytes of this line."""
        end = self._data.find(b"\n", self._next)
        end = len(self._data) if end < 0 else end
        line, self._next = self._data[self._next : end], end + 1
        return line

    def skip_word(self, word: bytes) -> None:
        """Skip the next line that is not blank; raise a MeshError if it is not `word`."""
        line = b""
        while not line and self._next < len(self._data):
            line = self.line().strip()
        if line != word:
            raise fault(self.path, f"expected {word.decode()}, got {excerpt(line)}")

    def read(self, count: int, dtype: str, label: str) -> np.ndarray:
        """Return the next `count` numbers, in the byte order of this machine."""
        stored = np.dtype(dtype).newbyteorder(self._order)
        available = (len(self._data) - self._next) // stored.itemsize
        if not 0 <= count <= available:
            raise fault(self.path, f"expected {count} numbers of {label}, got {max(available, 0)}")
        array = np.frombuffer(self._data, stored, count, self._next)
        self._next += count * stored.itemsize
        return array.astype(stored.newbyteorder("="))


Cursor = TextCursor | BinaryCursor


def numbers(words: list[bytes], dtype: str, label: str, path: Path) -> np.ndarray:
    """Return words as numbers; raise a MeshError if one is unreadable."""
    try:
        with np.errstate(over="ignore"):  # too large becomes infinite, which is refused later
            return np.array(words, dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise fault(path, f"a number of {label} is unreadable ({error})") from error


def parse_count(word: bytes, label: str, path: Path) -> int:
    """Return a word as a count; raise a MeshError if it is not a number of digits."""
    if not word.isdigit() or len(word) > 18:  # 10^18 is more than any file holds
        raise fault(path, f"expected the number of {label}, got {excerpt(word)}")
    return int(word)
