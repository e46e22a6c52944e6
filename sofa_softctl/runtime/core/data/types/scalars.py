"""Types of a single value: truth, number, text, choice."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.declaration import DataType
from sofa_softctl.runtime.core.data.views import DataString


class Bool(DataType):
    """True or False; SOFA's 1, 0, 'true', 'false' as well."""

    _texts = {"1": True, "true": True, "t": True, "0": False, "false": False, "f": False}

    @override
    def convert(self, value: Any, owner: Any) -> bool:
        if isinstance(value, str):
            text = value.strip().lower()
            if text not in self._texts:
                raise ValueError("neither true nor false")
            return self._texts[text]
        scalar = reading.scalar(value)
        if scalar not in (0, 1):
            raise ValueError("neither true nor false")
        return bool(scalar)

    def salvage(self, value: Any, owner: Any, present: Any) -> bool:
        """Return the truth of the first letter, or True for a number that is not zero."""
        text = reading.text(value)
        if text[:1] in "tTfF" and text:
            return text[0] in "tT"
        return present if not text[:1].isdigit() else bool(reading.whole_number(text))

    @override
    def expectation(self, owner: Any) -> str:
        return "takes True or False"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "bool"

    @override
    def format(self, value: Any) -> str:
        return str(int(value))


class Int(DataType):
    """Whole number."""

    @override
    def convert(self, value: Any, owner: Any) -> int:
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                value = float(value)
        number = reading.scalar(value)
        if number % 1 != 0:  # NaN and infinities as well
            raise ValueError("not a whole number")
        return int(number)

    def salvage(self, value: Any, owner: Any, present: Any) -> int:
        """Return the number at its start, without the fraction, or 0."""
        return reading.whole_number(reading.text(value))

    @override
    def expectation(self, owner: Any) -> str:
        return "takes one whole number"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "i"


class UInt(Int):
    """Whole number from 0 to 2**32 - 1; SOFA reads -1 and larger numbers as the last one."""

    @override
    def convert(self, value: Any, owner: Any) -> int:
        number = super().convert(value, owner)
        if not 0 <= number < 2**32:
            raise ValueError("negative" if number < 0 else "too large")
        return number

    @override
    def salvage(self, value: Any, owner: Any, present: Any) -> int:
        return min(super().salvage(value, owner, present), 2**32 - 1) % 2**32

    @override
    def expectation(self, owner: Any) -> str:
        return "takes one whole number from 0 on"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "I"


class Real(DataType):
    """Number."""

    @override
    def convert(self, value: Any, owner: Any) -> float:
        return float(value) if isinstance(value, str) else float(reading.scalar(value))

    def salvage(self, value: Any, owner: Any, present: Any) -> float:
        """Return the number at its start, or 0."""
        return reading.number(reading.text(value))

    @override
    def expectation(self, owner: Any) -> str:
        return "takes one number"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "d"


class Text(DataType):
    """Text."""

    data_class = DataString

    @override
    def convert(self, value: Any, owner: Any) -> str:
        if hasattr(value, "getLinkPath"):
            return str(value.getLinkPath())
        return reading.text(value)

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a text"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "string"


class Choice(Text):
    """One of several words, or its number, as SOFA's OptionsGroup."""

    @override
    def convert(self, value: Any, owner: Any) -> str:
        if isinstance(value, str) and not value.isdigit():
            if value not in self.choices:
                raise ValueError("no such choice")
            return value
        number = int(value) if isinstance(value, str) else reading.scalar(value)
        if number not in range(len(self.choices)):
            raise ValueError("no such choice")
        return self.choices[int(number)]

    @override
    def expectation(self, owner: Any) -> str:
        return f"takes one of {', '.join(repr(choice) for choice in self.choices)}"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "OptionsGroup"
