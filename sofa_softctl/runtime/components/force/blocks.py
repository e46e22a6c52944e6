"""Base class of force fields whose stiffness is made of 3x3 blocks between nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.kernels.elasticity.blocks import add_block_products


class BlockForceField(ForceField):
    """Keeps -df/dx of the last `add_force` as blocks between rows of three scalars of its state.

    A subclass calls `set_pairs` in `init` with every pair that may come, and `set_blocks` in
    `add_force`.
    """

    one_sided: ClassVar[bool] = False
    """Whether blocks of (i, j) and (j, i) are both given; else each is the other's transpose."""

    _row: np.ndarray
    _column: np.ndarray
    _blocks: np.ndarray
    _every: Pairs

    def set_pairs(self, row: np.ndarray, column: np.ndarray) -> None:
        """Say which pairs may ever have a block, shapes (k,)."""
        self._every = (np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64))
        self._row = self._column = np.empty(0, dtype=np.int64)
        self._blocks = np.empty((0, 3, 3))

    def set_blocks(self, row: np.ndarray, column: np.ndarray, blocks: np.ndarray) -> None:
        """-df_row/dx_column is the sum of the blocks (k, 3, 3) of that pair.

        Unless they are one-sided, where row and column differ -df_column/dx_row is the transpose.
        """
        self._row, self._column = (np.asarray(one, dtype=np.int64) for one in (row, column))
        self._blocks = np.ascontiguousarray(blocks)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        if v.shape[1] == 1:  # three joints share a row
            whole, given = np.zeros((2, self.state.block_count, 3))
            given.ravel()[: len(v)] = v[:, 0]
            self._add_blocks(whole, given, factor)
            out[:, 0] += whole.ravel()[: len(v)]
        else:  # a body's six numbers are two rows of three, one after the other
            self._add_blocks(out.reshape(-1, 3), v.reshape(-1, 3), factor)

    def _add_blocks(self, outs: np.ndarray, vs: np.ndarray, factor: float) -> None:
        pairs = self._row, self._column, self._blocks
        add_block_products(*pairs, self.one_sided, factor, vs, outs)

    @override
    def pairs(self) -> Pairs:
        return self._every

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution; the symmetric part."""
        place, blocks = self._places(slots), factor * self._blocks
        same, straight = self._row == self._column, place >= 0
        blocks[same] = (blocks[same] + blocks[same].transpose(0, 2, 1)) / 2.0
        if self.one_sided:
            blocks[~same] /= 2.0
        np.add.at(values, place[straight], blocks[straight])
        np.add.at(values, ~place[~straight], blocks[~straight].transpose(0, 2, 1))

    def _places(self, slots: np.ndarray) -> np.ndarray:
        """Slot of each present block, from those of every pair."""
        size = self.state.block_count
        keys = self._every[0] * size + self._every[1]
        order = np.argsort(keys, kind="stable")
        wanted = self._row * size + self._column
        if len(keys) == len(wanted) and (keys == wanted).all():
            return slots
        return slots[order[np.searchsorted(keys[order], wanted)]]
