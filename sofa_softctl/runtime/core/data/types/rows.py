"""Types of a fixed number of values in a row: vectors, matrices, frames, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.declaration import DataType
from sofa_softctl.runtime.core.data.views import DataContainer


class Vector(DataType):
    """Fixed number of numbers, such as a direction; shape (width,)."""

    data_class = DataContainer
    first_numbers = staticmethod(reading.first_numbers)

    def __init__(self, width: int, default: Any, help: str, **options: Any) -> None:
        self.width = width
        super().__init__(default, help, **options)

    def size(self, owner: Any) -> int:
        """Return the number of numbers."""
        return self.width

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        array = reading.numbers(value).ravel()
        if array.size != self.size(owner):
            raise ValueError(f"{array.size} numbers")
        return array

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return the readable numbers, then 0 for an unreadable one, then the present numbers."""
        array = np.array(present)
        first = self.first_numbers(value)[: array.size]
        array[: len(first)] = first
        if len(first) < array.size and not reading.is_numbers(value):
            array[len(first)] = 0.0
        return array

    def rows(self, value: Any) -> list[Any]:
        """Return one row."""
        return [np.asarray(value).tolist()]

    @override
    def expectation(self, owner: Any) -> str:
        return f"takes {self.size(owner)} numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return f"Vec{self.size(owner)}d"


class Counts(Vector):
    """Fixed number of whole numbers, such as cells along x, y and z; shape (width,)."""

    first_numbers = staticmethod(reading.first_whole_numbers)

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return super().convert(reading.whole_numbers(value), owner).astype(np.int64)

    @override
    def sofa_name(self, owner: Any) -> str:
        return f"Vec{self.width}i"


class Matrix(Vector):
    """Numbers of a matrix, by rows; texts may have SOFA's brackets: [1 0 0,0 1 0,0 0 1]."""

    _BRACKETS: ClassVar[dict[int, int]] = str.maketrans("[],", "   ")

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return super().convert(
            value.translate(self._BRACKETS) if isinstance(value, str) else value, owner
        )


class Coord(Vector):
    """Position with the width of the owner's template, zero by default."""

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__(3, [], help, **options)

    @override
    def size(self, owner: Any) -> int:
        return int(owner.coord_size)

    @override
    def initial(self, owner: Any) -> np.ndarray:
        return np.zeros(self.size(owner))


class Deriv(Coord):
    """Velocity or force with the width of the owner's template, zero by default."""

    @override
    def size(self, owner: Any) -> int:
        return int(owner.deriv_size)


class Color(Vector):
    """Red, green, blue and opacity from 0 to 1, shape (4,); also the first three, or a name."""

    def __init__(self, default: Any, help: str, **options: Any) -> None:
        super().__init__(4, default, help, **options)

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return reading.color(value)

    @override
    def expectation(self, owner: Any) -> str:
        return f"takes a color: 3 or 4 numbers, '#rrggbb', {', '.join(map(repr, reading.COLORS))}"

    @override
    def sofa_name(self, owner: Any) -> str:
        return "RGBAColor"


class Bools(DataType):
    """Fixed number of True or False, or one of several numbers; shape (width,)."""

    data_class = DataContainer

    def __init__(self, width: int | Sequence[int], default: Any, help: str, **options: Any) -> None:
        self.widths = (width,) if isinstance(width, int) else tuple(width)
        super().__init__(default, help, **options)

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        array = reading.numbers(value).ravel()
        if array.size not in self.widths or not np.isin(array, (0, 1)).all():
            raise ValueError(f"{array.size} entries")
        return array.astype(bool)

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return the readable numbers, then the present ones."""
        widths = [width for width in self.widths if width == getattr(owner, "deriv_size", 0)]
        array = np.resize(present, [*widths, self.widths[0]][0]).astype(bool)
        first = reading.first_numbers(value)[: array.size]
        array[: len(first)] = first
        return array

    def rows(self, value: Any) -> list[Any]:
        """Return one row."""
        return [np.asarray(value).tolist()]

    @override
    def expectation(self, owner: Any) -> str:
        return f"takes {' or '.join(map(str, self.widths))} times 1 or 0"

    @override
    def format(self, value: Any) -> str:
        return " ".join(str(int(item)) for item in value)
