"""Types of lists of any length: texts and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.declaration import DataType
from sofa_softctl.runtime.core.data.views import DataContainer, DataVectorString


class Texts(DataType):
    """List of words."""

    data_class = DataVectorString

    @override
    def convert(self, value: Any, owner: Any) -> list[str]:
        if isinstance(value, str):
            return value.split()
        return [reading.text(item) for item in value]

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a list of texts"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "vector<string>"

    @override
    def format(self, value: Any) -> str:
        return " ".join(value)


class Reals(DataType):
    """List of numbers, shape (n,); a single number is a list of one."""

    data_class = DataContainer

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return reading.numbers(value).ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return the numbers before the first unreadable one."""
        return reading.first_numbers(value)

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a list of numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "vector<d>"


class Integers(DataType):
    """List of whole numbers, shape (n,); in texts '2-5' is a range, '2-8-3' a range in steps."""

    data_class = DataContainer

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """Return whole numbers; a mask of nodes is an error, as in SOFA."""
        items = value if isinstance(value, list | tuple | np.ndarray) else []
        if self.of and len(items) and all(isinstance(item, bool | np.bool_) for item in items):
            raise ValueError("a mask, of which np.flatnonzero makes numbers")
        return reading.whole_numbers(value, reading.span).ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return the number at the start of each word, or 0."""
        return np.array(
            [number for word in reading.words(value) for number in reading.span_or_number(word)],
            dtype=np.int64,
        )

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a list of whole numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "vector<i>"
