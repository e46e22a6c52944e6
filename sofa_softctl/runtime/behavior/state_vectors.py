"""Vectors of a system's states: common arrays, of which the Data of the states are views."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_

import numpy as np

from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data.data import EarlierArray

_OF_MOTION = ("velocity", "free_velocity", "force")
_OF_POINTS = ("position", "free_position")
_PARENT, _VALUE = attrgetter("_parent"), attrgetter("_value")


class StateVectors:
    """Arrays with rows of three scalars for all states of a system, so that kernels need no Data.

    The independent states come first, then the mapped ones. Positions have rows for points only:
    those of bodies and joints are in arrays of the states.

    Args:
        independent: Independent states, in the order of the graph.
        mapped: Mapped states, each after the states that drive it.
    """

    def __init__(
        self, independent: Sequence[MechanicalState], mapped: Sequence[MechanicalState]
    ) -> None:
        self.states = [*independent, *mapped]
        counts = [state.block_count for state in self.states]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        self.first = {id(state): int(k) for state, k in zip(self.states, starts, strict=False)}
        """First row of a state, by its id."""
        self.size = int(starts[len(independent)])
        """Number of rows of the independent states."""
        shape = (int(starts[-1]), 3)
        self.position, self.free_position = np.zeros(shape), np.zeros(shape)
        self.velocity, self.free_velocity = np.zeros(shape), np.zeros(shape)
        self.force = np.zeros(shape)
        shared = [
            (state._data[name], self.part(vars(self)[name], state))
            for state in self.states
            for name in (*_OF_MOTION, *(_OF_POINTS if self.has_points(state) else ()))
        ]
        self._data = [data for data, _ in shared]
        self._views = [view for _, view in shared]
        self.share()

    @staticmethod
    def has_points(state: MechanicalState) -> bool:
        """Return True if the state has points, whose positions are rows of three scalars."""
        return state.kind.name == "Vec3"

    def part(self, array: np.ndarray, state: MechanicalState) -> np.ndarray:
        """Return the view of a state in an array, shape (count, deriv_size)."""
        start, count, width = self.first[id(state)], state.count, state.deriv_size
        rows = array[start : start + state.block_count]
        return rows.reshape(-1)[: count * width].reshape(count, width)

    def share(self) -> None:
        """Make the Data of the states views of the arrays, with their present values."""
        for data, view in zip(self._data, self._views, strict=True):
            if (array := data.get()) is not view:
                np.copyto(view, array)
                data.set(view)
                if array.flags.c_contiguous and array.flags.writeable:
                    data.earlier_arrays += (EarlierArray.of(array),)
        self._with_views = [data for data in self._data if data.earlier_arrays]

    def update_earlier_arrays(self) -> None:
        """Copy the numbers into earlier arrays, as long as a script has views of them."""
        for data in self._with_views:
            data.update_earlier_arrays()
        self._with_views = [data for data in self._with_views if data.earlier_arrays]

    def are_shared(self) -> bool:
        """Return True unless a Data may have another array, such as that of a followed Data."""
        follows = any(map(_PARENT, self._data))
        return not follows and all(map(is_, map(_VALUE, self._data), self._views))
