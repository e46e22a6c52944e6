"""Data type of one force or velocity of a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import DataType
from sofa_softctl.runtime.core.data.views import DataContainer


class Deriv(DataType):
    """One force or velocity; the owner's state says how many numbers it has."""

    data_class = DataContainer

    def initial(self, owner: Any) -> np.ndarray:
        """See DataType; zero, of whatever width."""
        return np.zeros(owner.deriv_size)

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        array = reading.numbers(value).ravel()
        if array.size != owner.deriv_size:
            raise ValueError(f"{array.size} numbers")
        return array

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The first numbers; what is missing is zero."""
        array = self.initial(owner)
        first = reading.first_numbers(value)[: array.size]
        array[: len(first)] = first
        return array

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return f"takes {owner.deriv_size} numbers"
