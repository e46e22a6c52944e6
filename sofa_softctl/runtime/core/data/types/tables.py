"""Types of many rows: positions, velocities, elements, constraint matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.declaration import DataType
from sofa_softctl.runtime.core.data.views import DataContainer

_POSITIONS = {1, 3, 7}
"""Numbers in a position of Vec1, Vec3 and Rigid3."""


class Vectors(DataType):
    """List of vectors of one width, such as positions; shape (n, width)."""

    data_class = DataContainer

    def __init__(self, width: int, default: Any, help: str, **options: Any) -> None:
        self.width = width
        super().__init__(default, help, **options)

    def columns(self, owner: Any) -> int:
        """Return the width of a vector."""
        return self.width

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return reading.rows(reading.numbers(value), self.columns(owner))

    def adopt(self, value: Any, owner: Any) -> np.ndarray:
        """Return vectors; points take the positions of frames, frames of points are not rotated."""
        width = self.columns(owner)
        source_width = (
            value.shape[1] if isinstance(value, np.ndarray) and value.ndim == 2 else width
        )
        if source_width == width or not {source_width, width} <= _POSITIONS:
            return self.convert(value, owner)
        frames = np.zeros((len(value), width))
        frames[:, 6:] = 1.0
        frames[:, : min(source_width, width)] = value[:, :width]
        return frames

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return the numbers before the first unreadable one, in complete vectors."""
        return reading.whole_rows(reading.first_numbers(value), self.columns(owner))

    @override
    def expectation(self, owner: Any) -> str:
        width = self.columns(owner)
        return f"takes a list of {f'vectors of {width} ' if width > 1 else ''}numbers"

    @override
    def sofa_name(self, owner: Any) -> str:
        return f"vector<Vec{self.columns(owner)}d>"


class Coords(Vectors):
    """Positions of a state, with the width of the owner's template."""

    def __init__(self, default: Any, help: str, **options: Any) -> None:
        super().__init__(3, default, help, **options)

    def columns(self, owner: Any) -> int:
        """Return the width of a vector."""
        return owner.coord_size


class Derivs(Coords):
    """Velocities or forces of a state, with the width of the owner's template."""

    def columns(self, owner: Any) -> int:
        """Return the width of a vector."""
        return owner.deriv_size


class Elements(DataType):
    """List of elements, each a fixed number of vertex numbers; shape (n, width)."""

    data_class = DataContainer

    def __init__(self, width: int, default: Any, help: str, **options: Any) -> None:
        self.width = width
        super().__init__(default, help, **options)

    @override
    def convert(self, value: Any, owner: Any) -> np.ndarray:
        return reading.rows(reading.whole_numbers(value), self.width)

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Return the numbers before the first unreadable one, in complete elements."""
        return reading.whole_rows(reading.first_whole_numbers(value), self.width)

    @override
    def expectation(self, owner: Any) -> str:
        return f"takes a list of {self.width} vertex numbers each"

    @override
    def sofa_name(self, owner: Any) -> str:
        return f"vector<fixed_array<Index,{self.width}>>"


class SparseMatrix(DataType):
    """SOFA's MatrixDeriv: a sparse matrix, or None, that its owner computes when it is read."""

    def __init__(self, help: str) -> None:
        super().__init__(None, help, computed=True, linkable=False)

    @override
    def convert(self, value: Any, owner: Any) -> None:
        if value is not None and value != "":
            raise ValueError("computed")

    @override
    def expectation(self, owner: Any) -> str:
        return "is computed"

    @override
    def format(self, value: Any) -> str:
        return "" if value is None else str(value)
