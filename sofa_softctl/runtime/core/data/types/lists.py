"""Types of lists of any length: texts and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.declaration import DataType
from sofa_softctl.runtime.core.data.views import DataContainer, DataVectorString


class Texts(DataType):
    """A list of words."""

    data_class = DataVectorString

    @override
    def convert(self, value: Any, owner: Any) -> list[str]:
        if isinstance(value, str):
            return value.split()
        return [reading.text(entry) for entry in value]

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
    """A list of numbers, shape (n,); a single number is a list of one."""

    data_class = DataContainer

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return reading.numbers(value).ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The numbers before the first that cannot be read."""
        return reading.first_numbers(value)

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a list of numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "vector<d>"


class Integers(DataType):
    """A list of whole numbers, shape (n,); in texts '2-5' is a range, '2-8-3' one in steps."""

    data_class = DataContainer

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType; a mask names no nodes, in SOFA neither."""
        entries = value if isinstance(value, list | tuple | np.ndarray) else []
        if (
            self.of
            and len(entries)
            and all(isinstance(entry, bool | np.bool_) for entry in entries)
        ):
            raise ValueError("a mask, of which np.flatnonzero makes numbers")
        return reading.whole_numbers(value, reading.span).ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Each word the number with which it begins; 0 where there is none."""
        return np.array(
            [entry for word in reading.words(value) for entry in reading.span_or_number(word)],
            dtype=np.int64,
        )

    @override
    def expectation(self, owner: Any) -> str:
        return "takes a list of whole numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "vector<i>"
