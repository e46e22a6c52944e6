"""Matrices of any size."""

from __future__ import annotations

from typing import Any

import numpy


class Matrix(numpy.ndarray):
    """A matrix: Matrix(2, 3) of zeros, Matrix(2, 3, 1.0) of ones, Matrix(2, 2, [1, 2, 3, 4])."""

    def __new__(cls, *args: Any) -> Matrix:
        """Create it from numbers, row by row."""
        if len(args) not in (0, 2, 3):
            raise TypeError(f"Matrix takes rows, columns and one number or all, got {args}.")
        padded: list[Any] = [*args, *(1, 1, 0.0)[len(args) :]]
        rows, columns, entries = padded
        if numpy.ndim(entries) > 0 and len(entries) != rows * columns:
            raise TypeError(
                f"A matrix of {rows} by {columns} has {rows * columns} entries, got {len(entries)}."
            )
        matrix = super().__new__(cls, (rows, columns), float)
        matrix[:] = entries if numpy.ndim(entries) == 0 else numpy.reshape(entries, matrix.shape)
        return matrix

    def __eq__(self, other: Any) -> bool:  # type: ignore[override]
        """Return True if size and all numbers are equal."""
        try:
            return numpy.array_equal(numpy.asarray(self), numpy.asarray(other, float))
        except (TypeError, ValueError):  # not a matrix
            return False

    def __ne__(self, other: Any) -> bool:  # type: ignore[override]
        """Return True if size or any number differs."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def getSize(self) -> numpy.ndarray:
        """Rows and columns."""
        return numpy.array(self.shape)

    def getNbRow(self) -> int:
        """Rows."""
        return self.shape[0]

    def getNbCol(self) -> int:
        """Columns."""
        return self.shape[1]

    def getTranspose(self) -> Matrix:
        """Rows as columns."""
        return Matrix(self.shape[1], self.shape[0], self.T.ravel())

    @staticmethod
    def identity(n: int) -> Matrix:
        """Ones on the diagonal."""
        return Matrix(n, n, numpy.identity(n).ravel())
