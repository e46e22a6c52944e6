"""Numbers of values as scenes write them: texts, lists nested to any depth, arrays, other Data.

SofaPython3 makes a text of whatever a scene gives and SOFA reads numbers from it, so that only
their order counts, not how they are nested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d+")
_LARGEST = 2**63 - 1
_MOST = 10**8
"""Numbers of one range; a slip such as 0-9999999999 would fill the memory."""
_SPAN = re.compile(r"(-?\d+)(?:-(-?\d+))?(?:-(-?\d+))?")
_HEX = re.compile("#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
COLORS = {
    "white": (1.0, 1.0, 1.0),
    "black": (0.0, 0.0, 0.0),
    "red": (1.0, 0.0, 0.0),
    "green": (0.0, 1.0, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "cyan": (0.0, 1.0, 1.0),
    "magenta": (1.0, 0.0, 1.0),
    "yellow": (1.0, 1.0, 0.0),
    "gray": (0.5, 0.5, 0.5),
}
"""Names of colors that SOFA knows."""


def text(value: Any) -> str:
    """A value as the text that SofaPython3 makes of it: entries in order, between blanks."""
    return value if isinstance(value, str) else " ".join(map(str, _entries(value)))


def words(value: Any) -> list[str]:
    """The text of a value, split at blanks."""
    return text(value).split()


def _entries(value: Any) -> Iterator[Any]:
    """What a value holds at the bottom of its lists, in order."""
    if hasattr(value, "getValueString"):  # a Data
        value = value.get()
    if isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, list | tuple | range | set):
        for entry in value:
            yield from _entries(entry)
    else:
        yield value


def scalar(value: Any) -> Any:
    """The only number of a value, of Python's types.

    Raises:
        ValueError: it holds none, or several.
    """
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biufc":
        raise ValueError(f"{array.size} values" if array.size != 1 else "no number")
    return array.reshape(()).item()


def numbers(value: Any) -> np.ndarray:
    """The numbers of a value, shaped where its lists have a shape.

    Raises:
        ValueError, TypeError: something in it is no number.
    """
    if not isinstance(value, str):
        try:
            return np.array(value, dtype=float)
        except (ValueError, TypeError):  # a text of several numbers, lists of several lengths
            pass
    return np.array(words(value), dtype=float)


def whole_numbers(value: Any, split: Callable[[str], Iterable[Any]] | None = None) -> np.ndarray:
    """The whole numbers of a value, shaped where its lists have a shape, as int64.

    Args:
        value: What a scene gave.
        split: Makes several numbers of one word of a text.

    Raises:
        ValueError, TypeError: something in it is no whole number.
    """
    try:
        array = np.array([] if isinstance(value, str) else value)
    except ValueError:  # lists of several lengths
        array = np.array([])
    if array.dtype.kind not in "biuf" or not array.size:
        found = words(value)
        array = np.array([entry for word in found for entry in split(word)] if split else found)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        real = array.astype(float)
        if not (np.abs(real) < 2.0**53).all() or (real % 1.0 != 0.0).any():
            raise ValueError("not whole numbers")
        return real.astype(np.int64)
    return array.astype(np.int64)


def number(word: str) -> float:
    """The number with which a text begins, as SOFA reads it; 0 where there is none."""
    found = _NUMBER.match(word.strip())
    return 0.0 if found is None else float(found[0])


def attribute(value: Any) -> float:
    """A number in single precision, as SOFA reads attributes that are no Data: dx, scale, xmin."""
    return float(np.float32(number(text(value))))


def whole_number(word: str) -> int:
    """The whole number with which a text begins, as SOFA reads it; 0 where there is none."""
    found = _WHOLE.match(word.strip())
    return 0 if found is None else max(min(int(found[0]), _LARGEST), -_LARGEST)


def first_numbers(value: Any) -> np.ndarray:
    """The numbers of a value up to the first that cannot be read to its end, shape (n,)."""
    return np.array([float(digits) for digits in _first(value, _NUMBER)])


def is_numbers(value: Any) -> bool:
    """Whether all of a value's text can be read as numbers."""
    return all(_NUMBER.fullmatch(word) for word in words(value))


def first_whole_numbers(value: Any) -> np.ndarray:
    """The whole numbers of a value up to the first that cannot be read to its end, shape (n,)."""
    return np.array([whole_number(digits) for digits in _first(value, _WHOLE)], dtype=np.int64)


def _first(value: Any, pattern: re.Pattern[str]) -> Iterator[str]:
    for word in words(value):
        match = pattern.match(word)
        if match is not None:
            yield match[0]
        if match is None or match.end() < len(word):
            return


def rows(array: np.ndarray, width: int) -> np.ndarray:
    """Numbers in rows, shape (n, width).

    Raises:
        ValueError: they are no whole number of rows, or lists of another length.
    """
    last = array.shape[-1] if array.ndim > 1 and array.size else width
    if array.size % width or (last % width and width % last):
        found = f"shape {array.shape}" if array.ndim > 1 else f"{array.size} numbers"
        raise ValueError(found)
    return array.reshape(-1, width)


def whole_rows(array: np.ndarray, width: int) -> np.ndarray:
    """Numbers in rows, shape (n, width), without those of a last row that is not whole."""
    return array[: array.size - array.size % width].reshape(-1, width)


def span(word: str) -> range:
    """A number, or first-last, or first-last-step, both ends included, downwards as well.

    Raises:
        ValueError: it is none of them.
    """
    found = _SPAN.fullmatch(word)
    if found is None:
        whole = _NUMBER.fullmatch(word)
        if whole is not None and float(word) % 1.0 == 0.0:
            return range(int(float(word)), int(float(word)) + 1)
        raise ValueError(f"'{word}' is neither a whole number nor a range")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    step = (1 if first <= last else -1) if found[3] is None else int(found[3])
    if step == 0:
        raise ValueError(f"the step of '{word}' is 0")
    if max(abs(first), abs(last)) > _LARGEST or abs(last - first) > _MOST * abs(step):
        raise ValueError(f"'{word}' is too large, or a range of more than {_MOST} numbers")
    if (last - first) * step < 0:
        first, last = last, first  # as SOFA does
    return range(first, last + (1 if step > 0 else -1), step)


def span_or_number(word: str) -> Iterable[int]:
    """A range, or else the number with which the word begins; as large as a number can be."""
    try:
        return [max(min(number, _LARGEST), -_LARGEST) for number in span(word)]
    except ValueError:
        return [whole_number(word)]


def color(value: Any) -> np.ndarray:
    """Red, green, blue and opacity, shape (4,).

    Raises:
        ValueError: it is no color.
    """
    found = words(value)
    if len(found) == 1 and found[0].lower() in COLORS:
        return np.array([*COLORS[found[0].lower()], 1.0])
    if len(found) == 1 and _HEX.fullmatch(found[0]):
        digits = found[0][1:]
        if len(digits) < 6:
            digits = "".join(2 * digit for digit in digits)
        parts = [int(digits[k : k + 2], 16) / 255.0 for k in range(0, len(digits), 2)]
    else:
        parts = [float(word) for word in found]
    if len(parts) not in (3, 4):
        raise ValueError(f"{len(parts)} numbers")
    return np.array([*parts, 1.0][:4])
