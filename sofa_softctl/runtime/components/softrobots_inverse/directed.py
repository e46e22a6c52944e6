"""Actuators that push nodes along a direction."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.behavior.constraint import InverseRole, LagrangianConstraint, read_limit
from sofa_softctl.runtime.core.data.types import Bool, Deriv, Integers, Real, Reals
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain


class DirectedActuator(LagrangianConstraint):
    """Nodes and a direction, with three numbers for points, six for bodies (along, about)."""

    acts_on = ("Vec3", "Rigid3")

    indices = Integers([], "Nodes to push.", of="node", follows="reinit")
    direction = Deriv("Direction of the push: three numbers, for bodies six.", follows="reinit")
    minForce = Real(0.0, "Smallest lambda.", unit="lambda of force")
    maxForce = Real(0.0, "Largest lambda.", unit="lambda of force")
    initForce = Real(0.0, "lambda before the first step.", unit="lambda of force", follows="start")
    applyForce = Bool(True, "Apply lambda, not only compute it.")

    def find_nodes(self) -> np.ndarray:
        """Return the nodes.

        Raises:
            SceneError: a node does not exist.
        """
        if not self.state.count:
            raise self.fault("acts on nodes, but there are none.")
        return self.check_indices(self.indices.get())

    def reinit(self) -> None:
        """Initialise again."""
        self.init()

    def reset(self) -> None:
        """Initialise again."""
        self.init()

    limit = read_limit


class ForcePointActuator(DirectedActuator):
    """The same force on each of some nodes: along a direction, or free in all directions.

    With a direction it has one row; without (or with zeros) one row for each direction of a node:
    three forces, for bodies also three moments. delta is the motion by the force in the step.

    Source: SoftRobots.Inverse's ForcePointActuator.
    """

    inverse_role = InverseRole.ACTUATOR
    limit_data: ClassVar[dict[str, str]] = {
        "effort_min": "minForce",
        "effort_max": "maxForce",
        "effort_previous": "force",
        "effort_rate": "maxForceVariation",
    }

    maxForceVariation = Real(0.0, "Largest change of lambda per step.", unit="lambda of force")
    penalty = Real(1e-3, "Not supported: the solver's epsilon weighs the energy of all actuators.")
    force = Reals(
        [], "lambda of the last step, of each row.", unit="lambda of force", read_only=True
    )
    displacement = Real(0.0, "Motion of the first row in the last step.", read_only=True)
    showForce = Bool(False, "Draw the force.")
    visuScale = Real(0.1, "Scale of the drawing.")

    def init(self) -> None:
        """Find nodes and directions."""
        nodes, direction = self.find_nodes(), self.direction.get()
        if not (n := len(nodes)):
            complain(self, self.fault("does nothing without 'indices' of the nodes to push."))
        length = np.linalg.norm(direction)
        rows = np.eye(len(direction)) if length < 1e-10 else direction[None] / length
        self._row_count = count = len(rows)
        self._entries = self.state.kind.entries(
            np.repeat(np.arange(count), n), np.tile(nodes, count), np.repeat(rows, n, axis=0)
        )
        self.force.set(np.full(count, self.initForce.get()))
        if self.penalty.isSet():
            message.warning(
                self,
                f"{describe(self._where)}: 'penalty' of {self.describe()} has no effect here: the "
                "epsilon of QPInverseProblemSolver weighs the energy of all actuators.",
            )

    @property
    @override
    def row_count(self) -> int:
        return self._row_count

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._entries

    def violation(self) -> np.ndarray:
        """Return zeros: without the force there is no motion."""
        return np.zeros(self.row_count)

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the motion."""
        self.force.set(lam.copy())
        self.displacement.set(float(delta[0]))


class SlidingActuator(DirectedActuator):
    """Moves nodes together along a direction: one row, whose lambda is their total force.

    delta is the mean displacement of the nodes from their rest positions along the direction. Both
    parts of a body's direction are normalised: a screw adds displacement and angle.

    Source: SoftRobots.Inverse's SlidingActuator, which uses only the first node's displacement.
    """

    inverse_role = InverseRole.ACTUATOR

    maxPositiveDisp = Real(0.0, "Largest displacement along the direction.", unit="length")
    maxNegativeDisp = Real(0.0, "Largest displacement against the direction.", unit="length")
    maxDispVariation = Real(0.0, "Largest change of the displacement per step.", unit="length")
    initDisplacement = Real(
        0.0, "Displacement before the first step.", unit="length", follows="reinit"
    )
    accumulateDisp = Bool(False, "Add up the displacements of all steps.")
    force = Real(0.0, "lambda of the last step.", unit="lambda of force", read_only=True)
    displacement = Real(0.0, "Displacement in the last step.", unit="length", read_only=True)
    showDirection = Bool(False, "Draw the direction.")
    showVisuScale = Real(0.001, "Scale of the drawing.")

    row_count = 1

    def init(self) -> None:
        """Find nodes and direction."""
        if not len(self.indices.get()):
            self.indices.set(np.arange(self.state.count))
        self.nodes, direction = self.find_nodes(), self.direction.get()
        if not self.direction.isSet():
            direction = np.eye(len(direction))[0]
        elif not direction.any():
            complain(self, self.fault("pushes nothing: its 'direction' is zero."))
        parts = direction.reshape(-1, 3)
        lengths = np.linalg.norm(parts, axis=1, keepdims=True)
        self.unit = (parts / np.where(lengths == 0.0, 1.0, lengths)).ravel()
        self.direction.set(self.unit.copy())
        count = len(self.nodes)
        directions = np.tile(self.unit / count, (count, 1))
        row = np.zeros(count, dtype=np.int64)
        self._entries = self.state.kind.entries(row, self.nodes, directions)
        self.force.set(self.initForce.get())
        self.displacement.set(self.initDisplacement.get())

    @override
    def build(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._entries

    @override
    def violation(self) -> np.ndarray:
        state, kind = self.state, self.state.kind
        arrays = (state.position, state.free_position, state.rest_position)
        x, free, rest = (array.get()[self.nodes] for array in arrays)
        displacements = kind.difference(free, x) + kind.difference(x, rest)
        return np.array([displacements.mean(axis=0) @ self.unit])

    def limits(self) -> dict[str, float]:
        """Return the bounds of this step by the names of InverseProblem."""
        low = -self.limit("maxNegativeDisp", math.inf)
        high = self.limit("maxPositiveDisp", math.inf)
        previous = self.displacement.get()
        if self.accumulateDisp.get():  # delta is then the step's displacement
            low, high = low - min(previous, 0.0), high - max(previous, 0.0)
            previous = 0.0
        return {
            "effort_min": self.limit("minForce", -math.inf),
            "effort_max": self.limit("maxForce", math.inf),
            "displacement_min": low,
            "displacement_max": high,
            "displacement_previous": previous,
            "displacement_rate": self.limit("maxDispVariation", math.inf),
        }

    def store_inverse(self, lam: np.ndarray, delta: np.ndarray) -> None:
        """Store lambda and the resulting displacement."""
        self.force.set(float(lam[0]))
        previous = self.displacement.get() if self.accumulateDisp.get() else 0.0
        self.displacement.set(previous + float(delta[0]))
