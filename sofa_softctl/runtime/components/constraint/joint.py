"""JointConstraint: imposed displacement or force."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint, only_watches, read_limit
from sofa_softctl.runtime.core.data.types import Choice, Int, Real
from sofa_softctl.runtime.helper.message import keeps_sofa_defects
from sofa_softctl.runtime.kernels.constraint.gauss_seidel import (
    IMPOSE_DELTA,
    IMPOSE_LAMBDA,
    row_parameters,
)


class JointModel(LagrangianConstraint):
    """One row: the coordinate q of one joint (template Vec1)."""

    acts_on = ("Vec1",)

    index = Int(0, "Joint.", of="node")

    row_count = 1

    def init(self) -> None:
        """Check the joint.

        Raises:
            SceneError: the joint does not exist.
        """
        index, count = self.index.get(), self.state.count
        if not 0 <= index < count:
            raise self.fault(f"names joint {index} in 'index', but there are {count} joints.")
        row = np.zeros(1, dtype=np.int64)
        self._entries = self.state.kind.entries(row, row + index, np.ones((1, 1)))

    def reinit(self) -> None:
        """Check the joint again."""
        self.init()

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._entries

    def coordinate(self, name: str = "position") -> float:
        """Return the present q, or q in another vector of the state."""
        return float(self.state._data[name].get()[self.index.get(), 0])

    limit = read_limit


class JointConstraint(JointModel):
    """Moves a joint by `value` from its position at init, or drives it with the force `value`.

    Source: SoftRobots' JointConstraint.
    """

    value = Real(0.0, "Displacement or multiplier (lambda).")
    valueType = Choice("displacement", "Meaning of 'value'.", choices=("displacement", "force"))
    minForce = Real(0.0, "Smallest lambda.", unit="lambda of force")
    maxForce = Real(0.0, "Largest lambda.", unit="lambda of force")
    minDisplacement = Real(0.0, "Smallest displacement.", unit="length")
    maxDisplacement = Real(0.0, "Largest displacement.", unit="length")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Displacement in the last step.", unit="length", read_only=True)

    def init(self) -> None:
        """Store the coordinate of the joint."""
        super().init()
        self.q_init = self.coordinate()

    @override
    def violation(self) -> np.ndarray:
        q = self.coordinate("free_position")
        assert self._context is not None
        if keeps_sofa_defects() and not self._context.time.get():
            q -= self.coordinate()  # SOFA's first step assumes it at 0
        return np.array([q - self.q_init])

    @override
    def resolution(self) -> np.ndarray:
        forces = self.limit("minForce", -math.inf), self.limit("maxForce", math.inf)
        ends = self.limit("minDisplacement", -math.inf), self.limit("maxDisplacement", math.inf)
        value = self.value.get()
        if self.valueType.get() == "force":
            value = max(min(value, forces[1]), forces[0])
            return row_parameters(IMPOSE_LAMBDA, value, delta_min=ends[0], delta_max=ends[1])[None]
        value = max(min(value, ends[1]), ends[0])
        return row_parameters(IMPOSE_DELTA, value, *forces)[None]

    def check_differentiable(self) -> None:
        """Check that derivatives are known: only without a force or displacement."""
        if not only_watches(self):
            super().check_differentiable()

    @override
    def store(self, lam: np.ndarray, delta: np.ndarray) -> None:
        self.force.set(float(lam[0]))
        self.displacement.set(float(delta[0]))
