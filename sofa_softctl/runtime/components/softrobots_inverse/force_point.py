"""ForcePointActuator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sofa_softctl.runtime.behavior.constraint import InverseRole
from sofa_softctl.runtime.components.softrobots_inverse.directed import DirectedActuator
from sofa_softctl.runtime.core.data.types import Bool, Real, Reals
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe


class ForcePointActuator(DirectedActuator):
    """A force on nodes, the same on each: along a direction, or free in all of them.

    With a direction one row; without (or with zeros) one row for each direction of a node: three
    forces, for bodies also three moments. delta is the motion that the force makes in the step.

    Source: SoftRobots.Inverse's ForcePointActuator.
    """

    inverse_role = InverseRole.ACTUATOR

    maxForceVariation = Real(0.0, "Greatest change of lambda a step.", unit="lambda of force")
    penalty = Real(1e-3, "Not supported: the solver's epsilon weighs the energy of all actuators.")
    force = Reals(
        [], "lambda of the last step, of each row.", unit="lambda of force", read_only=True
    )
    displacement = Real(0.0, "Motion of the first row in the last step.", read_only=True)
    showForce = Bool(False, "Draw the force.")
    visuScale = Real(0.1, "Size of what is drawn.")

    def init(self) -> None:
        """Find nodes and directions."""
        nodes, given = self.find_nodes(), self.find_direction()
        length = np.linalg.norm(given)
        rows = np.eye(len(given)) if length < 1e-10 else given[None] / length
        count = len(rows)
        self._row_count = count
        self._entries = self.state.kind.entries(
            np.repeat(np.arange(count), len(nodes)),
            np.tile(nodes, count),
            np.repeat(rows, len(nodes), axis=0),
        )
        self.force.set(np.full(count, self.initForce.get()))
        if self.penalty.isSet():
            message.warning(
                self,
                f"{describe(self._where)}: 'penalty' of {self.describe()} has no effect here: the "
                "epsilon of QPInverseProblemSolver weighs the energy of all actuators.",
            )

    @property
    def row_count(self) -> int:
        """See LagrangianConstraint."""
        return self._row_count

    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See LagrangianConstraint."""
        return self._entries

    def violation(self) -> np.ndarray:
        """See LagrangianConstraint: without the force there is no motion that it makes."""
        return np.zeros(self.row_count)

    def limits(self) -> dict[str, Any]:
        """Bounds of this step, by the names of InverseProblem."""
        least, most = self.limit("minForce", -math.inf), self.limit("maxForce", math.inf)
        return {
            "effort_min": least,
            "effort_max": most,
            "effort_previous": np.clip(self.force.get(), least, most),
            "effort_rate": self.limit("maxForceVariation", math.inf),
        }

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Take over lambda and the motion."""
        self.force.set(lam.copy())
        self.displacement.set(float(delta[0]))
