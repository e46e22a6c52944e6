"""Base class of components on one joint."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.types import Int


class JointModel(LagrangianConstraint):
    """One row: the coordinate q of one joint (template Vec1)."""

    acts_on = ("Vec1",)

    index = Int(0, "Joint.")

    row_count = 1

    def init(self) -> None:
        """Check the joint.

        Raises:
            SceneError: it does not exist.
        """
        index, count = self.index.get(), self.state.count
        if not 0 <= index < count:
            raise self.fault(f"names joint {index} in 'index', but there are {count} joints.")
        row = np.zeros(1, dtype=np.int64)
        self._entries = self.state.kind.entries(row, row + index, np.ones((1, 1)))

    def reinit(self) -> None:
        """Check the joint again."""
        self.init()

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See LagrangianConstraint."""
        return self._entries

    def coordinate(self, name: str = "position") -> float:
        """q now, or in another vector of the state."""
        return float(self.state._data[name].get()[self.index.get(), 0])

    def limit(self, name: str, unset: float) -> float:
        """A limit that a scene may leave unset."""
        data = self._data[name]
        return data.get() if data.isSet() else unset
