"""Parsing of numbers in values of scenes: texts, lists of any depth, arrays, other Data.

SofaPython3 converts values to texts from which SOFA reads numbers, so only their order counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_INTEGER = re.compile(r"[+-]?\d+")
_INTEGER_MAX = 2**63 - 1
_RANGE_MAX = 10**8
"""Numbers in a range; a slip such as 0-9999999999 would fill the memory."""
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
"""SOFA's names of colors."""


def text(value: Any) -> str:
    """Return a value as SofaPython3's text: items in order, separated by blanks."""
    return value if isinstance(value, str) else " ".join(map(str, _flatten(value)))


def words(value: Any) -> list[str]:
    """Return the text of a value, split at blanks."""
    return text(value).split()


def _flatten(value: Any) -> Iterator[Any]:
    """Yield the innermost items of nested lists, in order."""
    if hasattr(value, "getValueString"):  # a Data
        value = value.get()
    if isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, list | tuple | range | set):
        for item in value:
            yield from _flatten(item)
    else:
        yield value


def scalar(value: Any) -> Any:
    """Return the only number of a value, as a Python type.

    Raises:
        ValueError: It has no number, or several.
    """
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biufc":
        raise ValueError(f"{array.size} values" if array.size != 1 else "no number")
    return array.reshape(()).item()


def numbers(value: Any) -> np.ndarray:
    """Return the numbers of a value, shaped if its lists have a shape.

    Raises:
        ValueError, TypeError: An item is not a number.
    """
    if not isinstance(value, str):
        try:
            return np.array(value, dtype=float)
        except (ValueError, TypeError):  # a text of several numbers, lists of several lengths
            pass
    return np.array(words(value), dtype=float)


def whole_numbers(value: Any, split: Callable[[str], Iterable[Any]] | None = None) -> np.ndarray:
    """Return the whole numbers of a value, shaped if its lists have a shape, as int64.

    Args:
        value: Value from a scene.
        split: Function that returns the numbers of a word of a text.

    Raises:
        ValueError, TypeError: An item is not a whole number.
    """
    try:
        array = np.array([] if isinstance(value, str) else value)
    except ValueError:  # lists of several lengths
        array = np.array([])
    if array.dtype.kind not in "biuf" or not array.size:
        texts = words(value)
        array = np.array([item for word in texts for item in split(word)] if split else texts)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        real = array.astype(float)
        if not (np.abs(real) < 2.0**53).all() or (real % 1.0 != 0.0).any():
            raise ValueError("not whole numbers")
        return real.astype(np.int64)
    return array.astype(np.int64)


def number(word: str) -> float:
    """Return the number at the start of a text, as SOFA reads it, or 0."""
    match = _NUMBER.match(word.strip())
    return 0.0 if match is None else float(match[0])


def attribute(value: Any) -> float:
    """Return a number in single precision, as SOFA reads attributes such as dx, scale, xmin."""
    return float(np.float32(number(text(value))))


def whole_number(word: str) -> int:
    """Return the whole number at the start of a text, as SOFA reads it, or 0."""
    match = _INTEGER.match(word.strip())
    return 0 if match is None else max(min(int(match[0]), _INTEGER_MAX), -_INTEGER_MAX)


def first_numbers(value: Any) -> np.ndarray:
    """Return the numbers of a value up to the first word that is not only a number, shape (n,)."""
    return np.array([float(digits) for digits in _leading_matches(value, _NUMBER)])


def is_numbers(value: Any) -> bool:
    """Return True if all words of a value are numbers."""
    return all(_NUMBER.fullmatch(word) for word in words(value))


def first_whole_numbers(value: Any) -> np.ndarray:
    """Return the whole numbers of a value up to the first word that is not only one, shape (n,)."""
    return np.array(
        [whole_number(digits) for digits in _leading_matches(value, _INTEGER)], dtype=np.int64
    )


def _leading_matches(value: Any, pattern: re.Pattern[str]) -> Iterator[str]:
    for word in words(value):
        match = pattern.match(word)
        if match is not None:
            yield match[0]
        if match is None or match.end() < len(word):
            return


def rows(array: np.ndarray, width: int) -> np.ndarray:
    """Return numbers in rows, shape (n, width).

    Raises:
        ValueError: The last row is incomplete, or the lists have another length.
    """
    last = array.shape[-1] if array.ndim > 1 and array.size else width
    if array.size % width or (last % width and width % last):
        raise ValueError(f"shape {array.shape}" if array.ndim > 1 else f"{array.size} numbers")
    return array.reshape(-1, width)


def whole_rows(array: np.ndarray, width: int) -> np.ndarray:
    """Return numbers in complete rows, shape (n, width)."""
    return array[: array.size - array.size % width].reshape(-1, width)


def span(word: str) -> range:
    """Parse a number, first-last, or first-last-step, with both ends, also downwards.

    Raises:
        ValueError: It is none of these.
    """
    match = _SPAN.fullmatch(word)
    if match is None:
        number = _NUMBER.fullmatch(word)
        if number is not None and float(word) % 1.0 == 0.0:
            return range(int(float(word)), int(float(word)) + 1)
        raise ValueError(f"'{word}' is neither a whole number nor a range")
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    step = (1 if first <= last else -1) if match[3] is None else int(match[3])
    if step == 0:
        raise ValueError(f"the step of '{word}' is 0")
    if max(abs(first), abs(last)) > _INTEGER_MAX or abs(last - first) > _RANGE_MAX * abs(step):
        raise ValueError(f"'{word}' is too large, or a range of more than {_RANGE_MAX} numbers")
    if (last - first) * step < 0:
        first, last = last, first  # as SOFA does
    return range(first, last + (1 if step > 0 else -1), step)


def span_or_number(word: str) -> Iterable[int]:
    """Parse a range, or else the number at the start of the word, limited to int64."""
    try:
        return [max(min(number, _INTEGER_MAX), -_INTEGER_MAX) for number in span(word)]
    except ValueError:
        return [whole_number(word)]


def color(value: Any) -> np.ndarray:
    """Return red, green, blue and opacity, shape (4,).

    Raises:
        ValueError: It is not a color.
    """
    texts = words(value)
    if len(texts) == 1 and texts[0].lower() in COLORS:
        return np.array([*COLORS[texts[0].lower()], 1.0])
    if len(texts) == 1 and _HEX.fullmatch(texts[0]):
        digits = texts[0][1:]
        if len(digits) < 6:
            digits = "".join(2 * digit for digit in digits)
        parts = [int(digits[k : k + 2], 16) / 255.0 for k in range(0, len(digits), 2)]
    else:
        parts = [float(word) for word in texts]
    if len(parts) not in (3, 4):
        raise ValueError(f"{len(parts)} numbers")
    return np.array([*parts, 1.0][:4])


_SPELLINGS = {"translation": "d", "rotation": "r", "scale3d": "s"}


def spell_out(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with `translation`, `rotation` and `scale3d` instead of short spellings."""
    result = dict(values)
    for name, letter in _SPELLINGS.items():
        keys = [f"{letter}{axis}" for axis in "xyz"]
        if any(key in result for key in keys):
            unset = 1.0 if name == "scale3d" else 0.0
            result[name] = [attribute(result.pop(key, unset)) for key in keys]
    return result
