"""CableActuator, CableEquality and PositionEquality."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.constraint.cable import CableModel
from sofa_softctl.runtime.components.constraint.position import PositionModel
from sofa_softctl.runtime.core.data.types import Bool, Real
from sofa_softctl.runtime.helper.message import keeps_sofa_defects


class CableActuator(CableModel):
    """A cable whose lambda QPInverseProblemSolver computes, within its limits."""

    inverse_role = InverseRole.ACTUATOR
    limit_data: ClassVar[dict[str, str]] = {
        "effort_min": "minForce",
        "effort_max": "maxForce",
        "displacement_min": "-maxNegativeDisp",
        "displacement_max": "maxPositiveDisp",
        "displacement_previous": "displacement",
        "displacement_rate": "maxDispVariation",
    }

    applyForce = Bool(True, "Apply lambda, not only compute it.")
    initForce = Real(0.0, "lambda before the first step.", unit="lambda of force", follows="start")
    constrainAtTime = Real(0.0, "Time before which no limit holds.", unit="time")
    displayCableLimit = Bool(False, "Draw the cable red at its limit.")

    def init(self) -> None:
        """Start from initForce and no displacement."""
        super().init()
        self.force.set(self.initForce.get())

    @override
    def reset(self) -> None:
        super().reset()
        self.force.set(self.initForce.get())

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the resulting displacement."""
        self.force.set(float(lam[0]))
        self.displacement.set(float(delta[0]))


class CableEquality(CableModel):
    """A cable with imposed displacement (eqDisp) or lambda (eqForce)."""

    inverse_role = InverseRole.EQUALITY
    limit_data: ClassVar[dict[str, str]] = {
        "displacement_fixed": "eqDisp",
        "effort_fixed": "eqForce",
    }

    constrainAtTime = Real(0.0, "Time before which nothing is imposed.", unit="time")

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda, and the displacement at the start of the step, as SoftRobots does."""
        self.store_start(lam)


class PositionEquality(PositionModel):
    """Nodes that forces of any size hold at the coordinate eqDelta in each used direction.

    The coordinate is measured along the direction; SoftRobots.Inverse always takes x, y or z, which
    agrees for the default directions. `weight` has no effect, since it would scale both sides.
    """

    follows_otherwise = {"indices": "reinit"}

    inverse_role = InverseRole.EQUALITY
    acts_on = ("Vec3", "Vec1")

    eqDelta = Real(0.0, "Coordinate to hold.", unit="length")
    constrainAtTime = Real(0.0, "Time before which nothing is held.", unit="time")

    def _weights(self) -> np.ndarray:
        return np.ones_like(super()._weights())

    @override
    def violation(self) -> np.ndarray:
        return self.free_motion() + self.components_along(self.positions())

    def limits(self) -> dict[str, np.ndarray]:
        """Return limits and imposed values of this step by the names of InverseProblem."""
        delta = np.full(self.row_count, self.eqDelta.get())
        if keeps_sofa_defects():  # SOFA reads the others from zeroed memory
            delta[1:] = 0.0
        return {"displacement_fixed": delta}

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store the rows' coordinates."""
        self.delta.set(delta.copy())
