"""Bounds-checked reader over the bytes of a mesh file.

`TextCursor` and `BinaryCursor` answer the same calls, so that each format is written once.
Counts in a file are believed only as far as the file is long: a damaged count costs no memory.
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
    """MeshError with the fault of a mesh file and what to do."""
    return MeshError(f"{path}: {problem}. {advice}")


def excerpt(data: bytes, size: int = 32) -> str:
    """The first bytes of a line, for a message."""
    line = data[:size].split(b"\n")[0].decode("latin-1")
    return repr("".join(c if c.isprintable() and c.isascii() else "?" for c in line))


class TextCursor:
    """The words of a text, taken one after the other."""

    def __init__(self, path: Path, text: bytes) -> None:
        self.path = path
        self._words = text.split()
        self._at = 0

    def section(self, names: Mapping[bytes, int]) -> list[bytes] | None:
        """Go past the next of these keywords; give it with as many words as it has arguments."""
        while self._at < len(self._words):
            word = self._words[self._at].upper()
            if word in names:
                found = [word, *self._words[self._at + 1 : self._at + 1 + names[word]]]
                self._at += len(found)
                return self._complete(found, names[word])
            self._at += 1
        return None

    def _complete(self, found: list[bytes], arguments: int) -> list[bytes]:
        if len(found) != 1 + arguments:
            raise fault(self.path, f"expected {arguments} words after {found[0].decode()}")
        return found

    def expect(self, word: bytes) -> None:
        """Go past the next word, which must be this one."""
        got = self._words[self._at] if self._at < len(self._words) else b"the end of the file"
        if got != word:
            raise fault(self.path, f"expected {word.decode()}, got {excerpt(got)}")
        self._at += 1

    def take(self, count: int, dtype: str, what: str) -> np.ndarray:
        """The next `count` numbers."""
        words = self._words[self._at : self._at + max(count, 0)]
        if len(words) != count:
            raise fault(self.path, f"expected {count} numbers of {what}, got {len(words)}")
        self._at += count
        return numbers(words, dtype, what, self.path)

    def take_until(self, word: bytes, dtype: str, what: str) -> np.ndarray:
        """All numbers before this word, which is passed."""
        try:
            end = self._words.index(word, self._at)
        except ValueError:
            raise fault(self.path, f"expected {word.decode()} after {what}, got none") from None
        array = self.take(end - self._at, dtype, what)
        self._at += 1
        return array


class BinaryCursor:
    """The bytes of a file whose headings are lines of text and whose numbers are binary."""

    def __init__(
        self, path: Path, data: bytes, at: int = 0, order: Literal["<", ">"] = ">"
    ) -> None:
        self.path = path
        self._data = data
        self._at = at
        self._order = order

    def section(self, names: Mapping[bytes, int]) -> list[bytes] | None:
        """Go past the next line that begins with one of these keywords; give its words."""
        while self._at < len(self._data):
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
        """The rest of this line."""
        end = self._data.find(b"\n", self._at)
        end = len(self._data) if end < 0 else end
        line, self._at = self._data[self._at : end], end + 1
        return line

    def expect(self, word: bytes) -> None:
        """Go past the next line with anything on it, which must be this word."""
        line = b""
        while not line and self._at < len(self._data):
            line = self.line().strip()
        if line != word:
            raise fault(self.path, f"expected {word.decode()}, got {excerpt(line)}")

    def take(self, count: int, dtype: str, what: str) -> np.ndarray:
        """The next `count` numbers, in the byte order of this machine."""
        stored = np.dtype(dtype).newbyteorder(self._order)
        available = (len(self._data) - self._at) // stored.itemsize
        if not 0 <= count <= available:
            raise fault(self.path, f"expected {count} numbers of {what}, got {max(available, 0)}")
        array = np.frombuffer(self._data, stored, count, self._at)
        self._at += count * stored.itemsize
        return array.astype(stored.newbyteorder("="))


Cursor = TextCursor | BinaryCursor


def numbers(words: list[bytes], dtype: str, what: str, path: Path) -> np.ndarray:
    """Words as numbers."""
    try:
        with np.errstate(over="ignore"):  # too large becomes infinite, which is refused later
            return np.array(words, dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise fault(path, f"a number of {what} is unreadable ({error})") from error


def whole(word: bytes, what: str, path: Path) -> int:
    """One word as a count."""
    if not word.isdigit() or len(word) > 18:  # 10^18 is more than any file holds
        raise fault(path, f"expected the number of {what}, got {excerpt(word)}")
    return int(word)
