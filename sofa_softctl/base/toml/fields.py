"""Reads the keys of one table of a TOML file; what is wrong goes to its `Faults`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sofa_softctl.base.suggestions import did_you_mean, nearest
from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.locate import Path

NONE: Any = object()
"""Default of a key that must be there."""


GREATEST = 1e15
"""Greatest number that makes sense, in whatever unit."""


def number_of(value: Any) -> float | None:
    """A number of TOML as a float; None: it is something else, NaN, or beyond `GREATEST`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if abs(found) <= GREATEST else None


class Fields:
    """One table. `close` reports keys that were not asked for, and missing ones.

    Where a value is wrong, NaN, an empty text or -1 stands in for it, so that reading goes on:
    conditions on them should be such that NaN is no further error.

    Args:
        faults: Where errors go.
        path: Path of the table.
        values: The table; anything else is an error, and taken for an empty one.
    """

    def __init__(self, faults: Faults, path: Path, values: Any) -> None:
        self.faults, self.path = faults, path
        self.is_table = isinstance(values, dict)
        if not self.is_table:
            faults.wrong(path, "a table", values, "Write its keys below a line [...].")
        self.values: Mapping[str, Any] = values if self.is_table else {}
        self._asked: list[str] = []
        self._missing: dict[str, str] = {}

    @property
    def line(self) -> int:
        """Line of the table."""
        return self.faults.line(self.path)

    def wrong(self, key: str, expected: str, advice: str) -> None:
        """The value of a key is not what it should be."""
        self.faults.wrong((*self.path, key), expected, self.values[key], advice)

    def add(self, key: str, text: str) -> None:
        """Another error of a key."""
        self.faults.add((*self.path, key), text)

    def get(self, key: str, example: str, default: Any = NONE) -> Any:
        """The raw value of a key; None: it is missing, which is an error without a default.

        Args:
            key: The key.
            example: A line for users who left it out, such as 'rate = 40.0'.
            default: Returned where it is missing.
        """
        self._asked.append(key)
        if key in self.values:
            return self.values[key]
        if default is NONE:
            self._missing[key] = example
            return None
        return default

    def number(
        self,
        key: str,
        expected: str,
        advice: str,
        *,
        fits: Callable[[float], bool] = lambda value: True,
        default: float = NONE,
        example: str = "",
    ) -> float:
        """A finite number that fits, or NaN."""
        value = self.get(key, example, default)
        if key not in self.values:
            return math.nan if value is None else value
        found = number_of(value)
        if found is None or not fits(found):
            self.wrong(key, expected, advice)
            return math.nan
        return found

    def whole(
        self,
        key: str,
        expected: str,
        advice: str,
        *,
        fits: Callable[[int], bool],
        default: int = NONE,
        example: str = "",
    ) -> int:
        """A whole number that fits, or -1."""
        value = self.get(key, example, default)
        if key not in self.values:
            return -1 if value is None else value
        if isinstance(value, bool) or not isinstance(value, int) or not fits(value):
            self.wrong(key, expected, advice)
            return -1
        return value

    def text(
        self,
        key: str,
        what: str,
        *,
        default: str = NONE,
        example: str = "",
        known: Collection[str] = (),
    ) -> str:
        """A text, one of `known` if there are any; or an empty one."""
        value = self.get(key, example, default)
        if key not in self.values:
            return value or ""
        if not isinstance(value, str):
            self.wrong(key, f"{what} in quotes", "Write it as a text.")
            return ""
        if known and value not in known:
            hint = did_you_mean(value, known).strip() or "Choose one of them."
            self.wrong(key, f"{what}: {', '.join(known)}", hint)
            return ""
        return value

    def flag(self, key: str, what: str, *, default: bool) -> bool:
        """True or false."""
        value = self.get(key, "", default)
        if not isinstance(value, bool):
            self.wrong(key, f"true or false: {what}", "Write one of them, without quotes.")
            return default
        return value

    def numbers(self, key: str, expected: str, advice: str, *, example: str) -> list[float]:
        """A list of finite numbers, or an empty one."""
        value = self.get(key, example)
        if key not in self.values:
            return []
        found = [number_of(each) for each in value] if isinstance(value, list) else [None]
        if None in found:
            where = found.index(None)
            path = (*self.path, key, where) if isinstance(value, list) else (*self.path, key)
            got = value[where] if isinstance(value, list) else value
            self.faults.wrong(path, expected, got, advice)
            return []
        return [each for each in found if each is not None]

    def table(self, key: str, example: str = "", default: Any = NONE) -> Fields | None:
        """A table within this one; None: it is missing or none."""
        value = self.get(key, example, default)
        if key not in self.values:
            return None
        found = Fields(self.faults, (*self.path, key), value)
        return found if found.is_table else None

    def close(self, what: str) -> None:
        """Report unknown and missing keys.

        Args:
            what: What the table is of, such as 'an actuator'.
        """
        if not self.is_table:
            return
        for key in self.values:
            if key in self._asked:
                continue
            close = nearest(key, self._missing) or nearest(key, self._asked)
            for meant in close:
                self._missing.pop(meant, None)
            hint = f"Did you mean '{close[0]}'?" if close else "Remove it."
            self.faults.add(
                (*self.path, key),
                f"expected a key of {what}: {', '.join(self._asked)}; got '{key}'. {hint}",
            )
        for key, example in self._missing.items():
            self.faults.add(self.path, f"expected the key '{key}', got none. Add: {example}")
