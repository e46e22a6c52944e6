"""Base class of force fields whose stiffness is made of 3x3 blocks between nodes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.kernels.elasticity.blocks import add_block_products


class BlockForceField(ForceField):
    """Force field with -df/dx of the last `add_force` as blocks between rows of three scalars.

    A subclass calls `set_pairs` in `init` with every pair that may occur, and `set_blocks` in
    `add_force`.
    """

    one_sided: ClassVar[bool] = False
    """Whether blocks of (i, j) and (j, i) are both given; else each is the other's transpose."""

    _row: np.ndarray
    _column: np.ndarray
    _blocks: np.ndarray
    _every: Pairs

    def set_pairs(self, row: np.ndarray, column: np.ndarray) -> None:
        """Set all pairs that may have a block, shapes (k,)."""
        self._every = (np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64))
        self._row = self._column = np.empty(0, dtype=np.int64)
        self._blocks = np.empty((0, 3, 3))

    def set_blocks(self, row: np.ndarray, column: np.ndarray, blocks: np.ndarray) -> None:
        """Set -df_row/dx_column to the sum of the blocks (k, 3, 3) of that pair.

        Unless blocks are one-sided, -df_column/dx_row is the transpose if row and column differ.
        """
        self._row, self._column = (np.asarray(index, dtype=np.int64) for index in (row, column))
        self._blocks = np.ascontiguousarray(blocks)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        if v.shape[1] == 1:  # three joints share a row
            padded_out, padded_v = np.zeros((2, self.state.block_count, 3))
            padded_v.ravel()[: len(v)] = v[:, 0]
            self._add_blocks(padded_out, padded_v, factor)
            out[:, 0] += padded_out.ravel()[: len(v)]
        else:  # a body's six numbers are two rows of three, one after the other
            self._add_blocks(out.reshape(-1, 3), v.reshape(-1, 3), factor)

    def _add_blocks(self, outs: np.ndarray, vs: np.ndarray, factor: float) -> None:
        pairs = self._row, self._column, self._blocks
        add_block_products(*pairs, self.one_sided, factor, vs, outs)

    @override
    def pairs(self) -> Pairs:
        return self._every

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """Add the symmetric part."""
        slot, blocks = self._places(slots), factor * self._blocks
        is_diagonal, is_stored = self._row == self._column, slot >= 0
        blocks[is_diagonal] = (blocks[is_diagonal] + blocks[is_diagonal].transpose(0, 2, 1)) / 2.0
        if self.one_sided:
            blocks[~is_diagonal] /= 2.0
        np.add.at(values, slot[is_stored], blocks[is_stored])
        np.add.at(values, ~slot[~is_stored], blocks[~is_stored].transpose(0, 2, 1))

    def _places(self, slots: np.ndarray) -> np.ndarray:
        """Return the slot of each present block, given the slots of every pair."""
        size = self.state.block_count
        keys = self._every[0] * size + self._every[1]
        order = np.argsort(keys, kind="stable")
        present_keys = self._row * size + self._column
        if len(keys) == len(present_keys) and (keys == present_keys).all():
            return slots
        return slots[order[np.searchsorted(keys[order], present_keys)]]
