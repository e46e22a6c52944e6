"""Reader for the keys of one table of a TOML file; errors go to its `Faults`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from sofa_softctl.base.suggestions import did_you_mean, nearest_names
from sofa_softctl.base.toml.faults import Faults
from sofa_softctl.base.toml.locate import Path

NONE: Any = object()
"""Default of a required key."""


GREATEST = 1e15
"""Largest number that makes sense, in any unit."""


def number_of(value: Any) -> float | None:
    """Return a number of TOML as a float; None for other values, NaN, or beyond `GREATEST`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= GREATEST else None


class Fields:
    """One table. `close` reports unknown and missing keys.

    NaN, "" or -1 replaces a wrong value, so that reading continues: conditions on values should
    not report NaN as a further error.

    Args:
        faults: Receives the errors.
        path: Path of the table.
        values: The table; anything else is an error, and treated as an empty table.
    """

    def __init__(self, faults: Faults, path: Path, values: Any) -> None:
        self.faults, self.path = faults, path
        self.is_table = isinstance(values, dict)
        if not self.is_table:
            faults.wrong(path, "a table", values, "Write its keys below a line [...].")
        self.values: Mapping[str, Any] = values if self.is_table else {}
        self._requested: list[str] = []
        self._missing: dict[str, str] = {}

    @property
    def line(self) -> int:
        """Line of the table."""
        return self.faults.line(self.path)

    def wrong(self, key: str, expected: str, advice: str) -> None:
        """Add an error for the invalid value of a key."""
        self.faults.wrong((*self.path, key), expected, self.values[key], advice)

    def add(self, key: str, text: str) -> None:
        """Add another error of a key."""
        self.faults.add((*self.path, key), text)

    def get(self, key: str, example: str, default: Any = NONE) -> Any:
        """Return the raw value of a key, or None if it is missing, an error without a default.

        Args:
            key: The key.
            example: Line for users who left it out, such as 'rate = 40.0'.
            default: Returned if the key is missing.
        """
        self._requested.append(key)
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
        """Return a finite number that fits, or NaN."""
        value = self.get(key, example, default)
        if key not in self.values:
            return math.nan if value is None else value
        converted = number_of(value)
        if converted is None or not fits(converted):
            self.wrong(key, expected, advice)
            return math.nan
        return converted

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
        """Return a whole number that fits, or -1."""
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
        """Return a text, one of `known` if given, or ""."""
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
        """Return a truth value."""
        value = self.get(key, "", default)
        if not isinstance(value, bool):
            self.wrong(key, f"true or false: {what}", "Write one of them, without quotes.")
            return default
        return value

    def numbers(self, key: str, expected: str, advice: str, *, example: str) -> list[float]:
        """Return a list of finite numbers, empty if invalid."""
        value = self.get(key, example)
        if key not in self.values:
            return []
        converted = [number_of(item) for item in value] if isinstance(value, list) else [None]
        if None in converted:
            index = converted.index(None)
            path = (*self.path, key, index) if isinstance(value, list) else (*self.path, key)
            got = value[index] if isinstance(value, list) else value
            self.faults.wrong(path, expected, got, advice)
            return []
        return [number for number in converted if number is not None]

    def table(self, key: str, example: str = "", default: Any = NONE) -> Fields | None:
        """Return a table within this one, or None if it is missing or not a table."""
        value = self.get(key, example, default)
        if key not in self.values:
            return None
        fields = Fields(self.faults, (*self.path, key), value)
        return fields if fields.is_table else None

    def close(self, what: str) -> None:
        """Report unknown and missing keys.

        Args:
            what: Noun for the content of the table, such as 'an actuator'.
        """
        if not self.is_table:
            return
        for key in self.values:
            if key in self._requested:
                continue
            close = nearest_names(key, self._missing) or nearest_names(key, self._requested)
            for meant in close:
                self._missing.pop(meant, None)
            hint = f"Did you mean '{close[0]}'?" if close else "Remove it."
            self.faults.add(
                (*self.path, key),
                f"expected a key of {what}: {', '.join(self._requested)}; got '{key}'. {hint}",
            )
        for key, example in self._missing.items():
            self.faults.add(self.path, f"expected the key '{key}', got none. Add: {example}")
