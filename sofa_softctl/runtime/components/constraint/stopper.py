"""StopperLagrangianConstraint: limits of one coordinate."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.types import Int, Real
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import IMPOSE_LAMBDA, row_parameters


class StopperLagrangianConstraint(LagrangianConstraint):
    """Keeps one coordinate of a state of joints (Vec1) between `min` and `max`."""

    aliases = ("StopperConstraint",)
    acts_on = ("Vec1",)

    index = Int(0, "Index of the coordinate.", of="node")
    min = Real(-100.0, "Smallest value.")
    max = Real(100.0, "Largest value.")

    def init(self) -> None:
        """Move the coordinate between the limits.

        Raises:
            SceneError: there is no such coordinate.
        """
        position = self.state.position
        index = self.index.get()
        if not 0 <= index < self.state.count:
            raise self.fault(f"has index {index}, but there are {self.state.count} coordinates.")
        if self.min.get() > self.max.get():
            complain(self, self.fault(f"has min={self.min.get():g} above max={self.max.get():g}."))
        position.get()[index] = np.clip(position.get()[index], self.min.get(), self.max.get())
        position.touch()

    @property
    @override
    def row_count(self) -> int:
        return 1

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.state.kind.entries(
            np.array([0]), np.array([self.index.get()]), np.array([[1.0]])
        )

    def violation(self) -> np.ndarray:
        """Return the coordinate."""
        return self.state.free_position.get()[self.index.get()].copy()

    def resolution(self) -> np.ndarray:
        """Return parameters that impose no force, unless the coordinate would leave its limits."""
        low, high = self.min.get(), self.max.get()
        return row_parameters(IMPOSE_LAMBDA, 0.0, delta_min=low, delta_max=high)[None]
