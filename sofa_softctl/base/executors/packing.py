"""Pickles that translate the names of files between computers."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Set
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any

_FILE, _TEXT = "file", "text"
"""Kinds of marks: KIND, a zero, the text; with a file, a zero and its name without links."""

PATH_LENGTH_MAX = 4096
"""Longest name of a file [characters]."""


_root = ""
"""Folder below which this process has the files."""


def set_root(root: str) -> None:
    """Set the folder below which this process has the files, or "" for their original names."""
    global _root
    _root = root


def original_paths(text: str) -> str:
    """Return a text in which files below this process's folder have their original names."""
    return text.replace(_root, "") if _root else text


def dump_with_paths(value: Any, files: Set[str]) -> bytes:
    """Pickle a value and mark the names of files in it; `unpacked` replaces them.

    Args:
        value: Texts in it that name a file, 'FILE' or 'FILE.py:NAME', are marked.
        files: Absolute paths of these files, without links.
    """
    return _dumps(value, partial(_mark_file, files=files) if files else None)


def load_with_paths(data: bytes) -> Any:
    """Unpickle a value of `packed` or `packed_back`; marked files get their local names."""
    return _Unpickler(io.BytesIO(data)).load()


def dump_original_paths(value: Any) -> bytes:
    """Pickle a value with the original names of files in all texts."""
    return _dumps(value, _mark_original if _root else None)


def _dumps(value: Any, mark: Callable[[str], str | None] | None) -> bytes:
    file = io.BytesIO()
    _Pickler(file, mark).dump(value)
    return file.getvalue()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, mark: Callable[[str], str | None] | None) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._mark = mark

    def persistent_id(self, value: Any) -> str | None:
        """Return the mark for `_Unpickler.persistent_load`, or None to pickle the value itself."""
        return self._mark(value) if self._mark and type(value) is str else None

    def reducer_override(self, value: Any) -> Any:
        """Pickle paths as one text, not as their parts."""
        return (type(value), (str(value),)) if isinstance(value, PurePath) else NotImplemented


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, mark: str) -> str:
        """Return the text for a mark."""
        kind, _, text = mark.partition("\0")
        if kind == _TEXT:
            return text
        written, _, real = text.partition("\0")
        return _root + real if _root else written


def _mark_file(text: str, files: Set[str]) -> str | None:
    if not os.path.isabs(text) or "\0" in text or len(text) > PATH_LENGTH_MAX:
        return None
    file, end = text, ""
    if ".py:" in text:
        file, _, name = text.rpartition(":")
        end = f":{name}"
    real = _real(file)
    return f"{_FILE}\0{text}\0{real}{end}" if real in files else None


def _mark_original(text: str) -> str | None:
    return f"{_TEXT}\0{original_paths(text)}" if _root in text else None


@lru_cache(maxsize=4096)
def _real(path: str) -> str:
    return os.path.realpath(path)
