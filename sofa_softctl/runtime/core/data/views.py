"""SofaPython3's kinds of Data: texts, lists of texts, and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sofa_softctl.runtime.core.data.data import Data, is_shared
from sofa_softctl.runtime.core.data.handling import get_noted


class _SizedData(Data):
    """Data with a length, which is false if the length is 0, as in SofaPython3."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return len(self.get()) > 0


class DataString(_SizedData):
    """Text."""

    sofa_class = "Sofa.Core.DataString"
    __slots__ = ()


class DataVectorString(_SizedData):
    """List of texts."""

    sofa_class = "Sofa.Core.DataVectorString"
    __slots__ = ()


class Part(np.ndarray):
    """Part of an array of a Data, which notifies it of changes: `data[i][j] = x`."""

    _data: Data | None = None
    _index: Any = None
    """Index of a copied part, or None if it is the Data's own memory."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        self._notify()

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        if array is self:  # part += 1
            self._notify()
            return self
        return array[()] if return_scalar else np.asarray(array)

    def _notify(self) -> None:
        if self._index is not None and self._data is not None:
            array = self._data.get().copy()
            array[self._index] = self
            self._data.set_from_script(array)
        elif self._data is not None:
            self._data.set_from_script(self._data.get())


class DataContainer(_SizedData):
    """Array; `data + 1` etc. return plain arrays, `data[i][j] = x` writes."""

    sofa_class = "Sofa.Core.DataContainer"
    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        value = get_noted(self)
        item = value[index]
        if not isinstance(item, np.ndarray):
            return item
        if item.base is None:  # a copy: of a list of indices
            return item
        part = (item if (shared := is_shared(value)) else item.copy()).view(Part)
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
            array += _plain_value(other)
        return self

    def __isub__(self, other: Any) -> DataContainer:
        with self.writeable() as array:
            array -= _plain_value(other)
        return self

    def __imul__(self, other: Any) -> DataContainer:
        with self.writeable() as array:
            array *= _plain_value(other)
        return self

    def __add__(self, other: Any) -> Any:
        return self.array() + _plain_value(other)

    def __sub__(self, other: Any) -> Any:
        return self.array() - _plain_value(other)

    def __mul__(self, other: Any) -> Any:
        return self.array() * _plain_value(other)


def _plain_value(value: Any) -> Any:
    return value.value if isinstance(value, Data) else value
