"""Kinds of Data in SofaPython3: texts, lists of texts, and arrays."""

from __future__ import annotations

from typing import Any

from sofa_softctl.runtime.core.data.data import Data


class _Sized(Data):
    """A Data with a length, which is false where that is 0, as in SofaPython3."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return len(self.get()) > 0


class DataString(_Sized):
    """A text."""

    __slots__ = ()


class DataVectorString(_Sized):
    """A list of texts."""

    __slots__ = ()


class DataContainer(_Sized):
    """An array; `data + 1` and the like give plain arrays."""

    __slots__ = ()

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

    def __add__(self, other: Any) -> Any:
        return self.array() + _plain(other)

    def __sub__(self, other: Any) -> Any:
        return self.array() - _plain(other)

    def __mul__(self, other: Any) -> Any:
        return self.array() * _plain(other)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Data) else value
