"""Base class of forces that do not depend on positions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs


class ForceWithoutStiffness(ForceField):
    """A force that does not depend on positions."""

    acts_on: ClassVar[tuple[str, ...]] = ("Vec3", "Rigid3", "Vec1")

    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        """See Contribution; there is no stiffness."""

    def pairs(self) -> Pairs:
        """See Contribution."""
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        """See Contribution; there is no stiffness."""
