"""Kinds of Data in SofaPython3: texts, lists of texts, and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.core.data.data import Data, is_shared
from sofa_softctl.runtime.core.data.handling import get_noted


class _Sized(Data):
    """A Data with a length, which is false where that is 0, as in SofaPython3."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return len(self.get()) > 0


class DataString(_Sized):
    """A text."""

    sofa_class = "Sofa.Core.DataString"
    __slots__ = ()


class DataVectorString(_Sized):
    """A list of texts."""

    sofa_class = "Sofa.Core.DataVectorString"
    __slots__ = ()


class Part(np.ndarray):
    """Part of an array of a Data, which hears of what is written: `data[i][j] = x`."""

    _data: Data | None = None
    _index: Any = None
    """Where it lies; None if it is the Data's own memory."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        self._written()

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        if array is self:  # part += 1
            self._written()
            return self
        return array[()] if return_scalar else np.asarray(array)

    def _written(self) -> None:
        if self._index is not None and self._data is not None:
            array = self._data.get().copy()
            array[self._index] = self
            self._data.written(array)
        elif self._data is not None:
            self._data.written(self._data.get())


class DataContainer(_Sized):
    """An array; `data + 1` and the like give plain arrays, `data[i][j] = x` writes."""

    sofa_class = "Sofa.Core.DataContainer"
    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        value = get_noted(self)
        found = value[index]
        if not isinstance(found, np.ndarray):
            return found
        if found.base is None:  # a copy: of a list of indices
            return found
        part = (found if (shared := is_shared(value)) else found.copy()).view(Part)
        if self.type.read_only or self.type.computed:
            part.setflags(write=False)
        else:
            part._data = self
            part._index = None if shared else index
        return part

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.array().shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.array().ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.array().size

    def __iadd__(self, other: Any) -> DataContainer:
        with self.writeable() as array:
            array += _plain(other)
        return self

    def __isub__(self, other: Any) -> DataContainer:
        with self.writeable() as array:
            array -= _plain(other)
        return self

    def __imul__(self, other: Any) -> DataContainer:
        with self.writeable() as array:
            array *= _plain(other)
        return self

    def __add__(self, other: Any) -> Any:
        return self.array() + _plain(other)

    def __sub__(self, other: Any) -> Any:
        return self.array() - _plain(other)

    def __mul__(self, other: Any) -> Any:
        return self.array() * _plain(other)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Data) else value
